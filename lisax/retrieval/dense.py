"""Vectors of an index's texts: exact search over mapped files, or approximate search by faiss; fusion with BM25.

`dense_texts` selects the encoded texts. Each kind of text (of passages: each source) has a component `dense-{name}`,
whose parts hold `vectors.npy` (float32 [texts, width], in the order of the texts, or fewer bits: `vector_codes`). Parts
are committed one by one, so that an interrupted encoding resumes; only texts that are added later are encoded then, and
texts that are removed or replaced take their vectors with them. All vectors of an index come from one model, so their
dot products are comparable: each component is searched separately and the results are merged, which for exact search
equals searching one index. Many machines encode by `dense_shards`.

`approximate` adds `ivf-{name}`: an inverted file of vectors in one byte per dimension, mapped too, or an HNSW graph of
them (Malkov & Yashunin 2018), which has to be in memory. `benchmarks/near.py` compares both with exact search.

Sizes, for 20 M passages of 768 dimensions (T5 base): vectors.npy takes 61.4 GB on disk, all of which an exact search
reads for each batch of queries. The inverted file takes 15.5 GB; a query with 256 of the 17,888 lists (4 sqrt(n)) reads
222 MB of it. Their centres take 55 MB of RAM, and building takes 3.5 GB, to train on 64 vectors a list. BM25 of the same
passages, 100 words each, takes 11 GB.
"""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol

import numpy as np

from lisax.devices.batching import windows
from lisax.devices.workers import Workers, mapped
from lisax.errors import DataError, LisaxError
from lisax.retrieval.blocks import Array, Mapped
from lisax.retrieval.dense_texts import Text, Texts, digests_of, texts_of
from lisax.retrieval.folder import Writing, open_component, part_digests, read_components, unchanged, writing
from lisax.retrieval.mixed import Hits
from lisax.retrieval.vector_codes import Bits, bits_of, coded, floats

BLOCK = 1 << 13  # texts encoded between two commits
SEARCHED = 1 << 18  # vectors compared at once
PROBES, TRAINED_BY = 256, 64  # lists read per query; vectors per list for training
# Neighbours of a vector in the graph; candidates kept when a vector is added, and in a search.
NEIGHBOURS, TRIED, REACHED = 32, 200, 512
PREFIX, LISTS, WEIGHT = "dense-", "ivf-", "weight-"
VECTORS = "vectors.npy"  # of a part

Progress = Callable[[int], None]


class Encodes(Protocol):
    """The methods required of a model, such as `lisax.predict.retriever.Retriever`."""

    digest: str  # identifies the model
    source: str  # where it was opened from: a name or a folder
    cosines: bool  # whether dot products of its vectors are cosines

    def questions(self, texts: Sequence[str]) -> np.ndarray: ...

    def passages(self, passages: Sequence[Text], progress: Progress | None = None) -> np.ndarray: ...


def encode_index(
    folder: str | os.PathLike,
    encoder: Encodes,
    progress: Progress | None = None,
    *,
    opens: Callable[[], Encodes] | None = None,
    workers: Workers | None = None,
    bits: Bits | None = None,
) -> int:
    """Encodes all texts that have no vectors of this model yet; returns the total number of vectors.

    An interrupted call resumes after the last complete block. Vectors of another model, or of texts that have been
    replaced, are recomputed. `workers` (`devices.workers`) encode with the same model, which `opens` opens there. `bits`:
    of a number on disk (`vector_codes`), and others are recomputed; None: as the index has them, or 32."""
    open_work = functools.partial(_open_encoding, opens, encoder.digest)
    if workers is None:
        open_work = functools.partial(_encoding, encoder, progress)
    folder, count = Path(folder), 0
    for name, texts in texts_of(folder).items():
        with writing(folder) as state:
            component, of = PREFIX + name, digests_of(state.components, texts)
            done, stored_bits = kept(folder, name, encoder.digest, bits)
            parts = [folder / part for part in state.components[component]["parts"]] if done else []
            for vectors in mapped(open_work, windows(texts.after(done), BLOCK), workers):
                part = state.new_part(component)
                np.save(part / VECTORS, coded(vectors, stored_bits))
                if workers is not None and progress is not None:
                    progress(len(vectors))
                done += len(vectors)
                parts.append(part)
                about = manifest(state, encoder, texts, of, parts, vectors.shape[1], done)
                state.commit({component: about}, [LISTS + name])
        count += done
    return count


