"""T5X's way to start a model from the parameters of another: names mapped, left out, and drawn fresh.

Names are those of T5X's train state, `target/PARAMETER` and `state/param_states/SLOT`, with a name for each layer.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from lisax.errors import LisaxError
from lisax.weights.checkpoints import RestoreCheckpointConfig, TrainState, flatten
from lisax.weights.interop.pieces import Checkpoint, Piece, Stored, whole

TARGET, SLOTS = "target/", "state/param_states/"


def assigned(
    checkpoint: Checkpoint,
    restore: RestoreCheckpointConfig,
    expected: Callable[[], TrainState],
    draw: Callable[[], TrainState] | None = None,
) -> tuple[Checkpoint, list[str]]:
    """The checkpoint as the model's, and the names of the parameters that begin fresh.

    `expected()` has the names of the model's state, one for each layer. A pattern of `assignment_map` that matches a
    whole name of the model's takes the array of the checkpoint that the replacement names; None leaves the array out.
    Other names stay. Names that the model does not have are left out unless `strict`. With `fallback_to_scratch` the
    missing ones are those of `draw()`, a fresh state. Raises for a pattern without a match, for an array that the
    checkpoint does not have, and where nothing may be drawn."""
    if not (restore.assignment_map or restore.fallback_to_scratch or not restore.strict):
        return checkpoint, []
    if restore.fallback_to_scratch and draw is None:
        raise LisaxError(
            "RestoreCheckpointConfig.fallback_to_scratch is for training: fresh parameters predict nothing"
        )
    wanted = _named(expected())
    found = _arrays(TARGET, checkpoint.parameters) | _arrays(SLOTS, checkpoint.slots)
    kept = _mapped(found, wanted, restore, checkpoint)
    if not restore.strict:
        kept = {name: source for name, source in kept.items() if name in wanted}
    missing = [name for name in wanted if name not in kept]
    pieces = {name: _piece(name, *found[source]) for name, source in kept.items()}
    if restore.fallback_to_scratch and missing:
        # Slots that the checkpoint has for no parameter are all made with the optimizer, later.
        some = any(name.startswith(SLOTS) for name in kept)
        missing = [name for name in missing if some or name.startswith(TARGET)]
        drawn = _named(draw())
        pieces |= {name: _fresh(name, drawn[name]) for name in missing}
    else:
        missing = []
    parameters, slots = (
        tuple(piece for name, piece in pieces.items() if name.startswith(prefix)) for prefix in (TARGET, SLOTS)
    )
    # No longer the arrays of its folder, name by name.
    changed = dataclasses.replace(checkpoint, kind=None, parameters=parameters, slots=slots, stacked=None)
    return changed, [name.removeprefix(TARGET) for name in missing if name.startswith(TARGET)]


def _mapped(
    found: Mapping[str, Any], wanted: Mapping[str, Any], restore: RestoreCheckpointConfig, checkpoint: Checkpoint
) -> dict[str, str]:
    """Name in the model -> name in the checkpoint."""
    mapped, left_out, used = {}, set(), set()
    rules = [(re.compile(pattern), replacement) for pattern, replacement in restore.assignment_map or ()]
    for name in wanted:
        for pattern, replacement in rules:
            if match := pattern.fullmatch(name):
                used.add(pattern.pattern)
                if replacement is None:
                    left_out.add(name)
                elif (source := match.expand(replacement)) in found:
                    mapped[name] = source
                else:
                    raise LisaxError(
                        f"RestoreCheckpointConfig.assignment_map takes '{name}' from '{source}', which "
                        f"{checkpoint.folder} does not have; `lisax checkpoint show` lists its names"
                    )
                break
    if unused := [pattern.pattern for pattern, _ in rules if pattern.pattern not in used]:
        raise LisaxError(
            f"RestoreCheckpointConfig.assignment_map: '{unused[0]}' matches no name of the model, such as "
            f"'{next(iter(wanted))}'"
        )
    taken = set(mapped.values())
    own = {name: name for name in found if name not in left_out and (name in wanted or name not in taken)}
    return own | mapped


def _named(state: TrainState) -> dict[str, Any]:
    """T5X's names of a state's leaves."""
    parts = ((TARGET, state.parameters), (SLOTS, state.slots or {}))
    return {prefix + name: leaf for prefix, tree in parts for name, leaf in flatten(tree).items()}


def _arrays(prefix: str, pieces: tuple[Piece, ...]) -> dict[str, tuple[Piece, str]]:
    return {prefix + name: (piece, name) for piece in pieces for name in piece.shapes}


def _bare(name: str) -> str:
    return name.removeprefix(TARGET).removeprefix(SLOTS)


def _piece(name: str, piece: Piece, source: str) -> Piece:
    """The array `source` of a piece under another name."""
    bare = _bare(name)
    if piece.shapes.keys() == {bare} == {source}:
        return piece
    return dataclasses.replace(
        piece, shapes={bare: piece.shapes[source]}, convert=lambda array: {bare: piece.convert(array)[source]}
    )


def _fresh(name: str, leaf: Any) -> Piece:
    return whole(_bare(name), Stored(tuple(leaf.shape), lambda: np.asarray(leaf)))


def rounded(parameters: Any, dtype: str | None) -> Any:
    """Float32 parameters, each as near as `dtype` comes to it."""
    if dtype in (None, "float32"):
        return parameters
    return jax.tree.map(lambda leaf: leaf.astype(jnp.dtype(dtype)).astype(jnp.float32), parameters)
