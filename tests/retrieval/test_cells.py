"""Search over cells against the plain definition, whatever the tables, cuts and threads; damage, growth, columns."""

import json
import math
import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisax.errors import LisaxError
from lisax.records import Table
from lisax.retrieval import cell_blocks, cell_builder, cells, folder
from lisax.retrieval.cells import CellIndex, Strategy, build, cells_of
from lisax.retrieval.tables import build_index

WORDS = (*"a Ab abc 3 12 3.5 new été 日本 مرحبا 😀 x-y".split(), "new york", "York City", "", " ")
texts = st.one_of(
    st.sampled_from(WORDS), st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join), st.text(max_size=6)
)
rows = st.lists(st.tuples(texts, texts), max_size=4)
collections = st.lists(st.tuples(texts, st.tuples(texts, texts), rows), min_size=1, max_size=7)
queries = st.lists(st.lists(texts, max_size=4), max_size=4)
strategies = st.sampled_from(Strategy)


def table(number: int, caption: str, header: tuple[str, ...], body: list[tuple[str, ...]]) -> Table:
    return Table(f"t{number}", "", header, tuple(body), caption)


def features(text: str, strategy: Strategy) -> Counter:
    """scikit-learn's analyzers, said once more."""
    text = text.lower()
    if strategy is Strategy.ENTITY_EXACT:
        return Counter([" ".join(text.split())])
    if strategy in (Strategy.ENTITY_WORD, Strategy.QUERY_WORD):
        return Counter(re.findall(r"\b\w\w+\b", text))
    low = 1 if strategy is Strategy.ENTITY_CHAR_123 else 2
    words = [f" {word} " for word in text.split()]
    return Counter(word[i : i + n] for word in words for n in range(low, 4) for i in range(len(word) - n + 1))


class Plain:
    """The definition, cell by cell in float64."""

    def __init__(self, tables: list[Table], strategy: Strategy):
        self.strategy = strategy
        self.tables = [[cell for cell in cells_of(one) if cell.strip()] for one in tables]
        every = [cell for one in self.tables for cell in one]
        found = Counter(feature for cell in every for feature in set(features(cell, strategy)))
        self.idf = {feature: math.log((1 + len(every)) / (1 + count)) + 1 for feature, count in found.items()}

    def vector(self, text: str) -> dict[str, float]:
        values = {f: n * self.idf[f] for f, n in features(text, self.strategy).items() if f in self.idf}
        norm = math.sqrt(sum(value**2 for value in values.values()))
        return {f: value / norm for f, value in values.items()}

    def scores(self, query: list[str]) -> np.ndarray:
        entities = [self.vector(entity) for entity in query]
        found = np.zeros(len(self.tables))
        for number, one in enumerate(self.tables):
            vectors = [self.vector(cell) for cell in one]
            for entity in entities:
                found[number] += max(
                    (sum(value * vector.get(f, 0.0) for f, value in entity.items()) for vector in vectors), default=0.0
                )
        return found


def check_against(plain: Plain, ids: list[str], asked: list[list[str]], found: list[list[tuple[str, float]]], k: int):
    for query, hits in zip(asked, found, strict=True):
        expected = plain.scores(query)
        numbers = [ids.index(name) for name, _ in hits]
        assert len(set(numbers)) == len(numbers)
        np.testing.assert_allclose([score for _, score in hits], expected[numbers], rtol=1e-5, atol=1e-5)
        # The same top k, but for tables that float32 cannot tell apart.
        best = np.sort(expected)[::-1][:k]
        best = best[best > 1e-6]
        assert len(hits) == len(best)
        np.testing.assert_allclose([score for _, score in hits], best, rtol=1e-5, atol=1e-5)
        for (_, score), (_, following), one, other in zip(hits, hits[1:], numbers, numbers[1:]):
            assert score > following or (score == following and one < other)


@settings(max_examples=60)
@given(collections, queries, strategies, st.integers(1, 3), st.integers(1, 4), st.integers(1, 2))
def test_search_is_the_plain_definition(
    tmp_path_factory, collection, asked, strategy, block_columns, block_tables, threads
):
    tables = [table(number, *parts) for number, parts in enumerate(collection)]
    if not any(cell.strip() for one in tables for cell in cells_of(one)):
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cell_blocks, "COLUMNS", block_columns)
        patch.setattr(cell_blocks, "TABLES", block_tables)
        patch.setattr(cell_builder, "PART_BLOCKS", 2)
        patch.setattr(cells, "ENTITIES", 3)
        place = tmp_path_factory.mktemp("cells")
        index = build(tables, place / "index", strategy)
        found = index.search(asked, 3, threads=threads)
        check_against(Plain(tables, strategy), [one.id for one in tables], asked, found, 3)
    # Neither blocks nor threads nor growth change a digit.
    assert build(tables, place / "whole", strategy).search(asked, 3) == found
    build_index(tables[:1], place / "grown", strategy)
    grown = build_index(tables[1:], place / "grown", add=True)
    assert len(grown) == len(tables) and grown.search(asked, 3) == found


