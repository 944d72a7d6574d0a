"""BM25 in an Elasticsearch or OpenSearch cluster through its official client, with the interface of `Bm25Index`.

`pip install lisax[elastic]` or `lisax[opensearch]` (for a URL `opensearch+https://…`). With the cluster's `english`
analyser, k1 and b, and statistics of all shards, its BM25 equals that of the embedded index except for its own stemmer
and one-byte document lengths, so scores agree closely, not to the digit.

An index records in `_meta` of its mapping its inputs and whether it is complete. Documents are numbered in order and
sent in batches, of which at most `WRITERS` wait for an answer. So an interrupted build resumes before the first
document that the cluster may lack, and one that is sent twice is distinguished from a duplicate id.
"""

from __future__ import annotations

import collections
import concurrent.futures
import hashlib
import itertools
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from lisax.errors import LisaxError
from lisax.files.reading import get_field
from lisax.files.remote import within
from lisax.records import check_id
from lisax.retrieval.bm25_builder import K1, B

BULK_DOCUMENTS = 1000
BULK_CHARACTERS = 2 << 20  # managed clusters refuse requests above 10 MiB, and a character takes up to 4 bytes
WRITERS = 4  # batches that are sent at a time
QUERIES_AT_A_TIME = 100
LONGEST_ID = 512  # bytes of a cluster's `_id`
DEEPEST = 10_000  # a cluster's default `max_result_window`
BUSY = (429, 502, 503, 504)  # temporary failures
TRIES, FIRST_WAIT = 6, 0.5  # tries per request; the wait doubles each time
TIMEOUT, LONGEST = 60.0, 120.0  # seconds: between two bytes of an answer, and for the whole of it
OPENSEARCH = "opensearch+"
NUMBERED = "number"
Answer = TypeVar("Answer")


def connect(url: str, environment: Mapping[str, str] = os.environ, **options: Any) -> Any:
    """The official client for a cluster at `http(s)://…` (Elasticsearch) or `opensearch+http(s)://…`.

    `LISAX_CLUSTER_API_KEY`, or `LISAX_CLUSTER_USER` with `LISAX_CLUSTER_PASSWORD`, and `LISAX_CLUSTER_CA` (a file of
    certificates) are read from the environment, since secrets do not belong on a command line. So is
    `LISAX_CLUSTER_AWS`, a region (`eu-west-1`, or `eu-west-1/aoss` of OpenSearch Serverless): requests to OpenSearch are
    then signed with the credentials that boto3 finds. `options` go to the client.
    """
    if "@" in url.partition("://")[2].partition("/")[0]:
        raise LisaxError(
            "keep the password out of the cluster's URL: set LISAX_CLUSTER_USER and "
            "LISAX_CLUSTER_PASSWORD in the environment"
        )
    key, user, password, certificates = (
        environment.get(f"LISAX_CLUSTER_{name}") for name in ("API_KEY", "USER", "PASSWORD", "CA")
    )
    if bool(user) != bool(password):
        raise LisaxError("LISAX_CLUSTER_USER and LISAX_CLUSTER_PASSWORD go together: one of them is not set")
    # `ElasticIndex` retries requests itself, because it knows which ones may be sent twice.
    options = {"max_retries": 0, **options} | ({"ca_certs": certificates} if certificates else {})
    if url.startswith(OPENSEARCH):
        try:
            from opensearchpy import OpenSearch
        except ImportError:
            raise LisaxError("OpenSearch's client is not installed: `pip install 'lisax[opensearch]'`") from None
        if region := environment.get("LISAX_CLUSTER_AWS"):
            options["http_auth"] = _aws_signer(*region.split("/"))
        elif key:
            options["headers"] = {"Authorization": f"ApiKey {key}"}
        elif user:
            options["http_auth"] = (user, password)
        return OpenSearch(url.removeprefix(OPENSEARCH), **{"timeout": TIMEOUT, **options})
    try:
        from elasticsearch import Elasticsearch
    except ImportError:
        raise LisaxError("Elasticsearch's client is not installed: `pip install 'lisax[elastic]'`") from None
    if key:
        options["api_key"] = key
    elif user:
        options["basic_auth"] = (user, password)
    return Elasticsearch(url, **{"request_timeout": TIMEOUT, **options})


def _aws_signer(region: str, service: str = "es") -> Any:
    from opensearchpy import Urllib3AWSV4SignerAuth

    try:
        import boto3
    except ImportError:
        raise LisaxError("LISAX_CLUSTER_AWS needs boto3: `pip install 'lisax[aws]'`") from None
    credentials = boto3.Session().get_credentials()
    if credentials is None:
        raise LisaxError("LISAX_CLUSTER_AWS: boto3 finds no AWS credentials")
    return Urllib3AWSV4SignerAuth(credentials, region, service)


