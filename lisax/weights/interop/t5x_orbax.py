"""T5X's Orbax layout, which is ours: `checkpoint_N/state`. Reading array by array, and writing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from lisax.devices.quiet import saving_quietly
from lisax.extras import not_installed
from lisax.files.places import absolute
from lisax.weights.checkpoints import nested, save_error
from lisax.weights.interop.kinds import STATE_NAME, Kind
from lisax.weights.interop.pieces import Checkpoint, Piece, Stored, unreadable
from lisax.weights.interop.scanned import checkpoint_of
from lisax.weights.interop.zarr_arrays import file_store, inside, read

MIN_CONCURRENT_BYTES = 2**20


def index_of(folder: Path) -> dict[str, Any]:
    """The tree of array metadata (`.shape`, `.dtype`) of a checkpoint, only from its index."""
    import orbax.checkpoint as ocp

    # The handler's, because a checkpointer's swallows errors.
    tree = ocp.PyTreeCheckpointHandler().metadata(absolute(folder) / STATE_NAME).tree
    if not isinstance(tree, dict) or "target" not in tree:
        raise ValueError(f"{folder / STATE_NAME} has no tree 'target' in its index")
    return tree


def open_orbax(folder: Path) -> Checkpoint:
    try:
        tree = index_of(folder)
        about = json.loads((folder / STATE_NAME / "_METADATA").read_text(encoding="utf-8"))
    except ModuleNotFoundError as error:
        raise not_installed(error) or error from None
    except Exception as error:  # whatever a damaged file makes Orbax, tensorstore or JSON raise
        raise unreadable(folder, error) from error
    driver = "zarr3" if about.get("use_zarr3") else "zarr"

    def kvstore(path: tuple[str, ...]) -> dict[str, Any]:
        name = ".".join(path)
        if about.get("use_ocdbt", True):
            return {"driver": "ocdbt", "base": file_store(folder / STATE_NAME), "path": f"{name}/"}
        return file_store(inside(folder / STATE_NAME, name))

    def stored(part: Any, prefix: tuple[str, ...]) -> dict[str, Stored]:
        return {
            "/".join(path): Stored(tuple(leaf.shape), lambda where=kvstore(prefix + path): read(where, driver))
            for path, leaf in _leaves(part)
        }

    state = tree.get("state") or {}
    step = None
    if "step" in state:
        try:
            step = int(read(kvstore(("state", "step")), driver))
        except Exception as error:
            raise unreadable(folder, error, "state/step") from error
    parameters = stored(tree["target"], ("target",))
    slots = stored(state.get("param_states") or {}, ("state", "param_states"))
    return checkpoint_of(Kind.ORBAX, folder, step, parameters, slots)


def _leaves(tree: Any, path: tuple[str, ...] = ()):
    """(path, leaf) of nested dicts; leaves without a shape are Orbax's form of empty nodes."""
    if isinstance(tree, dict):
        for name, child in tree.items():
            yield from _leaves(child, (*path, str(name)))
    elif getattr(tree, "shape", None) is not None:
        yield path, tree


def write_orbax(folder: Path, checkpoint: Checkpoint) -> None:
    """Writes `folder/state`. All arrays are in memory for it, because Orbax takes a whole tree; it is held to
    copying not more of them at a time than the largest."""
    import jax
    import orbax.checkpoint as ocp

    # Orbax copies all numpy arrays before it writes any, and jax arrays within its limit.
    host = jax.local_devices(backend="cpu")[0]
    largest = 0

    def part(pieces: tuple[Piece, ...]) -> dict[str, Any]:
        nonlocal largest
        arrays = {}
        for name, array in checkpoint.read(pieces):
            largest = max(largest, array.nbytes)
            arrays[name] = jax.device_put(array, host)
        return nested(arrays)

    tree: dict[str, Any] = {"target": part(checkpoint.parameters)}
    tree["state"] = {"step": np.asarray(checkpoint.step or 0, np.int32)}
    if checkpoint.slots:
        tree["state"]["param_states"] = part(checkpoint.slots)
    handler = ocp.PyTreeCheckpointHandler(save_concurrent_gb=(largest + MIN_CONCURRENT_BYTES) / 10**9)
    try:
        with saving_quietly(), ocp.Checkpointer(handler) as checkpointer:
            checkpointer.save(folder.absolute() / STATE_NAME, args=ocp.args.PyTreeSave(tree))
    except Exception as error:  # Orbax wraps whatever its threads met
        raise save_error(folder, error) from error
