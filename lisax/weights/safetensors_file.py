"""Safetensors without the package: a header of JSON, then the arrays, read as views of the mapped file."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lisax.errors import DataError, shown
from lisax.files.json_file import MOST_BYTES, parse_object

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