def _encoding(encoder: Encodes, progress: Progress | None = None) -> Callable[[Sequence[Text]], np.ndarray]:
    """The work on a block of texts: their vectors, float32 [texts, width]."""
    return lambda block: encoder.passages(block, progress).astype(np.float32)


def _open_encoding(opens: Callable[[], Encodes], digest: str) -> Callable[[Sequence[Text]], np.ndarray]:
    encoder = opens()
    if encoder.digest != digest:
        raise LisaxError(
            f"{encoder.source} is another model on a worker than here, or is computed in another way: give all machines "
            "the same files and the same LISAX_BACKEND"
        )
    return _encoding(encoder)


def manifest(
    state: Writing, encoder: Encodes, texts: Texts, of: list[str], parts: list[Path], width: int, count: int
) -> dict:
    """The manifest of the vectors of the first `count` texts. `of`: digests of the parts that hold the texts."""
    settings = {"model": encoder.digest, "source": encoder.source, "cosines": encoder.cosines}
    settings |= {"over": texts.component, "of": of, "width": width, "vectors": count}
    return state.manifest(settings, parts)


def to_encode(folder: str | os.PathLike, model: str, bits: Bits | None = None) -> int:
    """The number of texts that have no vectors of the model with this digest, in these bits."""
    folder = Path(folder)
    return sum(len(texts) - kept(folder, name, model, bits)[0] for name, texts in texts_of(folder).items())


def source_of_vectors(folder: str | os.PathLike, only: str | None = None) -> str | None:
    """Where the model of an index's vectors (of those named `only`) was opened from; None if it has no vectors. Raises
    DataError for vectors of several models."""
    components = read_components(folder)
    names = [
        name.removeprefix(PREFIX)
        for name in components
        if name.startswith(PREFIX) and only in (None, name.removeprefix(PREFIX))
    ]
    found = {settings["source"] for name in names if (settings := _settings(components, name))}
    if len(found) > 1:
        raise DataError(
            f"its vectors are of different models, {' and '.join(sorted(found))}; make them with one by `lisax index "
            f"vectors {folder} --retriever MODEL`",
            path=folder,
        )
    return next(iter(found), None)


def weight_of(folder: str | os.PathLike, name: str) -> float | None:
    """The weight of vectors against BM25's score that was fitted for a kind of text; None if `keep_weight` kept
    none."""
    components = read_components(folder)
    kept = components.get(WEIGHT + name, {"settings": {}})["settings"]
    return kept["weight"] if kept and kept["model"] == _settings(components, name).get("model") else None


def keep_weight(folder: str | os.PathLike, name: str, weight: float, queries: int) -> None:
    """Records the weight that was fitted to this number of queries; it counts as long as the vectors are of the same
    model."""
    with writing(folder) as state:
        model = _settings(state.components, name)["model"]
        settings = {"weight": weight, "queries": queries, "model": model, "over": PREFIX + name, "of": []}
        state.commit({WEIGHT + name: {"settings": settings, "parts": [], "files": []}})


def kept(folder: Path, name: str, model: str, bits: Bits | None = None) -> tuple[int, Bits]:
    """The number of texts whose vectors can be kept, and the bits of a number on disk: `bits`, or as these vectors or
    others of the index are. `folder.Writing` drops vectors of texts that are gone."""
    components = read_components(folder)
    others = [component for component in components if component.startswith(PREFIX)]
    there = next((_bits(folder, one) for one in (PREFIX + name, *others) if one in components), 32)
    settings = _settings(components, name)
    done = settings["vectors"] if settings.get("model") == model and bits in (None, there) else 0
    return done, bits or there


