"""Reading checkpoints: parameters for inference, and whole states to continue from.

Names and shapes are compared with what is expected before any array is read, so that a mistake is a sentence
that names parameters and not a failure inside a model.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from lisax.records import LisaxError
from lisax.runtime.checkpoints import (STATE_NAME, checkpoint_folder, complete_steps, flatten, remove_incomplete,
                                       resolve_checkpoint, state_tree)
from lisax.runtime.partitioning import Partitioner

if TYPE_CHECKING:  # parameters are checked without flax, which the model imports
    from lisax.runtime.step import TrainState


def load_parameters(path: str | os.PathLike) -> dict[str, Any]:
    """Float32 numpy parameters, nested dicts in T5X's layout, of the checkpoint that `path` means (see
    `checkpoints.resolve_checkpoint`)."""
    folder = resolve_checkpoint(path)
    try:
        found = _shapes(folder)["target"]
        wanted = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, np.float32), found)
        return _read(folder, {"target": wanted}, sharding=None)["target"]
    except Exception as error:  # whatever a damaged file makes Orbax, tensorstore or JSON raise
        raise LisaxError(f"the checkpoint {folder} cannot be read: {_first_line(error)}") from error


def restore_own(model_dir: str | os.PathLike, expected: TrainState, partitioner: Partitioner,
                say: Callable[[str], None]) -> TrainState | None:
    """The newest readable state in MODEL_DIR, or None where a run has not saved yet.

    `expected`: shapes. A checkpoint that cannot be read is told and skipped; one of another model or optimizer
    is an error. Checkpoints after the one taken, and rests of interrupted saves, are removed."""
    from lisax.runtime.step import TrainState

    steps = complete_steps(model_dir)
    for step in reversed(steps):
        folder = checkpoint_folder(model_dir, step)
        try:
            found = _shapes(folder)
            check_parameters(expected.parameters, found["target"], folder)
            _check(expected.slots, found["state"].get("param_states", {}), folder, "optimizer slots",
                   "continue with the same optimizer, or choose another MODEL_DIR")
            restored = _read(folder, state_tree(expected), partitioner.state)
        except LisaxError:
            raise
        except Exception as error:  # whatever a damaged file makes Orbax, tensorstore or JSON raise
            say(f"checkpoint {folder} cannot be read and is passed over ({_first_line(error)})")
            continue
        for removed in remove_incomplete(model_dir, after=step):
            say(f"removed {removed}: it was incomplete or damaged")
        return TrainState(restored["state"]["step"], restored["target"], restored["state"]["param_states"])
    if steps:
        raise LisaxError(f"no checkpoint in {model_dir} can be read: restore one from a copy, or remove them to "
                         f"start again")
    remove_incomplete(model_dir, after=None)
    return None


def restore_initial(folder: Path, expected: TrainState, partitioner: Partitioner, *,
                    optimizer: bool | None) -> tuple[TrainState, bool]:
    """State from another run's checkpoint, and whether its optimizer slots were taken.

    Where they were not, `slots` is None. `optimizer`: True demands them, None takes them if they fit."""
    from lisax.runtime.step import TrainState

    try:
        found = _shapes(folder)
    except Exception as error:
        raise LisaxError(f"the checkpoint {folder} cannot be read: {_first_line(error)}") from error
    check_parameters(expected.parameters, found["target"], folder)
    slots = found.get("state", {}).get("param_states", {})
    fits = optimizer is not False and _differences(expected.slots, slots) == ""
    if optimizer and not fits:
        _check(expected.slots, slots, folder, "optimizer slots",
               "set RestoreCheckpointConfig.restore_optimizer=None")
    wanted = state_tree(expected)
    if not fits:
        del wanted["state"]["param_states"]
    if "step" not in found.get("state", {}):
        del wanted["state"]
    try:
        restored = _read(folder, wanted, partitioner.state)
    except Exception as error:
        raise LisaxError(f"the checkpoint {folder} cannot be read: {_first_line(error)}") from error
    state = restored.get("state", {})
    step = state.get("step", np.int32(0))
    return TrainState(step, restored["target"], state.get("param_states")), fits


def check_parameters(expected: Any, found: Any, folder: str | os.PathLike) -> None:
    """Raises where the parameters of `folder` are not, name for name and shape for shape, those expected."""
    _check(expected, found, folder, "parameters", "check that the model's gin file is that of the checkpoint")


def _check(expected: Any, found: Any, folder: str | os.PathLike, what: str, advice: str) -> None:
    differences = _differences(expected, found)
    if differences:
        raise LisaxError(f"the {what} of {folder} are not those of the model: {differences}; {advice}")


def _differences(expected: Any, found: Any) -> str:
    expected_shapes = {name: tuple(leaf.shape) for name, leaf in flatten(expected).items()}
    found_shapes = {name: tuple(leaf.shape) for name, leaf in flatten(found).items() if hasattr(leaf, "shape")}
    missing = [name for name in expected_shapes if name not in found_shapes]
    extra = [name for name in found_shapes if name not in expected_shapes]
    shaped = [f"{name} is {list(found_shapes[name])}, expected {list(shape)}"
              for name, shape in expected_shapes.items() if found_shapes.get(name, shape) != shape]
    parts = [f"{kind} {_some(names)}" for kind, names
             in (("missing", missing), ("extra", extra), ("of another shape:", shaped)) if names]
    return "; ".join(parts)


def _some(names: list[str], limit: int = 4) -> str:
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more


def _shapes(folder: Path) -> dict[str, Any]:
    """The tree of array metadata (`.shape`, `.dtype`) of a checkpoint, from its index alone."""
    import orbax.checkpoint as ocp

    with ocp.PyTreeCheckpointer() as checkpointer:
        metadata = checkpointer.metadata(folder.absolute() / STATE_NAME)
    tree = metadata.item_metadata.tree if metadata.item_metadata is not None else None
    if not isinstance(tree, dict) or "target" not in tree:
        raise ValueError(f"{folder / STATE_NAME} has no tree 'target' in its index")
    return tree


def _read(folder: Path, wanted: Any, sharding: jax.sharding.Sharding | None) -> Any:
    """Arrays of the tree `wanted` (shapes and dtypes) as jax arrays of `sharding`, or numpy where it is None."""
    import orbax.checkpoint as ocp

    def arguments(leaf):
        if sharding is None:
            return ocp.RestoreArgs(restore_type=np.ndarray, dtype=leaf.dtype)
        return ocp.ArrayRestoreArgs(sharding=sharding, dtype=leaf.dtype)

    with ocp.PyTreeCheckpointer() as checkpointer:
        return checkpointer.restore(folder.absolute() / STATE_NAME, args=ocp.args.PyTreeRestore(
            item=wanted, restore_args=jax.tree.map(arguments, wanted), partial_restore=True))


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
