"""Parameters and optimizer slots as their file names them, to a `Checkpoint`.

Programs that scan over layers keep the parameters of a stack's layers in one array: under `encoder/encoder` or
`encoder/layers`, with the layers usually along axis 1. They are read twice: as the tree of stacked layers here, which
holds the same numbers, and as the tree with a name for each layer. Attention kernels with their heads apart are joined
(`heads_apart`). A relative position bias among the stacked parameters is that of each layer, as T5X's scalable_t5 and
umT5 have it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from lisax.errors import LisaxError
from lisax.models.axes import LAYERS_AXIS, LORA_A, apart_axes, factored_axes, logical_axes
from lisax.models.fields import LAYERS
from lisax.weights.heads_apart import join, joined_shape, kept
from lisax.weights.interop.kinds import Kind
from lisax.weights.interop.pieces import Checkpoint, Piece, Shape, Stacked, Stored

_STACKED = re.compile(r"((?:.+/)?)(encoder|decoder)/(?:\2|layers)/(.+)")
# Names that the same parameter has had in T5X.
_RENAMED = {"relative_posemb/rel_embedding": "relpos_bias/rel_embedding"}
# T5's Adafactor factors the second moment of matrices whose dimensions are both at least this.
MIN_DIM_SIZE_TO_FACTOR = 128
FACTORS = ("v_row", "v_col")


class _Stack(NamedTuple):
    """The axis of a stack's layers in its arrays, and their number."""

    axis: int
    layers: int


class _Array(NamedTuple):
    """An array as the tree of stacked layers here has it, and its name in the file."""

    stored_as: str
    stored: Stored


def checkpoint_of(
    kind: Kind, folder: Path, step: int | None, parameters: Mapping[str, Stored], slots: Mapping[str, Stored]
) -> Checkpoint:
    """The checkpoint of arrays by their names in the file; slots are named `{parameter}/{kind}`.

    With a name for each layer, Adafactor's `v_row` and `v_col` of stacked matrices become T5X's of each layer's matrix,
    or its whole `v` if that is too small to be factored."""
    stacks = _stacks(parameters, folder)
    named = [_as_here(name, "", stored, stacks, folder) for name, stored in parameters.items()]
    arrays = dict(named)
    kinds_of: dict[str, dict[str, _Array]] = {}
    for name, stored in slots.items():
        parameter, _, slot = name.rpartition("/")
        here, array = _as_here(parameter, slot, stored, stacks, folder)
        kinds_of.setdefault(here, {})[slot] = array
    whole = Stacked(
        tuple(_whole(array, name) for name, array in named),
        tuple(_whole(array, f"{name}/{slot}") for name, kinds in kinds_of.items() for slot, array in kinds.items()),
    )
    if not stacks and not any(_heads_apart(name, stored) for name, stored in parameters.items()):
        return Checkpoint(kind, folder, step, *whole)
    separate: list[Piece] = []
    for name, array in named:
        layers = _layers(name, stacks)
        separate.append(_split(array, layers, LAYERS_AXIS) if layers else _whole(array, name))
    separate_slots: list[Piece] = []
    for name, kinds in kinds_of.items():
        layers = _layers(name, stacks)
        if name in arrays and (layers or _heads_apart(name, parameters[name])):
            separate_slots += _slots_of_layers(name, arrays[name].stored.shape, kinds, layers, folder)
        else:  # of no layers, or of an optimizer that names its slots otherwise
            separate_slots += [_whole(array, f"{name}/{slot}") for slot, array in kinds.items()]
    return Checkpoint(kind, folder, step, tuple(separate), tuple(separate_slots), stacked=whole if stacks else None)


def _heads_apart(name: str, stored: Stored) -> bool:
    return joined_shape(name, stored.shape) != stored.shape


def _as_here(name: str, slot: str, stored: Stored, stacks: Mapping[str, _Stack], folder: object) -> tuple[str, _Array]:
    """(the parameter's name here, the array) of a parameter, or of a slot of one, as the file has it."""
    here, match = name, _STACKED.fullmatch(name)
    stack = stacks.get(match[1] + match[2]) if match else None
    stored_as = f"{name}/{slot}" if slot else name
    if stack is not None:
        prefix, side, rest = match.groups()
        here = f"{prefix}{side}/{side}/{_RENAMED.get(rest, rest)}"
        if not slot and (len(stored.shape) <= stack.axis or stored.shape[stack.axis] != stack.layers):
            raise LisaxError(
                f"'{name}' of {folder} is {list(stored.shape)}: expected the {stack.layers} layers along axis {stack.axis}"
            )
        if stack.axis != LAYERS_AXIS:
            stored = _layers_second(here, slot, stored, stack.axis)
    target = f"{here}/{slot}" if slot else here
    read, shape = stored.read, joined_shape(target, stored.shape)
    return here, _Array(stored_as, Stored(shape, lambda: join(target, read())))


