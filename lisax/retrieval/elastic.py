"""The same query and run contract against an Elasticsearch or OpenSearch cluster, through its official client.

`pip install lisax[elastic]` for Elasticsearch; an OpenSearch client object serves as well. The cluster's
`english` analyser, k1 and b make its BM25 the one of the embedded index but for its own stemmer and its
one-byte document lengths, so scores agree closely, not to the digit.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from lisax.records import LisaxError, check_id
from lisax.retrieval.bm25_builder import B, K1

BULK_DOCUMENTS = 1000
QUERIES_AT_A_TIME = 100
DEEPEST = 10_000  # a cluster's default `max_result_window`


def connect(url: str, **options: Any) -> Any:
    """The official client for a cluster; `options` go to it (`api_key`, `ca_certs`, `request_timeout`, ...)."""
    try:
        from elasticsearch import Elasticsearch
    except ImportError:
        raise LisaxError("Elasticsearch's client is not installed: `pip install 'lisax[elastic]'`") from None
    return Elasticsearch(url, **options)


def settings(k1: float = K1, b: float = B) -> dict:
    """Index settings and mappings: one text field, English analyser, BM25 with k1 and b."""
    return {
        "settings": {"similarity": {"lisax": {"type": "BM25", "k1": k1, "b": b}}},
        "mappings": {"dynamic": False, "properties": {
            "id": {"type": "keyword"},
            "text": {"type": "text", "analyzer": "english", "similarity": "lisax"}}},
    }


class ElasticIndex:
    """An index of a cluster with `add` and `search` as `Bm25Index` has them."""

    def __init__(self, client: Any, name: str):
        self._client, self.name = client, name

    @classmethod
    def build(cls, client: Any, name: str, documents: Iterable[tuple[str, str]], *, k1: float = K1,
              b: float = B) -> ElasticIndex:
        """Creates the index `name`, which must be new, and fills it; a failure removes it again."""
        if client.indices.exists(index=name):
            raise LisaxError(f"the cluster has an index '{name}' already; add to it or choose another name")
        # `body=` is what the clients of Elasticsearch and of OpenSearch have in common.
        client.indices.create(index=name, body=settings(k1, b))
        index = cls(client, name)
        try:
            index.add(documents)
        except BaseException:
            client.indices.delete(index=name)
            raise
        return index

    def add(self, documents: Iterable[tuple[str, str]]) -> None:
        """Adds (id, text) pairs; an id that is there already is an error (those before it stay added)."""
        for batch in _batches(documents, BULK_DOCUMENTS):
            lines: list[dict] = []
            for document, text in batch:
                lines += {"create": {"_id": check_id(document)}}, {"id": document, "text": text}
            answer = self._client.bulk(index=self.name, body=lines)
            for item in answer["items"] if answer["errors"] else ():
                result = item["create"]
                if result.get("status") == 409:
                    raise LisaxError(f"the document id '{result['_id']}' occurs twice; ids must be distinct")
                if "error" in result:
                    raise LisaxError(f"the cluster refused document '{result['_id']}': {result['error']}")
        self._client.indices.refresh(index=self.name)

    def search(self, queries: Sequence[str], k: int) -> list[list[tuple[str, float]]]:
        """Up to `k` (id, score) a query, best first; of equal scores the lesser id first."""
        if not 1 <= k <= DEEPEST:
            raise LisaxError(f"a cluster gives 1 to {DEEPEST:,} documents a query; found k = {k}")
        found = []
        for batch in _batches(queries, QUERIES_AT_A_TIME):
            lines: list[dict] = []
            for query in batch:
                lines += {}, {"query": {"match": {"text": query}}, "size": k, "_source": False,
                              "track_total_hits": False, "track_scores": True,
                              "sort": [{"_score": "desc"}, {"id": "asc"}]}
            answer = self._client.msearch(index=self.name, body=lines)
            for query, response in zip(batch, answer["responses"], strict=True):
                if "error" in response:
                    raise LisaxError(f"the cluster refused the query {query!r}: {response['error']}")
                found.append([(hit["_id"], float(hit["_score"])) for hit in response["hits"]["hits"]])
        return found


def _batches(items: Iterable, size: int) -> Iterator[list]:
    items = iter(items)
    while batch := list(itertools.islice(items, size)):
        yield batch
