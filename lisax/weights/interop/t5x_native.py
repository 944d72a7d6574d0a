"""T5X's native layout: a msgpack index `checkpoint`, and a folder of zarr for each array that is not in the index: those
of more than one element but for Adafactor's `v_row` and `v_col`.

The index gives the places of arrays and how to open them. Only the place is taken from it, and only within the
checkpoint's own folder; drivers are never the file's.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from lisax.errors import LisaxError
from lisax.files.writing import atomic_write
from lisax.weights.checkpoints import nested
from lisax.weights.interop.kinds import NATIVE_INDEX, Kind
from lisax.weights.interop.pieces import Checkpoint, Stored, unreadable
from lisax.weights.interop.scanned import checkpoint_of
from lisax.weights.interop.zarr_arrays import file_store, inside, read, write

VERSION = 3
READABLE_VERSIONS = (2, 3)
# T5X's own names of a folder next to the index: the driver has the place where it was written, not its place now.
DRIVERS = ("file", "gfile", "gcs")


def open_native(folder: Path) -> Checkpoint:
    from flax.serialization import msgpack_restore

    path = folder / NATIVE_INDEX
    try:
        index = msgpack_restore(path.read_bytes())
    except Exception as error:  # msgpack's errors have no common base but ValueError's and Exception's
        raise unreadable(folder, error, NATIVE_INDEX) from error
    version = index.get("version") if isinstance(index, dict) else None
    if not isinstance(version, int) or version not in READABLE_VERSIONS:
        raise LisaxError(
            f"{path} is not an index of T5X's native layout, versions {READABLE_VERSIONS[0]} and "
            f"{READABLE_VERSIONS[1]}: found " + ("no version" if version is None else repr(version))
        )
    optimizer = index.get("optimizer")
    if not isinstance(optimizer, dict) or not isinstance(optimizer.get("target"), dict):
        raise LisaxError(f"{path} has no parameters ('optimizer/target')")
    stored = _stored(folder, optimizer["target"])
    state = optimizer.get("state")
    state = state if isinstance(state, dict) else {}
    slots = _stored(folder, state.get("param_states") or {})
    return checkpoint_of(Kind.NATIVE, folder, _step(state.get("step"), path), stored, slots)


def _step(step: Any, path: Path) -> int | None:
    if step is None:
        return None
    try:
        number = int(np.asarray(step).item())
    except (TypeError, ValueError):
        number = -1
    if not 0 <= number < 2**31:
        raise LisaxError(f"{path} has no step that can be: {str(step)[:80]}")
    return number


def _stored(folder: Path, tree: Any) -> dict[str, Stored]:
    return {name: _one(folder, name, leaf) for name, leaf in _leaves(tree, "")}


def _leaves(tree: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    if isinstance(tree, dict) and not {"driver", "kvstore"} <= tree.keys():
        for name, child in tree.items():
            yield from _leaves(child, f"{prefix}/{name}" if prefix else str(name))
    elif tree is not None:
        yield prefix, tree


def _one(folder: Path, name: str, leaf: Any) -> Stored:
    if not isinstance(leaf, dict):
        array = np.asarray(leaf)
        return Stored(array.shape, lambda: array)
    kvstore, driver = leaf["kvstore"], leaf["driver"]
    if driver != "zarr" or not isinstance(kvstore, dict) or kvstore.get("driver") not in DRIVERS:
        found = kvstore.get("driver") if isinstance(kvstore, dict) else kvstore
        raise LisaxError(
            f"'{name}' of {folder / NATIVE_INDEX} is to be read with driver '{driver}' from '{found}': "
            f"only zarr arrays in the checkpoint's own folder are read"
        )
    place = inside(folder, kvstore.get("path"))
    try:
        shape = tuple(int(size) for size in leaf["metadata"]["shape"])
    except (KeyError, TypeError, ValueError) as error:
        raise LisaxError(f"'{name}' has no shape in {folder / NATIVE_INDEX}") from error
    if not (place / ".zarray").is_file():
        raise LisaxError(f"'{name}' is in {folder / NATIVE_INDEX}, but {place} has no array: the copy is not whole")
    return Stored(shape, lambda: read(file_store(place)))


def write_native(folder: Path, checkpoint: Checkpoint) -> None:
    """Writes the index and the arrays to the existing `folder`, one array in memory at a time."""
    from flax.serialization import msgpack_serialize

    def part(pieces: Any, prefix: str) -> dict[str, Any]:
        return nested(
            {
                name: _written(folder, f"{prefix}.{name.replace('/', '.')}", array)
                for name, array in checkpoint.read(pieces)
            }
        )

    state: dict[str, Any] = {"step": np.asarray(checkpoint.step or 0, np.int32)}
    if checkpoint.slots:
        state["param_states"] = part(checkpoint.slots, "state.param_states")
    index = {"version": VERSION, "optimizer": {"target": part(checkpoint.parameters, "target"), "state": state}}
    with atomic_write(folder / NATIVE_INDEX, "wb") as file:  # last: without it this is not a checkpoint
        file.write(msgpack_serialize(index))


def _written(folder: Path, name: str, array: np.ndarray) -> Any:
    if array.size <= 1 or name.endswith((".v_row", ".v_col")):
        return array
    metadata = write(folder / name, array)
    return {
        "driver": "zarr",
        "dtype": array.dtype.name,
        "kvstore": {"driver": "file", "path": f"{name}/"},
        "metadata": metadata,
    }
