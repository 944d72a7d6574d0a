"""Safetensors without the package: a header of JSON, then the arrays, read as views of the mapped file."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np

from lisax.records import DataError

DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1", "U8": "u1",
          "BOOL": "?"}


def read(path: str | os.PathLike) -> dict[str, np.ndarray]:
    """{name: read-only array}. Pages are read when they are touched. DataError where the file is not whole."""
    path = Path(path)
    try:
        data = np.memmap(path, np.uint8, "r")
        header_bytes = int.from_bytes(data[:8].tobytes(), "little")
        header = json.loads(data[8:8 + header_bytes].tobytes())
        header.pop("__metadata__", None)
        body = data[8 + header_bytes:]
        arrays, ends = {}, [0]
        for name, entry in header.items():
            start, end = entry["data_offsets"]
            if end > len(body):
                raise ValueError(f"'{name}' ends at byte {end} of {len(body)}")
            arrays[name] = body[start:end].view(DTYPES[entry["dtype"]]).reshape(entry["shape"])
            ends.append(end)
        if max(ends) != len(body):
            raise ValueError(f"its arrays take {max(ends)} of {len(body)} bytes")
    except OSError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"not a whole safetensors file: {error}", path=path) from None
    return arrays
