"""Whole tables of a cluster's index, in the place of an index folder of tables."""

from __future__ import annotations

import functools

from lisax.records import Table
from lisax.retrieval import cells, table_store
from lisax.retrieval.cluster_records import ClusterRecords
from lisax.retrieval.cluster_vectors import ClusterContent


class ClusterTables(ClusterContent):
    @property
    def tables(self) -> ClusterTables:
        return self

    @functools.cached_property
    def store(self) -> ClusterRecords[Table]:
        return ClusterRecords(self.bm25, table_store.TABLES)

    @functools.cached_property
    def components(self) -> frozenset[str]:
        """The names that an index folder has for its parts. Cells are indexed by the machine that searches them."""
        own = {table_store.NAME, table_store.TEXTS}
        if (self.bm25.described() or {}).get("of") == cells.NAME:
            own.add(cells.NAME)
        return frozenset(own if self.vectors is None else own | {"dense-tables"})
