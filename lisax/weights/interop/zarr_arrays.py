"""zarr arrays through tensorstore, opened by a description of our own: nothing of a checkpoint's index reaches it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from lisax.errors import LisaxError
from lisax.files.places import SCHEME, is_remote
from lisax.weights.checkpoints import save_error

GZIP = {"id": "gzip", "level": 1}
CHUNK_BYTES = 64 * 2**20


def read(kvstore: dict[str, Any], driver: str = "zarr") -> np.ndarray:
    """The whole array; a missing chunk is an error, where zarr's own convention is to read it as zeros."""
    import tensorstore

    opened = tensorstore.open(
        {"driver": driver, "kvstore": kvstore, "fill_missing_data_reads": False}, open=True, read=True
    )
    return opened.result().read().result()


def file_store(folder: Path) -> dict[str, Any]:
    if is_remote(folder):
        bucket, _, path = os.fspath(folder).removeprefix(SCHEME).partition("/")
        return {"driver": "gcs", "bucket": bucket, "path": f"{path}/"}
    return {"driver": "file", "path": f"{os.path.abspath(folder)}/"}


def write(folder: Path, array: np.ndarray) -> dict[str, Any]:
    """Writes `array` as gzip-compressed zarr; returns the `metadata` that T5X's index has for it."""
    import tensorstore

    metadata = {"chunks": chunks_of(array.shape, array.itemsize), "compressor": GZIP, "shape": list(array.shape)}
    try:
        opened = tensorstore.open(
            {"driver": "zarr", "kvstore": file_store(folder), "dtype": array.dtype.name, "metadata": metadata},
            create=True,
        ).result()
        opened.write(array).result()
    except (ValueError, OSError) as error:
        raise save_error(folder, error) from error
    return metadata


def chunks_of(shape: tuple[int, ...], itemsize: int) -> list[int]:
    """Halves the longest axis, if it halves evenly, until a chunk is at most 64 MiB."""
    chunks = list(shape)
    while np.prod(chunks, dtype=np.int64) * itemsize > CHUNK_BYTES:
        even = [axis for axis, size in enumerate(chunks) if size % 2 == 0]
        if not even:
            break
        chunks[max(even, key=lambda axis: chunks[axis])] //= 2
    return chunks


def inside(folder: Path, path: Any) -> Path:
    """`folder / path`; an error unless `path` is relative and stays in `folder`, links followed."""
    refused = f"an array of {folder} is declared to be at '{path}', outside the checkpoint: it is not read"
    if not isinstance(path, str) or not path or os.path.isabs(path) or "\0" in path:
        raise LisaxError(refused)
    if is_remote(folder):
        if ".." in path.split("/"):
            raise LisaxError(refused)
        return folder / path
    root, place = folder.resolve(), (folder / path).resolve()
    if place == root or not place.is_relative_to(root):
        raise LisaxError(refused)
    return place