def settings(k1: float = K1, b: float = B, made_from: str = "", **more: int) -> dict:
    """Index settings and mappings: one text field, English analyser, BM25 with k1 and b; until it is filled, it is
    refreshed on request only. `more`: `number_of_shards`, `number_of_replicas`."""
    return {
        "settings": {
            "similarity": {"lisax": {"type": "BM25", "k1": k1, "b": b}},
            "refresh_interval": "-1",
            **more,
        },
        "mappings": {
            "dynamic": False,
            "_meta": _meta(k1, b, made_from, False),
            "properties": {
                "id": {"type": "keyword"},
                NUMBERED: {"type": "long"},
                "text": {"type": "text", "analyzer": "english", "similarity": "lisax"},
            },
        },
    }


def _meta(k1: float, b: float, made_from: str, complete: bool) -> dict:
    return {"lisax": {"k1": k1, "b": b, "made_from": made_from, "complete": complete}}


class ElasticIndex:
    """An index of a cluster with the `add` and `search` of `Bm25Index`."""

    def __init__(self, client: Any, name: str):
        self._client, self.name = client, name
        self._checked = False

    @classmethod
    def build(
        cls,
        client: Any,
        name: str,
        documents: Iterable[tuple[str, str]],
        *,
        k1: float = K1,
        b: float = B,
        made_from: str = "",
        **more: int,
    ) -> ElasticIndex:
        """Creates the index `name`, with `more` of its `settings`, and fills it with (id, text) pairs.

        Resumes an interrupted build with the same name, k1, b and `made_from` (the fingerprint of the documents); any
        other index of that name is an error. If a document is refused, the index is removed; if the cluster becomes
        unreachable, it is left for the next try.
        """
        index = cls(client, name)
        known = index._asked(lambda: client.indices.exists(index=name))
        if known:
            if index._described() != _meta(k1, b, made_from, False)["lisax"]:
                raise LisaxError(f"the cluster has an index '{name}' already; add to it or choose another name")
            index._asked(lambda: client.indices.refresh(index=name))
            # Of the stored batches, at most WRITERS - 1 follow the first one that is missing.
            begun = max(0, index._count() - WRITERS * BULK_DOCUMENTS)
        else:
            # `body=` is supported by the clients of both Elasticsearch and OpenSearch.
            index._asked(lambda: client.indices.create(index=name, body=settings(k1, b, made_from, **more)))
            begun = 0
        try:
            index._fill(itertools.islice(enumerate(documents), begun, None))
        except _Refused:
            client.indices.delete(index=name)
            raise
        index._asked(lambda: client.indices.put_settings(index=name, body={"index": {"refresh_interval": None}}))
        index._asked(lambda: client.indices.put_mapping(index=name, body={"_meta": _meta(k1, b, made_from, True)}))
        return index

    @classmethod
    def replace(
        cls, client: Any, name: str, documents: Iterable[tuple[str, str]], *, made_from: str, **settings: Any
    ) -> ElasticIndex:
        """Builds a new index, makes `name` its alias and removes the index that had this alias, both in one step:
        searches meet the old index or the new one. Resumes as `build` does. An index that is itself named `name` is
        an error."""
        index = cls(client, f"{name}-{made_from[:12]}")
        known = index._asked(lambda: client.indices.exists_alias(name=name))
        if not known and index._asked(lambda: client.indices.exists(index=name)):
            raise LisaxError(f"the cluster has an index '{name}' already, which no alias can replace: remove it first")
        behind = index._asked(lambda: client.indices.get_alias(name=name)) if known else {}
        old = set(getattr(behind, "body", behind)) - {index.name}
        if not (index._asked(lambda: client.indices.exists(index=index.name)) and index._is_complete()):
            cls.build(client, index.name, documents, made_from=made_from, **settings)
        actions = [{"add": {"index": index.name, "alias": name}}, *({"remove_index": {"index": one}} for one in old)]
        index._asked(lambda: client.indices.update_aliases(body={"actions": actions}))
        return cls(client, name)

    def add(self, documents: Iterable[tuple[str, str]]) -> None:
        """Adds (id, text) pairs. An id that exists with another text is an error (earlier pairs stay added); with the
        same text it is skipped, so that an interrupted addition resumes."""
        self._check()
        self._asked(lambda: self._client.indices.refresh(index=self.name))
        self._fill(enumerate(documents, start=self._count()), compared=(NUMBERED, "text"))

    def _fill(self, numbered: Iterable[tuple[int, tuple[str, str]]], compared: Sequence[str] = (NUMBERED,)) -> None:
        with concurrent.futures.ThreadPoolExecutor(WRITERS) as writers:
            waiting: collections.deque[concurrent.futures.Future] = collections.deque()
            for batch in _bulks(numbered):
                rows = {
                    _id_of(check_id(document)): {"id": document, "text": text, NUMBERED: number}
                    for number, (document, text) in batch
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
        self._asked(lambda: self._client.indices.refresh(index=self.name))

    def _store(self, rows: dict[str, dict], compared: Sequence[str]) -> None:
        for last in _tries():
            rows = self._send(rows, compared, last)
            if not rows:
                break

    def _send(self, documents: Mapping[str, dict], compared: Sequence[str], last: bool) -> dict[str, dict]:
        """Sends documents; returns the documents that the cluster was too busy to take. After the `last` try these
        raise an error."""
        lines = [line for document, row in documents.items() for line in ({"create": {"_id": document}}, row)]
        answer = self._asked(lambda: self._client.bulk(index=self.name, body=lines))
        items = self._objects(answer, "items") if self._field(answer, "errors", bool) else []
        results = [self._field(item, "create", dict) for item in items]
        if any(result.get("_id") not in documents for result in results):
            raise LisaxError(f"the cluster's index '{self.name}' answers about documents that it was not sent")
        self._check_conflicts([result["_id"] for result in results if result.get("status") == 409], documents, compared)
        refused = [result for result in results if "error" in result and result.get("status") != 409]
        for result in refused:
            if result.get("status") in BUSY:
                if last:
                    raise LisaxError(
                        f"the cluster's index '{self.name}': it stays too busy to take documents; the "
                        "same command resumes"
                    )
            else:
                raise _Refused(f"the cluster refused document '{documents[result['_id']]['id']}': {result['error']}")
        return {result["_id"]: documents[result["_id"]] for result in refused}

    def _check_conflicts(self, ids: Sequence[str], documents: Mapping[str, dict], compared: Sequence[str]) -> None:
        """Raises an error for duplicate ids. An existing document that agrees in a field of `compared` was sent
        before."""
        if not ids:
            return
        found = self._asked(lambda: self._client.mget(index=self.name, body={"ids": list(ids)}))
        for document in self._objects(found, "docs"):
            source, sent = self._field(document, "_source", dict), documents[self._field(document, "_id", str)]
            if all(source.get(field) != sent[field] for field in compared):
                raise _Refused(f"the document id '{sent['id']}' occurs twice; ids must be distinct")

    def search(self, queries: Sequence[str], k: int) -> list[list[tuple[str, float]]]:
        """Up to `k` (id, score) per query, best first; of equal scores the smaller id first."""
        if not 1 <= k <= DEEPEST:
            raise LisaxError(f"a cluster gives 1 to {DEEPEST:,} documents per query; found k = {k}")
        self._check()
        found = []
        for batch in _batches(queries, QUERIES_AT_A_TIME):
            answered: dict[int, list[tuple[str, float]]] = {}
            for last in _tries():
                answered |= self._answered({i: query for i, query in enumerate(batch) if i not in answered}, k, last)
                if len(answered) == len(batch):
                    break
            found += (answered[i] for i in range(len(batch)))
        return found

    def _answered(self, queries: Mapping[int, str], k: int, last: bool) -> dict[int, list[tuple[str, float]]]:
        """The results of the queries that all shards answered; after the `last` try, missing ones raise an error."""
        lines: list[dict] = []
        for query in queries.values():
            lines += (
                {},
                {
                    "query": {"match": {"text": query}},
                    "size": k,
                    "_source": False,
                    "docvalue_fields": ["id"],
                    "track_total_hits": False,
                    "track_scores": True,
                    "sort": [{"_score": "desc"}, {"id": "asc"}],
                },
            )
        # Words are as rare as in the whole index, and not as in each document's shard.
        rarity = {"search_type": "dfs_query_then_fetch"}
        answer = self._asked(lambda: self._client.msearch(index=self.name, body=lines, **rarity))
        found = {}
        responses = self._objects(answer, "responses")
        if len(responses) != len(queries):
            raise LisaxError(f"the cluster's index '{self.name}': {len(responses)} answers to {len(queries)} queries")
        for (i, query), response in zip(queries.items(), responses, strict=True):
            if "error" in response:
                if last or response.get("status") not in BUSY:
                    raise LisaxError(f"the cluster refused the query {query!r}: {response['error']}")
            elif response.get("timed_out") or self._field(response, "_shards", dict, default={}).get("failed"):
                # The cluster returns the other shards' hits as if they were complete.
                if last:
                    raise LisaxError(
                        f"the cluster's index '{self.name}': only a part of it answered the query "
                        f"{query!r}: {response.get('_shards')}"
                    )
            else:
                hits = self._objects(self._field(response, "hits", dict), "hits")
                found[i] = [(self._id(hit), float(self._field(hit, "_score", (int, float)))) for hit in hits]
        return found

    def _id(self, hit: dict) -> str:
        ids = self._field(self._field(hit, "fields", dict), "id", list)
        return self._field({"id": ids[0] if ids else None}, "id", str)

    @property
    def digest(self) -> str:
        """Identifies the content, as far as the index records it."""
        return str([*sorted((self._described() or {}).items()), self._count()])

    def _count(self) -> int:
        return self._field(self._asked(lambda: self._client.count(index=self.name)), "count", int)

    def _described(self) -> dict | None:
        found = self._asked(lambda: self._client.indices.get_mapping(index=self.name))
        # For an alias, the response names the index behind it.
        behind = next(iter(getattr(found, "body", found)), "")
        meta = self._field(self._field(self._field(found, behind, dict), "mappings", dict), "_meta", dict, default={})
        return self._field(meta, "lisax", dict, default=None)

    def _check(self) -> None:
        """Raises an error for an incomplete index, which would silently miss documents."""
        if not self._checked and not self._is_complete():
            raise LisaxError(
                f"the cluster's index '{self.name}' was not filled to its end: run the same `lisax index cluster` again"
            )
        self._checked = True

    def _is_complete(self) -> bool:
        return bool((self._described() or {"complete": True}).get("complete"))

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
        for last in _tries():
            try:
                return within(LONGEST, request, f"the cluster's index '{self.name}'")
            except RecursionError:
                raise LisaxError(f"the cluster's index '{self.name}' answers with JSON of too many levels") from None
            except Exception as error:
                status = _status(error)
                if status is None and not _is_transport(error):
                    raise
                if last or _is_tls(error) or (status is not None and status not in BUSY):
                    raise LisaxError(f"the cluster's index '{self.name}': {_said(error, status)}") from error
        raise AssertionError("the last try returns or raises")


class _Refused(LisaxError):
    """An error that retrying cannot fix."""


def _tries() -> Iterator[bool]:
    """Yields whether this try is the last one; waits between tries."""
    for number in range(TRIES):
        if number:
            time.sleep(FIRST_WAIT * 2 ** (number - 1))
        yield number == TRIES - 1


def _status(error: Exception) -> int | None:
    """The HTTP status of either client's error; OpenSearch's is 'N/A' without a response."""
    status = getattr(error, "status_code", None) or getattr(getattr(error, "meta", None), "status", None)
    return status if isinstance(status, int) else None


def _is_transport(error: Exception) -> bool:
    """Whether either client reports that the cluster is unreachable or timed out."""
    names = {kind.__name__ for kind in type(error).__mro__}
    return isinstance(error, (ConnectionError, TimeoutError)) or bool(names & {"TransportError", "ConnectionError"})


def _is_tls(error: Exception) -> bool:
    return bool({kind.__name__ for kind in type(error).__mro__} & {"TlsError", "SSLError"})


def _said(error: Exception, status: int | None) -> str:
    if type(error).__name__ == "UnsupportedProductError":
        return "the server is not Elasticsearch; OpenSearch's URL begins with opensearch+http:// or opensearch+https://"
    if _is_tls(error):
        return f"no trusted TLS connection ({error}); LISAX_CLUSTER_CA names a file of certificates to trust"
    reason = str(getattr(error, "body", "") or getattr(error, "info", "") or "media_type")  # HEAD has no body
    if status in (400, 406) and "media_type" in reason:
        return f"the server does not speak the client's version ({status}): install the client of the server's major version"
    if status in (401, 403):
        return (
            f"access denied ({status}): set LISAX_CLUSTER_API_KEY, or LISAX_CLUSTER_USER and "
            "LISAX_CLUSTER_PASSWORD, in the environment"
        )
    if status == 404:
        return "there is no such index; `lisax index cluster` makes one"
    if status is None:
        return f"the cluster cannot be reached ({error}); the same command resumes"
    return f"{error}"


def _id_of(document: str) -> str:
    """The `_id` of a document: its id, or a digest of one that is too long."""
    content = document.encode()
    return document if len(content) <= LONGEST_ID else f"sha256-{hashlib.sha256(content).hexdigest()}"


def _bulks(numbered: Iterable[tuple[int, tuple[str, str]]]) -> Iterator[list[tuple[int, tuple[str, str]]]]:
    """Batches of at most `BULK_DOCUMENTS` documents and `BULK_CHARACTERS` characters; a longer document has a batch of
    its own."""
    batch, characters = [], 0
    for one in numbered:
        length = len(one[1][1])
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


def _batches(items: Iterable, size: int) -> Iterator[list]:
    items = iter(items)
    while batch := list(itertools.islice(items, size)):
        yield batch
