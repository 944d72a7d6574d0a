"""Searches an index by BM25, by its vectors, or by both, with the model that the vectors are of."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from lisax.errors import LisaxError
from lisax.files.places import is_cluster
from lisax.predict.retriever import open_encoder
from lisax.records import Question
from lisax.retrieval import bm25, table_text
from lisax.retrieval.bm25 import Bm25Index
from lisax.retrieval.cluster import open_records, tables_at
from lisax.retrieval.cluster_passages import ClusterPassages
from lisax.retrieval.cluster_vectors import ClusterContent, ClusterVectors
from lisax.retrieval.dense import DenseIndex, Encodes, source_of_vectors, weight_of
from lisax.retrieval.documents import DocumentIndex
from lisax.retrieval.fusion import WEIGHT, Judged, by_ranks, fused
from lisax.retrieval.mixed import Hits, MixedIndex

DEPTH = 300  # records that BM25 and vectors each propose
QUESTIONS_AT_A_TIME = 256

Search = Callable[..., list[Hits]]  # (texts, k) -> hits of each


class DenseSearch:
    """`search` has the contract of BM25's: up to k (record id, score) for each text, best first.

    Records that BM25 or the vectors propose are scored by both (`retrieval.fusion`); a page's cosine is its best
    sentence's. `exact`: search the vectors themselves, not their inverted file or graph; cosines are exact in any
    case."""

    def __init__(
        self,
        vectors: DenseIndex | ClusterVectors,
        encoder: Encodes,
        words: Search,
        *,
        weight: float = WEIGHT,
        exact: bool = True,
    ):
        if vectors.models != {encoder.digest}:
            raise LisaxError(
                f"the index has vectors of another model than {encoder.source} is: make them again by `lisax index "
                f"vectors INDEX --retriever {encoder.source}`, or search by only BM25 with the weight 0"
            )
        self.vectors, self.encoder, self.weight = vectors, encoder, weight
        self._words, self._exact = words, exact

    @classmethod
    def open(
        cls, folder: str | os.PathLike, weight: float | None = None, only: str | None = None
    ) -> DenseSearch | None:
        """The search of an index, in a folder or at a cluster's address, whose vectors' dot products are cosines; None for
        any other index, and for the weight 0. `only`: `sentences` or `tables` of an index that may have both. Without a weight it is the one fitted to this
          index, if any. Opens the model where encoding found it, and searches the inverted file if there is one.
        """
        if is_cluster(folder):
            return cls.over(tables_at(folder) if only == "tables" else open_records(folder), weight, only)
        if weight is None and only is not None:
            weight = weight_of(folder, only)
        if weight == 0 or (source := source_of_vectors(folder, only)) is None:
            return None
        vectors = DenseIndex.open(folder, only)
        if not vectors.cosines:
            return None
        words = Bm25Index.open(folder, table_text.NAME if only == "tables" else bm25.NAME)
        weight = WEIGHT if weight is None else weight
        return cls(vectors, open_encoder(source), words.search, weight=weight, exact=not vectors.is_listed)

    @classmethod
    def over(
        cls,
        index: DocumentIndex | MixedIndex | ClusterContent,
        weight: float | None = None,
        only: str | None = None,
    ) -> DenseSearch | None:
        """`open` for an index that is open already, in a folder or in a cluster."""
        if index.folder is not None:
            return cls.open(index.folder, weight, only)
        if weight == 0 or (vectors := index.vectors) is None:
            return None
        weight = WEIGHT if weight is None else weight
        return cls(vectors, open_encoder(vectors.source), index.bm25.search, weight=weight, exact=False)

    @property
    def digest(self) -> str:
        """Changes with whatever determines the hits besides BM25."""
        return f"{self.encoder.digest}-{self.weight}"

    def search(self, texts: Sequence[str], k: int) -> list[Hits]:
        """Up to `k` (record id, score) per text; of equal scores in BM25's order."""
        found = []
        for records, lexical, cosines in self._candidates(texts, max(k, DEPTH)):
            scores = fused(lexical, cosines, self.weight)
            order = np.argsort(-scores, kind="stable")[:k]
            found.append([(records[i], float(scores[i])) for i in order])
        return found

    def judged(self, texts: Sequence[str], relevant: Sequence[Iterable[str]], depth: int = DEPTH) -> list[Judged]:
        """The candidates of each text, with which of them are `relevant`, for `fusion.fit`."""
        return [
            Judged(lexical, cosines, np.isin(records, list(gold)), len(set(gold) - set(records)))
            for (records, lexical, cosines), gold in zip(self._candidates(texts, depth), relevant, strict=True)
        ]

    def _candidates(self, texts: Sequence[str], depth: int) -> Iterable[tuple[list[str], np.ndarray, np.ndarray]]:
        """The proposed records of each text, BM25's scores (0 where BM25 does not propose one) and cosines."""
        for start in range(0, len(texts), QUESTIONS_AT_A_TIME):
            some = texts[start : start + QUESTIONS_AT_A_TIME]
            lexical, questions = self._words(some, depth), self.encoder.questions(some)
            near = self.vectors.search(questions, depth, exact=self._exact)
            for question, by_words, by_vectors in zip(questions, lexical, near, strict=True):
                scores = dict(by_words)
                records = list(dict.fromkeys([*scores, *(record for record, _ in by_vectors)]))
                known: dict[str, float] = dict(by_vectors) if self._exact else {}
                unknown = [one for one in records if one not in known]
                known |= zip(unknown, self.vectors.best(question, unknown))
                cosines = [known[one] for one in records]
                yield records, np.array([scores.get(one, 0.0) for one in records]), np.array(cosines)


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
