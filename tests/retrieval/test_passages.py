"""Passages of about 100 words: what they hold, and the way back to their units."""

import dataclasses
import functools
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lisax.errors import DataError
from lisax.formats.triples import Triples
from lisax.records import Document, Graph, Sentence, Table
from lisax.retrieval import passages
from lisax.retrieval.passages import WORDS, Source

TABLE = Table(
    "Tarn:seasons", "Tarn United", ("year", "goals"), (("1971", "40"), ("", ""), ("1972", "")), "Seasons of Tarn United"
)
GRAPH = Graph("Tarn:graph", "Tarn", (("kind", "town"), ("river", ""), ("people", "5,000")))


def page(*texts: str) -> Document:
    return Document("p", "Page", tuple(Sentence("p", i, text) for i, text in enumerate(texts)))


def test_a_raw_table_is_the_papers_form_with_its_rows_as_units():
    (passage,) = passages.of_table(TABLE)
    assert passage.text == "year, goals | 1971, 40 | 1972, empty"
    assert passage.title == "Tarn United . Seasons of Tarn United"
    assert (passage.id, passage.source) == ("table:Tarn:seasons:0", Source.TABLE)
    assert passage.provenance == ("Tarn:seasons#r0", "Tarn:seasons#r2")
    assert passage.unit_at(passage.text.index("1971")) == "Tarn:seasons#r0"
    assert passage.unit_at(passage.text.index("1972")) == "Tarn:seasons#r2"
    assert passage.unit_at(0) == "Tarn:seasons#r0"
    found = [passage.unit_text(unit) for unit in passage.provenance]
    assert found == ["year, goals | 1971, 40", "year, goals | 1972, empty"]


def test_a_raw_graph_has_its_edges_as_units():
    (passage,) = passages.of_graph(GRAPH)
    assert passage.text == "kind, town | people, 5,000" and passage.title == "Tarn"
    assert passage.provenance == ("Tarn:graph#e0", "Tarn:graph#e2")
    assert passage.unit_at(passage.text.index("5,000")) == "Tarn:graph#e2"


def test_every_passage_of_a_long_table_begins_with_its_header():
    rows = tuple((f"name {i}", "word " * 20) for i in range(30))
    made = list(passages.of_table(Table("t", "T", ("name", "text"), rows)))
    assert len(made) > 5 and all(passage.text.startswith("name, text | name ") for passage in made)
    assert [unit for passage in made for unit in passage.provenance] == [f"t#r{i}" for i in range(30)]


def test_a_wide_table_has_no_passage_of_its_header_alone():
    header = tuple(f"long column name {i}" for i in range(40))
    rows = tuple(tuple(f"v{r}x{c}" for c in range(40)) for r in range(3))
    made = list(passages.of_table(Table("t", "T", header, rows)))
    assert len({passage.text for passage in made}) == len(made)
    assert all(f"v{passage.provenance[0][-1]}x" in passage.text for passage in made)
    words = " ".join(passage.text for passage in made)
    assert all(f"long column name {c}, v{r}x{c}" in words for r in range(3) for c in range(40))


def test_verbalized_rows_and_graphs_stand_in_the_place_of_raw_ones():
    texts = {
        "Tarn:seasons#r0": [(0, "In 1971 it scored 40.")],
        "Tarn:seasons#r2": [(0, "Then came"), (1, "1972.")],
        "Tarn:graph": [(0, "Tarn is a town of 5,000 people.")],
    }
    (table,) = passages.of_verbalized_table(TABLE, lambda unit: texts[unit.id])
    assert table.text == "In 1971 it scored 40. Then came 1972." and table.unit_at(22) == "Tarn:seasons#r2"
    (graph,) = passages.of_verbalized_graph(GRAPH, lambda unit: texts[unit.id])
    assert (graph.text, graph.provenance) == ("Tarn is a town of 5,000 people.", ("Tarn:graph#e0", "Tarn:graph#e2"))
    assert graph.unit_text("Tarn:graph#e2") == graph.text and graph.leading == ("Tarn:graph#e0",)
    assert graph.units_at(20) == graph.provenance


