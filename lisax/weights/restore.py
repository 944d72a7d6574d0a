"""Reading checkpoints: parameters for inference, and whole states to continue from.

Names and shapes are compared with the expected ones before any array is read, so that a mistake is a sentence that
names parameters and not a failure inside a model.
"""

from __future__ import annotations

import dataclasses
import functools
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import jax
import numpy as np

from lisax.devices.partitioning import Partitioner
from lisax.errors import LisaxError
from lisax.files.places import absolute
from lisax.models.architectures import BACKBONE_PARTS, Model
from lisax.models.stacking import stack, unstack
from lisax.weights.assignment import assigned, rounded
from lisax.weights.checkpoints import (
    STATE_NAME,
    RestoreCheckpointConfig,
    TrainState,
    checkpoint_folder,
    complete_steps,
    flatten,
    native_checkpoints,
    nested,
    remove_incomplete,
    state_tree,
)
from lisax.weights.heads_apart import join
from lisax.weights.interop.kinds import Kind
from lisax.weights.interop.opening import open_checkpoint, open_whole
from lisax.weights.interop.pieces import (
    Checkpoint,
    Piece,
    first_line,
    part_of,
    shapes_of,
    unreadable,
    with_bias_of_each_layer,
)
from lisax.weights.interop.t5x_orbax import index_of
from lisax.weights.model_folder import ModelFolder
from lisax.weights.shapes import check_parameters, check_same, differences
from lisax.weights.stacked_slots import stack_slots

AnyModel = TypeVar("AnyModel", bound=Model)


def load_model(model: ModelFolder, kind: type[AnyModel]) -> tuple[AnyModel, dict]:
    """(architecture, its parameters). Raises LisaxError for a model of another kind, or with other parameters."""
    checkpoint = open_whole(model, kind)
    return checkpoint.architecture, nested(dict(checkpoint.read(checkpoint.parameters)))


def load_parameters(
    model: ModelFolder, restore: RestoreCheckpointConfig = RestoreCheckpointConfig(), expected: Any = None
) -> dict[str, Any]:
    """Float32 numpy parameters of a checkpoint of any kind, nested dicts in T5X's layout, read one array at a time.

    `restore` maps and rounds them, to the names of the tree `expected`."""
    checkpoint, _ = assigned(open_checkpoint(model), restore, lambda: TrainState(np.int32(0), expected, None))
    return rounded(nested(dict(checkpoint.read(checkpoint.parameters))), restore.dtype)


def restore_own(
    model_dir: str | os.PathLike, expected: TrainState, partitioner: Partitioner, say: Callable[[str], None]
) -> TrainState | None:
    """The newest readable state in MODEL_DIR, or None if the run has not saved yet.

    `expected`: shapes. A checkpoint that cannot be read is reported and skipped; one of another model or optimizer is
    an error. Checkpoints after the one taken, and rests of interrupted saves, are removed."""
    steps = complete_steps(model_dir)
    for step in reversed(steps):
        folder = checkpoint_folder(model_dir, step)
        try:
            found = index_of(folder)
            stored = jax.eval_shape(state_tree, expected)
            check_parameters(stored["target"], found["target"], folder)
            check_same(
                stored["state"]["param_states"],
                found["state"].get("param_states", {}),
                folder,
                "optimizer slots",
                "continue with the same optimizer, or choose another MODEL_DIR",
            )
            restored = _read(folder, stored, partitioner)
        except LisaxError:
            raise
        except Exception as error:  # whatever a damaged file makes Orbax, tensorstore or JSON raise
            say(f"checkpoint {folder} cannot be read and is passed over ({first_line(error)})")
            continue
        for removed in remove_incomplete(model_dir, after=step):
            say(f"removed {removed}: it was incomplete or damaged")
        return TrainState(restored["state"]["step"], restored["target"], restored["state"]["param_states"])
    if steps:
        raise LisaxError(
            f"no checkpoint in {model_dir} can be read: restore one from a copy, or remove them to start again"
        )
    foreign = native_checkpoints(model_dir)
    if foreign:
        raise LisaxError(
            f"{foreign[-1]} is in T5X's native layout, which is read but not continued in place: give "
            f"it as INITIAL_CHECKPOINT_PATH and choose another MODEL_DIR"
        )
    remove_incomplete(model_dir, after=None)
    return None


