"""safetensors files: a header of JSON, then the arrays. Read as views of the mapped file or array by array, and written
without holding them all; the package reads only types that numpy lacks."""

from __future__ import annotations

import json
import math
import os
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lisax.errors import DataError, LisaxError, shown
from lisax.files.json_file import MOST_BYTES, parse_object, read_object
from lisax.files.writing import atomic_write, write_json
from lisax.weights.interop.kinds import SAFETENSORS, SAFETENSORS_INDEX
from lisax.weights.interop.pieces import Shape, Stored

SHARD_BYTES = 5 * 10**9
# Weights are numbers with fractions; the last three are of other programs' checkpoints, which the package reads. Whole
# numbers may be among them, such as BERT's positions, and are never read.
FRACTIONS = {"F64": 64, "F32": 32, "F16": 16, "BF16": 16, "F8_E4M3": 8, "F8_E5M2": 8}
BITS = FRACTIONS | {"I64": 64, "I32": 32, "I16": 16, "I8": 8, "U8": 8, "BOOL": 8}
DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2"}
MOST_DIMENSIONS = 8


class Entry(NamedTuple):
    dtype: str
    shape: tuple[int, ...]
    begin: int  # bytes of the file
    end: int


def header_of(path: Path) -> dict[str, Entry]:
    """The header's entry of each array: checked against the size of the file, so that arrays lie one after the other
    and nothing else does. Raises DataError if the file is not whole, or an array is not of weights."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if size < 8 or length > size - 8:
                raise _damaged(path, f"its header has {length:,} bytes, the file {size:,}")
            # One byte more than allowed: `parse_object` reports it.
            header = parse_object(file.read(min(length, MOST_BYTES + 1)), path)
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", path=path) from None
    header.pop("__metadata__", None)
    start = 8 + length
    entries = {name: _entry(path, name, described, start) for name, described in header.items()}
    end = start
    for name, entry in sorted(entries.items(), key=lambda item: item[1][2:]):
        if entry.begin != end:
            raise _damaged(
                path, f"'{name}' begins at byte {entry.begin:,} of the file, and the one before it ends at {end:,}"
            )
        end = entry.end
    if end != size:
        raise _damaged(path, f"its arrays end at byte {end:,} of {size:,}")
    return entries


def _entry(path: Path, name: str, described: Any, start: int) -> Entry:
    if not name.isprintable() or not name or len(name) > 500:
        raise _damaged(path, f"{shown(name)} is not a name of an array")
    known = described if isinstance(described, dict) else {}
    dtype, shape, offsets = (known.get(field) for field in ("dtype", "shape", "data_offsets"))
    if not isinstance(dtype, str) or dtype not in BITS:
        raise _damaged(path, f"'{name}' is of the type {shown(dtype)}, expected one of {', '.join(FRACTIONS)}")
    for field, value, most in (("shape", shape, MOST_DIMENSIONS), ("data_offsets", offsets, 2)):
        if not (
            isinstance(value, list)
            and len(value) <= most
            and all(type(number) is int and 0 <= number < 1 << 48 for number in value)
        ):
            raise _damaged(path, f"`{field}` of '{name}' is {shown(value)}, expected at most {most} whole numbers")
    if len(offsets) != 2 or 8 * (offsets[1] - offsets[0]) != math.prod(shape) * BITS[dtype]:
        raise _damaged(path, f"'{name}' is {shape} of {dtype}, which do not take the bytes of its offsets {offsets}")
    return Entry(dtype, tuple(shape), start + offsets[0], start + offsets[1])


def _damaged(path: Path, message: str) -> DataError:
    return DataError(f"not a whole safetensors file: {message}", path=path)


def read(path: str | os.PathLike) -> dict[str, np.ndarray]:
    """{name: read-only array}. Pages are read when they are touched. Raises DataError if the file is not whole."""
    path = Path(path)
    entries = header_of(path)
    data = np.memmap(path, np.uint8, "r")
    for name, entry in entries.items():
        if entry.dtype not in DTYPES:
            raise DataError(f"'{name}' is of the type {entry.dtype}, expected one of {', '.join(DTYPES)}", path=path)
    return {
        name: data[entry.begin : entry.end].view(DTYPES[entry.dtype]).reshape(entry.shape)
        for name, entry in entries.items()
    }


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
