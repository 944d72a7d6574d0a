"""Between T5X's two parameter trees: a name for each layer, or all layers of a stack in one array (`scan_layers`)."""

from __future__ import annotations

import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

STACKS = {"encoder", "decoder"}
LAYER = re.compile(r"layers_(\d+)")


def stack(parameters: dict[str, Any]) -> dict[str, Any]:
    """`encoder/layers_0/…` [in, out], … -> `encoder/encoder/…` [in, layers, out]; numpy stays numpy."""
    stacked = {name: stack(tree) if _holds_stack(name, tree) else tree for name, tree in parameters.items()}
    for name in STACKS & parameters.keys():
        layers = {int(match[1]): tree for key, tree in parameters[name].items() if (match := LAYER.fullmatch(key))}
        if not layers:  # they share one, which is not stacked
            continue
        rest = {key: tree for key, tree in parameters[name].items() if not LAYER.fullmatch(key)}
        ordered = [layers[i] for i in range(len(layers))]
        stacked[name] = rest | {name: jax.tree.map(lambda *leaves: _numpy_of(leaves[0]).stack(leaves, 1), *ordered)}
    return stacked


def unstack(parameters: dict[str, Any]) -> dict[str, Any]:
    """The inverse of `stack`; numpy's slices share memory with the stack."""
    separate = {name: unstack(tree) if _holds_stack(name, tree) else tree for name, tree in parameters.items()}
    for name in STACKS & parameters.keys():
        tree = dict(parameters[name])
        if name not in tree:
            continue
        whole = tree.pop(name)
        count = jax.tree.leaves(whole)[0].shape[1]
        separate[name] = tree | {f"layers_{i}": jax.tree.map(lambda leaf, i=i: leaf[:, i], whole) for i in range(count)}
    return separate


def _holds_stack(name: str, tree: Any) -> bool:
    """Whether a part of a model that is not a stack itself has one, as a second encoder has."""
    return name not in STACKS and isinstance(tree, dict) and bool(STACKS & tree.keys())


def _numpy_of(leaf: Any) -> Any:
    return np if isinstance(leaf, np.ndarray) else jnp
