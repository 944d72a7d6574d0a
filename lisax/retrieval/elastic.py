"""The same query and run contract against an Elasticsearch or OpenSearch cluster, through its official client.

`pip install lisax[elastic]` or `lisax[opensearch]` (for a URL `opensearch+https://…`). The
cluster's `english` analyser, k1 and b make its BM25 the one of the embedded index but for its own stemmer and its
one-byte document lengths, so scores agree closely, not to the digit.

An index says of itself (`_meta` of its mapping) what it was made from and whether it is complete. Documents are
numbered in their order and sent in batches, each acknowledged before the next: so that an interrupted build goes on
behind what the cluster has, and a document that is sent again, because an answer was lost, is told from an id that
occurs twice.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from lisax.records import LisaxError, check_id
from lisax.retrieval.bm25_builder import K1, B

BULK_DOCUMENTS = 1000
BULK_CHARACTERS = 2 << 20  # managed clusters take no request above 10 MiB, and a character is up to 4 bytes
QUERIES_AT_A_TIME = 100
DEEPEST = 10_000  # a cluster's default `max_result_window`
BUSY = (429, 502, 503, 504)  # statuses that pass
TRIES, FIRST_WAIT = 6, 0.5  # of a request; every wait is twice the last
TIMEOUT = 60.0
OPENSEARCH = "opensearch+"
NUMBERED = "number"
Answer = TypeVar("Answer")


def connect(url: str, environment: Mapping[str, str] = os.environ, **options: Any) -> Any:
    """The official client for a cluster at `http(s)://…` (Elasticsearch) or `opensearch+http(s)://…`.

    `LISAX_CLUSTER_API_KEY`, or `LISAX_CLUSTER_USER` with `LISAX_CLUSTER_PASSWORD`, and `LISAX_CLUSTER_CA` (a file of
    certificates) are taken from the environment: a command line is no place for secrets. `options` go to the client.
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
    # Requests are tried again here, see `ElasticIndex`, where it is known what may be sent twice.
    options = {"max_retries": 0, **options} | ({"ca_certs": certificates} if certificates else {})
    if url.startswith(OPENSEARCH):
        try:
            from opensearchpy import OpenSearch
        except ImportError:
            raise LisaxError("OpenSearch's client is not installed: `pip install 'lisax[opensearch]'`") from None
        if key:
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


