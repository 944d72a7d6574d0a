"""The probability that a best cell answers a question, and `no answer here`."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_bundles import TABLES, bundle

from lisax import Answer, Answerer, Index, LisaxError, load
from lisax.cli import main
from lisax.errors import DataError
from lisax.files.writing import write_json
from lisax.predict import answer_confidence
from lisax.predict.answer_confidence import AnswerConfidence, Cells
from lisax.predict.reader import NO_ANSWER, withheld
from lisax.retrieval.terms import count_terms
from lisax.weights.model_card import FITTED

QUESTION = "Who is the mayor of Torimoor?"
FIELDS = {"answers": {"weights": [0.1, 0.2, 0.3, 0.4, -2.0], "threshold": 0.0, "questions": 9}}


def test_features_by_hand():
    rows = answer_confidence.features(Cells("mayor of Torimoor", [0.9, 0.5, 0.2], [6.0, 8.0, 2.0], 8.0))
    nine = np.log(9)
    assert count_terms("mayor of Torimoor") == 2  # without the stop word
    np.testing.assert_allclose(rows[:, 0], [nine, 0, np.log(0.25)])
    np.testing.assert_allclose(rows[:, 1], [nine, -nine, np.log(0.25) - nine])
    np.testing.assert_allclose(rows[:, 2:], [[3, 0.75, 1], [4, 1, 1], [1, 0.25, 1]])
    (alone,) = answer_confidence.features(Cells("?", [0.5], [0.0], 0.0))
    np.testing.assert_allclose(alone, [0, -np.log(1e-6 / (1 - 1e-6)), 0, 0, 1])
    assert answer_confidence.features(Cells("?", [], [], 0.0)).shape == (0, 5)


def asked_with(share: float, rng: np.random.Generator, count: int):
    """Questions whose best answer is right where words match, of which the scores of cells say nothing."""
    for _ in range(count):
        has = rng.random() < share
        words = rng.uniform(3, 6) if has else rng.uniform(0, 4)
        scores = sorted(rng.uniform(0.9, 0.999, 3), reverse=True)
        yield Cells("glass harbour", scores, [words, 1.0, 0.5], max(words, 1.0)), [bool(has), False, False]


def test_what_says_that_there_is_no_answer_is_learned():
    rng = np.random.default_rng(0)
    fitted = answer_confidence.fit(asked_with(0.5, rng, 600))
    assert fitted.questions == 600 and 0 < fitted.threshold < 1
    whole, without = list(asked_with(1.0, rng, 300)), list(asked_with(0.0, rng, 300))
    found = answer_confidence.figures(fitted, whole, without)
    assert found["kept_right"] == found["answered"] > 0.85 and found["precision"] == 1
    assert found["refused_without_table"] > 0.6 and found["expected_error"] < 0.1
    sure, unsure = (
        fitted.probabilities(answer_confidence.features(Cells("glass harbour", [0.98, 0.97], [words, 1.0], words)))[0]
        for words in (6, 1)
    )
    assert sure > 0.9 and unsure < 0.1  # though the cell's own score is the same


@pytest.mark.parametrize("right", [True, False])
def test_without_right_and_wrong_answers_nothing_is_fitted(right):
    assert answer_confidence.fit([(Cells("q", [0.5], [1.0], 1.0), [right])] * 3) is None
    assert answer_confidence.fit([(Cells("q", [], [], 0.0), [])]) is None


@given(st.lists(st.floats(0, 1), min_size=1, max_size=4), st.floats(0, 1))
def test_no_answer_here_is_an_answer_with_a_probability(shares, least):
    answers = [Answer(f"a{i}", share) for i, share in enumerate(sorted(shares, reverse=True))]
    found = withheld(answers, least)
    if answers[0].probability >= least:
        assert found == answers
    else:
        (one,) = found
        assert one.text == NO_ANSWER and one.abstained and one.probability == 1 - answers[0].probability
        assert one.to_dict()["abstained"] and "'a0'" in one.reason
    assert withheld(answers, None) == answers and withheld([], least) == []


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    return Index.build(TABLES, tmp_path_factory.mktemp("tables") / "index", kind="tables")


def with_threshold(folder, threshold):
    return bundle(folder, "parts", answers=FIELDS["answers"] | {"threshold": threshold})


def test_answers_have_fitted_probabilities(index, bundles, tmp_path):
    plain = Answerer.open(index, bundles["parts"]).ask(QUESTION)
    answerer = Answerer.open(index, with_threshold(tmp_path / "parts", 0.0))
    found = answerer.ask(QUESTION)
    assert [one.text for one in found] == [one.text for one in plain] and not any(one.abstained for one in found)
    scored = answerer.tables.answer(QUESTION, 20, 5)
    retrieval = [one.retrieval for one in scored]
    cells = Cells(QUESTION, [one.score() for one in scored], retrieval, max(retrieval))
    expected = AnswerConfidence(tuple(FIELDS["answers"]["weights"]), 0.0).probabilities(
        answer_confidence.features(cells)
    )
    np.testing.assert_allclose([one.probability for one in found], expected, rtol=1e-6)
    # The next answer counts, whether or not it is asked for.
    assert answerer.ask(QUESTION, 1) == found[:1]


def test_the_fitted_threshold_holds_unless_another_is_given(index, tmp_path, capsys):
    model = with_threshold(tmp_path / "parts", 1.0)
    (none,) = Answerer.open(index, model).ask(QUESTION)
    assert none.text == NO_ANSWER and none.probability > 0 and str(none).startswith("no answer here (0.")
    assert Answerer.open(index, model, min_confidence=0.0).ask(QUESTION)[0].text != NO_ANSWER
    given = ["ask", QUESTION, "--index", str(index.folder), "--model", str(model)]
    assert main(given) == 0 and "no answer here (0." in capsys.readouterr().out
    assert main([*given, "--min-confidence", "0", "--json"]) == 0
    assert "abstained" not in json.loads(capsys.readouterr().out.splitlines()[0])


def test_what_a_run_fitted_holds_wherever_its_model_is_opened(index, tmp_path):
    model = bundle(tmp_path / "parts", "parts")
    assert load(model, index.folder).ask(QUESTION)[0].text != NO_ANSWER
    write_json(tmp_path / FITTED, {"checkpoint": "parts", "answers": FIELDS["answers"] | {"threshold": 1.0}})
    for opened in (load(model, index.folder), Answerer.open(index, model), Answerer.open(index, model, columns=model)):
        assert opened.ask(QUESTION)[0].text == NO_ANSWER


def test_a_minimum_for_models_without_a_fitted_probability(index, bundles):
    plain = Answerer.open(index, bundles["parts"]).ask(QUESTION)
    (none,) = Answerer.open(index, bundles["parts"], min_confidence=1.0).ask(QUESTION)
    assert none.abstained and none.probability == pytest.approx(1 - plain[0].probability)
    with pytest.raises(LisaxError, match="from 0 to 1"):
        Answerer.open(index, bundles["parts"], min_confidence=2.0)


def test_a_reader_too_may_have_no_answer(bundles, tmp_path):
    pages = [{"title": "Torimoor", "text": "Torimoor is a town. Its mayor is Tessa Minell."}]
    mixed = Index.build(pages, tmp_path / "mixed", kind="mixed")
    plain = Answerer.open(mixed, bundles["reader"]).ask(QUESTION, 2)
    assert plain and Answerer.open(mixed, bundles["reader"], min_confidence=0.0).ask(QUESTION, 2) == plain
    (none,) = Answerer.open(mixed, bundles["reader"], min_confidence=1.0).ask(QUESTION, 2)
    assert none.text == NO_ANSWER and none.evidence is None


@pytest.mark.parametrize(
    ("field", "value"),
    [("weights", [1.0, 2.0]), ("weights", "x"), ("threshold", 2.0), ("questions", -1), ("threshold", None)],
)
def test_what_others_fitted_is_checked(index, tmp_path, field, value):
    model = bundle(tmp_path / "parts", "parts", answers=FIELDS["answers"] | {field: value})
    with pytest.raises(DataError, match=rf"model.json.*answers\.{field}"):
        Answerer.open(index, model)
