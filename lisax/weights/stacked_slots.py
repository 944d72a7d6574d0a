"""Optimizer slots of separate layers, to those of the same layers stacked (`scan_layers`), as T5X shapes them.

Adafactor's second moment of a stacked matrix is always factored there: means over the columns in `v_row`, over the rows
in `v_col`, where the embedding is the row. Means of a running average are the running average of means, so that this is
exact where a layer's own was kept whole. `interop.scanned` is the way back.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lisax.models.axes import LAYERS_AXIS, factored_axes, is_stacked
from lisax.models.stacking import stack
from lisax.weights.checkpoints import flatten, nested

MOMENTS = ("v", "v_row", "v_col")


def stack_slots(slots: Mapping[str, Any], parameters: Mapping[str, Any], *, factored: bool = True) -> dict[str, Any]:
    """Nested slots of the stacked tree, from those of separate layers, whose `parameters` have `.shape`.

    `factored` is Adafactor's: without it each second moment stays whole. numpy stays numpy."""
    flat, shapes = flatten(slots), {name: tuple(leaf.shape) for name, leaf in flatten(parameters).items()}
    for parameter, shape in shapes.items():
        names = [f"{parameter}/{kind}" for kind in MOMENTS]
        axes = factored_axes(parameter.split("/")[-2:]) if "/layers_" in parameter else None
        if axes is not None and flat.keys() >= set(names):
            flat |= zip(names, _moments(*(flat[name] for name in names), shape, axes, factored))
    return nested({name: _placed(name.split("/"), leaf) for name, leaf in flatten(stack(nested(flat))).items()})


def _moments(
    v: Any, v_row: Any, v_col: Any, shape: tuple[int, ...], axes: tuple[int, int], factored: bool
) -> tuple[Any, Any, Any]:
    """The same of one layer, factored, with `v_row` that of T5X's row."""
    row, column = axes
    if tuple(v.shape) == shape:
        return (v_row, v.mean(axis=column), v.mean(axis=row)) if factored else (v, v_row, v_col)
    # Of a separate matrix `v_row` is that of the smaller dimension, of the first of equals.
    return (v, v_row, v_col) if (shape[row], row) < (shape[column], column) else (v, v_col, v_row)


def _placed(path: list[str], leaf: Any) -> Any:
    """A stacked slot with the layers where the parameter has them; one that is not used is of no layer."""
    if not is_stacked(path):
        return leaf
    if leaf.ndim == 2 and leaf.shape[0] == 1:
        return leaf[:, 0]
    axes = factored_axes(path[:-1])
    if axes is None or path[-1] not in ("v_row", "v_col"):
        return leaf
    away = axes[1] if path[-1] == "v_row" else axes[0]
    return leaf.T if away < LAYERS_AXIS else leaf
