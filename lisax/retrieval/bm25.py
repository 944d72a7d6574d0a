"""BM25 (Lucene's variant) over any number of documents, in bounded memory.

The collection is split into shards, in the format of bm25s: precomputed scores, grouped by term and memory-mapped for
search, next to raw counts and document lengths:

    ids.*                          document ids (a string table)
    indices, indptr.csc.index.npy  the documents of each term; counts.npy: how often; lengths.npy: terms a document
    scores-<revision>.npy          idf * tf / (tf + k1 (1 - b + b * length / average length))

idf, document count and average length are those of the whole collection, so scores do not depend on how it is split.
Adding documents appends shards and recomputes the scores of all shards from the stored counts (seconds per million
documents; no text is read); the result equals a full build.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from lisax.errors import DataError, LisaxError
from lisax.retrieval.blocks import ADVICE
from lisax.retrieval.bm25_builder import Bm25Builder, Shard, scores_name, terms_of
from lisax.retrieval.folder import open_component, writing
from lisax.retrieval.strings import Joined, StringTable

NAME = "bm25"
QUERIES_AT_A_TIME = 256
FEW = 1 << 18  # queries times documents of a batch that is searched without numba


def build(documents: Iterable[tuple[str, str]], out: str | os.PathLike, **settings: Any) -> Bm25Index:
    """Indexes (id, text) pairs into the folder `out`. An existing BM25 index there is replaced at the end. `settings`: of
    `Bm25Builder`, such as k1 and b."""
    with writing(out) as state:
        builder = Bm25Builder(state, NAME, **settings)
        for document_id, text in documents:
            builder.add(document_id, text)
        state.commit({NAME: builder.finish()})
    return Bm25Index.open(out)


class Bm25Index:
    """An open index, memory-mapped except for words of recent queries and ids of recent hits.

    `settings` has k1, b, documents, average_length, the language if it is not English, and the analyzer if it is not ours;
    `digest` identifies the content.
    """

    def __init__(self, folder: Path, name: str):
        self.folder, self._name = folder, name
        self._load()

    @classmethod
    def open(cls, folder: str | os.PathLike, name: str = NAME) -> Bm25Index:
        return cls(Path(folder), name)

    def _load(self) -> None:
        manifest = open_component(self.folder, self._name)
        self.settings: dict = manifest["settings"]
        self.digest: str = manifest["digest"]
        parts = [self.folder / part for part in manifest["parts"]]
        try:
            self._ids = Joined(StringTable(part / "ids") for part in parts)
            self._shards = [Shard(part, scores_name(self.settings)) for part in parts]
            vocabulary = StringTable(self.folder / manifest["vocabulary"] / "terms")
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DataError(f"the BM25 index is damaged ({error}); {ADVICE}", path=self.folder) from None
        self._terms = terms_of(self.settings, lambda stem: -1 if (number := vocabulary.find(stem)) is None else number)

    def __len__(self) -> int:
        return len(self._ids)

    def document_id(self, number: int) -> str:
        """The id of the `number`-th indexed document, from 0."""
        return self._ids[number]

    def rescore(self, k1: float, b: float) -> None:
        """Sets k1 and b, atomically; scores become those of a full build."""
        with writing(self.folder) as state:
            builder = Bm25Builder(state, self._name, extend=True)
            builder.set_parameters(k1, b)
            state.commit({self._name: builder.finish()})
            self._load()

    def search(self, queries: Sequence[str], k: int, *, threads: int | None = None) -> list[list[tuple[str, float]]]:
        """Up to `k` (id, score) per query, best first; of equal scores the earlier document first.

        Documents that share no term with the query are not returned. A term that a query repeats counts again.
        `threads`: None for one per core; results do not depend on it.
        """
        if k < 1:
            raise LisaxError(f"expected k >= 1, found {k}")
        if isinstance(queries, str):
            raise LisaxError("search takes a list of queries, found one string")
        threads = min(threads or len(os.sched_getaffinity(0)), max(1, len(queries) // 16))
        step = min(QUERIES_AT_A_TIME, -(-len(queries) // threads) or 1)
        batches = [queries[start : start + step] for start in range(0, len(queries), step)]
        if threads == 1:
            found = [self._search_batch(batch, k) for batch in batches]
        else:
            with ThreadPoolExecutor(threads) as pool:
                found = list(pool.map(lambda batch: self._search_batch(batch, k), batches))
        return [hits for batch in found for hits in batch]

    def _search_batch(self, queries: Sequence[str], k: int) -> list[list[tuple[str, float]]]:
        numbered = [self._terms(query) for query in queries]
        if len(queries) * len(self) <= FEW:
            return [self._search_few(numbers, k) for numbers in numbered]
        from lisax.retrieval import topk

        pointers = np.cumsum([0] + [len(numbers) for numbers in numbered], dtype=np.int64)
        terms = np.array([number for numbers in numbered for number in numbers], dtype=np.int64)
        k = min(k, len(self))
        scores = np.empty((len(queries), k), dtype=np.float32)
        documents = np.empty((len(queries), k), dtype=np.int64)
        sizes = np.zeros(len(queries), dtype=np.int64)
        longest = max(map(len, self._ids.parts))
        sums, touched = np.zeros(longest, dtype=np.float32), np.empty(longest, dtype=np.int32)
        for shard, start, ids in zip(self._shards, self._ids.starts, self._ids.parts):
            shard.check(terms)
            topk.accumulate(
                shard.data.unchecked,
                shard.indices.unchecked,
                shard.pointers,
                start,
                len(ids),
                terms,
                pointers,
                sums,
                touched,
                scores,
                documents,
                sizes,
            )
        topk.sort_heaps(scores, documents, sizes)
        name = self._ids.name
        return [
            [(name(number), score) for number, score in zip(documents[q, :n].tolist(), scores[q, :n].tolist())]
            for q, n in enumerate(sizes.tolist())
        ]

    def _search_few(self, terms: Sequence[int], k: int) -> list[tuple[str, float]]:
        """The result of `topk`, without numba: loading its functions takes longer than a few thousand documents."""
        sums = np.zeros(len(self), np.float32)
        for shard, start in zip(self._shards, self._ids.starts):
            pointers, of_shard = shard.pointers, sums[start:]
            for term in terms:
                if term < len(pointers) - 1:
                    postings = int(pointers[term]), int(pointers[term + 1])
                    of_shard[shard.indices.rows(*postings)] += shard.data.rows(*postings)
        found = np.flatnonzero(sums)
        if len(found) > k:  # of which all that score as the k-th or better are sorted
            scores = sums[found]
            found = found[scores >= np.partition(scores, -k)[-k]]
        best = found[np.argsort(-sums[found], kind="stable")[:k]]
        return [(self._ids.name(number), float(sums[number])) for number in best.tolist()]
