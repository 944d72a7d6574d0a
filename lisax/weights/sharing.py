"""Adapters over one backbone hold its arrays on the devices once, together with the backbone itself."""

from __future__ import annotations

from collections.abc import Callable
from weakref import WeakValueDictionary

import jax

from lisax.devices.partitioning import Partitioner
from lisax.models.lora import joined
from lisax.weights.checkpoints import flatten, nested
from lisax.weights.interop.adapters import lora_of
from lisax.weights.interop.kinds import MODEL_JSON, SAFETENSORS
from lisax.weights.interop.opening import open_checkpoint, open_whole
from lisax.weights.interop.pieces import Checkpoint, shapes_of
from lisax.weights.model_folder import ModelFolder
from lisax.weights.restore import AnyModel, load_model

# The arrays on the devices now: (folder, when its files changed, parameter) -> array. An array goes when it is not
# used.
_placed: WeakValueDictionary[tuple[str, tuple[int, ...], str], jax.Array] = WeakValueDictionary()


def load_beside(model: ModelFolder, kind: type[AnyModel]) -> tuple[AnyModel, dict]:
    """Reads like `restore.load_model`; an adapter's parameters are its own and the shared ones of its base."""
    own = open_checkpoint(model, alone=True)
    if own.card is None or own.card.get("adapter") is None:
        return load_model(model, kind)
    whole = open_whole(model, kind)
    names = shapes_of(whole.parameters).keys() - shapes_of(own.parameters).keys()
    base = placed(open_checkpoint(ModelFolder.find(own.card["adapter"]["base"])), names.__contains__)
    trained = nested(dict(own.read(own.parameters)))
    return whole.architecture, joined(base, trained, lora_of(own).scale)


def placed(checkpoint: Checkpoint, wanted: Callable[[str], bool]) -> dict:
    """The parameters of a checkpoint with these names, nested, on all devices; arrays on the devices are not read."""
    folder = checkpoint.folder
    files = (folder / name for name in (SAFETENSORS, MODEL_JSON))
    version = tuple(file.stat().st_mtime_ns for file in files if file.is_file())
    partitioner, found = Partitioner.over_all_devices(), {}
    for piece in checkpoint.parameters:
        names = {name: (str(folder), version, name) for name in piece.shapes if wanted(name)}
        known = {name: array for name, key in names.items() if (array := _placed.get(key)) is not None}
        if len(known) < len(names):
            arrays = {name: array for name, array in checkpoint.read([piece]) if name in names}
            known = flatten(partitioner.place_state(nested(arrays)))
            _placed.update({names[name]: array for name, array in known.items()})
        found |= known
    return nested(found)