def _bits(folder: Path, component: str) -> Bits:
    return bits_of(Array(folder / open_component(folder, component)["parts"][0] / VECTORS).unchecked)


def _settings(components: Mapping[str, dict], name: str) -> dict:
    """The settings of the vectors; empty if there are none."""
    return components.get(PREFIX + name, {"settings": {}})["settings"]


def approximate(folder: str | os.PathLike, kind: Literal["lists", "hnsw"] = "lists") -> None:
    """Adds an inverted file (`lists`) or an HNSW graph to all vectors that have none, or one of the other kind, or a graph
    that was built with fewer candidates."""
    import faiss

    for name in DenseIndex.open(folder).names:
        with writing(folder) as state:
            old = state.components.get(LISTS + name)
            made = {"kind": kind} | ({"tried": TRIED} if kind == "hnsw" else {})
            if old is not None and made.items() <= old["settings"].items():
                continue
            blocks = [block.whole() for block in _blocks(Path(folder), name)]
            count, width = sum(map(len, blocks)), state.components[PREFIX + name]["settings"]["width"]
            lists = max(1, min(round(4 * math.sqrt(count)), count // 39))  # faiss wants 39 vectors a list
            described = f"IVF{lists},SQ8" if kind == "lists" else f"HNSW{NEIGHBOURS},SQ8"
            index = faiss.index_factory(width, described, faiss.METRIC_INNER_PRODUCT)
            if kind == "hnsw":
                index.hnsw.efConstruction = TRIED
            step = max(1, count // (TRAINED_BY * lists))
            index.train(np.concatenate([floats(block[::step]) for block in blocks]))
            for block in blocks:
                index.add(floats(block))
            part = state.new_part(LISTS + name)
            faiss.write_index(index, str(part / "lists.faiss"))
            of = part_digests(state.components[PREFIX + name])
            settings = made | {"vectors": count, "over": PREFIX + name, "of": of}
            state.commit({LISTS + name: state.manifest(settings, [part])})


def _blocks(folder: Path, name: str) -> list[Array]:
    parts = open_component(folder, PREFIX + name)["parts"]
    return [Array(folder / part / VECTORS) for part in parts]


class DenseIndex:
    """The vectors of an index, memory-mapped. `models` are the digests of the models, of which there is one, and
    `cosines` whether dot products of their vectors are cosines."""

    def __init__(self, folder: Path, only: str | None = None):
        manifests, self.models, self.cosines = read_components(folder), set(), True
        self.texts = {name: texts for name, texts in texts_of(folder).items() if only in (None, name)}
        for name, texts in self.texts.items():
            settings = _settings(manifests, name)
            if settings.get("vectors") != len(texts):
                what = "passages of '{}'" if texts.component.startswith("passages-") else "its {}"
                raise DataError(
                    f"{what.format(name)} have no vectors{' yet' if settings else ''}; make them with `lisax index "
                    f"vectors {folder} --retriever MODEL`",
                    path=folder,
                )
            self.models.add(settings["model"])
            self.cosines &= settings["cosines"]
        if len(self.models) > 1:
            raise DataError(
                "its sources have vectors of different retrievers; make them with one by `lisax index vectors`",
                path=folder,
            )
        self.names = list(self.texts)
        try:
            self._blocks = {name: _blocks(folder, name) for name in self.names}
        except (OSError, ValueError) as error:
            raise DataError(f"the vectors are damaged ({error}); make them again", path=folder) from None
        self._lists = {name: _lists(folder, name) for name in self.names if LISTS + name in manifests}

    @classmethod
    def open(cls, folder: str | os.PathLike, only: str | None = None) -> DenseIndex:
        """The vectors of all texts of an index, or of those named `only` (see `texts_of`)."""
        return unchanged(folder, lambda: cls(Path(folder), only))

    @property
    def is_listed(self) -> bool:
        """Whether all vectors have an inverted file or a graph."""
        return len(self._lists) == len(self.names)

    def search(self, vectors: np.ndarray, k: int, *, exact: bool = True) -> list[Hits]:
        """Up to `k` (record id, dot product) for each query vector; of equal ones the earlier text first. A record of
        several texts is there once, with its best, so that there may be fewer than `k`."""
        if not exact and (missing := [name for name in self.names if name not in self._lists]):
            raise LisaxError(
                f"passages of '{missing[0]}' have exact vectors only: make the others with `lisax index "
                "vectors --approximate`"
            )
        vectors, found = np.ascontiguousarray(vectors, np.float32), []
        for number, name in enumerate(self.names):
            scores, places = self._lists[name].search(vectors, k) if not exact else self._exact(name, vectors, k)
            found.append((scores, places, np.full(places.shape, number)))
        scores, places, numbers = (np.concatenate(parts, axis=1) for parts in zip(*found))
        results = []
        for row in range(len(vectors)):
            order = np.lexsort((places[row], numbers[row], -scores[row]))
            hits: dict[str, float] = {}
            for i in [i for i in order if places[row, i] >= 0][:k]:
                record = self.texts[self.names[numbers[row, i]]].record_at(int(places[row, i]))
                hits.setdefault(record, float(scores[row, i]))
            results.append(list(hits.items()))
        return results

    def best(self, vector: np.ndarray, records: Sequence[str]) -> list[float]:
        """The dot product of a query vector with each record's nearest text; 0 for a record without text."""
        products = (self.products(vector, record) for record in records)
        return [float(found.max()) if len(found) else 0.0 for found in products]

    def products_of(self, vector: np.ndarray, records: Sequence[str]) -> dict[str, np.ndarray]:
        """{record: float32 [texts]}: the dot products of a query vector with the texts of records, in their order."""
        return {record: self.products(vector, record) for record in records}

    def products(self, vector: np.ndarray, record: str) -> np.ndarray:
        """float32 [texts]: the dot products of a query vector with the texts of one record, in their order."""
        for name, texts in self.texts.items():
            if places := texts.places_of(record):
                return self._between(name, places) @ vector
        return np.zeros(0, np.float32)

    def _between(self, name: str, places: range) -> np.ndarray:
        """Vectors next to each other, float32 [places, width]."""
        found, start = [], 0
        for block in self._blocks[name]:
            first, last = max(places.start - start, 0), min(places.stop - start, len(block))
            if first < last:
                found.append(floats(block.rows(first, last)))
            start += len(block)
        return np.concatenate(found)

    def _exact(self, name: str, vectors: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        import faiss

        found, start = [], 0
        for block in self._blocks[name]:
            for begin in range(0, len(block), SEARCHED):
                part = np.ascontiguousarray(floats(block.rows(begin, min(begin + SEARCHED, len(block)))))
                scores, places = faiss.knn(vectors, part, min(k, len(part)), metric=faiss.METRIC_INNER_PRODUCT)
                found.append((scores, places + start + begin))
            start += len(block)
        scores, places = (np.concatenate(parts, axis=1) for parts in zip(*found))
        best = np.lexsort((places, -scores), axis=1)[:, :k]
        return np.take_along_axis(scores, best, axis=1), np.take_along_axis(places, best, axis=1)


def _lists(folder: Path, name: str):
    import faiss

    path = folder / open_component(folder, LISTS + name)["parts"][0] / "lists.faiss"
    Mapped(path).check()
    index = faiss.read_index(str(path), faiss.IO_FLAG_MMAP)
    if isinstance(index, faiss.IndexHNSW):
        index.hnsw.efSearch = REACHED
    else:
        index.nprobe = PROBES
    return index
