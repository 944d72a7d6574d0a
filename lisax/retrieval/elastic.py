"""An index of an Elasticsearch or OpenSearch cluster, by the official client: filled in order, resumable, searched.

With the cluster's `english` analyser, k1 and b, and statistics of all shards, its BM25 equals that of the embedded index
except for its own stemmer and one-byte document lengths, so scores agree closely, not to the digit.

An index records in `_meta` of its mapping its inputs and whether it is complete. Documents are numbered in order and
sent in batches, of which at most `WRITERS` wait for an answer. So an interrupted build resumes before the first
document that the cluster may lack, and one that is sent twice is distinguished from a duplicate id.
"""

from __future__ import annotations

import collections
import concurrent.futures
import hashlib
import itertools
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from lisax.devices.batching import windows
from lisax.errors import LisaxError
from lisax.files.reading import get_field
from lisax.files.remote import AnswerError, within
from lisax.records import check_id
from lisax.retrieval.cluster_client import TIMEOUT, Unreachable, is_tls, is_transport, said, status_of

BULK_DOCUMENTS = 1000
BULK_CHARACTERS = 2 << 20  # managed clusters refuse requests above 10 MiB, and a character takes up to 4 bytes
WRITERS = 4  # batches that are sent at a time
QUERIES_AT_A_TIME = 100
SCANNED = 500  # documents of an answer when all are read
LONGEST_ID = 512  # bytes of a cluster's `_id`
DEEPEST = 10_000  # a cluster's default `max_result_window`
BUSY = (429, 502, 503, 504)  # temporary failures
TRIES, FIRST_WAIT = 6, 0.5  # tries per request; the wait doubles each time
RESUMES = "the same command resumes"
ID, NUMBERED, TEXT = "id", "number", "text"  # fields of a document
# Words are as rare as in the whole index, and not as in each document's shard.
OF_ALL_SHARDS = {"search_type": "dfs_query_then_fetch"}
Answer = TypeVar("Answer")
Fields = Mapping[str, Any]


class Found(NamedTuple):
    """A hit: the document's id and number, its score, the other fields that were asked for, and its source."""

    id: str
    number: int
    score: float
    fields: Fields
    source: Fields


def scored(k1: float, b: float, name: str = "lisax") -> tuple[dict, dict]:
    """(settings, mapping) of a text field whose words are stemmed and scored by BM25."""
    settings = {"similarity": {name: {"type": "BM25", "k1": k1, "b": b}}}
    return settings, {"type": "text", "analyzer": "english", "similarity": name}


