"""The common parts of our graphs for onnxruntime: a model's parameters as weights, and products with its matrices, in
float32 or 8 bits.

Operators of the domain com.microsoft do in one pass over a tensor the steps that JAX leaves to XLA to fuse.
"""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from lisax.models.architectures import RELATIVE_MAX_DISTANCE
from lisax.models.relative_positions import relative_position_bucket

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


TOKENS = "tokens"
BY_TOKEN = ("texts", "length")  # shape of an input
LOGITS, PROBABILITIES, VECTORS = "logits", "probabilities", "vectors"  # outputs
MASKED = -1e10  # a logit whose probability is 0
LEAST_LENGTH = 1e-12  # of a vector, so that one of zeros stays that
LARGEST = 127  # of int8; states are rounded to multiples of their row's largest divided by it
# Weights likewise, of their column's. CPUs without VNNI add two products of states (up to 255) and weights in 16 bits:
# with weights of 7 bits the sum always fits, so that every CPU computes the same.
LARGEST_WEIGHT = 63

Parameters = Mapping[str, np.ndarray]  # float32, by their paths


class ModelGraph:
    """A graph made of `parameters`; most are of tokens int32 [texts, length], filled with 0.

    `int8`: matrices and their factors are rounded to 8 bits, each column and each token by a scale of its own, so that
    a text's result does not depend on other texts."""

    def __init__(self, parameters: Parameters, *, int8: bool = False):
        self._parameters, self._int8 = parameters, int8
        self._graph, self._known = Graph(), {}  # rounded states: queries, keys and values are of the same
        self._inputs: dict[str, tuple[int, Shape]] = {}
        self._outputs: dict[str, tuple[int, Shape]] = {}

    def proto(self, places: Mapping[str, Place] | None = None) -> bytes:
        """The graph as onnxruntime reads it. `places`: of the parameters, in a file in its folder; None: the runtime is
        given `weights` from memory."""
        return self._graph.model(self._inputs, self._outputs, places)

    @property
    def weights(self) -> Parameters:
        """The arrays that the graph names."""
        return self._graph.weights

    @property
    def _one(self) -> str:
        return self._graph.constant(1, "int32")

    def _input(self, name: str, kind: int, shape: Shape) -> str:
        self._inputs[name] = kind, shape
        return name

    def _output(self, name: str, value: str, shape: Shape) -> None:
        self._node("Identity", value, names=(name,))
        self._outputs[name] = FLOAT32, shape

    def _read_tokens(self, padding_id: int = 0) -> None:
        """Makes the input. `padding_id`: tokens are filled with this id and are as other libraries have them, in which
        it has not changed places with 0."""
        self._tokens = self._input(TOKENS, INT32, BY_TOKEN)
        if padding_id:
            zero, padding = self._graph.constant(0, "int32"), self._graph.constant(padding_id, "int32")
            others = self._node("Where", self._node("Equal", TOKENS, zero), padding, TOKENS)
            self._tokens = self._node("Where", self._node("Equal", TOKENS, padding), zero, others)
        self._mask = self._node("Min", self._tokens, self._one)  # int32 [texts, length], 0 of padding

    def _product(self, x: str, name: str) -> str:
        """x times a kernel, without the bias."""
        if not self._int8:
            return self._node("MatMul", x, self._weight(f"{name}/kernel"))
        kernel = self._parameters[f"{name}/kernel"]
        columns = np.maximum(np.abs(kernel).max(axis=0), np.finfo(np.float32).tiny) / LARGEST_WEIGHT
        rounded = np.rint(kernel / columns).astype(np.int8)
        quantized, rows = self._quantized(x)
        scales = self._graph.constant(1, "float32"), self._graph.weight(f"{name}/scale", columns / LARGEST)
        zero = self._graph.constant(LARGEST + 1, "uint8")
        kernel = self._graph.weight(f"{name}/int8", rounded)
        return self._node("Mul", self._fused("MatMulIntegerToFloat", quantized, kernel, *scales, zero), rows)

    def _quantized(self, x: str) -> tuple[str, str]:
        """Each token's state as uint8, 128 for 0, and its divisor, of its size."""
        if x not in self._known:
            largest = self._node("ReduceMax", self._node("Abs", x), axes=[-1], keepdims=1)
            largest = self._node("Max", largest, self._graph.constant(LEAST_LENGTH, "float32"))
            steps = self._graph.constant(1 / LARGEST, "float32"), self._graph.constant(LARGEST + 1, "uint8")
            self._known[x] = self._node("QuantizeLinear", self._node("Div", x, largest), *steps), largest
        return self._known[x]

    def _length(self, x: str) -> str:
        """int64 []: the second size of x."""
        return self._node("Gather", self._node("Shape", x), self._graph.constant(1, "int64"), axis=0)

    def _distances(self, length: str) -> str:
        """[length, length]: of each key from each query, from 0 on, those beyond the last bucket's as one."""
        zero, one = (self._graph.constant(value, "int64") for value in (0, 1))
        places = self._node("Range", zero, length, one)
        keys, queries = (self._node("Unsqueeze", places, self._axis(axis)) for axis in (0, 1))
        farthest = [self._graph.constant(sign * RELATIVE_MAX_DISTANCE, "int64") for sign in (-1, 1)]
        return self._node("Add", self._node("Clip", self._node("Sub", keys, queries), *farthest), farthest[1])

    def _bias(self, name: str, distances: str, *, bidirectional: bool = True) -> str:
        """The relative position bias [1, heads, length, length]; not `bidirectional`: by which no query sees later
        keys."""
        known = np.arange(-RELATIVE_MAX_DISTANCE, RELATIVE_MAX_DISTANCE + 1)
        embedding = self._parameters[f"{name}/relpos_bias/rel_embedding"]
        table = embedding[:, relative_position_bucket(known, bidirectional=bidirectional)]  # [heads, distances]
        if not bidirectional:
            table = np.where(known > 0, np.float32(MASKED), table)
        bias = self._node("Gather", self._graph.weight(f"{name}/distances", table), distances, axis=1)
        return self._node("Unsqueeze", bias, self._axis(0))

    def _weight(self, name: str) -> str:
        return self._graph.weight(name, self._parameters[name])

    def _node(self, operator: str, *inputs: str, **attributes: Any) -> Any:
        return self._graph.node(operator, *inputs, **attributes)

    def _fused(self, operator: str, *inputs: str, **attributes: Any) -> Any:
        return self._graph.node(operator, *inputs, domain=MICROSOFT, **attributes)

    def _axis(self, axis: int) -> str:
        return self._graph.constant([axis], "int64")
