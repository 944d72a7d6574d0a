"""Parameters and optimizer slots as their file names them, to the tree of the unrolled model.

Programs that scan over layers keep the parameters of a stack's layers in one array: under `encoder/encoder` or
`encoder/layers`, with the layers usually along axis 1. Attention kernels with their heads apart
([embed, heads, head_dim] and [heads, head_dim, embed]) are joined. A relative position bias among the stacked
parameters is that of each layer, as T5X's scalable_t5 and umT5 have it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from lisax.errors import LisaxError
from lisax.models.axes import LAYERS_AXIS, LORA_A, factored_axes
from lisax.models.fields import LAYERS
from lisax.weights.interop.pieces import Piece, Shape, Stored, whole

_STACKED = re.compile(r"((?:.+/)?)(encoder|decoder)/(?:\2|layers)/(.+)")
# Names that the same parameter has had in T5X.
_RENAMED = {"relative_posemb/rel_embedding": "relpos_bias/rel_embedding"}
# T5's Adafactor factors the second moment of matrices whose dimensions are both at least this.
MIN_DIM_SIZE_TO_FACTOR = 128


class _Stack(NamedTuple):
    """The axis of a stack's layers in its arrays, and their number."""

    axis: int
    layers: int


def unrolled(stored: Mapping[str, Stored], folder: object) -> tuple[tuple[Piece, ...], bool]:
    """The pieces of all parameters, and whether any was of several layers."""
    stacks = _stacks(stored, folder)
    return tuple(_piece(name, array, stacks, folder) for name, array in stored.items()), bool(stacks)


def unrolled_slots(stored: Mapping[str, Stored], parameters: Mapping[str, Stored], folder: object) -> tuple[Piece, ...]:
    """The pieces of all optimizer slots, given the parameters as stored: named `{parameter}/{kind}`.

    Adafactor's `v_row` and `v_col` of stacked matrices become T5X's of each layer's matrix, or its whole `v` if that is
    too small to be factored. Where kernels have their heads apart no slots are taken."""
    stacks = _stacks(parameters, folder)
    if any(len(array.shape) > 3 for name, array in parameters.items() if _STACKED.fullmatch(name)):
        return ()
    kinds_of: dict[str, dict[str, Stored]] = {}
    for name, array in stored.items():
        parameter, _, kind = name.rpartition("/")
        kinds_of.setdefault(parameter, {})[kind] = array
    pieces: list[Piece] = []
    for parameter, kinds in kinds_of.items():
        match = _STACKED.fullmatch(parameter)
        if match is None or parameter not in parameters:  # other optimizers name their slots otherwise
            pieces += [whole(f"{parameter}/{kind}", array) for kind, array in kinds.items()]
        else:
            stack = stacks[match[1] + match[2]]
            pieces += _slots_of_layers(parameter, kinds, parameters[parameter].shape, stack, folder)
    return tuple(pieces)


def _piece(name: str, stored: Stored, stacks: Mapping[str, _Stack], folder: object) -> Piece:
    match = _STACKED.fullmatch(name)
    if match is None:
        shape, join = _joined(name, stored.shape)
        return Piece(name, stored, {name: shape}, lambda array: {name: join(array)})
    stack = stacks[match[1] + match[2]]
    if len(stored.shape) <= stack.axis or stored.shape[stack.axis] != stack.layers:
        raise LisaxError(
            f"'{name}' of {folder} is {list(stored.shape)}: expected the {stack.layers} layers along axis {stack.axis}"
        )
    shape, join = _joined(match[3], tuple(np.delete(stored.shape, stack.axis).tolist()))
    return _split(name, stored, _names(match, stack), stack.axis, shape, join)


def _names(match: re.Match, stack: _Stack) -> list[str]:
    """The unrolled tree's names of a stacked parameter, a layer each."""
    prefix, side, rest = match.groups()
    return [f"{prefix}{side}/layers_{i}/{_RENAMED.get(rest, rest)}" for i in range(stack.layers)]


def _split(
    name: str,
    stored: Stored,
    targets: list[str],
    axis: int,
    shape: Shape,
    convert: Callable[[np.ndarray], np.ndarray] = lambda layer: layer,
) -> Piece:
    """The slices of an array along `axis`, each of `shape` once converted."""
    return Piece(
        name,
        stored,
        dict.fromkeys(targets, shape),
        lambda array: {target: convert(layer) for target, layer in zip(targets, np.moveaxis(array, axis, 0))},
    )


