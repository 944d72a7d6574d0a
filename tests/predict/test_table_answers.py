"""Pools of tables scored part by part: as the plain model says, each part once, and pruned without another result."""

import dataclasses
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisax.errors import DataError, LisaxError
from lisax.formats import presets
from lisax.formats.format import Format
from lisax.formats.parts import TABLE_PARTS, PartKind
from lisax.formats.ranking import RANK
from lisax.formats.vocabulary import Vocabulary, train_vocabulary
from lisax.predict.model import Model
from lisax.predict.table_answers import PartScorer, TableAnswerer, TableScores, bound, named_cells
from lisax.records import Table
from lisax.retrieval import table_text
from lisax.retrieval.table_store import TableStore
from lisax.sampling.part_examples import parts_of
from lisax.weights.model_card import ModelCard

WORDS = "town river year goals query row column relevant Tarn Ode Mara Velin 1990 1991 : | which in".split()


class Hashing:
    """Stands in for `LabelScorer`: logits that depend on nothing but the tokens."""

    def __init__(self, pieces, max_tokens):
        self.max_tokens, self.scored = max_tokens, 0

    def logits(self, tokens):
        self.scored += len(tokens)
        assert all(len(ids) <= self.max_tokens for ids in tokens)
        draws = [zlib.crc32(np.asarray(ids, np.int32).tobytes()) / 2**32 for ids in tokens]
        return np.array([[8 * draw - 4, 0] for draw in draws], np.float32).reshape(-1, 2)


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory):
    path = tmp_path_factory.mktemp("vocabulary") / "spiece.model"
    return train_vocabulary([" ".join(WORDS)] * 20, path, 120)


def model_of(vocabulary: Vocabulary, max_tokens: int = 24, text_format: Format = TABLE_PARTS) -> Model:
    card = text_format.card(presets.PAPER, max_tokens) | {"architecture": {"vocab_size": vocabulary.size}}
    return Model.of_words(Hashing, vocabulary, ModelCard(vocabulary.path.parent, card))


cells = st.lists(st.sampled_from([*WORDS, "§", "Zü"]), max_size=4).map(" ".join)


@st.composite
def some_tables(draw):
    made = []
    for name in range(draw(st.integers(1, 5))):
        width = draw(st.integers(1, 4))
        row = st.tuples(*[cells] * width)
        made.append(Table(f"t{name}", "", draw(row), tuple(draw(st.lists(row, min_size=1, max_size=4)))))
    return made


@settings(max_examples=60)
@given(some_tables(), cells, st.sampled_from([16, 24, 200]))
def test_parts_score_as_the_model_scores_their_examples(vocabulary, tables, question, max_tokens):
    model = model_of(vocabulary, max_tokens)
    scorer = PartScorer(model)
    for asked in (question, "which " + question):  # the second finds its tables known
        for kind in PartKind:
            found = scorer.scores(asked, kind, tables)
            for table, values in zip(tables, found):
                examples = [example for example in parts_of("q", asked, table) if example.kind is kind]
                expected = np.zeros_like(values)
                for example in examples:
                    place = int(example.unit_id.rpartition(str(kind)[0])[2])
                    expected[place] = model.probabilities([example])[0, 0]
                np.testing.assert_array_equal(values, expected)


def test_equal_parts_are_scored_once(vocabulary):
    model = model_of(vocabulary)
    tables = [
        Table(f"t{i}", "", ("town", "river"), (("Tarn", "Ode"), ("Tarn", "Ode"), ("", " "), (f"{i}", "Ode")))
        for i in range(3)
    ]
    scorer = PartScorer(model)
    found = scorer.scores("which town", PartKind.ROW, tables)
    assert model._scorer.scorer.scored == 4
    assert 0 < scorer.tokens(PartKind.ROW, tables[0]) <= 3 * model.max_tokens
    assert found[0][0] == found[0][1] == found[2][0] > 0 and found[0][2] == 0


def test_another_format_is_refused(vocabulary):
    with pytest.raises(LisaxError, match="rows and columns need"):
        PartScorer(model_of(vocabulary, text_format=RANK))


def test_cells_scores_and_the_best():
    table = Table("t", "", ("a", "b"), (("x", " "), ("y", "z")))
    scores = TableScores(table, 1.0, np.array([0.9, 0.5], np.float32), np.array([0.2, 0.8], np.float32))
    np.testing.assert_allclose(scores.cells, [[0.18, 0], [0.1, 0.4]], rtol=1e-6)
    assert scores.best == (1, 1) and scores.score() == pytest.approx(0.4)
    assert scores.score("mean") == pytest.approx((0.18 + 0.1 + 0.4) / 3)
    assert bound(table, scores.columns) == pytest.approx(0.8)
    with pytest.raises(LisaxError, match="max or mean"):
        scores.score("sum")
    found = dataclasses.replace(scores, table=Table("t", "", ("a",), ()), rows=np.zeros(0), columns=np.zeros(1)).score()
    assert found == 0


