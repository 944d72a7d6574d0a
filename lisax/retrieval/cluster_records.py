"""The records (pages, passages, tables) of a cluster's index, read by their ids."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Generic

from lisax.retrieval.elastic import ID, NUMBERED, TEXT, ElasticIndex
from lisax.retrieval.record_store import Kind, Record

RECORD = "record"  # the field that holds a record; it is not mapped, so it is only stored
KEPT = 1 << 16  # records in memory
AT_A_TIME = 1000  # ids of a request


class ClusterRecords(Generic[Record]):
    """`records.get(id)` is a record, or None; iterates over the records in order. `prepare` reads several in one request.
    Thread-safe. `query`: selects documents of the index; None: all."""

    def __init__(self, index: ElasticIndex, kind: Kind[Record], query: Mapping[str, Any] | None = None):
        self.index, self._kind, self._query = index, kind, query
        self._kept: dict[str, Record | None] = {}
        self._lock = threading.Lock()

    @staticmethod
    def fields(record: Record, kind: Kind[Record], text: str) -> dict[str, Any]:
        """The fields that a record is stored in, with its indexed text."""
        return {TEXT: text, RECORD: kind.encode(record)}

    def prepare(self, ids: Iterable[str]) -> None:
        """Reads the records that are not in memory."""
        wanted = [id for id in dict.fromkeys(ids) if id not in self._kept]
        for start in range(0, len(wanted), AT_A_TIME):
            some = wanted[start : start + AT_A_TIME]
            (hits,) = self.index.find([self._body({"terms": {ID: some}}) | {"size": len(some)}])
            self._keep(dict.fromkeys(some) | {hit.id: self._kind.decode(hit.id, hit.source[RECORD]) for hit in hits})

    def found(self, queries: Iterable[Mapping[str, Any]], size: int) -> list[list[Record]]:
        """The records that each query finds, in their order."""
        bodies = [self._body(query) | {"size": size, "sort": [{NUMBERED: "asc"}]} for query in queries]
        made = [[self._kind.decode(hit.id, hit.source[RECORD]) for hit in hits] for hits in self.index.find(bodies)]
        self._keep({record.id: record for records in made for record in records})
        return made

    @staticmethod
    def _body(query: Mapping[str, Any]) -> dict[str, Any]:
        return {"query": {"bool": {"filter": [query]}}, "_source": [RECORD]}

    def _keep(self, records: Mapping[str, Record | None]) -> None:
        with self._lock:
            self._kept |= records
            if len(self._kept) > KEPT + AT_A_TIME:
                self._kept = dict(itertools.islice(self._kept.items(), len(self._kept) - KEPT, None))

    def get(self, record_id: str) -> Record | None:
        if (found := self._kept.get(record_id)) is None and record_id not in self._kept:
            self.prepare([record_id])
            found = self._kept.get(record_id)
        return found

    def __contains__(self, record_id: str) -> bool:
        return self.get(record_id) is not None

    def __len__(self) -> int:
        return self.index.count(self._query)

    def __iter__(self) -> Iterator[Record]:
        for hit in self.index.scan(self._body(self._query or {"match_all": {}})):
            yield self._kind.decode(hit.id, hit.source[RECORD])
