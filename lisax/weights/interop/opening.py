"""`open_checkpoint`: a checkpoint of any kind, its index read and checked, its arrays not yet read."""

from __future__ import annotations

import dataclasses
import math
from itertools import accumulate
from pathlib import Path

from lisax.errors import LisaxError
from lisax.files.places import exists, fetched, is_remote, place
from lisax.models.architectures import Model, from_description
from lisax.models.fields import FieldError
from lisax.weights.interop.adapters import MOST, check_base, with_adapter
from lisax.weights.interop.architecture import shapes_of_model
from lisax.weights.interop.huggingface import open_huggingface
from lisax.weights.interop.kinds import Kind, vocabulary_in
from lisax.weights.interop.pieces import Checkpoint, shapes_of
from lisax.weights.interop.safetensors_files import stored_arrays
from lisax.weights.interop.scanned import checkpoint_of
from lisax.weights.interop.t5x_native import open_native
from lisax.weights.interop.t5x_orbax import open_orbax
from lisax.weights.model_folder import ModelFolder
from lisax.weights.pretrained import is_named
from lisax.weights.shapes import check_parameters


def open_checkpoint(model: ModelFolder, *, alone: bool = False, depth: int = 0) -> Checkpoint:
    """Opens a model's checkpoint, with its `model.json` and vocabulary if they exist. An adapter is read as the whole
    model; with `alone`, as it is stored. `depth`: the number of adapters on top of it."""
    folder = model.folder
    if is_remote(folder) and model.kind in (Kind.HUGGINGFACE, Kind.BUNDLE):
        folder = fetched(folder)  # safetensors are memory-mapped
    readers = {
        Kind.ORBAX: open_orbax,
        Kind.NATIVE: open_native,
        Kind.HUGGINGFACE: open_huggingface,
        Kind.BUNDLE: lambda folder: checkpoint_of(Kind.BUNDLE, folder, None, stored_arrays(folder), {}),
    }
    checkpoint = readers[model.kind](folder)
    for pieces in (checkpoint.parameters, checkpoint.slots):
        _check_names(folder, [name for piece in pieces for name in piece.shapes])
    if checkpoint.vocabulary is None and (vocabulary := vocabulary_in(folder)) is not None:
        checkpoint = dataclasses.replace(checkpoint, vocabulary=fetched(vocabulary))
    if not model.has_card:
        return checkpoint
    card = model.card
    architecture = checkpoint.architecture
    if architecture is None:
        (described,) = card.needed("architecture")
        try:
            architecture = from_description(described)
        except FieldError as error:  # fields that do not fit each other
            raise card.error(f"architecture.{error.field}", error.complaint) from None
    step = card.get("step") if checkpoint.step is None else checkpoint.step
    checkpoint = dataclasses.replace(checkpoint, architecture=architecture, card=card, step=step)
    if card.get("adapter") is None or alone:
        return checkpoint
    return _with_base(checkpoint, depth)


def open_whole(model: ModelFolder, kind: type[Model]) -> Checkpoint:
    """The checkpoint of a model of this kind, which has all its parameters; none of them is read yet."""
    checkpoint = open_checkpoint(model)
    architecture = checkpoint.architecture
    if type(architecture) is not kind:
        article = "an" if kind.title[0] in "aeiou" else "a"
        raise LisaxError(f"{checkpoint.folder} is not {article} {kind.title} by its model.json")
    check_parameters(shapes_of_model(architecture.for_inference()), shapes_of(checkpoint.parameters), checkpoint.folder)
    return checkpoint


def described(source: ModelFolder) -> str:
    """Kind, step, parameters with their shapes, vocabulary and optimizer slots; no array is read."""
    checkpoint = open_checkpoint(source)
    shapes, slots = shapes_of(checkpoint.parameters), shapes_of(checkpoint.slots)
    count = sum(map(math.prod, shapes.values()))
    known = (checkpoint.card or {}).get("vocabulary") or {}
    kinds = sorted({name.rsplit("/", 1)[1] for name in slots})
    vocabulary = [f"{known['kind']} of {known['pieces']} pieces"] if known else []
    if checkpoint.vocabulary is not None:
        vocabulary.append(str(checkpoint.vocabulary))
    facts = {
        "checkpoint": checkpoint.folder,
        "kind": checkpoint.kind + (", layers stacked (scanned)" if checkpoint.scanned else ""),
        "step": "unknown" if checkpoint.step is None else checkpoint.step,
        "parameters": f"{count:,} in {len(shapes)} arrays",
        "vocabulary": ", ".join(vocabulary) or "none",
        "optimizer slots": f"{sum(map(math.prod, slots.values())):,} values: {', '.join(kinds)}" if slots else "none",
    }
    width = max(map(len, shapes), default=0)
    lines = [f"{name:16}{value}" for name, value in facts.items()]
    return "\n".join([*lines, "", *(f"{name:{width}}  {list(shape)}" for name, shape in shapes.items())])


def _with_base(checkpoint: Checkpoint, depth: int) -> Checkpoint:
    """The whole model of a checkpoint that holds an adapter."""
    card = checkpoint.card
    (base,) = card.needed("adapter.base")
    if not is_named(base) and not exists(place(base)):
        raise card.error("adapter.base", f"the adapter's backbone is missing: {base}")
    if depth == MOST:
        raise card.error("adapter.base", f"expected at most {MOST} adapters, one on the other")
    found = open_checkpoint(ModelFolder.find(base), depth=depth + 1)
    check_base(checkpoint, found.folder)
    return with_adapter(found, checkpoint)


def _check_names(folder: Path, names: list[str]) -> None:
    """Names are leaves of one tree: each once, and none inside another."""
    leaves = set(names)
    twice = next((name for name in leaves if names.count(name) > 1), None) if len(leaves) < len(names) else None
    inner = next(
        (name for name in names for parent in accumulate(name.split("/")[:-1], "{}/{}".format) if parent in leaves),
        None,
    )
    if twice or inner:
        raise LisaxError(
            f"{folder} has '{twice or inner}' "
            + ("twice, as its own array and among stacked layers" if twice else "inside another array")
        )
