"""Searches an index of passages by BM25, by vectors, or by both."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from lisax.errors import LisaxError
from lisax.predict.dense_search import DenseSearch
from lisax.records import Question
from lisax.retrieval.cluster_passages import ClusterPassages
from lisax.retrieval.dense import DenseIndex, Encodes
from lisax.retrieval.fusion import by_ranks
from lisax.retrieval.mixed import Hits, MixedIndex

METHODS = ("bm25", "dense", "fused")


class PassageSearch:
    """An open index with its search method: BM25, vectors, or both fused: by score where the vectors' dot products are
    cosines, otherwise by reciprocal rank, each contributing the same number of hits. `index` is the index itself."""

    def __init__(
        self,
        index: str | os.PathLike | MixedIndex | ClusterPassages,
        *,
        method: str = "bm25",
        retriever: Encodes | None = None,
        exact: bool = True,
    ):
        if method not in METHODS:
            raise LisaxError(f"expected a method of {', '.join(METHODS)}; found '{method}'")
        self.index = MixedIndex.open(index) if isinstance(index, (str, os.PathLike)) else index
        folder = self.index.folder
        self._method, self._retriever, self._exact = method, retriever, exact and folder is not None
        if method == "bm25":
            return
        if retriever is None:
            raise LisaxError(f"the method '{method}' needs a retriever")
        self._vectors = self.index.vectors if folder is None else DenseIndex.open(folder)
        if self._vectors is None:
            raise LisaxError("the cluster's index has no vectors: make them by `lisax index vectors`")
        if self._vectors.models != {retriever.digest}:
            raise LisaxError(
                f"{folder or self.index.bm25.name} has vectors of another retriever: make them with this one by `lisax "
                "index vectors`"
            )

    def __call__(self, questions: Mapping[str, str], k: int) -> dict[str, Hits]:
        """Up to `k` (passage id, score) hits for each question {id: text}."""
        texts, runs = list(questions.values()), []
        if self._method == "fused" and self._retriever.cosines:
            both = DenseSearch(self._vectors, self._retriever, self.index.search, exact=self._exact)
            return dict(zip(questions, both.search(texts, k)))
        if self._method != "dense":
            runs.append(dict(zip(questions, self.index.search(texts, k))))
        if self._method != "bm25":
            found = self._vectors.search(self._retriever.questions(texts), k, exact=self._exact)
            runs.append(dict(zip(questions, found)))
        if len(runs) == 1:
            return runs[0]
        return by_ranks([{query: [hit for hit, _ in hits] for query, hits in run.items()} for run in runs], k)


def open_search(
    folder: str | os.PathLike, k: int, method: str, opens: Callable[[], Encodes] | None
) -> Callable[[Sequence[Question]], list[Hits]]:
    """The work on a group of questions: up to `k` (passage id, score) hits of each. `opens` opens the retriever."""
    search = PassageSearch(folder, method=method, retriever=opens and opens())
    return lambda questions: list(search({question.id: question.text for question in questions}, k).values())
