"""Vectors of an index made by many processes or machines, each of which encodes a shard of the texts.

A shard is a run of whole blocks (`dense.BLOCK`), so that its vectors have the same bytes as those of one process. Each
block is a file in the index's folder `shards/`, which nothing else reads. Another machine encodes in a copy of the index,
whose `shards/` is copied back. `join` links the files into the index, without a further copy, and commits them together.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from lisax.errors import DataError
from lisax.files.writing import atomic_write
from lisax.retrieval import dense
from lisax.retrieval.dense import Encodes, Progress
from lisax.retrieval.dense_texts import Texts, digests_of, texts_of
from lisax.retrieval.folder import read_components, writing
from lisax.retrieval.vector_codes import Bits, coded, floats

FOLDER = "shards"


class _Blocks(NamedTuple):
    """The blocks of one kind of text that have no vectors in the index yet."""

    name: str
    texts: Texts
    of: list[str]  # digests of the parts that hold the texts
    bits: Bits
    place: Path  # a folder for this model and these texts
    starts: range

    def size(self, start: int) -> int:
        return min(dense.BLOCK, len(self.texts) - start)

    def path(self, start: int) -> Path:
        return self.place / f"{start:010d}.npy"

    def is_whole(self, start: int) -> bool:
        """Whether the block's file is there; one that was copied in part is not."""
        try:
            return len(np.load(self.path(start), mmap_mode="r", allow_pickle=False)) == self.size(start)
        except (OSError, ValueError, EOFError):
            return False

    def shard(self, shard: int, shards: int) -> range:
        """The first texts of the blocks of a shard, counted from 1."""
        return self.starts[len(self.starts) * (shard - 1) // shards : len(self.starts) * shard // shards]


def _blocks(folder: Path, encoder: Encodes, bits: Bits | None) -> Iterator[_Blocks]:
    components = read_components(folder)
    for name, texts in texts_of(folder).items():
        done, stored_bits = dense.kept(folder, name, encoder.digest, bits)
        of = digests_of(components, texts)
        key = hashlib.sha256(json.dumps([encoder.digest, of, dense.BLOCK, stored_bits]).encode()).hexdigest()[:16]
        starts = range(done, len(texts), dense.BLOCK)
        yield _Blocks(name, texts, of, stored_bits, folder / FOLDER / f"{name}-{key}", starts)


def to_encode(folder: str | os.PathLike, encoder: Encodes, shard: int, shards: int, *, bits: Bits | None = None) -> int:
    """The number of texts of a shard that `encode_shard` would encode."""
    return sum(
        blocks.size(start)
        for blocks in _blocks(Path(folder), encoder, bits)
        for start in blocks.shard(shard, shards)
        if not blocks.is_whole(start)
    )


def encode_shard(
    folder: str | os.PathLike,
    encoder: Encodes,
    shard: int,
    shards: int,
    progress: Progress | None = None,
    *,
    bits: Bits | None = None,
) -> int:
    """Encodes the blocks of a shard (`shard` of `shards`, from 1) of all texts without vectors of this model; returns the
    number of its texts. Finished blocks stay as they are. `bits`: as of `dense.encode_index`."""
    count = 0
    for blocks in _blocks(Path(folder), encoder, bits):
        waiting: Iterator | None = None
        for start in blocks.shard(shard, shards):
            count += blocks.size(start)
            if blocks.is_whole(start):
                waiting = None
                continue
            waiting = blocks.texts.after(start) if waiting is None else waiting
            some = list(itertools.islice(waiting, dense.BLOCK))
            vectors = encoder.passages(some, progress).astype(np.float32)
            with atomic_write(blocks.path(start), "wb") as file:
                np.save(file, coded(vectors, blocks.bits))
    return count


def join(folder: str | os.PathLike, encoder: Encodes, *, bits: Bits | None = None) -> int:
    """Moves the vectors of all shards into the index, which then equals one that `dense.encode_index` made; returns the
    total number of vectors. Raises DataError, and changes nothing, if a block is missing."""
    folder, changed, places, count = Path(folder), {}, [], 0
    with writing(folder) as state:
        for blocks in _blocks(folder, encoder, bits):
            if missing := [start for start in blocks.starts if not blocks.is_whole(start)]:
                first = missing[0]
                raise DataError(
                    f"the vectors of {len(missing)} of {len(blocks.starts)} blocks of '{blocks.name}' are missing, the "
                    f"first that of texts {first + 1:,} to {first + blocks.size(first):,}: run the shards again, with "
                    "the model and --bits given here; they keep their finished blocks",
                    path=blocks.place,
                )
            count += len(blocks.texts)
            if not blocks.starts:
                continue
            component = dense.PREFIX + blocks.name
            parts = [folder / part for part in state.components[component]["parts"]] if blocks.starts.start else []
            for start in blocks.starts:
                part = state.new_part(component)
                try:
                    os.link(blocks.path(start), part / dense.VECTORS)
                except OSError:  # a file system without links
                    shutil.copyfile(blocks.path(start), part / dense.VECTORS)
                parts.append(part)
            width = floats(np.load(part / dense.VECTORS, mmap_mode="r")[:1]).shape[1]
            changed[component] = dense.manifest(
                state, encoder, blocks.texts, blocks.of, parts, width, len(blocks.texts)
            )
            places.append(blocks.place)
        if changed:
            state.commit(changed, [dense.LISTS + name.removeprefix(dense.PREFIX) for name in changed])
    for place in places:
        shutil.rmtree(place)
    with contextlib.suppress(OSError):  # of another model's shards
        (folder / FOLDER).rmdir()
    return count
