"""Hugging Face folders: `config.json` and safetensors, whole or in shards. `model_type` gives its family of models;
`huggingface_t5` and `huggingface_encoder` know their families' names and fields."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from lisax.errors import DataError, LisaxError, shown
from lisax.files.json_file import read_object
from lisax.files.writing import write_json
from lisax.models.architectures import EncoderConfig, Model, T5Config
from lisax.weights.interop import huggingface_encoder, huggingface_t5
from lisax.weights.interop.architecture import shapes_of_model
from lisax.weights.interop.kinds import HF_CONFIG, Kind
from lisax.weights.interop.pieces import Array, Checkpoint, Piece, Stored, shapes_of
from lisax.weights.interop.safetensors_files import stored_arrays, write_arrays
from lisax.weights.shapes import problems

# For a class of architecture: its family's name, its `MODEL_TYPES`, its file `VOCABULARY`, `reading` and `writing`.
FAMILIES: dict[type[Model], ModuleType] = {T5Config: huggingface_t5, EncoderConfig: huggingface_encoder}


def open_huggingface(folder: Path) -> Checkpoint:
    """The checkpoint of a folder, its arrays not yet read. DataError or LisaxError where `config.json` describes no
    model that is known here, or the arrays are not those of that model."""
    path = folder / HF_CONFIG
    described = read_object(path)
    family = _family(described, path)
    arrays = stored_arrays(folder)
    reading = family.reading(described, arrays, path)
    layers = sum(reading.architecture.stacks.values())
    if not reading.architecture.shared_layers and layers > len(arrays):  # checked before layers are laid out
        raise LisaxError(f"{folder} has {len(arrays)} arrays, too few for the {layers} layers of its {HF_CONFIG}")
    expected = {
        name: shape
        for name, shape in shapes_of_model(reading.architecture).items()
        if reading.has_decoder or not name.startswith("decoder/")
    }
    wanted = {name: reading.stored_as(name) for name in expected}
    pieces, misshaped = [], []
    for name, array in wanted.items():
        if array.theirs in arrays:
            pieces.append(_piece(name, array, arrays[array.theirs]))
            if pieces[-1].shapes[name] != expected[name]:
                shape = expected[name][::-1] if array.transposed else expected[name]
                misshaped.append(f"{array.theirs} is {list(arrays[array.theirs].shape)}, expected {list(shape)}")
    theirs = {array.theirs for array in wanted.values()}
    missing = [array.theirs for array in wanted.values() if array.theirs not in arrays]
    extra = [name for name in arrays if name not in theirs and not reading.unused(name)]
    if told := problems(missing, extra, misshaped):
        raise LisaxError(
            f"the arrays of {folder} are not those of the {family.NAME} that its {HF_CONFIG} describes: {told}"
        )
    return Checkpoint(
        Kind.HUGGINGFACE,
        folder,
        None,
        tuple(pieces),
        architecture=reading.architecture,
        vocabulary=_if_there(folder / family.VOCABULARY),
    )


def vocabulary_in_folder(folder: Path) -> Path | None:
    """The vocabulary's file of the family that `config.json` describes; None if it is missing."""
    path = folder / HF_CONFIG
    return _if_there(folder / _family(read_object(path), path).VOCABULARY)


def _if_there(file: Path) -> Path | None:
    return file if file.is_file() else None


def _family(described: dict[str, Any], path: Path) -> ModuleType:
    kind = described.get("model_type")
    for family in FAMILIES.values():
        if isinstance(kind, str) and kind in family.MODEL_TYPES:
            return family
    known = "; ".join(f"{family.NAME} ({', '.join(family.MODEL_TYPES)})" for family in FAMILIES.values())
    raise DataError(
        f"a model of another kind than is read here: {known}; found {shown(kind)}", path=path, field="model_type"
    )


def _piece(name: str, array: Array, stored: Stored) -> Piece:
    def convert(found: np.ndarray) -> dict[str, np.ndarray]:
        return {name: array.convert(found.T if array.transposed else found)}

    return Piece(array.theirs, stored, {name: stored.shape[::-1] if array.transposed else stored.shape}, convert)


def write_huggingface(folder: Path, checkpoint: Checkpoint, architecture: Model, **options: Any) -> None:
    """Writes `config.json` and safetensors to the existing `folder`, one array in memory at a time. LisaxError where
    the layout has no place for such a model."""
    if type(architecture) not in FAMILIES:
        raise LisaxError(
            f"{checkpoint.folder} is a {architecture.title}, built on a backbone: Hugging Face's layout has a place for "
            "only the backbone"
        )
    writing = FAMILIES[type(architecture)].writing(architecture)

    def arrays() -> Iterable[tuple[str, np.ndarray]]:
        for name, array in checkpoint.read(checkpoint.parameters):
            theirs = writing.stored_as(name)
            array = theirs.convert(array)
            yield theirs.theirs, array.T if theirs.transposed else array

    shapes = {}
    for name, shape in shapes_of(checkpoint.parameters).items():
        theirs = writing.stored_as(name)
        shapes[theirs.theirs] = shape[::-1] if theirs.transposed else shape
    write_arrays(folder, shapes, arrays(), **options)
    write_json(folder / HF_CONFIG, writing.described)
