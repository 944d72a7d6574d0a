"""The common parts of our graphs for onnxruntime: a model's parameters as weights, and products with its matrices, in
float32 or 8 bits.

Operators of the domain com.microsoft do in one pass over a tensor the steps that JAX leaves to XLA to fuse.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from lisax.models.architectures import RELATIVE_MAX_DISTANCE
from lisax.models.relative_positions import relative_position_bucket
from lisax.scoring.onnx.file import FLOAT32, INT32, MICROSOFT, Graph, Place, Shape

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