def test_the_parts_of_a_verbalized_graph_lead_back_to_their_edges():
    graph = Graph(
        "g", "Tarn", (("kind", "town"), ("people", "5,000"), ("river", ""), ("mayor", "Mara"), ("inn", "Star"))
    )
    parts = [(0, "Tarn is a town of 5,000."), (2, "Mara is the mayor of Tarn."), (3, "Tarn has the Star.")]
    (passage,) = passages.of_verbalized_graph(graph, lambda unit: parts)
    assert passage.provenance == ("g#e0", "g#e1", "g#e3", "g#e4") and passage.leading == ("g#e0", "g#e3", "g#e4")
    assert [passage.unit_text(unit) for unit in passage.provenance] == [parts[0][1], *(text for _, text in parts)]
    assert passage.units_at(passage.text.index("5,000")) == ("g#e0", "g#e1")
    assert passage.unit_at(passage.text.index("Star")) == "g#e4"
    with pytest.raises(DataError, match="'g' has more than its 4 edges"):
        passages.of_verbalized_graph(graph, lambda unit: [*parts, (4, "And more.")])


def test_verbalized_texts_are_read_once_in_the_corpus_order():
    rows = [(n, {"id": name, "text": name.upper()}) for n, name in enumerate("abcd", start=1)]
    parts_of = passages.texts_in_order(rows, "made.jsonl")
    unit = functools.partial(Triples, title="", pairs=())
    assert [parts_of(unit(name)) for name in "bd"] == [[[0, "B"]], [[0, "D"]]]
    with pytest.raises(DataError, match="made.jsonl: there is no text for 'c'"):
        parts_of(unit("c"))
    with pytest.raises(DataError, match="made.jsonl:7: field 'text'"):
        passages.texts_in_order([(7, {"id": "x", "text": 3})], "made.jsonl")(unit("x"))
    for parts in ([[1, "a"]], [[0, "a"], [0, "b"]], [[0, "a"], [2, "b"], [1, "c"]], [[0]], [[0, 1]], ["a"]):
        with pytest.raises(DataError, match="made.jsonl:7: field 'parts'"):
            passages.texts_in_order([(7, {"id": "x", "text": "a b", "parts": parts})], "made.jsonl")(unit("x"))


def test_a_text_of_what_a_unit_was_is_refused():
    unit = Triples("x", "Tarn", (("people", "5,000"), ("founded", "3 May 1200")))
    text = "Tarn, of 5,000, was founded on 1200-05-03."
    for row in ({"text": text}, {"text": "Nothing of it.", "digest": unit.digest}):
        assert passages.texts_in_order([(1, {"id": "x", **row})], "made.jsonl")(unit) == [[0, row["text"]]]
    changed = dataclasses.replace(unit, pairs=(*unit.pairs[:1], ("founded", "3 May 1201")))
    for row in ({"text": text}, {"text": text, "digest": unit.digest}):
        with pytest.raises(DataError, match="made.jsonl:7: 'x' is not the source of this text"):
            passages.texts_in_order([(7, {"id": "x", **row})], "made.jsonl")(changed)


@given(st.lists(st.integers(0, 250), max_size=12))
def test_passages_hold_every_word_of_a_page_once_and_lead_back_to_it(lengths):
    texts = [" ".join(f"w{i}x{j}" for j in range(length)) for i, length in enumerate(lengths)]
    made = list(passages.of_document(page(*texts)))
    assert " ".join(passage.text for passage in made) == " ".join(filter(None, texts))
    assert all(0 < len(passage.text.split()) <= WORDS for passage in made)
    assert [passage.id for passage in made] == [f"text:p:{n}" for n in range(len(made))]
    for passage in made:
        place = 0
        for word in passage.text.split(" "):
            assert passage.unit_at(place) == f"p_{word[1 : word.index('x')]}"
            place += len(word) + 1


@given(st.lists(st.integers(1, 60), max_size=30))
def test_no_two_neighbours_would_have_fitted_into_one_passage(lengths):
    made = list(passages.of_document(page(*("word " * length for length in lengths))))
    for first, second in itertools.pairwise(made):
        size = len(second.text.split()) if len(second.provenance) == 1 else lengths[int(second.provenance[0][2:])]
        assert len(first.text.split()) + size > WORDS
