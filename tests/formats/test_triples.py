"""Units of structure as pairs, and their raw form."""

import pytest

from lisax.errors import DataError
from lisax.formats.triples import Triples, graph_triples, raw_table, raw_text, row_triples, table_triples
from lisax.records import Graph, Table

TABLE = Table("t", "LeBron James", ("League", "Team ", "Year"), (("NBA", "  Los  Angeles Lakers", ""), ("", " ", "")))
ROW = Triples("t#r0", "LeBron James", (("League", "NBA"), ("Team", "Los Angeles Lakers")))


def test_a_row_leaves_its_empty_cells_out():
    assert row_triples(TABLE, 0) == ROW
    assert list(table_triples(TABLE)) == [ROW]


def test_a_table_without_a_title_has_its_caption():
    assert row_triples(Table("t", "", ("a",), (("1",),), caption="Medals"), 0).title == "Medals"


def test_a_graph_has_its_subject_as_title():
    graph = Graph("Q1", "Ada", (("born in", "London"), ("field", "mathematics")))
    assert graph_triples(graph) == Triples("Q1", "Ada", graph.edges)


def test_raw_forms():
    assert raw_text(ROW) == "League, NBA | Team, Los Angeles Lakers"
    assert raw_text(Triples("x", "", (("", "alone"),))) == "alone"
    assert raw_table(TABLE.header, TABLE.rows[:1]) == "League, Team, Year | NBA, Los Angeles Lakers, empty"


def test_records():
    assert Triples.from_row(ROW.to_row()) == ROW
    with pytest.raises(DataError, match=r"f:3: field 'pairs\[0\]'"):
        Triples.from_row({"id": "a", "title": "b", "pairs": [["c"]]}, path="f", line=3)
