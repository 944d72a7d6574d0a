"""Vectors of a cluster's pages (of each sentence), passages or tables, in an index of their own.

`NAME-vectors` has a document per encoded text, in the order of `dense_texts`, with the record that it is of. The texts'
model is in its `_meta`. Near vectors are found by the cluster's own graph, without quantization; cosines are exact, as a
script of the cluster computes them.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from lisax.devices.batching import windows
from lisax.errors import DataError, LisaxError
from lisax.retrieval.dense import BLOCK, Encodes, Hits
from lisax.retrieval.dense_texts import Text
from lisax.retrieval.elastic import DEEPEST, NUMBERED, ElasticIndex, Found

BESIDE = "-vectors"
OF, VECTOR = "of", "vector"  # fields: the id of the record, and the vector
DIGITS = 7  # of a number: more than a float32 of a vector of length 1 has
CANDIDATES = 2  # for each wanted vector: how many the search in the graph keeps, at most `DEEPEST`


class ClusterVectors:
    """The vectors of an index, with the interface of `dense.DenseIndex`. `source` names their model."""

    cosines, is_listed = True, True

    def __init__(self, index: ElasticIndex, source: str, model: str):
        self._index, self.source, self.models = index, source, {model}

    @classmethod
    def open(cls, index: ElasticIndex) -> ClusterVectors | None:
        """The vectors of an index; None if it has none. Raises DataError if some of its records have no vectors."""
        vectors = index.named(index.behind + BESIDE)
        if not vectors.exists():
            return None
        meta = vectors.described() or {}
        try:
            found = cls(vectors, str(meta["source"]), str(meta["model"]))
            complete, records = bool(meta["complete"]), meta.get("records")
        except KeyError as error:
            raise DataError(f"its `_meta` lacks {error}: it was not made by LisaX", path=vectors.name) from None
        if not complete or records != index.count():
            raise DataError(
                "some of its records have no vectors yet; make them with `lisax index vectors URL/"
                f"{index.name} --retriever {found.source}`",
                path=index.name,
            )
        return found

    def search(self, vectors: np.ndarray, k: int, *, exact: bool = False) -> list[Hits]:
        """Up to `k` (record id, cosine) for each query vector, of the `k` nearest texts that the cluster finds. A
        record of several texts is there once, with its best, so that there may be fewer than `k`."""
        if exact:
            raise LisaxError("a cluster searches a graph of vectors, not all of them")
        near = self._index.is_opensearch
        bodies = [_nearest(vector, k, near) | {"size": k, "docvalue_fields": [OF]} for vector in map(_list, vectors)]
        results = []
        for hits in self._index.find(bodies):
            best: dict[str, float] = {}
            for hit in hits:
                best.setdefault(self._record(hit), 2 * hit.score - 1)
            results.append(list(best.items()))
        return results

    def best(self, vector: np.ndarray, records: Sequence[str]) -> list[float]:
        """The cosine of each record's nearest text; 0 for a record without text."""
        found: dict[str, float] = {}
        for start in range(0, len(records), DEEPEST):
            some = records[start : start + DEEPEST]
            (hits,) = self._index.find([self._compared(vector, some) | {"size": len(some), "collapse": {"field": OF}}])
            found |= {self._record(hit): hit.score - 1 for hit in hits}
        return [found.get(one, 0.0) for one in records]

    def products_of(self, vector: np.ndarray, records: Sequence[str]) -> dict[str, np.ndarray]:
        """{record: float32 [texts]}: the cosines of a query vector with the texts of records, in their order."""
        sort = {"size": DEEPEST, "track_scores": True, "sort": [{NUMBERED: "asc"}]}
        found = self._index.find([self._compared(vector, [record]) | sort for record in records])
        return {
            record: np.array([hit.score - 1 for hit in hits], np.float32)
            for record, hits in zip(records, found, strict=True)
        }

    def _compared(self, vector: np.ndarray, records: Sequence[str]) -> dict[str, Any]:
        """A search for the texts of records, whose score is 1 + their cosine."""
        if self._index.is_opensearch:
            script = {
                "lang": "knn",
                "source": "knn_score",
                "params": {"field": VECTOR, "query_value": _list(vector), "space_type": "cosinesimil"},
            }
        else:
            source = f"cosineSimilarity(params.query_vector, '{VECTOR}') + 1.0"
            script = {"source": source, "params": {"query_vector": _list(vector)}}
        texts = {"bool": {"filter": [{"terms": {OF: list(records)}}]}}
        return {"query": {"script_score": {"query": texts, "script": script}}, "docvalue_fields": [OF]}

    @staticmethod
    def _record(hit: Found) -> str:
        return str(hit.fields[OF][0])


