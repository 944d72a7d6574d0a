"""Prepares the page of a unit's source: the whole page, table or graph, with the unit marked."""

from __future__ import annotations

import dataclasses

from lisax.errors import DataError
from lisax.records import Table, split_sentence_id
from lisax.report import heatmap as heatmaps
from lisax.retrieval.passages import Source
from lisax.serve.answering import Engine
from lisax.serve.library import ServedCorpus
from lisax.serve.opened import PASSAGES, TABLES, TEXT


@dataclasses.dataclass(frozen=True, slots=True)
class SourceShown:
    """The context of a unit: a page's or graph's `texts` with their unit ids, or a `table`; `marked` are the ids or the
    row numbers of the requested unit."""

    title: str
    where: str
    texts: list[tuple[str, str]]
    table: Table | None = None
    marked: frozenset[str | int] = frozenset()


def source(unit: str, kind: str, corpus: ServedCorpus, engine: Engine) -> SourceShown | None:
    """The page, table or graph of a unit, whole; None if the corpus does not have it."""
    if kind == TABLES and (corpus.has_cells or corpus.has_table_texts):
        table = engine.tables(corpus).get(unit)
        return table and SourceShown(heatmaps.name_of(table), f"table {unit}", [], table)
    if kind == TEXT and corpus.has_pages:
        try:
            page = engine.sentences(corpus).page(split_sentence_id(unit)[0])
        except DataError:
            return None
        texts = [] if page is None else [(one.id, one.text) for one in page.sentences if one.text]
        return page and SourceShown(page.title, f"page {page.id}", texts, marked=frozenset([unit]))
    if kind == PASSAGES and corpus.has_passages:
        return _source_of_passage(unit, corpus, engine)
    return None


def _source_of_passage(unit: str, corpus: ServedCorpus, engine: Engine) -> SourceShown | None:
    evidence = engine.evidence(corpus)
    if (first := evidence.passage_of(unit)) is None:
        return None
    owner = first.id.partition(":")[2].rpartition(":")[0]
    if first.source is Source.TABLE and (corpus.has_cells or corpus.has_table_texts):
        if (table := engine.tables(corpus).get(owner)) is not None:
            row = int(unit.rpartition("#r")[2])
            return SourceShown(heatmaps.name_of(table), f"table {owner}", [], table, frozenset([row]))
    units: dict[str, str] = {}
    for passage in evidence.index.of_owner(first.source, owner):
        units |= {one: evidence.lookup(one).text for one in passage.leading if one not in units}
    return SourceShown(first.title, f"{first.source} {owner}", list(units.items()), marked=frozenset([unit]))