def _layers_second(name: str, slot: str, stored: Stored, axis: int) -> Stored:
    """An array that has its layers along `axis`, as T5X has it by default."""
    if stored.shape == (1,):
        return stored
    source, target = axis, LAYERS_AXIS
    for axes in (logical_axes(name.split("/")), apart_axes(name.split("/"))) if slot in FACTORS else ():
        if axes is not None and len(kept(axes, slot)) == len(stored.shape):
            theirs = [name for name in axes if name != "layers"]
            theirs.insert(axis, "layers")
            source, target = kept(theirs, slot).index("layers"), kept(axes, slot).index("layers")
    read, shape = stored.read, list(stored.shape)
    shape.insert(target, shape.pop(source))
    return Stored(tuple(shape), lambda: np.moveaxis(read(), source, target))


def _layers(name: str, stacks: Mapping[str, _Stack]) -> list[str]:
    """The names of a stacked parameter, a layer each; none of any other."""
    match = _STACKED.fullmatch(name)
    if match is None or match[1] + match[2] not in stacks:
        return []
    prefix, side, rest = match.groups()
    return [f"{prefix}{side}/layers_{i}/{rest}" for i in range(stacks[prefix + side].layers)]


def _whole(array: _Array, *names: str) -> Piece:
    """The array as it is, under each of the names."""
    return Piece(
        array.stored_as,
        array.stored,
        dict.fromkeys(names, array.stored.shape),
        lambda stored: dict.fromkeys(names, stored),
    )


def _split(array: _Array, names: list[str], axis: int) -> Piece:
    """The slices of an array along `axis`."""
    return Piece(
        array.stored_as,
        array.stored,
        dict.fromkeys(names, _without(array.stored.shape, axis)),
        lambda stored: dict(zip(names, np.moveaxis(stored, axis, 0))),
    )


def _without(shape: Shape, axis: int) -> Shape:
    return shape[:axis] + shape[axis + 1 :]


def _slots_of_layers(
    parameter: str, shape: Shape, kinds: Mapping[str, _Array], layers: list[str], folder: object
) -> list[Piece]:
    """The slots that T5X has of each layer's matrix. `shape` is that of the stacked parameter; `layers` are its names, none
    of a parameter that is not stacked and has its heads apart in the file."""
    axes = factored_axes(parameter.split("/"))
    expected = dict.fromkeys(kinds, shape) | dict.fromkeys(FACTORS, (1,))
    if axes is not None:
        row, column = axes
        expected |= {"v_row": _without(shape, column), "v_col": _without(shape, row)}
    factors = [kinds[slot] for slot in FACTORS if slot in kinds and kinds[slot].stored.shape != (1,)]
    incomplete = bool(factors) and (len(factors) == 1 or "v" not in kinds)
    for slot, array in kinds.items():
        if array.stored.shape not in ((1,), expected[slot]) or (incomplete and slot in FACTORS):
            raise LisaxError(
                f"the optimizer slot '{parameter}/{slot}' of {folder} is {list(array.stored.shape)}, which is not T5X's "
                f"of a parameter of stacked layers: expected {list(expected[slot])}"
            )
    kinds, axis_of = dict(kinds), dict.fromkeys(kinds, LAYERS_AXIS)
    if factors:
        of_layer = _without(shape, LAYERS_AXIS) if layers else shape
        if min(of_layer) < MIN_DIM_SIZE_TO_FACTOR:
            unused = Stored((1,), lambda: np.zeros(1, np.float32))
            moment = Stored(shape, lambda: _product(*(array.stored.read() for array in factors), axes))
            kinds |= {slot: _Array(array.stored_as, unused) for slot, array in zip(FACTORS, factors)}
            kinds["v"] = _Array(kinds["v_row"].stored_as, moment)
        else:
            # Of one matrix T5X calls the smaller dimension its row, the first of equals.
            named = FACTORS if (shape[row], row) < (shape[column], column) else FACTORS[::-1]
            kinds |= dict(zip(named, factors))
            axis_of |= {slot: LAYERS_AXIS - (away < LAYERS_AXIS) for slot, away in zip(named, (column, row))}
    pieces = []
    for slot, array in kinds.items():
        names = [f"{name}/{slot}" for name in layers or [parameter]]
        if layers and array.stored.shape != (1,):
            pieces.append(_split(array, names, axis_of[slot]))
        else:
            pieces.append(_whole(array, *names))
    return pieces


def _product(row_means: np.ndarray, column_means: np.ndarray, axes: tuple[int, int]) -> np.ndarray:
    """The second moments from their means over columns and over rows (Adafactor, equation 4)."""
    row, column = axes
    mean = row_means.mean(axis=row - (column < row), keepdims=True)
    row_means = np.divide(row_means, mean, out=row_means.copy(), where=mean > 0)
    return np.expand_dims(row_means, column) * np.expand_dims(column_means, row)


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