def restore_initial(
    checkpoint: Checkpoint, expected: TrainState, partitioner: Partitioner, *, optimizer: bool | None
) -> tuple[TrainState, bool]:
    """State from another run's checkpoint, and whether its optimizer slots were taken.

    If they were not, `slots` is None. `optimizer`: True demands them, None takes them if they fit. Where a model that
    is built on a backbone starts from only that, the parameters are the common ones. A model with a relative bias per
    layer may start from one whose layers share theirs."""
    folder = checkpoint.folder
    if BACKBONE_PARTS.issuperset(map(part_of, checkpoint.parameters)):
        shared = {name: tree for name, tree in expected.parameters.items() if name in BACKBONE_PARTS}
        expected = expected._replace(parameters=shared)
        checkpoint = checkpoint.with_parts(shared.keys())
    step = np.int32(checkpoint.step or 0)
    stacks = "encoder" in expected.parameters["encoder"]  # the model scans its layers
    if stacks and checkpoint.scanned and _same_layers(checkpoint.as_stacked(), expected, optimizer):
        checkpoint, stacks = checkpoint.as_stacked(), False
    elif _bias_per_layer(flatten(expected.parameters)) and not _bias_per_layer(shapes_of(checkpoint.parameters)):
        checkpoint = dataclasses.replace(
            checkpoint,
            parameters=with_bias_of_each_layer(checkpoint.parameters),
            slots=with_bias_of_each_layer(checkpoint.slots),
        )
    index = index_of(folder) if checkpoint.kind is Kind.ORBAX else {}
    parts = set(map(part_of, checkpoint.parameters))
    found = {name: tree for name, tree in index.get("target", {}).items() if name in parts}
    stored = jax.eval_shape(state_tree, expected)
    as_is = bool(index) and differences(stored["target"], found) == ""
    shapes = shape_tree(checkpoint.parameters)
    slots, expected_slots = index.get("state", {}).get("param_states", {}), stored["state"]["param_states"]
    if not as_is:
        check_parameters(
            jax.eval_shape(unstack, expected.parameters) if stacks else expected.parameters, shapes, folder
        )
        slots, expected_slots = shape_tree(checkpoint.slots), expected.slots
    stacked_slots = functools.partial(stack_slots, factored=_factored(expected.slots))
    if stacks and not as_is and checkpoint.slots:
        slots = jax.eval_shape(stacked_slots, slots, shapes)
    fits = optimizer is not False and differences(expected_slots, slots) == ""
    if optimizer and not fits:
        check_same(
            expected_slots, slots, folder, "optimizer slots", "set RestoreCheckpointConfig.restore_optimizer=None"
        )
    if as_is:
        parameters, slots = _whole_orbax(folder, stored, partitioner, with_slots=fits)
        return TrainState(step, parameters, slots), fits
    if stacks:
        parameters = stack(nested(dict(checkpoint.read(checkpoint.parameters))))
        slots = stacked_slots(nested(dict(checkpoint.read(checkpoint.slots))), shapes) if fits else None
        state = partitioner.place_state(TrainState(step, parameters, slots))
        return state, fits
    return TrainState(
        step,
        _placed(checkpoint, checkpoint.parameters, partitioner),
        _placed(checkpoint, checkpoint.slots, partitioner) if fits else None,
    ), fits


def _same_layers(checkpoint: Checkpoint, expected: TrainState, optimizer: bool | None) -> bool:
    """Whether the arrays of a checkpoint are those expected, with its slots if it has some and they are to be taken."""
    with_slots = optimizer is not False and checkpoint.slots
    return not differences(expected.parameters, shape_tree(checkpoint.parameters)) and not (
        with_slots and differences(expected.slots, shape_tree(checkpoint.slots))
    )


def _bias_per_layer(names: Iterable[str]) -> bool:
    """Whether each layer has a relative position bias, by the parameters' names, stacked or not."""
    return any(re.search(r"(encoder|decoder)/(layers_0|\1)/relpos_bias/", name) for name in names)


def _factored(slots: Any) -> bool:
    """Whether Adafactor keeps means in place of whole second moments of stacked matrices."""
    return any(name.endswith("/v_row") and len(leaf.shape) == 2 for name, leaf in flatten(slots).items())


def _whole_orbax(folder: Path, stored: Any, partitioner: Partitioner, *, with_slots: bool) -> tuple[Any, Any]:
    """(parameters, slots or None), each process reading its own parts only."""
    wanted = {"target": stored["target"]}
    if with_slots:
        wanted["state"] = {"param_states": stored["state"]["param_states"]}
    try:
        restored = _read(folder, wanted, partitioner)
    except Exception as error:  # whatever a damaged file makes Orbax, tensorstore or JSON raise
        raise unreadable(folder, error) from error
    return restored["target"], restored["state"]["param_states"] if with_slots else None


def _placed(checkpoint: Checkpoint, pieces: tuple[Piece, ...], partitioner: Partitioner) -> Any:
    """Arrays on the devices, each of them read when the one before it is there."""
    return nested(
        {
            name: jax.tree.leaves(partitioner.place_state(nested({name: array})))[0]
            for name, array in checkpoint.read(pieces)
        }
    )


def shape_tree(pieces: tuple[Piece, ...]) -> Any:
    """Shapes as nested dicts, as `check_parameters` takes them."""
    return nested({name: jax.ShapeDtypeStruct(shape, np.float32) for name, shape in shapes_of(pieces).items()})


def _read(folder: Path, wanted: Any, partitioner: Partitioner) -> Any:
    """Arrays of the tree `wanted` (shapes and dtypes) on their devices, each process reading its own parts only; heads
    that are apart in it are joined."""
    import orbax.checkpoint as ocp

    arguments = jax.tree.map(
        lambda leaf, sharding: ocp.ArrayRestoreArgs(sharding=sharding, dtype=leaf.dtype),
        wanted,
        partitioner.state(wanted),
    )
    with ocp.PyTreeCheckpointer() as checkpointer:
        restored = checkpointer.restore(
            absolute(folder) / STATE_NAME,
            args=ocp.args.PyTreeRestore(item=wanted, restore_args=arguments, partial_restore=True),
        )
    joined = {name: join(name, leaf) for name, leaf in flatten(restored).items()}
    return partitioner.place_state(nested(joined))
