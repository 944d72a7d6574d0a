"""Passages of a cluster's index, with the interface of `mixed.MixedIndex`, and whole tables, in the place of an index folder
of tables."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from lisax.records import Table
from lisax.retrieval import bm25, cells, passages, table_store
from lisax.retrieval.cluster_records import ClusterRecords
from lisax.retrieval.cluster_vectors import ClusterContent
from lisax.retrieval.elastic import DEEPEST, ElasticIndex
from lisax.retrieval.mixed import Hits, indexed_text, owners
from lisax.retrieval.passages import Passage, Source, source_of

SOURCE, OWNER, UNITS = "source", "owner", "units"  # fields
PROPERTIES = {name: {"type": "keyword"} for name in (SOURCE, OWNER, UNITS)}
UNITS_KEPT = 1 << 16


def fields_of(passage: Passage) -> dict[str, Any]:
    own = ClusterRecords.fields(passage, passages.kind_of(passage.source), indexed_text(passage))
    return own | {SOURCE: passage.source, OWNER: _owner(passage.id), UNITS: passage.provenance}


def _owner(passage_id: str) -> str:
    """The source and the page, table or graph of a passage."""
    return passage_id.rpartition(":")[0]


class ClusterTables(ClusterContent):
    """`searches_cells`: claims are searched in their cells, which the machine that searches indexes in its cache."""

    def __init__(self, index: ElasticIndex, searches_cells: bool = False):
        super().__init__(index)
        self.searches_cells = searches_cells

    @property
    def tables(self) -> ClusterTables:
        return self

    @functools.cached_property
    def store(self) -> ClusterRecords[Table]:
        return ClusterRecords(self.bm25, table_store.TABLES)

    @property
    def components(self) -> frozenset[str]:
        """The names that an index folder has for its parts."""
        own = {table_store.NAME, table_store.TEXTS}
        own |= {cells.NAME} if self.searches_cells else set()
        return frozenset(own if self.vectors is None else own | {"dense-tables"})


class ClusterPassages(ClusterContent):
    """An index of a cluster in the place of a `MixedIndex`. `tables`: the whole tables of the same corpus, if they are
    in the cluster too."""

    def __init__(self, index: ElasticIndex, tables: ClusterTables | None = None):
        super().__init__(index)
        self.tables = tables
        self._all = ClusterRecords(index, passages.kind_of(Source.TEXT))  # of all sources alike
        self._of_units: dict[str, list[Passage]] = {}

    @functools.cached_property
    def stores(self) -> dict[Source, ClusterRecords[Passage]]:
        """The passages of each source that the index has."""
        every = {
            source: ClusterRecords(self.bm25, passages.kind_of(source), {"term": {SOURCE: str(source)}})
            for source in Source
        }
        return {source: store for source, store in every.items() if len(store)}

    @functools.cached_property
    def sources(self) -> dict[Source, dict]:
        """Maps each source to {"form": "text" or "raw", "passages": number of passages}."""
        return {
            source: {"form": "text" if source is Source.TEXT else "raw", "passages": len(store)}
            for source, store in self.stores.items()
        }

    @property
    def components(self) -> frozenset[str]:
        own = {bm25.NAME, *map(passages.component, self.stores)}
        return frozenset(own if self.tables is None else own | self.tables.components)

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[Passage]:
        return iter(self._all)

    def search(self, queries: Sequence[str], k: int) -> list[Hits]:
        """Up to `k` (passage id, BM25 score) per query; `passages.source_of(id)` is the source of a hit."""
        return self.bm25.search(queries, k)

    def passage(self, passage_id: str) -> Passage | None:
        """The passage with this id; None if the index has none."""
        try:
            source_of(passage_id)
        except ValueError:  # not a passage id
            return None
        return self._all.get(passage_id)

    def prepare(self, ids: Iterable[str] = (), units: Iterable[str] = ()) -> None:
        """Reads passages, and the passages of units, that are wanted next."""
        self._all.prepare(ids)
        if len(self._of_units) > UNITS_KEPT:
            self._of_units = {}
        wanted = [unit for unit in dict.fromkeys(units) if unit not in self._of_units]
        for start in range(0, len(wanted), 1000):
            self._ask(wanted[start : start + 1000])

    def of_unit(self, unit: str) -> list[Passage]:
        """The passages that contain a unit and come from its source, in order. A unit that was split has several."""
        known = self._of_units.get(unit)
        return self._ask([unit])[unit] if known is None else known

    def _ask(self, units: Sequence[str]) -> dict[str, list[Passage]]:
        (some,) = self._all.found([{"terms": {UNITS: list(units)}}], DEEPEST)
        by_unit: dict[tuple[str, str], list[Passage]] = {}
        for passage in some:
            for unit in dict.fromkeys(passage.provenance):
                by_unit.setdefault((_owner(passage.id), unit), []).append(passage)
        found = {}
        for unit in units:
            own = (by_unit.get((f"{source}:{owner}", unit)) for source, owner in owners(unit))
            found[unit] = next(filter(None, own), [])
        self._of_units |= found
        return found

    def of_owner(self, source: Source, owner: str) -> Iterator[Passage]:
        """The passages of a page, table or graph, in order."""
        return iter(self._all.found([{"term": {OWNER: f"{source}:{owner}"}}], DEEPEST)[0])
