"""Parameters as their file names them, to the tree of the unrolled model.

Programs that scan over layers keep the parameters of a stack's layers in one array: under `encoder/encoder` or
`encoder/layers`, with the layers usually along axis 1. Attention kernels with their heads apart
([embed, heads, head_dim] and [heads, head_dim, embed]) are joined.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping

import numpy as np

from lisax.models.fields import LAYERS
from lisax.records import LisaxError
from lisax.runtime.interop.pieces import Piece, Shape, Stored

_STACKED = re.compile(r"(encoder|decoder)/(?:\1|layers)/(.+)")
_RELATIVE = ("relpos_bias/rel_embedding", "relative_posemb/rel_embedding")


def unrolled(stored: Mapping[str, Stored], folder: object) -> tuple[tuple[Piece, ...], bool]:
    """The pieces of all parameters, and whether any was of several layers."""
    axes = {stack: _layer_axis(stored, stack, folder) for stack in ("encoder", "decoder")
            if any((match := _STACKED.fullmatch(name)) and match[1] == stack for name in stored)}
    pieces = tuple(_piece(name, array, axes, folder) for name, array in stored.items())
    return pieces, bool(axes)


def _piece(name: str, stored: Stored, axes: Mapping[str, tuple[int, int]], folder: object) -> Piece:
    match = _STACKED.fullmatch(name)
    if match is None:
        shape, join = _joined(name, stored.shape)
        return Piece(name, stored, {name: shape}, lambda array: {name: join(array)})
    stack, rest = match.groups()
    axis, layers = axes[stack]
    if len(stored.shape) <= axis or stored.shape[axis] != layers:
        raise LisaxError(f"'{name}' of {folder} is {list(stored.shape)}: expected the {layers} layers along axis "
                         f"{axis}")
    shape, join = _joined(rest, tuple(np.delete(stored.shape, axis).tolist()))
    if rest in _RELATIVE:
        target = f"{stack}/relpos_bias/rel_embedding"
        return Piece(name, stored, {target: shape}, lambda array: {target: _shared(array, axis, name, folder)})

    def split(array: np.ndarray) -> dict[str, np.ndarray]:
        return {f"{stack}/layers_{i}/{rest}": join(layer) for i, layer in enumerate(np.moveaxis(array, axis, 0))}

    return Piece(name, stored, {f"{stack}/layers_{i}/{rest}": shape for i in range(layers)}, split)


def _layer_axis(stored: Mapping[str, Stored], stack: str, folder: object) -> tuple[int, int]:
    """(axis, number of layers), from the scales, which are vectors but for the axis of layers."""
    scales = [array.shape for name, array in stored.items()
              if (match := _STACKED.fullmatch(name)) and match[1] == stack and match[2] == "pre_mlp_layer_norm/scale"]
    norm = stored.get(f"{stack}/{stack}_norm/scale")
    if norm is not None and len(scales) == 1 and len(scales[0]) == 2:
        for axis in (1, 0):
            if scales[0][1 - axis:][:1] == norm.shape and LAYERS.accepts(scales[0][axis]):
                return axis, scales[0][axis]
    raise LisaxError(f"the layers of {folder} are in one array (scanned), but which of its axes is that of layers "
                     f"cannot be told from '{stack}/{stack}_norm/scale' and 'pre_mlp_layer_norm/scale'")


def _shared(array: np.ndarray, axis: int, name: str, folder: object) -> np.ndarray:
    first = array.take(0, axis)
    if not np.array_equal(array, np.broadcast_to(np.expand_dims(first, axis), array.shape)):
        raise LisaxError(f"'{name}' of {folder} differs from layer to layer, as in umT5: T5 has one relative "
                         f"position bias for all layers of a stack, so this is another model")
    return first


def _joined(name: str, shape: Shape) -> tuple[Shape, Callable[[np.ndarray], np.ndarray]]:
    """Shape and reshaping of a kernel whose heads are apart; of any other parameter, nothing changes."""
    kernel = re.search(r"attention/(query|key|value|out)/kernel$", name)
    if kernel is None or len(shape) != 3:
        return shape, lambda array: array
    joined = (math.prod(shape[:2]), shape[2]) if kernel[1] == "out" else (shape[0], math.prod(shape[1:]))
    return joined, lambda array: array.reshape(joined)
