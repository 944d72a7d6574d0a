"""safetensors folders, one array at a time: read through the library, written without holding them all."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from lisax.errors import DataError, LisaxError
from lisax.files.json_file import read_object
from lisax.files.writing import atomic_write, write_json
from lisax.weights.interop.kinds import SAFETENSORS, SAFETENSORS_INDEX
from lisax.weights.interop.pieces import Shape, Stored
from lisax.weights.safetensors_file import DTYPES, FRACTIONS, header_of

SHARD_BYTES = 5 * 10**9


def stored_arrays(folder: Path) -> dict[str, Stored]:
    """All arrays of `model.safetensors`, or of the files that its index names."""
    if not (folder / SAFETENSORS_INDEX).is_file():
        return _of_file(folder / SAFETENSORS)
    path = folder / SAFETENSORS_INDEX
    named = read_object(path).get("weight_map")
    if not isinstance(named, dict) or not all(isinstance(file, str) for file in named.values()):
        raise DataError("`weight_map` must give the file of each array", path=path)
    arrays: dict[str, Stored] = {}
    for file in sorted(set(named.values())):
        if Path(file).name != file:
            raise DataError(f"the file '{file}' is outside the checkpoint's folder", path=path)
        arrays |= _of_file(folder / file)
    missing = sorted(set(named) - set(arrays))
    if missing:
        raise DataError(f"'{missing[0]}' is not in '{named[missing[0]]}', where its index places it", path=path)
    return arrays


def _of_file(path: Path) -> dict[str, Stored]:
    if not path.is_file():
        raise DataError("no such file: the copy of the checkpoint is not whole", path=path)
    entries = header_of(path)

    def read(name: str) -> np.ndarray:
        if (dtype := entries[name].dtype) not in FRACTIONS:
            raise DataError(f"'{name}' is of the type {dtype}, expected one of {', '.join(FRACTIONS)}", path=path)
        # Read for each array, not mapped: pages of a file stay in the process's memory while it is open.
        if dtype in DTYPES:  # of which numpy has the type
            entry = entries[name]
            found = np.fromfile(path, DTYPES[dtype], math.prod(entry.shape), offset=entry.begin)
            if found.size != math.prod(entry.shape):
                raise DataError(f"'{name}' is shorter than its header requires: the file was changed", path=path)
            return found.reshape(entry.shape)
        from safetensors import safe_open

        with safe_open(path, "numpy") as file:
            return file.get_tensor(name)

    return {name: Stored(entry.shape, lambda n=name: read(n)) for name, entry in entries.items()}


def write_arrays(
    folder: Path,
    shapes: Mapping[str, Shape],
    arrays: Iterable[tuple[str, np.ndarray]],
    *,
    shard_bytes: int | None = SHARD_BYTES,
) -> None:
    """Writes float32 arrays, which may come in any order, to `model.safetensors` or, of more than `shard_bytes`,
    to shards with their index."""
    shards: list[dict[str, Shape]] = [{}]
    for name, shape in sorted(shapes.items()):
        if shard_bytes and shards[-1] and sum(map(_bytes, shards[-1].values())) + _bytes(shape) > shard_bytes:
            shards.append({})
        shards[-1][name] = shape
    names = (
        [SAFETENSORS]
        if len(shards) == 1
        else [f"model-{i:05d}-of-{len(shards):05d}.safetensors" for i in range(1, len(shards) + 1)]
    )
    place = {}
    for file, shard in zip(names, shards, strict=True):
        place |= {name: (file, offset) for name, offset in _reserve(folder / file, shard).items()}
    for name, array in arrays:
        file, offset = place.pop(name)
        if array.shape != tuple(shapes[name]):
            raise LisaxError(f"'{name}' is {list(array.shape)}, expected {list(shapes[name])}")
        with (folder / file).open("r+b") as out:
            out.seek(offset)
            out.write(np.ascontiguousarray(array, "<f4"))
    if place:
        raise LisaxError(f"{folder}: '{next(iter(place))}' was not given")
    if len(names) > 1:
        files = {name: file for file, shard in zip(names, shards, strict=True) for name in shard}
        write_json(
            folder / SAFETENSORS_INDEX,
            {"metadata": {"total_size": sum(map(_bytes, shapes.values()))}, "weight_map": files},
        )


def _reserve(path: Path, shapes: Mapping[str, Shape]) -> dict[str, int]:
    """Writes the header and makes room; returns each array's offset in the file."""
    header, end = {"__metadata__": {"format": "pt"}}, 0
    for name, shape in shapes.items():
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [end, end := end + _bytes(shape)]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    start = 8 + len(text)
    with atomic_write(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(start + end)
    return {name: start + header[name]["data_offsets"][0] for name in shapes}


def _bytes(shape: Shape) -> int:
    return 4 * math.prod(shape)
