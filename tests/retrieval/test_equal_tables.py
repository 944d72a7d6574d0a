"""The order of tables whose cells match a claim equally well."""

from lisax.records import Claim, Table
from lisax.retrieval.cells import Strategy
from lisax.retrieval.tables import Said, build_index, by_words, retrieve, said_by

CUP, LEAGUE, COPY = (
    Table(name, title, ("team", "points"), (("Tarn", "7"), ("Ostra", "5")))
    for name, title in (("cup", "Harbour cup"), ("league", "Harbour league"), ("copy", "Harbour cup"))
)


def read(tables):
    return {table.id: table for table in tables}.get


def test_what_is_compared_of_a_table():
    assert said_by(CUP) == ({"harbour", "cup", "team", "points", "tarn", "7", "ostra", "5"}, 4)
    assert said_by(None) == (frozenset(), 0)


def test_equals_are_ordered_by_shared_words_then_by_size_and_then_as_they_were():
    said = {
        "a": Said({"cup"}, 1),
        "b": Said({"league", "points"}, 9),
        "c": Said({"league"}, 1),
        "d": Said({"league", "points"}, 8),
        "e": Said({"league"}, 1),
    }.get
    hits = [("a", 2.0), ("b", 1.0), ("c", 1.0), ("d", 1.0), ("e", 1.0)]
    ordered = by_words("points of the league", hits, 5, said)
    assert ordered == [("a", 2.0), ("d", 1.0), ("b", 1.0), ("c", 1.0), ("e", 1.0)]
    assert by_words("points of the league", hits, 2, said) == ordered[:2]


def test_only_tables_among_equals_are_read():
    def said(table):
        raise AssertionError(table)

    assert by_words("x", [("a", 2.0), ("b", 1.0)], 1, said) == [("a", 2.0)]


def test_the_claim_decides_among_tables_of_the_same_cells(tmp_path):
    tables = [CUP, LEAGUE, COPY]
    index = build_index(tables, tmp_path, Strategy.ENTITY_WORD)
    claims = [Claim("c", "In the league Tarn had 7"), Claim("d", "In the cup Tarn had 7")]
    hits = list(retrieve(index, claims, 1, lookup=read(tables)))
    assert [(hit.query_id, hit.id) for hit in hits] == [("c", "league"), ("d", "cup")]