@pytest.mark.parametrize(
    "strategy, settings",
    [
        (Strategy.ENTITY_CHAR_23, {"analyzer": "char_wb", "ngram_range": (2, 3)}),
        (Strategy.ENTITY_CHAR_123, {"analyzer": "char_wb", "ngram_range": (1, 3)}),
        (Strategy.ENTITY_WORD, {"analyzer": "word"}),
    ],
)
def test_scores_are_those_of_scikit_learn(tmp_path, strategy, settings):
    text = pytest.importorskip("sklearn.feature_extraction.text")
    tables = [
        table(0, "Towns of Norway", ("town", "people  in 2001"), [("Bergen", "3,500"), ("Oslo Oslo", "12")]),
        table(1, "Rivers", ("river", "length"), [("the Rhine", "765 km"), ("Río Ebro", "930 km")]),
    ]
    entities = ["oslo", "the length of the Rhine", "rio", "Norwegian towns", "zzz qqq"]
    vectorizer = text.TfidfVectorizer(**settings).fit([cell for one in tables for cell in cells_of(one)])
    index = build(tables, tmp_path / "index", strategy)
    similarities = [
        (vectorizer.transform(entities) @ vectorizer.transform(cells_of(one)).T).toarray().max(axis=1) for one in tables
    ]
    expected = np.stack(similarities, axis=1)
    for entity, row in zip(entities, expected):
        found = dict(index.search([[entity]], 2)[0])
        np.testing.assert_allclose([found.get("t0", 0.0), found.get("t1", 0.0)], row, atol=1e-6)


def test_ties_stand_in_the_order_of_the_tables_and_repeated_entities_count_again(tmp_path):
    same = [table(number, "x", ("year",), [("oslo",)]) for number in range(30)]
    index = build([*same, table(30, "y", ("oslo",), [("bergen",)])], tmp_path / "index", Strategy.ENTITY_CHAR_23)
    hits = index.search([["oslo", "oslo"], ["oslo", "bergen"], []], 4)
    assert [name for name, _ in hits[0]] == ["t0", "t1", "t2", "t3"]
    assert hits[0][0][1] == pytest.approx(2)
    assert [name for name, _ in hits[1]] == ["t30", "t0", "t1", "t2"] and hits[2] == []


def test_giant_wide_and_empty_tables_are_ordinary(tmp_path):
    wide = Table(
        "wide",
        "wide",
        tuple(f"h{i}" for i in range(300)),
        tuple(tuple(f"{row * 300 + column:x}" for column in range(300)) for row in range(250)),
    )
    tables = [Table("none", "", (), ()), wide, table(2, "later", ("x",), [("1234x",)])]
    index = build(tables, tmp_path / "index", Strategy.ENTITY_EXACT)
    assert len(index) == 3 and index.settings["cells"] == 1 + 300 + 75000 + 3
    last = wide.rows[-1][-1]
    assert index.search([[last, "h299"], ["1234X"]], 5) == [[("wide", 2.0)], [("t2", 1.0)]]
    assert index.columns(wide, [last, wide.rows[0][7], "h40"]) == (7, 40, 299)


@pytest.mark.parametrize("strategy", Strategy)
def test_a_collection_of_blank_cells_finds_nothing(tmp_path, strategy):
    index = build([Table("t", "", ("", " "), (("", ""),))], tmp_path / "index", strategy)
    assert index.search([["oslo"], [""], []], 3) == [[], [], []]


def test_columns_are_the_best_scoring_in_the_order_of_the_table(tmp_path):
    one = table(
        0,
        "Games",
        ("day", "home team", "score", "crowd", "ground"),
        [("1 May", "Essendon", "11.2", "8000", "Windy Hill"), ("2 May", "Fitzroy", "8.9", "12000", "Brunswick")],
    )
    index = build([one], tmp_path / "index", Strategy.ENTITY_CHAR_23)
    assert index.columns(one, ["windy hill", "fitzroy", "crowds"]) == (1, 3, 4)
    assert index.columns(one, ["2 may"], 1) == (0,)
    assert index.columns(one, []) == index.columns(one, ["qqq"]) == (0, 1, 2)
    assert index.columns(one, ["x"], 9) == (0, 1, 2, 3, 4)


def test_a_table_of_one_row_keeps_all_columns(tmp_path):
    box = table(0, "Fitzroy", ("founded", "ground", "colours", "members"), [("1883", "Brunswick", "red", "900")])
    index = build([box], tmp_path / "index", Strategy.ENTITY_CHAR_23)
    assert index.columns(box, ["fitzroy", "members"], 2) == index.columns(box, [], 1) == (0, 1, 2, 3)


def test_what_goes_wrong_is_said_and_changes_nothing(tmp_path):
    one = table(0, "Games", ("day",), [("1 May",)])
    index = build_index([one], tmp_path / "index", Strategy.ENTITY_WORD)
    before = index.search([["games"]], 1)
    with pytest.raises(LisaxError, match="'t0' occurs twice"):
        build_index([one], index.folder, add=True)
    with pytest.raises(LisaxError, match="no tables"):
        build([], tmp_path / "other", Strategy.ENTITY_WORD)
    assert not (tmp_path / "other").exists()
    with pytest.raises(LisaxError, match="list of lists"):
        index.search(["games"], 1)
    with pytest.raises(LisaxError, match="k >= 1"):
        index.search([["games"]], 0)

    def broken():
        yield table(1, "More", ("day",), [])
        raise RuntimeError("the disk is full")

    with pytest.raises(RuntimeError):
        build_index(broken(), index.folder, add=True)
    assert CellIndex.open(tmp_path / "index").search([["games"]], 1) == before
    meta = json.loads((tmp_path / "index/meta.json").read_text())
    for field, value in (("parts", None), ("settings", {"strategy": "entity-word"})):
        components = {"cells": meta["components"]["cells"] | {field: value}}
        damaged = meta | {"components": components, "crc32": folder._sum(components)}
        (tmp_path / "index/meta.json").write_text(json.dumps(damaged))
        with pytest.raises(LisaxError, match="the index of cells is damaged"):
            CellIndex.open(tmp_path / "index")
