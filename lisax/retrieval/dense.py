"""Vectors of an index's passages: exact search over mapped files, or approximate search by faiss; fusion with BM25.

Each source has a component `dense-{source}`, whose parts hold `vectors.npy` (float32 [passages, width], in the order of
the passages). Parts are committed one by one, so that an interrupted encoding resumes, and a source is removed with its
vectors. All sources' vectors come from one model, so their dot products are comparable: each source is searched
separately and the results are merged, which for exact search equals searching one index.

`approximate` adds `ivf-{source}`: an inverted file of vectors in one byte a dimension, mapped too.

For 20 M passages of 768 dimensions (T5 base): vectors.npy takes 20e6 * 768 * 4 = 61.4 GB on disk, all of which an exact
search reads (mapped, so it claims no RAM, but each batch of queries takes the time of one reading). The inverted file
takes 20e6 * (768 + 8) = 15.5 GB on disk; a query with 64 of the 17,888 lists (4 sqrt(n)) reads 56 MB of it. RAM: the
lists' centres take 17,888 * 768 * 4 = 55 MB; passage ids are looked up in mapped files. Building takes 3.5 GB once, to
train on 64 vectors a list, and 15.5 GB to add the vectors. BM25 of the same passages, 100 words each, has about 60
postings a passage: 20e6 * 60 * 9 bytes = 11 GB.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from lisax.records import DataError, LisaxError
from lisax.retrieval.folder import Writing, open_component, read_components, unchanged, writing
from lisax.retrieval.mixed import Hits, MixedIndex
from lisax.retrieval.passage_store import PassageStore
from lisax.retrieval.passages import Passage, Source

BLOCK = 1 << 14  # passages encoded between two commits
SEARCHED = 1 << 18  # vectors compared at once
PROBES, TRAINED_BY = 64, 64  # lists read per query; vectors per list for training
RECIPROCAL = 60  # the constant of Cormack et al. 2009


class Encodes(Protocol):
    """The methods required of a retriever, such as `lisax.predict.retriever.Retriever`."""

    digest: str  # identifies the model

    def questions(self, texts: Sequence[str]) -> np.ndarray: ...

    def passages(self, passages: Sequence[Passage]) -> np.ndarray: ...


def encode_index(folder: str | os.PathLike, retriever: Encodes, progress: Callable[[int], None] | None = None) -> int:
    """Encodes all passages that have no vectors of this retriever yet; returns the total number of vectors.

    An interrupted call resumes after the last complete block. Vectors of another retriever, or of passages that have
    been replaced, are recomputed."""
    folder, count = Path(folder), 0
    for source, store in MixedIndex.open(folder).stores.items():
        with writing(folder) as state:
            parts, done = _begun(state, source, store, retriever.digest)
            passages = store.after(done)
            while block := list(itertools.islice(passages, BLOCK)):
                part = state.new_part(f"dense-{source}")
                np.save(part / "vectors.npy", vectors := retriever.passages(block).astype(np.float32))
                done += len(block)
                parts.append(part.relative_to(folder).as_posix())
                files = [name for part in parts for name in state.names(folder / part)]
                settings = {"model": retriever.digest, "of": store.digest, "width": vectors.shape[1], "vectors": done}
                state.commit(
                    {f"dense-{source}": {"settings": settings, "parts": parts, "files": files}}, [f"ivf-{source}"]
                )
                if progress is not None:
                    progress(len(block))
        count += done
    return count


def _begun(state: Writing, source: Source, store: PassageStore, model: str) -> tuple[list[str], int]:
    """The parts of the vectors that can be kept, and the number of vectors in them."""
    there = state.components.get(f"dense-{source}")
    if there is None or (there["settings"]["model"], there["settings"]["of"]) != (model, store.digest):
        return [], 0
    return list(there["parts"]), there["settings"]["vectors"]


def approximate(folder: str | os.PathLike) -> None:
    """Adds an inverted file to the vectors of every source that has none."""
    import faiss

    for source in DenseIndex.open(folder).sources:
        with writing(folder) as state:
            if f"ivf-{source}" in state.components:
                continue
            blocks = _blocks(Path(folder), source)
            count, width = sum(map(len, blocks)), blocks[0].shape[1]
            lists = max(1, min(round(4 * math.sqrt(count)), count // 39))  # faiss wants 39 vectors a list
            index = faiss.index_factory(width, f"IVF{lists},SQ8", faiss.METRIC_INNER_PRODUCT)
            step = max(1, count // (TRAINED_BY * lists))
            index.train(np.concatenate([block[::step] for block in blocks]))
            for block in blocks:
                index.add(np.asarray(block))
            part = state.new_part(f"ivf-{source}")
            faiss.write_index(index, str(part / "lists.faiss"))
            state.commit(
                {
                    f"ivf-{source}": {
                        "settings": {"lists": lists, "vectors": count},
                        "files": state.names(part),
                        "parts": [part.relative_to(state.folder).as_posix()],
                    }
                }
            )


def _blocks(folder: Path, source: Source) -> list[np.ndarray]:
    parts = open_component(folder, f"dense-{source}")["parts"]
    return [np.load(folder / part / "vectors.npy", mmap_mode="r") for part in parts]


class DenseIndex:
    """The vectors of an index, memory-mapped."""

    def __init__(self, folder: Path):
        self.index = MixedIndex.open(folder)
        manifests, self.models = read_components(folder), set()
        for source, store in self.index.stores.items():
            settings = manifests.get(f"dense-{source}", {"settings": {}})["settings"]
            if (settings.get("of"), settings.get("vectors")) != (store.digest, len(store)):
                raise DataError(
                    f"passages of '{source}' have no vectors; make them with `lisax index vectors "
                    f"{folder} --retriever DIR`",
                    path=folder,
                )
            self.models.add(settings["model"])
        if len(self.models) > 1:
            raise DataError(
                "its sources have vectors of different retrievers; make them with one by `lisax index vectors`",
                path=folder,
            )
        self.sources = list(self.index.stores)
        try:
            self._blocks = {source: _blocks(folder, source) for source in self.sources}
        except (OSError, ValueError) as error:
            raise DataError(f"the vectors are damaged ({error}); make them again", path=folder) from None
        self._lists = {source: _lists(folder, source) for source in self.sources if f"ivf-{source}" in manifests}

    @classmethod
    def open(cls, folder: str | os.PathLike) -> DenseIndex:
        return unchanged(folder, lambda: cls(Path(folder)))

    def search(self, vectors: np.ndarray, k: int, *, exact: bool = True) -> list[Hits]:
        """Up to `k` (passage id, dot product) for each query vector; of equal ones the earlier passage first."""
        if not exact and (missing := [source for source in self.sources if source not in self._lists]):
            raise LisaxError(
                f"passages of '{missing[0]}' have exact vectors only: make the others with `lisax index "
                "vectors --approximate`"
            )
        vectors, found = np.ascontiguousarray(vectors, np.float32), []
        for number, source in enumerate(self.sources):
            scores, places = self._lists[source].search(vectors, k) if not exact else self._exact(source, vectors, k)
            found.append((scores, places, np.full(places.shape, number)))
        scores, places, sources = (np.concatenate(parts, axis=1) for parts in zip(*found))
        results = []
        for row in range(len(vectors)):
            order = np.lexsort((places[row], sources[row], -scores[row]))
            kept = [i for i in order if places[row, i] >= 0][:k]
            results.append(
                [
                    (self.index.stores[self.sources[sources[row, i]]].id_at(int(places[row, i])), float(scores[row, i]))
                    for i in kept
                ]
            )
        return results

    def _exact(self, source: Source, vectors: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        import faiss

        found, start = [], 0
        for block in self._blocks[source]:
            for begin in range(0, len(block), SEARCHED):
                part = np.ascontiguousarray(block[begin : begin + SEARCHED])
                scores, places = faiss.knn(vectors, part, min(k, len(part)), metric=faiss.METRIC_INNER_PRODUCT)
                found.append((scores, places + start + begin))
            start += len(block)
        scores, places = (np.concatenate(parts, axis=1) for parts in zip(*found))
        best = np.lexsort((places, -scores), axis=1)[:, :k]
        return np.take_along_axis(scores, best, axis=1), np.take_along_axis(places, best, axis=1)


def _lists(folder: Path, source: Source):
    import faiss

    part = folder / open_component(folder, f"ivf-{source}")["parts"][0]
    index = faiss.read_index(str(part / "lists.faiss"), faiss.IO_FLAG_MMAP)
    index.nprobe = PROBES
    return index


def fused(runs: Iterable[Mapping[str, Sequence[str]]], k: int) -> dict[str, Hits]:
    """Reciprocal rank fusion: a passage's score is the sum of 1 / (60 + rank) over the runs {query: ids} that contain
    it."""
    scores: dict[str, dict[str, float]] = {}
    for run in runs:
        for query, ids in run.items():
            of_query = scores.setdefault(query, {})
            for rank, passage in enumerate(ids, start=1):
                of_query[passage] = of_query.get(passage, 0.0) + 1 / (RECIPROCAL + rank)
    return {query: sorted(of_query.items(), key=lambda hit: -hit[1])[:k] for query, of_query in scores.items()}