def _slots_of_layers(
    parameter: str, kinds: Mapping[str, Stored], shape: Shape, stack: _Stack, folder: object
) -> list[Piece]:
    targets = _names(_STACKED.fullmatch(parameter), stack)
    of_layer = tuple(np.delete(shape, stack.axis).tolist())

    def named(kind: str) -> list[str]:
        return [f"{target}/{kind}" for target in targets]

    def unused(kind: str) -> Piece:
        return Piece(
            f"{parameter}/{kind}",
            kinds[kind],
            dict.fromkeys(named(kind), (1,)),
            lambda array: dict.fromkeys(named(kind), array),
        )

    pieces = []
    for kind, array in kinds.items():
        if kind in ("v_row", "v_col") and len(array.shape) == 2:
            continue
        if array.shape == (1,):
            pieces.append(unused(kind))
        elif array.shape == shape:
            pieces.append(_split(f"{parameter}/{kind}", array, named(kind), stack.axis, of_layer))
        else:
            raise _misshaped(parameter, kind, array.shape, shape, folder)
    axes = factored_axes((*parameter.split("/")[-2:],))
    factors = [kinds[kind] for kind in ("v_row", "v_col") if kind in kinds and len(kinds[kind].shape) == 2]
    if not factors:
        return pieces
    if axes is None or len(factors) < 2 or "v" not in kinds:
        raise _misshaped(parameter, "v_row", factors[0].shape, shape, folder)
    # The places of the row and the column next to the layers: they may come first.
    row, column = (axis + (stack.axis <= axis) for axis in axes)
    for kind, array, away in zip(("v_row", "v_col"), factors, (column, row)):
        if array.shape != tuple(np.delete(shape, away)):
            raise _misshaped(parameter, kind, array.shape, tuple(np.delete(shape, away).tolist()), folder)
    layers_axes = [stack.axis - (away < stack.axis) for away in (column, row)]
    if min(of_layer) < MIN_DIM_SIZE_TO_FACTOR:
        pieces = [piece for piece in pieces if piece.stored_as != f"{parameter}/v"]
        zeros = Stored((1,), lambda: np.zeros(1, np.float32))
        for kind in ("v_row", "v_col"):
            pieces.append(
                Piece(
                    f"{parameter}/v",
                    zeros,
                    dict.fromkeys(named(kind), (1,)),
                    lambda array, kind=kind: dict.fromkeys(named(kind), array),
                )
            )
        rows, columns = factors

        def products(array: np.ndarray) -> dict[str, np.ndarray]:
            layers = zip(np.moveaxis(array, layers_axes[0], 0), np.moveaxis(columns.read(), layers_axes[1], 0))
            return {
                name: _product(row_means, column_means, row < column)
                for name, (row_means, column_means) in zip(named("v"), layers)
            }

        return [*pieces, Piece(f"{parameter}/v_row", rows, dict.fromkeys(named("v"), of_layer), products)]
    # T5X calls the smaller dimension of a matrix its row, the first of equals.
    order = (0, 1) if (shape[row], row) < (shape[column], column) else (1, 0)
    for kind, which in zip(("v_row", "v_col"), order):
        length = shape[(row, column)[which]]
        pieces.append(
            _split(
                f"{parameter}/{('v_row', 'v_col')[which]}", factors[which], named(kind), layers_axes[which], (length,)
            )
        )
    return pieces


def _product(row_means: np.ndarray, column_means: np.ndarray, row_first: bool) -> np.ndarray:
    """The second moment that its means over columns and over rows stand for (Adafactor, equation 4)."""
    mean = row_means.mean()
    if mean > 0:
        row_means = row_means / mean
    return np.outer(row_means, column_means) if row_first else np.outer(column_means, row_means)


def _misshaped(parameter: str, kind: str, found: Shape, expected: Shape, folder: object) -> LisaxError:
    return LisaxError(
        f"the optimizer slot '{parameter}/{kind}' of {folder} is {list(found)}, which is not T5X's of a "
        f"parameter of stacked layers: expected {list(expected)}"
    )


def _stacks(stored: Mapping[str, Stored], folder: object) -> dict[str, _Stack]:
    """{"encoder": …} of the stacks whose layers are in one array."""
    stacks: dict[str, _Stack] = {}
    for name in stored:
        match = _STACKED.fullmatch(name)
        if match and match[1] + match[2] not in stacks:
            stacks[match[1] + match[2]] = _layer_axis(stored, match[1], match[2], folder)
    return stacks


def _layer_axis(stored: Mapping[str, Stored], prefix: str, stack: str, folder: object) -> _Stack:
    """Found by the scales, which are vectors but for the axis of layers. No other library stacks layers of the BERT
    family, or adapters."""

    def of_layers(end: str) -> list[Shape]:
        return [
            array.shape
            for name, array in stored.items()
            if (match := _STACKED.fullmatch(name)) and match.groups()[:2] == (prefix, stack) and match[3].endswith(end)
        ]

    for end, dimensions in (("mlp_norm/scale", 2), (f"/{LORA_A}", 3)):
        for shape in of_layers(end):
            if len(shape) == dimensions and LAYERS.accepts(shape[LAYERS_AXIS]):
                return _Stack(LAYERS_AXIS, shape[LAYERS_AXIS])
    scales = of_layers("pre_mlp_layer_norm/scale")
    norm = stored.get(f"{prefix}{stack}/{stack}_norm/scale")
    if norm is not None and len(scales) == 1 and len(scales[0]) == 2:
        for axis in (1, 0):
            if scales[0][1 - axis :][:1] == norm.shape and LAYERS.accepts(scales[0][axis]):
                return _Stack(axis, scales[0][axis])
    raise LisaxError(
        f"the layers of {folder} are in one array (scanned), but which of its axes is that of layers "
        f"cannot be found from '{prefix}{stack}/{stack}_norm/scale' and 'pre_mlp_layer_norm/scale'"
    )


def _joined(name: str, shape: Shape) -> tuple[Shape, Callable[[np.ndarray], np.ndarray]]:
    """Shape and reshaping of a kernel whose heads are apart; of any other parameter, nothing changes."""
    kernel = re.search(r"attention/(query|key|value|out)/kernel$", name)
    if kernel is None or len(shape) != 3:
        return shape, lambda array: array
    joined = (math.prod(shape[:2]), shape[2]) if kernel[1] == "out" else (shape[0], math.prod(shape[1:]))
    return joined, lambda array: array.reshape(joined)