class ClusterContent:
    """The vectors and the digest of the pages, passages or tables of an index. These have no `folder`. `tables`: the whole
    tables, if it has them."""

    folder, tables = None, None

    def __init__(self, index: ElasticIndex):
        self.bm25 = index

    @functools.cached_property
    def vectors(self) -> ClusterVectors | None:
        return ClusterVectors.open(self.bm25)

    @property
    def digest(self) -> str:
        return self.bm25.digest


def _list(vector: np.ndarray) -> list[float]:
    return np.round(vector.astype(float), DIGITS).tolist()


def _nearest(vector: list[float], k: int, opensearch: bool) -> dict[str, Any]:
    """A search for the nearest vectors, whose score is (1 + cosine) / 2 with both."""
    if opensearch:
        return {"query": {"knn": {VECTOR: {"vector": vector, "k": k}}}}
    candidates = min(CANDIDATES * k, DEEPEST)
    return {"knn": {"field": VECTOR, "query_vector": vector, "k": k, "num_candidates": candidates}}


def _mapped(width: int, opensearch: bool) -> tuple[dict, dict]:
    """(settings, mapping) of a field of vectors in a graph that keeps them as they are."""
    if opensearch:
        method = {"name": "hnsw", "engine": "lucene", "space_type": "cosinesimil"}
        return {"index.knn": True}, {"type": "knn_vector", "dimension": width, "method": method}
    options = {"type": "hnsw"}  # the default compresses vectors, in later versions to a bit for each number
    return {}, {"type": "dense_vector", "dims": width, "index": True, "similarity": "cosine", "index_options": options}


def encode_cluster(index: ElasticIndex, texts: Iterable[tuple[str, Text]], encoder: Encodes, **settings: Any) -> int:
    """Encodes the (record id, text) pairs of an index and stores the vectors; returns their number.

    An interrupted call resumes; only texts that were added later are encoded then. Vectors of another model are made
    again. `settings`: such as `number_of_shards`."""
    if not encoder.cosines:
        raise LisaxError(f"a cluster compares vectors by their cosine, and {encoder.source} is not made for it")
    behind = index.behind
    vectors = index.named(behind + BESIDE)
    meta = {"over": behind, "model": encoder.digest, "source": encoder.source}
    if vectors.exists():
        found = vectors.described() or {}
        if {name: found.get(name) for name in meta} != meta:
            vectors.remove()
        elif found.get("complete"):
            if found.get("records") == index.count():
                return vectors.count()
            vectors.describe(meta | {"complete": False})
    width = encoder.passages([Text("", "width")]).shape[1]
    own, mapping = _mapped(width, index.is_opensearch)
    begun = vectors.begin(properties={OF: {"type": "keyword"}, VECTOR: mapping}, meta=meta, settings=own | settings)
    rows = _encoded(itertools.islice(texts, begun, None), encoder)
    vectors.fill(enumerate(((str(number), row) for number, row in enumerate(rows, start=begun)), start=begun))
    vectors.finish(meta | {"records": index.count()})
    return vectors.count()


def _encoded(texts: Iterable[tuple[str, Text]], encoder: Encodes) -> Iterator[Mapping[str, Any]]:
    for block in windows(texts, BLOCK):
        made = encoder.passages([text for _, text in block])
        for (record, _), vector in zip(block, made, strict=True):
            yield {OF: record, VECTOR: _list(vector)}
