"""Writes a checkpoint as a bundle for inference: `model.safetensors`, `model.json` and the vocabulary, parameters under
T5X's names. A bundle is data. Programs are written next to it on request, for other people's runtimes."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lisax.errors import DataError, LisaxError
from lisax.files.places import fetched, place
from lisax.files.writing import write_json
from lisax.formats.vocabulary import Vocabulary
from lisax.formats.vocabulary_file import open_vocabulary
from lisax.models.architectures import Model
from lisax.scoring.onnx import encoder as onnx_encoder
from lisax.scoring.onnx import t5 as onnx_t5
from lisax.scoring.onnx.graph import ModelGraph
from lisax.training.model_inference import Inference
from lisax.training.model_kinds import kind_of
from lisax.weights import safetensors_file
from lisax.weights.checkpoints import MODEL_JSON
from lisax.weights.interop.adapters import lora_of
from lisax.weights.interop.convert import card_of, new_folder, opened
from lisax.weights.interop.kinds import SAFETENSORS, VOCABULARY_NAME, vocabulary_in, vocabulary_name
from lisax.weights.interop.opening import open_checkpoint
from lisax.weights.interop.pieces import shapes_of
from lisax.weights.interop.safetensors_files import write_arrays
from lisax.weights.model_folder import ModelFolder

SAVED_MODEL_NAME = "saved_model"
EXPORTED_NAME, ONNX_NAME = "scorer.jax_export", "scorer.onnx"
FORMATS = ("bundle", "stablehlo", "savedmodel", "onnx")


def export_adapter(model: ModelFolder, out: str | os.PathLike) -> Path:
    """Writes a model's adapter to the new folder `out`, with the other trained parameters, and only the name of
    its backbone: see `interop.adapters`, which reads it as the whole model."""
    source = open_checkpoint(model, alone=True)
    if source.card is None or source.card.get("adapter") is None:
        raise LisaxError(f"{source.folder} holds no adapter: leave --adapter out")
    lora_of(source)
    with new_folder(out) as folder:
        write_arrays(folder, shapes_of(source.parameters), source.read(source.parameters), shard_bytes=None)
        (folder / SAFETENSORS).chmod(0o644)  # safetensors lets only its owner read it
        write_json(folder / MODEL_JSON, dict(source.card))
    return place(out)


def export(model: ModelFolder, out: str | os.PathLike, formats: Sequence[str] = ("bundle",)) -> Path:
    """Writes the bundle of a model of any kind to the new folder `out`, all or nothing.

    `formats` besides "bundle", which is always written: "stablehlo" adds `scorer.jax_export`, which
    `jax.export.deserialize` reads; "savedmodel" adds the folder `saved_model` for TensorFlow; "onnx" adds `scorer.onnx`
    and its weights `scorer.onnx.data` for onnxruntime."""
    if unknown := set(formats) - set(FORMATS):
        raise LisaxError(f"no export format is named '{min(unknown)}'; there are {', '.join(FORMATS)}")
    source, architecture = opened(model)
    if source.vocabulary is None:
        raise DataError(
            "the checkpoint has no vocabulary next to it; `lisax checkpoint import --vocabulary FILE` "
            "writes it with one",
            path=source.folder / VOCABULARY_NAME,
        )
    card = card_of(source, architecture)
    text = card.get("text") or {}
    inference = kind_of(architecture).inference
    if inference.needs is not None and inference.needs not in text and set(formats) != {"bundle"}:
        raise DataError(
            "`text` with the label words, or the number of tables or candidates, is missing: without it "
            "there is nothing to score, and only --format bundle can be written",
            path=source.folder / MODEL_JSON,
        )
    with new_folder(out) as folder:
        write_arrays(folder, shapes_of(source.parameters), source.read(source.parameters), shard_bytes=None)
        (folder / SAFETENSORS).chmod(0o644)  # safetensors lets only its owner read it
        write_json(folder / MODEL_JSON, card)
        for name, path in (
            {vocabulary_name(source.vocabulary): source.vocabulary} | _own_files(card, source.folder)
        ).items():
            shutil.copyfile(fetched(path), folder / name)
        _write_programs(folder, inference, architecture.for_inference(), text, formats)
    return place(out)


def _own_files(card: dict[str, Any], folder: Path) -> dict[str, Path]:
    """The files of training next to the parameters that inference reads: `files` of `model.json`, by name."""
    names = card.get("files", [])
    if not isinstance(names, list) or not all(
        isinstance(name, str) and re.fullmatch(r"\w[\w.-]*", name) for name in names
    ):
        raise DataError(f"`files` must be names of files, found {names!r:.80}", path=folder / MODEL_JSON)
    if missing := next((name for name in names if not (folder / name).is_file()), None):
        raise DataError("no such file: the copy of the checkpoint is not whole", path=folder / missing)
    return {name: folder / name for name in names}


def _write_programs(
    folder: Path, inference: Inference, model: Model, text: dict[str, Any], formats: Sequence[str]
) -> None:
    """Writes the scorer of a bundle in formats of other runtimes."""
    if set(formats) <= {"bundle"}:
        return
    parameters = safetensors_file.read(folder / SAFETENSORS)
    vocabulary = open_vocabulary(vocabulary_in(folder))
    if "onnx" in formats:
        _onnx_graph(model, parameters, text, vocabulary).write(folder / ONNX_NAME)
    if not set(formats) & {"stablehlo", "savedmodel"}:
        return
    exported = inference.exported(model, parameters, text, vocabulary)
    if "stablehlo" in formats:
        (folder / EXPORTED_NAME).write_bytes(exported.serialize())
    if "savedmodel" in formats:
        from lisax.training.saved_model import save

        save(exported, parameters, folder / SAVED_MODEL_NAME)


def _onnx_graph(
    model: Model, parameters: Mapping[str, np.ndarray], text: Mapping[str, Any], vocabulary: Vocabulary
) -> ModelGraph:
    if onnx_encoder.fits(model):
        return onnx_encoder.EncoderGraph(model, parameters)
    if onnx_t5.fits(model):
        pieces = [[vocabulary.piece_id(word)] for word in text["words"]]
        return onnx_t5.T5Graph(model, parameters, pieces, first_step=True)
    raise LisaxError(
        "only a T5 that scores label words, and pair scorers and dual encoders of the BERT family, in float32, are "
        "exported as ONNX"
    )
