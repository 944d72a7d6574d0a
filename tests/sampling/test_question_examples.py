"""Gold passages from answer rows, hard negatives, a reader's passages."""

import dataclasses
from collections import Counter
from types import SimpleNamespace

import pytest

from lisax.records import Document, Graph, Question, Sentence, Table
from lisax.retrieval import mixed, passages
from lisax.retrieval.passages import Source
from lisax.sampling import question_examples as sampling

PAGES = [
    Document(
        "Tarn", "Tarn", (Sentence("Tarn", 0, "Tarn has 18 inns."), Sentence("Tarn", 1, "Its club won 18 points."))
    ),
    Document("Orm", "Orm", (Sentence("Orm", 0, "Orm has inns and a club."),)),
]
TABLE = Table("Tarn:seasons", "Tarn", ("year", "points"), (("1971", "18"), ("1972", "20"), ("18", "1")))
GRAPH = Graph("Tarn:graph", "Tarn", (("inns", "18"), ("mayor", "Orm")))
CELL = Question("q1", "How many points did the club of Tarn win in 1971?", ("18",), ("Tarn:seasons#r0c1", "Tarn_1"))
FREE = Question("q2", "How many inns has Tarn?", ("18",))
LOST = Question("q3", "Who?", ("nobody",), ("Nowhere_0",))


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    sources = {
        Source.TEXT: (made for page in PAGES for made in passages.of_document(page)),
        Source.TABLE: passages.of_table(TABLE),
        Source.GRAPH: passages.of_graph(GRAPH),
    }
    return mixed.build_index(sources, tmp_path_factory.mktemp("examples") / "index")


def test_gold_are_passages_whose_named_unit_holds_the_answer(index):
    graph = Question("q4", "Inns?", ("18",), ("Tarn:graph",))
    found = sampling.gold_passages(index, [CELL, FREE, LOST, graph])
    assert found == {"q1": ["text:Tarn:0", "table:Tarn:seasons:0"], "q4": ["graph:Tarn:graph:0"]}
    view = sampling.AnswerEvidence(CELL).view(index.passage("table:Tarn:seasons:0"))
    # The 18 of the last row is no season's points.
    assert [view.text[begin:end] for begin, end in view.spans] == ["18"] and view.spans[0][0] < view.text.index("1972")
    view = sampling.AnswerEvidence(CELL).view(index.passage("text:Tarn:0"))
    assert view.text[: view.spans[0][0]].endswith("Its club won ")


def test_a_question_that_names_a_table_finds_its_answer_in_any_row(index):
    question = Question("q5", "How many points were won in 1972?", ("20",), ("Tarn:seasons",))
    gold = sampling.gold_passages(index, [question])
    assert gold == {"q5": ["table:Tarn:seasons:0"]}
    (example,) = sampling.for_reader(index, [question], gold, passages=1, gold=gold)
    (view,) = example.passages
    assert [view.text[begin:end] for begin, end in view.spans] == ["20"]
    evidence = sampling.AnswerEvidence(question)
    assert evidence.names("Tarn:seasons#r1") and not evidence.names("Tarn:other#r1") and not evidence.names("Tarn_1")


def test_a_retriever_learns_gold_passages_against_ranked_ones_without_an_answer(index):
    ranked = {i: ["text:Orm:0", "text:Tarn:0", "table:Tarn:seasons:0"] for i in ("q1", "q2", "q3")}
    skipped = Counter()
    gold = sampling.gold_passages(index, [CELL, FREE, LOST])
    found = list(sampling.for_retriever(index, [CELL, FREE, LOST], ranked, gold, negatives=2, skipped=skipped))
    expected = [["text:Tarn:0", "text:Orm:0"], ["table:Tarn:seasons:0", "text:Orm:0"], ["text:Tarn:0", "text:Orm:0"]]
    assert [[view.id for view in example.passages] for example in found] == expected
    assert skipped == {"questions without a gold passage in the index": 1}


def test_gold_passages_of_a_question_have_hard_negatives_in_turn(index):
    other = index.passage("text:Orm:0")
    hard = {f"h{i}": dataclasses.replace(other, id=f"h{i}") for i in range(3)}
    known = SimpleNamespace(passage=lambda i: hard.get(i) or index.passage(i))
    gold = {"q1": ["text:Tarn:0", "table:Tarn:seasons:0"]}
    found = sampling.for_retriever(known, [CELL], {"q1": ["h0", "h1", "h2"]}, gold, negatives=2)
    assert [[view.id for view in example.passages[1:]] for example in found] == [["h0", "h1"], ["h2", "h0"]]


def test_a_reader_learns_from_what_is_retrieved_and_is_given_a_gold_passage_where_none_is(index):
    ranked = {"q1": ["text:Orm:0", "graph:Tarn:graph:0"], "q2": ["text:Orm:0"], "q3": ["text:Orm:0"]}
    gold, skipped = sampling.gold_passages(index, [CELL]), Counter()
    found = list(sampling.for_reader(index, [CELL, FREE, LOST], ranked, passages=2, gold=gold, skipped=skipped))
    assert [[view.id for view in example.passages] for example in found] == [["text:Orm:0", "text:Tarn:0"]]
    assert skipped.total() == 2
    used = list(sampling.for_reader(index, [CELL, LOST], ranked, passages=2))
    assert [len(example.passages) for example in used] == [2, 1]