def settings(k1: float = K1, b: float = B, made_from: str = "") -> dict:
    """Index settings and mappings: one text field, English analyser, BM25 with k1 and b."""
    return {
        "settings": {"similarity": {"lisax": {"type": "BM25", "k1": k1, "b": b}}},
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
    """An index of a cluster with `add` and `search` as `Bm25Index` has them."""

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
    ) -> ElasticIndex:
        """Creates the index `name` and fills it with (id, text) pairs.

        Where an interrupted build of the same name, k1, b and `made_from` (which stands for the documents) left off, it
        goes on; any other index of that name is an error. A document that is refused removes the index again; a
        cluster that is not there any more leaves it for the next try.
        """
        index = cls(client, name)
        known = index._asked(lambda: client.indices.exists(index=name))
        if known:
            if index._described() != _meta(k1, b, made_from, False)["lisax"]:
                raise LisaxError(f"the cluster has an index '{name}' already; add to it or choose another name")
            index._asked(lambda: client.indices.refresh(index=name))
            # Every batch but the last was stored whole before the next was sent.
            stored = index._asked(lambda: client.count(index=name))["count"]
            begun = max(0, stored - BULK_DOCUMENTS)
        else:
            # `body=` is what the clients of Elasticsearch and of OpenSearch have in common.
            index._asked(lambda: client.indices.create(index=name, body=settings(k1, b, made_from)))
            begun = 0
        try:
            index._fill(itertools.islice(enumerate(documents), begun, None))
        except _Refused:
            client.indices.delete(index=name)
            raise
        index._asked(lambda: client.indices.put_mapping(index=name, body={"_meta": _meta(k1, b, made_from, True)}))
        return index

    def add(self, documents: Iterable[tuple[str, str]]) -> None:
        """Adds (id, text) pairs; an id that is there already is an error (those before it stay added), but for the
        same text: so an interrupted addition goes on."""
        self._check()
        self._asked(lambda: self._client.indices.refresh(index=self.name))
        first = self._asked(lambda: self._client.count(index=self.name))["count"]
        self._fill(enumerate(documents, start=first), compared=(NUMBERED, "text"))

    def _fill(self, numbered: Iterable[tuple[int, tuple[str, str]]], compared: Sequence[str] = (NUMBERED,)) -> None:
        for batch in _bulks(numbered):
            waiting = {
                check_id(document): {"id": document, "text": text, NUMBERED: number}
                for number, (document, text) in batch
            }
            if len(waiting) < len(batch):
                ids = [document for _, (document, _) in batch]
                twice = next(document for document in ids if ids.count(document) > 1)
                raise _Refused(f"the document id '{twice}' occurs twice; ids must be distinct")
            for last in _tries():
                waiting = self._send(waiting, compared, last)
                if not waiting:
                    break
        self._asked(lambda: self._client.indices.refresh(index=self.name))

    def _send(self, documents: Mapping[str, dict], compared: Sequence[str], last: bool) -> dict[str, dict]:
        """Those that the cluster was too busy to take; after the `last` try that is an error."""
        lines = [line for document, row in documents.items() for line in ({"create": {"_id": document}}, row)]
        answer = self._asked(lambda: self._client.bulk(index=self.name, body=lines))
        results = [item["create"] for item in answer["items"]] if answer["errors"] else []
        self._check_conflicts([result["_id"] for result in results if result.get("status") == 409], documents, compared)
        refused = [result for result in results if "error" in result and result.get("status") != 409]
        for result in refused:
            if result.get("status") in BUSY:
                if last:
                    raise LisaxError(
                        f"the cluster's index '{self.name}': it stays too busy to take documents; the "
                        "same command goes on where it stopped"
                    )
            else:
                raise _Refused(f"the cluster refused document '{result['_id']}': {result['error']}")
        return {result["_id"]: documents[result["_id"]] for result in refused}

    def _check_conflicts(self, ids: Sequence[str], documents: Mapping[str, dict], compared: Sequence[str]) -> None:
        """An id that is there is ours, sent before, where any field `compared` is the same; else it occurs twice."""
        if not ids:
            return
        found = self._asked(lambda: self._client.mget(index=self.name, body={"ids": list(ids)}))
        for document in found["docs"]:
            sent = documents[document["_id"]]
            if all(document["_source"].get(field) != sent[field] for field in compared):
                raise _Refused(f"the document id '{document['_id']}' occurs twice; ids must be distinct")

    def search(self, queries: Sequence[str], k: int) -> list[list[tuple[str, float]]]:
        """Up to `k` (id, score) a query, best first; of equal scores the lesser id first."""
        if not 1 <= k <= DEEPEST:
            raise LisaxError(f"a cluster gives 1 to {DEEPEST:,} documents a query; found k = {k}")
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
        """Those that the whole index answered; of the others, after the `last` try, an error."""
        lines: list[dict] = []
        for query in queries.values():
            lines += (
                {},
                {
                    "query": {"match": {"text": query}},
                    "size": k,
                    "_source": False,
                    "track_total_hits": False,
                    "track_scores": True,
                    "sort": [{"_score": "desc"}, {"id": "asc"}],
                },
            )
        answer = self._asked(lambda: self._client.msearch(index=self.name, body=lines))
        found = {}
        for (i, query), response in zip(queries.items(), answer["responses"], strict=True):
            if "error" in response:
                if last or response.get("status") not in BUSY:
                    raise LisaxError(f"the cluster refused the query {query!r}: {response['error']}")
            elif response.get("timed_out") or response.get("_shards", {}).get("failed"):
                # A cluster gives what its other shards found, as if that were all.
                if last:
                    raise LisaxError(
                        f"the cluster's index '{self.name}': only a part of it answered the query "
                        f"{query!r}: {response.get('_shards')}"
                    )
            else:
                found[i] = [(hit["_id"], float(hit["_score"])) for hit in response["hits"]["hits"]]
        return found

    @property
    def digest(self) -> str:
        """Names the content, as far as the index says."""
        count = self._asked(lambda: self._client.count(index=self.name))["count"]
        return str([*sorted((self._described() or {}).items()), count])

    def _described(self) -> dict | None:
        found = self._asked(lambda: self._client.indices.get_mapping(index=self.name))
        # Of an alias the answer names the index behind it.
        return next(iter(dict(found).values()))["mappings"].get("_meta", {}).get("lisax")

    def _check(self) -> None:
        """An index that was left half filled is an error: it would seem to find less than there is."""
        if not self._checked and not (self._described() or {"complete": True})["complete"]:
            raise LisaxError(
                f"the cluster's index '{self.name}' was not filled to its end: run the same `lisax index cluster` again"
            )
        self._checked = True

    def _asked(self, request: Callable[[], Answer]) -> Answer:
        """The answer; a cluster that is busy or out of reach is asked again, with longer and longer waits."""
        for last in _tries():
            try:
                return request()
            except Exception as error:
                status = _status(error)
                if status is None and not _is_transport(error):
                    raise
                if last or (status is not None and status not in BUSY):
                    raise LisaxError(f"the cluster's index '{self.name}': {_said(error, status)}") from error
        raise AssertionError("the last try returns or raises")


class _Refused(LisaxError):
    """What no second try will change."""


def _tries() -> Iterator[bool]:
    """Whether this try is the last one; waits between them."""
    for number in range(TRIES):
        if number:
            time.sleep(FIRST_WAIT * 2 ** (number - 1))
        yield number == TRIES - 1


def _status(error: Exception) -> int | None:
    """The HTTP status of either client's error; OpenSearch's has 'N/A' where there was no answer."""
    status = getattr(error, "status_code", None) or getattr(getattr(error, "meta", None), "status", None)
    return status if isinstance(status, int) else None


def _is_transport(error: Exception) -> bool:
    """Whether either client says that the cluster could not be reached, or did not answer in time."""
    names = {kind.__name__ for kind in type(error).__mro__}
    return isinstance(error, (ConnectionError, TimeoutError)) or bool(names & {"TransportError", "ConnectionError"})


def _said(error: Exception, status: int | None) -> str:
    if status in (401, 403):
        return (
            f"access denied ({status}): set LISAX_CLUSTER_API_KEY, or LISAX_CLUSTER_USER and "
            "LISAX_CLUSTER_PASSWORD, in the environment"
        )
    if status == 404:
        return "there is no such index; `lisax index cluster` makes one"
    if status is None:
        return f"the cluster cannot be reached ({error}); the same command goes on where it stopped"
    return f"{error}"


def _bulks(numbered: Iterable[tuple[int, tuple[str, str]]]) -> Iterator[list[tuple[int, tuple[str, str]]]]:
    """At most `BULK_DOCUMENTS` documents, and `BULK_CHARACTERS` but for one that is longer alone."""
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