def test_a_cell_that_the_question_names_does_not_answer_it():
    table = Table("t", "", ("point", "keeper"), (("Sedge Point", "Ann Lee"), ("Rook Point", "Bo Lund")))
    scores = TableScores(table, 1.0, np.array([0.9, 0.5], np.float32), np.array([0.8, 0.3], np.float32))
    assert scores.best == (0, 0)

    def best(question):
        return dataclasses.replace(scores, named=named_cells(question, table)).best

    assert best("Who is the keeper of Sedge Point?") == best("Who keeps the Sedge Points?") == (0, 1)
    assert best("Which point does Ann Lee keep?") == (0, 0)
    assert best("Is it Sedge Point or Rook Point?") == (0, 0)  # one of them answers
    assert best("Does Ann Lee keep Sedge Point?") == (0, 0)  # the row has no other cell


@pytest.fixture(scope="module")
def index(tmp_path_factory, vocabulary):
    rng = np.random.default_rng(0)
    names = ["Tarn", "Ode", "Mara", "Velin", "1990", "1991", ""]
    tables = [
        Table(
            f"t{i:02}",
            "Tarn",
            ("town", "river", "year"),
            tuple(tuple(rng.choice(names, 3).tolist()) for _ in range(rng.integers(1, 30))),
        )
        for i in range(40)
    ]
    tables.append(Table("empty", "Tarn", ("town",), (("",),)))
    table_text.build_index(tables, folder := tmp_path_factory.mktemp("index") / "index")
    return folder


def answerer(index, vocabulary, fusion=None) -> TableAnswerer:
    model = model_of(vocabulary)
    model.card = dataclasses.replace(model.card, content={**model.card.content, "fusion": fusion})
    return TableAnswerer(table_text.open_index(index), TableStore.open(index), PartScorer(model))


def test_pruning_changes_no_answer_and_spares_rows(index, vocabulary, monkeypatch):
    monkeypatch.setattr("lisax.predict.table_answers.ROWS_AT_A_TIME", 20)
    whole, pruned = answerer(index, vocabulary), answerer(index, vocabulary)
    for question in ("which town", "in Tarn which year", "river"):
        ranked = sorted(whole.rank(question, whole.pool(question, 41)), key=lambda scores: -scores.score())
        found = pruned.answer(question, 41, 5)
        assert [scores.table.id for scores in found] == [scores.table.id for scores in ranked[:5]]
        for one, other in zip(found, ranked):
            np.testing.assert_array_equal(one.cells, other.cells)
            np.testing.assert_array_equal(one.named, named_cells(question, one.table))
    assert pruned._rows.model._scorer.scorer.scored < whole._rows.model._scorer.scorer.scored


@pytest.mark.parametrize("weights", [(0.5, 3.0, -2.0), (2.0, 0.1, 0.0), (0.01, 9.0, -1.0)])
def test_best_cells_with_bm25_where_a_run_weighed_them(index, vocabulary, weights, monkeypatch):
    monkeypatch.setattr("lisax.predict.table_answers.ROWS_AT_A_TIME", 20)
    whole, pruned = (answerer(index, vocabulary, list(weights)) for _ in range(2))
    for question in ("which town", "in Tarn which year", "river"):
        pool = whole.pool(question, 41)
        ranked = sorted(whole.rank(question, pool), key=lambda scores: -scores.value)
        for scores in ranked:
            odds = weights @ np.array([np.log(scores.score() / (1 - scores.score())), scores.retrieval / pool[0][1], 1])
            assert scores.value == scores.relevance == pytest.approx(1 / (1 + np.exp(-odds)), rel=1e-4)
        found = pruned.answer(question, 41, 5)
        assert [scores.table.id for scores in found] == [scores.table.id for scores in ranked[:5]]
        assert [scores.value for scores in found] == pytest.approx([scores.value for scores in ranked[:5]])
    if weights[1] > 1:
        assert pruned._rows.model._scorer.scorer.scored < whole._rows.model._scorer.scorer.scored * 2 / 3
    assert answerer(index, vocabulary, list(weights)).answer("nothing", 41) == []


@pytest.mark.parametrize("wrong", [[1.0, 2.0], [0.0, 1.0, 1.0], [1.0, float("nan"), 0.0]])
def test_wrong_weights_are_refused(index, vocabulary, wrong):
    with pytest.raises(DataError, match="model.json of the model of rows"):
        answerer(index, vocabulary, wrong)


def test_empty_tables_answer_nothing(index, vocabulary):
    one = answerer(index, vocabulary)
    assert "empty" in dict(one.search("Tarn", 41)) and "empty" not in [table.id for table, _ in one.pool("Tarn", 41)]
    assert one.answer("nothing", 41) == []
