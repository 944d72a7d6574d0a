"""An index of whole tables as evidence, each reduced to the columns that matter to a claim."""

from __future__ import annotations

import copy
import functools
import os
from collections.abc import Callable, Iterable, Sequence, Set
from pathlib import Path

from lisax.errors import LisaxError
from lisax.predict.dense_search import DenseSearch, Search
from lisax.predict.index import DOCUMENTS, Index
from lisax.predict.verdicts import Evidence, table_evidence
from lisax.records import Claim, Hit, Table
from lisax.retrieval import tables as retrieval
from lisax.retrieval.bm25 import Bm25Index
from lisax.retrieval.cells import CellIndex
from lisax.retrieval.cluster_passages import ClusterTables
from lisax.retrieval.elastic import ElasticIndex
from lisax.retrieval.linking import spans
from lisax.retrieval.runs import by_query
from lisax.retrieval.table_store import TableStore
from lisax.retrieval.table_text import open_index

COLUMNS, TABLES_KEPT = 3, 4096


class TableIndex(Index):
    """Tables of an index of cells, found by their cells, or of an index of whole tables, found by BM25 over their text
    and by vectors if it has them; in a folder or a cluster.

    `columns`: how many columns of a table are kept, the most relevant to the claim (all without an index of cells)."""

    reads = "tables"

    def __init__(self, index: str | os.PathLike | ClusterTables, columns: int = COLUMNS):
        self.columns, self.remote = columns, index if isinstance(index, ClusterTables) else None
        self.folder = Path(index) if self.remote is None else None
        self.store = TableStore.open(self.folder) if self.remote is None else self.remote.store
        self.table = functools.lru_cache(TABLES_KEPT)(self.store.get)
        self.has_cells = "cells" in self.components

    @property
    def components(self) -> Set[str]:
        return super().components if self.remote is None else self.remote.components

    def keeping(self, columns: int) -> TableIndex:
        """The same index with another number of columns kept per table."""
        made = copy.copy(self)
        made.columns = columns
        return made

    @functools.cached_property
    def cells(self) -> CellIndex:
        """The index of cells; of a cluster's tables the one in the cache, which is built first if it is not there."""
        if self.remote is None:
            return CellIndex.open(self.folder)
        from lisax.predict.building import cells_of

        return CellIndex.open(cells_of(self.remote))

    @functools.cached_property
    def _beside_cells(self) -> Callable[[str], Table | None]:
        """Reads a table by its id, from the folder with the cells: a cluster would get a request for each."""
        return self.table if self.remote is None else TableStore.open(self.cells.folder).get

    @functools.cached_property
    def search_texts(self) -> Search:
        """The search of the tables' texts: BM25, with vectors where the index has them."""
        return (self.by_vectors(self.weight) or self.words).search

    @property
    def words(self) -> Bm25Index | ElasticIndex:
        """BM25 over the tables' texts."""
        return open_index(self.folder) if self.remote is None else self.remote.bm25

    def by_vectors(self, weight: float | None) -> DenseSearch | None:
        """The search by BM25 and vectors; None if the index has no vectors."""
        if self.remote is None:
            return DenseSearch.open(self.folder, weight, "tables")
        return DenseSearch.over(self.remote, weight)

    def prepare(self, units: Iterable[str]) -> None:
        self.store.prepare(units)

    def search_many(
        self, queries: Sequence[str], k: int, *, documents: int = DOCUMENTS, hops: int = 1
    ) -> list[list[Evidence]]:
        """Up to `k` tables for each query, with their retrieval scores; `documents` is ignored."""
        if hops != 1:
            raise LisaxError("a second hop follows titles of pages: use an index of `lisax index documents`, or hops=1")
        claims = [Claim(str(number), query) for number, query in enumerate(queries)]
        if self.has_cells:
            run = by_query(retrieval.retrieve(self.cells, claims, k, lookup=self._beside_cells))
        else:
            found = self.search_texts(list(queries), k)
            run = {
                claim.id: [Hit(claim.id, table, rank, score) for rank, (table, score) in enumerate(hits, start=1)]
                for claim, hits in zip(claims, found, strict=True)
            }
        return [self.evidence(run.get(claim.id, ()), claim=claim.text) for claim in claims]

    def _read(self, unit: str, score: float | None, claim: str) -> Evidence | None:
        table = self.table(unit)
        if table is None:
            return None
        columns = (
            self.cells.columns(table, spans(Claim("", claim)), self.columns)
            if self.has_cells
            else range(len(table.header))
        )
        return table_evidence(table, columns, score)
