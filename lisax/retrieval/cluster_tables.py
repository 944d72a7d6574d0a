"""Whole tables of a cluster's index, in the place of an index folder of tables."""

from __future__ import annotations

import functools

from lisax.records import Table
from lisax.retrieval import cells, table_store
from lisax.retrieval.cluster_records import ClusterRecords
from lisax.retrieval.cluster_vectors import ClusterContent
from lisax.retrieval.elastic import ElasticIndex


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
