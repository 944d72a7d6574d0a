"""Graphs in ONNX's format, written as bytes: the few fields of its protobuf that a graph of tensors needs.

A model's parameters are not in the bytes. The graph names them, with their shapes. The runtime takes the arrays as they
lie in memory, or from the `Place` in a file that the graph gives.
"""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

OPSET, MICROSOFT = 17, "com.microsoft"  # version of ONNX's own operators; domain of onnxruntime's
IR_VERSION = 8
_TYPES = {
    np.dtype(name): number for name, number in (("float32", 1), ("uint8", 2), ("int8", 3), ("int32", 6), ("int64", 7))
}
_FLOAT, _INT, _INTS, _EXTERNAL = 1, 2, 7, 1  # kinds of attributes; a tensor whose data is elsewhere
FLOAT32, INT32, INT64 = (_TYPES[np.dtype(name)] for name in ("float32", "int32", "int64"))

Shape = Sequence[int | str]  # a name stands for a dimension that may have any size


class Place(NamedTuple):
    """The place of an array's bytes, in a file in the graph's folder."""

    file: str
    offset: int
    length: int


@dataclasses.dataclass
class Graph:
    """A graph as it is built: nodes in the order of their computation, and the arrays that they name."""

    weights: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)
    _nodes: list[bytes] = dataclasses.field(default_factory=list)
    _constants: dict[str, bytes] = dataclasses.field(default_factory=dict)

    def weight(self, name: str, array: np.ndarray) -> str:
        """Adds an array that is given to the runtime separately from the graph, or is in it: see `model`."""
        self.weights[name] = np.ascontiguousarray(array)
        return name

    def constant(self, value: Any, dtype: str) -> str:
        """Adds a small array that is part of the graph, as shapes and axes have to be."""
        array = np.array(value, dtype)
        name = f"{dtype}_{value}"
        self._constants[name] = _whole(name, array)
        return name

    def node(
        self,
        operator: str,
        *inputs: str,
        outputs: int = 1,
        names: Sequence[str] = (),
        domain: str = "",
        **attributes: Any,
    ) -> Any:
        """Adds a node and returns the name of its output, a tuple of them if there are several; `names`: their names.
        "" is an input that is left out."""
        names = tuple(names) or tuple(f"{operator}_{len(self._nodes)}_{i}" for i in range(outputs))
        fields = [_text(1, name) for name in inputs] + [_text(2, name) for name in names]
        fields += [_text(4, operator), *(_bytes(5, _attribute(*item)) for item in attributes.items())]
        self._nodes.append(b"".join([*fields, _text(7, domain)]))
        return names[0] if len(names) == 1 else names

    def model(
        self,
        inputs: dict[str, tuple[int, Shape]],
        outputs: dict[str, tuple[int, Shape]],
        places: Mapping[str, Place] | None = None,
    ) -> bytes:
        """The ModelProto; `inputs` and `outputs`: type and shape of each. `places`: of weights that are in a file; the
        others are in the proto then. None: all weights stay in memory."""
        graph = [_bytes(1, node) for node in self._nodes] + [_text(2, "lisax")]
        graph += [_bytes(5, _weight(name, array, places)) for name, array in self.weights.items()]
        graph += [_bytes(5, constant) for constant in self._constants.values()]
        for field, values in ((11, inputs), (12, outputs)):
            graph += [_bytes(field, _value(name, *value)) for name, value in values.items()]
        opsets = [_bytes(8, _text(1, domain) + _int(2, version)) for domain, version in (("", OPSET), (MICROSOFT, 1))]
        return b"".join([_int(1, IR_VERSION), _text(2, "lisax"), _bytes(7, b"".join(graph)), *opsets])


# --- Protobuf -------------------------------------------------------------------------------


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1  # a negative number is its two's complement of 64 bits
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


def _int(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _text(field: int, value: str) -> bytes:
    return _bytes(field, value.encode())


def _attribute(name: str, value: Any) -> bytes:
    if isinstance(value, float):
        return _text(1, name) + _varint(2 << 3 | 5) + struct.pack("<f", value) + _int(20, _FLOAT)
    if isinstance(value, int):
        return _text(1, name) + _int(3, value) + _int(20, _INT)
    return _text(1, name) + b"".join(_int(8, entry) for entry in value) + _int(20, _INTS)


def _described(name: str, array: np.ndarray) -> bytes:
    """A TensorProto without its data."""
    return b"".join(_int(1, size) for size in array.shape) + _int(2, _TYPES[array.dtype]) + _text(8, name)


def _whole(name: str, array: np.ndarray) -> bytes:
    return _described(name, array) + _bytes(9, array.tobytes())


def _weight(name: str, array: np.ndarray, places: Mapping[str, Place] | None) -> bytes:
    """A TensorProto whose data is in a file, in the proto, or in memory, where the runtime finds it by name."""
    if places is None:
        entries = {"location": "memory"}
    elif name in places:
        file, offset, length = places[name]
        entries = {"location": file, "offset": str(offset), "length": str(length)}
    else:
        return _whole(name, array)
    given = b"".join(_bytes(13, _text(1, key) + _text(2, value)) for key, value in entries.items())
    return _described(name, array) + given + _int(14, _EXTERNAL)


def _value(name: str, kind: int, shape: Shape) -> bytes:
    sizes = (_text(2, size) if isinstance(size, str) else _int(1, size) for size in shape)
    tensor = _int(1, kind) + _bytes(2, b"".join(_bytes(1, size) for size in sizes))
    return _text(1, name) + _bytes(2, _bytes(1, tensor))
