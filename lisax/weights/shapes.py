"""Comparing trees of arrays, or of their shapes, by name and shape, before any of them is read or used."""

from __future__ import annotations

import os
import re
from typing import Any

from lisax.errors import LisaxError
from lisax.weights.checkpoints import flatten

# Fields of a backbone that change the names of parameters, and a pattern of the names with them.
_FIELDS = {
    "relative_bias_per_layer": re.compile(r"(?:^|/)(encoder|decoder)/(?:layers_\d+|\1)/relpos_bias/"),
    "scan_layers": re.compile(r"(?:^|/)(encoder|decoder)/\1/"),
}


def check_parameters(expected: Any, found: Any, folder: str | os.PathLike) -> None:
    """Raises where the parameters of `folder` are not, name for name and shape for shape, those expected."""
    names = flatten(expected), flatten(found)
    wanted, there = ({field: any(map(has.search, tree)) for field, has in _FIELDS.items()} for tree in names)
    fields = [f"{field} = {there[field]}" for field in _FIELDS if there[field] != wanted[field]]
    check_same(
        expected,
        found,
        folder,
        "parameters",
        f"set the backbone's {' and '.join(fields)}"
        if fields
        else "check that the model's gin file is that of the checkpoint",
    )


def check_same(expected: Any, found: Any, folder: str | os.PathLike, what: str, advice: str) -> None:
    found_differences = differences(expected, found)
    if found_differences:
        raise LisaxError(f"the {what} of {folder} are not those of the model: {found_differences}; {advice}")


def differences(expected: Any, found: Any) -> str:
    expected_shapes = {name: _shape(leaf) for name, leaf in flatten(expected).items()}
    found_shapes = {name: _shape(leaf) for name, leaf in flatten(found).items() if _shape(leaf) is not None}
    missing = [name for name in expected_shapes if name not in found_shapes]
    extra = [name for name in found_shapes if name not in expected_shapes]
    shaped = [
        f"{name} is {list(found_shapes[name])}, expected {list(shape)}"
        for name, shape in expected_shapes.items()
        if found_shapes.get(name, shape) != shape
    ]
    return problems(missing, extra, shaped)


def problems(missing: list[str], extra: list[str], misshaped: list[str]) -> str:
    """The names of arrays that are not as expected, as a part of a sentence; empty if there are none."""
    kinds = {"missing": missing, "extra": extra, "of another shape:": misshaped}
    return "; ".join(f"{kind} {_some(names)}" for kind, names in kinds.items() if names)


def _shape(leaf: Any) -> tuple[int, ...] | None:
    """The shape of an array or ShapeDtypeStruct; a tuple is returned unchanged."""
    return leaf if isinstance(leaf, tuple) else None if not hasattr(leaf, "shape") else tuple(leaf.shape)


def _some(names: list[str], limit: int = 4) -> str:
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more
