"""Figures of generated text, and `lisax score text`."""

import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lisax.cli import invoke
from lisax.errors import DataError, LisaxError
from lisax.faithful.overlap import Overlap
from lisax.files.writing import write_json
from lisax.formats.triples import Triples
from lisax.metrics import text

REFERENCES = [["The bridge is in Oregon.", "Oregon has the bridge ."], ["It was built in 1922."]]


def test_a_reference_is_perfect_and_case_does_not_count():
    figures = text.overlap(REFERENCES, ["THE BRIDGE is in Oregon.", "It was built in 1922."])
    assert figures["texts"] == 2
    for name in ("bleu", "chrf", "rouge1", "rouge2", "rougeL"):
        assert figures[name] == pytest.approx(1)
    assert figures["ter"] == 0 and text.bleu(REFERENCES, [of_text[0] for of_text in REFERENCES]) == pytest.approx(1)


@pytest.mark.parametrize("references, texts", [([], []), ([["a"]], ["a", "b"]), ([[]], ["a"])])
def test_nothing_to_compare(references, texts):
    with pytest.raises(DataError, match="for each, a reference"):
        text.overlap(references, texts)


def test_optional_measures_say_what_they_need(monkeypatch, tmp_path):
    import nltk

    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    monkeypatch.setitem(sys.modules, "bert_score", None)
    assert "meteor" not in text.overlap(REFERENCES, ["a", "b"])
    with pytest.raises(LisaxError, match="METEOR needs WordNet's data"):
        text.overlap(REFERENCES, ["a", "b"], ["meteor"])
    with pytest.raises(LisaxError, match="BERTScore is not installed: `pip install lisax"):
        text.overlap(REFERENCES, ["a", "b"], ["bertscore"])
    with pytest.raises(LisaxError, match="no measure 'bleurt'"):
        text.overlap(REFERENCES, ["a", "b"], ["bleurt"])


@given(st.text(st.sampled_from("ab c1,É"), max_size=20), st.text(st.sampled_from("ab c1,É"), max_size=20))
def test_our_rouge_is_rouge_scores(reference, said):
    from rouge_score.rouge_scorer import RougeScorer

    from lisax.text.folding import fold

    expected = RougeScorer(["rouge1"]).score(fold(reference), fold(said))["rouge1"].fmeasure
    assert Overlap(reference).rouge1(said) == pytest.approx(expected)


def test_cells_count_once():
    triples = Triples("x", "Oregon", (("state", "oregon"), ("year", "1922")))
    assert Overlap.with_cells(triples).rouge1("Oregon 1922") == 1


@pytest.mark.parametrize(
    "said, answers, expected",
    [
        ("built in 1922 .", ["1922"], True),
        ("built in 11922", ["1922"], False),
        ("Łódź, Poland", ["lodz poland"], True),
        ("anything", [], False),
        ("anything", ["?"], False),
        ("anything", ["none", "anything"], True),
    ],
)
def test_has_answer(said, answers, expected):
    assert text.has_answer(said, answers) is expected


def test_answer_coverage_is_of_answers_in_the_data():
    examples = [
        (("1922",), "year, 1922", "in 1922"),
        (("1922",), "year, 1922", "long ago"),
        (("7",), "year, 1922", "7"),
    ]
    assert text.answer_coverage(examples) == {"answer_coverage": 0.5, "examples": 2, "absent": 1}
    assert text.answer_coverage([])["answer_coverage"] is None


def test_faithfulness():
    triples = Triples("x", "Ada Lovelace", (("born", "1815-12-10"), ("papers", "7")))
    figures = text.faithfulness(
        [(triples, "Ada Lovelace, born on 10 December 1815, wrote 7."), (triples, "Ada wrote 7.")]
    )
    assert figures == {"faithful": 0.5, "numbers_and_dates_kept": 0.75, "names_kept": 0.75, "texts": 2}


# --- The verb -------------------------------------------------------------------------------


def evaluate(*args):
    return invoke(["score", "text", *map(str, args)])


@pytest.fixture
def files(tmp_path):
    def write(name, *rows):
        path = tmp_path / name
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    return write


def test_the_verb(files, capsys):
    gold = files(
        "gold.jsonl",
        {"id": "a", "title": "Ada", "pairs": [["papers", "7"]], "texts": ["Ada wrote 7 papers."], "answers": ["7"]},
        {"id": "b", "texts": ["Something else."]},
    )
    predictions = files("p.jsonl", {"id": "b", "text": "Something else."}, {"id": "a", "text": "Ada wrote 7 papers."})
    assert evaluate("--gold", gold, "--predictions", predictions, "--json") == 0
    figures = json.loads(capsys.readouterr().out)["text"]
    assert figures["bleu"] == pytest.approx(1) and figures["coverage"]["answer_coverage"] == 1
    assert figures["faithfulness"]["faithful"] == 1


def test_a_folder_is_gold(files, tmp_path, capsys):
    write_json(
        tmp_path / "data/dart-v1-dev.json",
        [{"tripleset": [["Ada", "WROTE", "7"]], "annotations": [{"source": "s", "text": "Ada wrote 7."}]}],
    )
    predictions = files("p.jsonl", {"id": "dart:dev:0", "text": "Ada wrote 7 ."})
    evaluate("--gold", tmp_path / "data", "--predictions", predictions)
    assert "text.faithfulness.faithful" in capsys.readouterr().out
    with pytest.raises(DataError, match="no texts for split 'test'; there are dev"):
        evaluate("--gold", tmp_path / "data", "--predictions", predictions, "--split", "test")


@pytest.mark.parametrize(
    "gold, predictions, said",
    [
        ({"id": "a", "texts": ["x"]}, {"id": "b", "text": "x"}, "p.jsonl: gold ids without a prediction: 1 of 1"),
        ({"id": "a"}, {"id": "a", "text": "x"}, "g.jsonl:1: expected `texts`, `pairs` or `answers`"),
        ({"id": "a", "texts": [1]}, {"id": "a", "text": "x"}, "g.jsonl:1: field 'texts'"),
        ({"id": "a", "texts": ["x"]}, {"id": "a", "text": 1}, "p.jsonl:1: field 'text'"),
        ({"id": "a", "pairs": [1]}, {"id": "a", "text": "x"}, r"g.jsonl:1: field 'pairs\[0\]'"),
    ],
)
def test_troubles_name_the_file(files, gold, predictions, said):
    with pytest.raises(DataError, match=said):
        evaluate("--gold", files("g.jsonl", gold), "--predictions", files("p.jsonl", predictions))
