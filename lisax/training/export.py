"""Writes a checkpoint as a bundle for inference: `model.safetensors`, `model.json` and the vocabulary, parameters under
T5X's names. A bundle is data. Programs are written next to it on request, for other people's runtimes, and the meaning of
their inputs and outputs to `scorer.json`."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from lisax.errors import DataError, LisaxError
from lisax.files.places import fetched, place
from lisax.files.writing import write_json
from lisax.formats.catalogue import FORMATS as TEXT_FORMATS
from lisax.formats.catalogue import template
from lisax.formats.labelling import LABEL_LISTWISE
from lisax.formats.vocabulary import Vocabulary
from lisax.formats.vocabulary_file import open_vocabulary
from lisax.models.architectures import Model, PairConfig, T5Config
from lisax.scoring.onnx import encoder as onnx_encoder
from lisax.scoring.onnx import t5 as onnx_t5
from lisax.scoring.onnx.graph import ModelGraph, Place
from lisax.training.model_kinds import kind_of
from lisax.weights.checkpoints import MODEL_JSON
from lisax.weights.interop import safetensors_files
from lisax.weights.interop.adapters import lora_of
from lisax.weights.interop.convert import card_of, new_folder, opened, write_bundle
from lisax.weights.interop.kinds import SAFETENSORS, VOCABULARY_NAME, vocabulary_name
from lisax.weights.interop.opening import open_checkpoint
from lisax.weights.interop.pieces import Checkpoint, shapes_of
from lisax.weights.model_card import ModelCard, check_has_file
from lisax.weights.model_folder import ModelFolder

SAVED_MODEL_NAME = "saved_model"
EXPORTED_NAME, SCORER_NAME = "scorer.jax_export", "scorer.json"
FORMATS = ("bundle", "stablehlo", "savedmodel", "onnx")


def export_adapter(model: ModelFolder, out: str | os.PathLike) -> Path:
    """Writes a model's adapter to the new folder `out`, with the other trained parameters, and only the name of
    its backbone: see `interop.adapters`, which reads it as the whole model."""
    source = open_checkpoint(model, alone=True)
    if source.card is None or source.card.get("adapter") is None:
        raise LisaxError(f"{source.folder} holds no adapter: leave --adapter out")
    lora_of(source)
    with new_folder(out) as folder:
        write_bundle(folder, source, source.card)
    return place(out)


def export(model: ModelFolder, out: str | os.PathLike, formats: Sequence[str] = ("bundle",)) -> Path:
    """Writes the bundle of a model of any kind to the new folder `out`, all or nothing.

    `formats` besides "bundle", which is always written: "stablehlo" adds `scorer.jax_export`, which
    `jax.export.deserialize` reads; "savedmodel" adds the folder `saved_model` for TensorFlow; "onnx" adds `scorer.onnx`
    for onnxruntime, and of a T5 `encoder_model.onnx` and `decoder_model.onnx`. Each adds `scorer.json`."""
    if unknown := set(formats) - set(FORMATS):
        raise LisaxError(f"no export format is named '{min(unknown)}'; there are {', '.join(FORMATS)}")
    source, architecture = opened(model)
    if source.vocabulary is None:
        check_has_file(source.card or {}, source.folder)
        raise DataError(
            "the checkpoint has no vocabulary next to it; `lisax checkpoint import --vocabulary FILE` "
            "writes it with one",
            path=source.folder / VOCABULARY_NAME,
        )
    card = card_of(source, architecture)
    programs = _Programs(source, architecture.for_inference(), card, formats)
    with new_folder(out) as folder:
        write_bundle(folder, source, card)
        files = {vocabulary_name(source.vocabulary): source.vocabulary} | _own_files(card, source.folder)
        for name, path in files.items():
            shutil.copyfile(fetched(path), folder / name)
        programs.write(folder)
    return place(out)


def _own_files(card: dict[str, Any], folder: Path) -> dict[str, Path]:
    """The files of training next to the parameters that inference reads: `files` of `model.json`, by name."""
    names = card.get("files") or []
    if not all(re.fullmatch(r"\w[\w.-]*", name) for name in names):
        raise DataError(f"`files` must be names of files, found {names!r:.80}", path=folder / MODEL_JSON)
    if missing := next((name for name in names if not (folder / name).is_file()), None):
        raise DataError("no such file: the copy of the checkpoint is not whole", path=folder / missing)
    return {name: folder / name for name in names}


class _Programs:
    """The scorer of a bundle in formats of other runtimes. Raises LisaxError, before anything is written, where the model
    has none in one of `formats`."""

    def __init__(self, source: Checkpoint, model: Model, card: Mapping[str, Any], formats: Sequence[str]):
        self._card, self._formats = ModelCard(source.folder, card), set(formats) - {"bundle"}
        if not self._formats:
            return
        self._vocabulary, inference = open_vocabulary(fetched(source.vocabulary)), kind_of(model).inference
        self._model, self._exported, self._outputs = model, None, inference.outputs
        if self._formats & {"stablehlo", "savedmodel"}:
            if inference.needs is not None and inference.needs not in self._card.text:
                raise self._card.error(
                    "text",
                    "the label words, or the number of tables or candidates, are missing: without them there is "
                    "nothing to score, and no StableHLO program and no SavedModel",
                )
            shapes = {
                name: jax.ShapeDtypeStruct(shape, np.float32) for name, shape in shapes_of(source.parameters).items()
            }
            self._exported = inference.exported(model, shapes, self._card.text, self._vocabulary)
        if "onnx" in self._formats:
            # Activations of training may have been bfloat16, which saves time there and costs digits.
            self._model = model.replaced(dtype="float32")
            if not (onnx_encoder.fits(self._model) or onnx_t5.fits(self._model)):
                on = "" if model.backbone is model else f" on {model.backbone.title}"
                raise LisaxError(
                    "only T5s, and pair scorers and dual encoders of the BERT family, are exported as ONNX; found "
                    f"{model.title}{on}"
                )

    def write(self, folder: Path) -> None:
        """Adds the programs to the bundle in `folder`."""
        if not self._formats:
            return
        write_json(folder / SCORER_NAME, scoring(self._card, self._model, self._vocabulary))
        parameters = safetensors_files.read(folder / SAFETENSORS)
        if "stablehlo" in self._formats:
            (folder / EXPORTED_NAME).write_bytes(self._exported.serialize())
        if "savedmodel" in self._formats:
            from lisax.training.saved_model import save

            save(self._exported, self._outputs, parameters, folder / SAVED_MODEL_NAME)
        if "onnx" in self._formats:
            entries = safetensors_files.header_of(folder / SAFETENSORS)
            # The graphs hold no parameters, only arrays that are computed from them.
            places = {name: Place(SAFETENSORS, at.begin, at.end - at.begin) for name, at in entries.items()}
            for name, graph in self._graphs(parameters):
                (folder / f"{name}.onnx").write_bytes(graph.proto(places))

    def _graphs(self, parameters: Mapping[str, np.ndarray]) -> Iterator[tuple[str, ModelGraph]]:
        if type(self._model) is not T5Config:
            padding = self._model.backbone.padding_id
            yield "scorer", onnx_encoder.EncoderGraph(self._model, parameters, padding_id=padding)
            return
        if words := self._card.text.get("words"):
            pieces = [[self._vocabulary.piece_id(word)] for word in words]
            yield "scorer", onnx_t5.AnswersGraph(self._model, parameters, pieces, first_step=True)
        yield "encoder_model", onnx_t5.EncoderHalf(self._model, parameters)
        yield "decoder_model", onnx_t5.DecoderHalf(self._model, parameters)


def scoring(card: ModelCard, model: Model, vocabulary: Vocabulary) -> dict[str, Any]:
    """The content of `scorer.json`, for programs without LisaX: the vocabulary's file, padding's id, the most tokens of
    an input, and, as far as the card has them, the wording of inputs (see `catalogue.template`), the names of
    `probabilities` in their order, the temperature and the biases that calibrate them, and up to how many sentences a
    verdict's lists have (see `predict.verifier.Labeller`)."""
    found: dict[str, Any] = {"tokenizer": vocabulary_name(vocabulary.path), "padding_id": model.backbone.padding_id}
    found |= {name: card.text[name] for name in ("max_tokens", "words") if name in card.text}
    text_format = TEXT_FORMATS.get(card.text.get("family"))
    if text_format is None or "preset" not in card.text:
        return found
    if (wording := template(text_format, card.preset, pairs=type(model) is PairConfig)) is not None:
        found["inputs"] = wording
    if labels := list(text_format.answer.classes.values()) or card.text.get("words"):
        found["labels"] = labels
    if (fitted := card.calibration) is not None and fitted.aggregate is None:
        found["temperature"] = fitted.temperature
        if fitted.biases:
            found["biases"] = list(fitted.biases)
    if text_format is LABEL_LISTWISE and "sentences" in card:
        found |= {name: card[name] for name in ("sentences", "leading") if name in card}
    return found