class ElasticIndex:
    """An index of a cluster. `tries`: of each request; `timeout`: seconds for an answer to begin; it may take twice
    that time."""

    def __init__(self, client: Any, name: str, *, tries: int = TRIES, timeout: float = TIMEOUT):
        self.client, self.name, self._tries, self._longest = client, name, tries, 2 * timeout
        self._checked = False

    @property
    def is_opensearch(self) -> bool:
        return "OpenSearch" in {kind.__name__ for kind in type(self.client).__mro__}

    def named(self, name: str) -> ElasticIndex:
        """Another index of the cluster."""
        return ElasticIndex(self.client, name, tries=self._tries, timeout=self._longest / 2)

    # --- Filling --------------------------------------------------------------------------------

    def build(
        self,
        documents: Iterable[tuple[str, Fields]],
        *,
        properties: Fields,
        meta: Fields,
        settings: Fields,
        first: Callable[[ElasticIndex], Any] = lambda index: None,
    ) -> None:
        """Creates the index and fills it with (id, fields) pairs. `properties` map the fields, `meta` describes them.
        `first` is called with the index before it is filled.

        Resumes an interrupted build with the same `meta`, and leaves a complete one as it is; any other index of that
        name is an error. If a document is refused, the index is removed; if the cluster becomes unreachable, it is left
        for the next try.
        """
        if self.exists() and dict(meta).items() <= (found := self.described() or {}).items() and found.get("complete"):
            return
        begun = self.begin(properties=properties, meta=meta, settings=settings)
        try:
            first(self)
            self.fill(itertools.islice(enumerate(documents), begun, None))
        except _Refused:
            self.remove()
            raise
        self.finish(meta)

    def begin(self, *, properties: Fields, meta: Fields, settings: Fields) -> int:
        """Creates the index, or resumes one that is not complete. Returns the number of documents that it has for
        certain: the first ones."""
        client, begun = self.client, dict(meta) | {"complete": False}
        if self.exists():
            if self.described() != begun:
                raise _Refused(f"the cluster has an index '{self.name}' already; add to it or choose another name")
            self.refresh()
            # Of the stored batches, at most WRITERS - 1 follow the first one that is missing.
            return max(0, self.count() - WRITERS * BULK_DOCUMENTS)
        body = {
            # Until it is filled, it is refreshed on request only.
            "settings": {"refresh_interval": "-1", **settings},
            "mappings": {
                "dynamic": False,
                "_meta": {"lisax": begun},
                "properties": {ID: {"type": "keyword"}, NUMBERED: {"type": "long"}, **properties},
            },
        }
        # `body=` is supported by the clients of both Elasticsearch and OpenSearch.
        self._asked(lambda: client.indices.create(index=self.name, body=body))
        return 0

    def finish(self, meta: Fields) -> None:
        """Records that the index is complete, and since when."""
        client, done = self.client, dict(meta) | {"complete": True, "made": time.time()}
        self._asked(lambda: client.indices.put_settings(index=self.name, body={"index": {"refresh_interval": None}}))
        self.describe(done)

    def describe(self, meta: Fields) -> None:
        """Replaces the index's own description, which `described` returns."""
        body = {"_meta": {"lisax": dict(meta)}}
        self._asked(lambda: self.client.indices.put_mapping(index=self.name, body=body))

    def replace(
        self,
        documents: Iterable[tuple[str, Fields]],
        *,
        meta: Fields,
        ready: Callable[[ElasticIndex], Any] = lambda index: None,
        suffixes: Sequence[str] = (),
        **options: Any,
    ) -> None:
        """Builds a new index, calls `ready` with it, makes this name its alias and removes the index that had it, both
        in one step: searches meet the old index or the new one. Resumes as `build` does. An index that itself has
        this name is an error. `suffixes` make the names of indexes that
        belong to one, and are removed with it."""
        client, name = self.client, self.name
        new = self.named(f"{name}-{meta['made_from'][:12]}")
        known = self._asked(lambda: client.indices.exists_alias(name=name))
        if not known and self.exists():
            raise LisaxError(f"the cluster has an index '{name}' already, which no alias can replace: remove it first")
        behind = self._asked(lambda: client.indices.get_alias(name=name)) if known else {}
        old = set(getattr(behind, "body", behind)) - {new.name}
        new.build(documents, meta=meta, **options)
        ready(new)
        gone = [one for index in old for one in (index, *(f"{index}{end}" for end in suffixes))]
        gone = [one for one in gone if one in old or self.named(one).exists()]
        actions = [{"add": {"index": new.name, "alias": name}}, *({"remove_index": {"index": one}} for one in gone)]
        self._asked(lambda: client.indices.update_aliases(body={"actions": actions}))

    def add(self, documents: Iterable[tuple[str, Fields]]) -> None:
        """Adds (id, fields) pairs. An id that exists with another text is an error (earlier pairs stay added); with the
        same text it is skipped, so that an interrupted addition resumes."""
        self.check()
        self.refresh()
        self.fill(enumerate(documents, start=self.count()), compared=(NUMBERED, TEXT))

    def fill(self, numbered: Iterable[tuple[int, tuple[str, Fields]]], compared: Sequence[str] = (NUMBERED,)) -> None:
        """Stores documents with their numbers; existing ones that agree in a field of `compared` were sent before."""
        try:
            self._fill(numbered, compared)
        except Unreachable as error:
            raise Unreachable(f"{error}; {RESUMES}") from error

    def _fill(self, numbered: Iterable[tuple[int, tuple[str, Fields]]], compared: Sequence[str]) -> None:
        with concurrent.futures.ThreadPoolExecutor(WRITERS) as writers:
            waiting: collections.deque[concurrent.futures.Future] = collections.deque()
            for batch in _bulks(numbered):
                rows = {
                    _id_of(check_id(document)): {ID: document, NUMBERED: number, **fields}
                    for number, (document, fields) in batch
                }
                if len(rows) < len(batch):
                    ids = [document for _, (document, _) in batch]
                    twice = next(document for document in ids if ids.count(document) > 1)
                    raise _Refused(f"the document id '{twice}' occurs twice; ids must be distinct")
                if len(waiting) == WRITERS:
                    waiting.popleft().result()
                waiting.append(writers.submit(self._store, rows, compared))
            for stored in waiting:
                stored.result()
        self.refresh()

    def _store(self, rows: dict[str, dict], compared: Sequence[str]) -> None:
        for last in _tries(self._tries):
            rows = self._send(rows, compared, last)
            if not rows:
                break

    def _send(self, documents: Mapping[str, dict], compared: Sequence[str], last: bool) -> dict[str, dict]:
        """Sends documents; returns the documents that the cluster was too busy to take. After the `last` try these
        raise an error."""
        lines = [line for document, row in documents.items() for line in ({"create": {"_id": document}}, row)]
        answer = self._asked(lambda: self.client.bulk(index=self.name, body=lines))
        items = self._objects(answer, "items") if self._field(answer, "errors", bool) else []
        results = [self._field(item, "create", dict) for item in items]
        if any(result.get("_id") not in documents for result in results):
            raise LisaxError(f"the cluster's index '{self.name}' answers about documents that it was not sent")
        self._check_conflicts([result["_id"] for result in results if result.get("status") == 409], documents, compared)
        refused = [result for result in results if "error" in result and result.get("status") != 409]
        for result in refused:
            if result.get("status") in BUSY:
                if last:
                    raise Unreachable(f"the cluster's index '{self.name}': it stays too busy to take documents")
            else:
                raise _Refused(f"the cluster refused document '{documents[result['_id']][ID]}': {result['error']}")
        return {result["_id"]: documents[result["_id"]] for result in refused}

    def _check_conflicts(self, ids: Sequence[str], documents: Mapping[str, dict], compared: Sequence[str]) -> None:
        """Raises an error for duplicate ids."""
        if not ids:
            return
        found = self._asked(lambda: self.client.mget(index=self.name, body={"ids": list(ids)}))
        for document in self._objects(found, "docs"):
            source, sent = self._field(document, "_source", dict), documents[self._field(document, "_id", str)]
            if all(source.get(field) != sent[field] for field in compared):
                raise _Refused(f"the document id '{sent[ID]}' occurs twice; ids must be distinct")

    # --- Searching ------------------------------------------------------------------------------

    def search(self, queries: Sequence[str], k: int, *, field: str = TEXT) -> list[list[tuple[str, float]]]:
        """Up to `k` (id, BM25 score) per query, best first; of equal scores the smaller id first."""
        if not 1 <= k <= DEEPEST:
            raise LisaxError(f"a cluster gives 1 to {DEEPEST:,} documents per query; found k = {k}")
        bodies = [
            {
                "query": {"match": {field: query}},
                "size": k,
                "track_scores": True,
                "sort": [{"_score": "desc"}, {ID: "asc"}],
            }
            for query in queries
        ]
        found = self.find(bodies, queries, **OF_ALL_SHARDS)
        return [[(hit.id, hit.score) for hit in hits] for hits in found]

    def find(self, bodies: Sequence[dict], names: Sequence[str] | None = None, **parameters: str) -> list[list[Found]]:
        """The hits of each search, from all shards; a body may name further `docvalue_fields` and a `_source`. `names`
        are for errors."""
        self.check()
        found: list[list[Found]] = []
        named = list(zip(bodies, names or itertools.repeat("")))
        for batch in windows(named, QUERIES_AT_A_TIME):
            answered: dict[int, list[Found]] = {}
            for last in _tries(self._tries):
                left = {i: one for i, one in enumerate(batch) if i not in answered}
                answered |= self._answered(left, parameters, last)
                if len(answered) == len(batch):
                    break
            found += (answered[i] for i in range(len(batch)))
        return found

    def _answered(
        self, asked: Mapping[int, tuple[dict, str]], parameters: Mapping[str, str], last: bool
    ) -> dict[int, list[Found]]:
        """The results of the searches that all shards answered; after the `last` try, missing ones raise an error."""
        lines: list[dict] = []
        for body, _ in asked.values():
            fields = [ID, NUMBERED, *body.get("docvalue_fields", ())]
            lines += ({}, {"_source": False, "track_total_hits": False, **body, "docvalue_fields": fields})
        answer = self._asked(lambda: self.client.msearch(index=self.name, body=lines, **parameters))
        found = {}
        responses = self._objects(answer, "responses")
        if len(responses) != len(asked):
            raise LisaxError(f"the cluster's index '{self.name}': {len(responses)} answers to {len(asked)} queries")
        for (i, (_, name)), response in zip(asked.items(), responses, strict=True):
            if "error" in response:
                busy = response.get("status") in BUSY
                if last or not busy:
                    kind = Unreachable if busy else LisaxError
                    raise kind(f"the cluster refused the query {name!r}: {response['error']}")
            elif response.get("timed_out") or self._field(response, "_shards", dict, default={}).get("failed"):
                # The cluster returns the other shards' hits as if they were complete.
                if last:
                    raise Unreachable(
                        f"the cluster's index '{self.name}': only a part of it answered the query "
                        f"{name!r}: {response.get('_shards')}"
                    )
            else:
                hits = self._objects(self._field(response, "hits", dict), "hits")
                found[i] = [self._hit(hit) for hit in hits]
        return found

    def _hit(self, hit: dict) -> Found:
        fields = self._field(hit, "fields", dict)
        id, number = (self._first(fields, name, kind) for name, kind in ((ID, str), (NUMBERED, int)))
        score = hit.get("_score")  # null where hits are sorted by a field
        score = 0.0 if score is None else float(self._field(hit, "_score", (int, float)))
        return Found(id, number, score, fields, self._field(hit, "_source", dict, default={}))

    def _first(self, fields: dict, name: str, kind: type) -> Any:
        values = self._field(fields, name, list)
        return self._field({name: values[0] if values else None}, name, kind)

    def scan(self, body: Fields) -> Iterator[Found]:
        """All documents that a search finds, in the order of their numbers."""
        after: dict = {}
        while True:
            search = {**body, "size": SCANNED, "sort": [{NUMBERED: "asc"}], **after}
            (hits,) = self.find([search])
            yield from hits
            if len(hits) < SCANNED:
                return
            after = {"search_after": [hits[-1].number]}

    # --- The index as a whole -------------------------------------------------------------------

    @property
    def digest(self) -> str:
        """Identifies the content, as far as the index records it."""
        return str([*sorted((self.described() or {}).items()), self.count()])

    def exists(self) -> bool:
        return bool(self._asked(lambda: self.client.indices.exists(index=self.name)))

    def remove(self) -> None:
        self._asked(lambda: self.client.indices.delete(index=self.name))

    def refresh(self) -> None:
        """Makes all documents that were stored visible to searches and counts."""
        self._asked(lambda: self.client.indices.refresh(index=self.name))

    def count(self, query: Fields | None = None) -> int:
        """The number of documents, or of the documents that a query finds."""
        asked = {} if query is None else {"body": {"query": query}}
        return self._field(self._asked(lambda: self.client.count(index=self.name, **asked)), "count", int)

    @property
    def behind(self) -> str:
        """The name of the index itself. An alias has another."""
        return self._mapping()[0]

    def described(self) -> dict | None:
        """The index's description of its content; None if LisaX did not make it."""
        meta = self._field(self._field(self._mapping()[1], "mappings", dict), "_meta", dict, default={})
        return self._field(meta, "lisax", dict, default=None)

    def _mapping(self) -> tuple[str, dict]:
        found = self._asked(lambda: self.client.indices.get_mapping(index=self.name))
        name = next(iter(getattr(found, "body", found)), "")
        return name, self._field(found, name, dict)

    def check(self) -> None:
        """Raises an error for an incomplete index, which would silently miss documents."""
        if not self._checked and not (self.described() or {"complete": True}).get("complete"):
            raise LisaxError(
                f"the cluster's index '{self.name}' was not filled to its end: run the same `lisax index cluster` again"
            )
        self._checked = True

    def _field(self, answer: Any, name: str, kind: type | tuple[type, ...], **options: Any) -> Any:
        """A field of an answer, or of a part of one. Raises DataError if it is missing or of another type."""
        answer = getattr(answer, "body", answer)  # of Elasticsearch's client
        where = f"the cluster's index '{self.name}'"
        if not isinstance(answer, dict):
            raise LisaxError(f"{where} answers with {str(answer)[:80]!r} where an object with '{name}' was expected")
        return get_field(answer, name, kind, path=where, line=None, **options)

    def _objects(self, answer: Any, name: str) -> list[dict]:
        found = self._field(answer, name, list)
        return [self._field({name: one}, name, dict) for one in found]

    def _asked(self, request: Callable[[], Answer]) -> Answer:
        """Returns the response; retries with increasing waits while the cluster is busy or unreachable."""
        for last in _tries(self._tries):
            try:
                return within(self._longest, request, f"the cluster's index '{self.name}'")
            except RecursionError:
                raise LisaxError(f"the cluster's index '{self.name}' answers with JSON of too many levels") from None
            except AnswerError as error:
                raise Unreachable(str(error)) from error
            except Exception as error:
                status = status_of(error)
                if status is None and not is_transport(error):
                    raise
                passes = not is_tls(error) and (status is None or status in BUSY)
                if last or not passes:
                    kind = Unreachable if passes else LisaxError
                    raise kind(f"the cluster's index '{self.name}': {said(error, status)}") from error
        raise AssertionError("the last try returns or raises")


class _Refused(LisaxError):
    """An error that retrying cannot fix."""


def _tries(tries: int) -> Iterator[bool]:
    """Yields whether this try is the last one; waits between tries."""
    for number in range(tries):
        if number:
            time.sleep(FIRST_WAIT * 2 ** (number - 1))
        yield number == tries - 1


def _id_of(document: str) -> str:
    """The `_id` of a document: its id, or a digest of one that is too long."""
    content = document.encode()
    return document if len(content) <= LONGEST_ID else f"sha256-{hashlib.sha256(content).hexdigest()}"


def _bulks(numbered: Iterable[tuple[int, tuple[str, Fields]]]) -> Iterator[list[tuple[int, tuple[str, Fields]]]]:
    """Batches of at most `BULK_DOCUMENTS` documents and `BULK_CHARACTERS` characters; a longer document has a batch of
    its own."""
    batch, characters = [], 0
    for one in numbered:
        length = len(json.dumps(one[1][1], ensure_ascii=False))
        if batch and characters + length > BULK_CHARACTERS:
            yield batch
            batch, characters = [], 0
        batch.append(one)
        characters += length
        if len(batch) == BULK_DOCUMENTS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch
