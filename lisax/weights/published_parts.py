"""Published scorers of table rows and columns (RCI's ALBERT), as bundles in the cache: classifiers of two texts, BERT's
and ALBERT's `…ForSequenceClassification`, read as pair scorers."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from lisax.errors import DataError
from lisax.files.places import cache_folder
from lisax.formats.parts import TABLE_PARTS
from lisax.formats.presets import PAPER
from lisax.formats.vocabulary_file import TokenizerVocabulary
from lisax.models.architectures import EncoderConfig, PairConfig
from lisax.weights.interop.convert import card_of, new_folder, write_bundle
from lisax.weights.interop.huggingface import open_huggingface
from lisax.weights.interop.kinds import HF_CONFIG, TOKENIZER_NAME, vocabulary_name
from lisax.weights.interop.pieces import Checkpoint, Piece
from lisax.weights.interop.safetensors_files import stored_arrays
from lisax.weights.model_folder import ModelFolder

# RCI's classes are (not relevant, relevant); ours begin with relevant. Its authors apply it at 128 tokens.
ORDER, LABELS, MAX_TOKENS = [1, 0], list(TABLE_PARTS.answer.classes.values()), 128
HEAD = {"classifier.weight": "pair/classes/kernel", "classifier.bias": "pair/classes/bias"}


def bundle_of(model: ModelFolder) -> Path:
    """The bundle of a published model of rows or columns, which is made of it the first time. It holds the same
    numbers, with the description of the texts that LisaX needs."""
    source = model.folder
    name = model.name.partition("@")[0].replace(":", "--").replace("/", "--")
    out = cache_folder() / "published" / f"{name}--{source.name}"
    if out.is_dir():
        return out
    checkpoint = open_classifier(source)
    text = {"family": TABLE_PARTS.name, "preset": PAPER.name, "max_tokens": MAX_TOKENS, "labels": LABELS}
    with new_folder(out) as folder:
        write_bundle(folder, checkpoint, card_of(checkpoint, checkpoint.architecture) | {"text": text})
        shutil.copyfile(checkpoint.vocabulary, folder / vocabulary_name(checkpoint.vocabulary))
    return out


def open_classifier(folder: Path) -> Checkpoint:
    """The pair scorer of a Hugging Face folder. DataError where the folder holds none."""
    found, arrays = open_huggingface(folder), stored_arrays(folder)
    backbone = found.architecture
    missing = next((name for name in HEAD if name not in arrays), None)
    if not isinstance(backbone, EncoderConfig) or not backbone.pooler or missing:
        raise DataError(
            f"no classifier of BERT's or ALBERT's kind: it has {f'no {missing}' if missing else 'no pooler'}",
            path=folder / HF_CONFIG,
        )
    if arrays["classifier.weight"].shape != (len(ORDER), backbone.emb_dim):
        shape = list(arrays["classifier.weight"].shape)
        raise DataError(f"classifier.weight is {shape}, expected {len(ORDER)} classes", path=folder / HF_CONFIG)
    if found.vocabulary is None:
        raise DataError("no such file: the vocabulary belongs next to the weights", path=folder / TOKENIZER_NAME)
    separator = TokenizerVocabulary(found.vocabulary).separator_id
    backbone = backbone.replaced(pooler=False, separator_id=separator)

    def head(theirs: str, ours: str) -> Piece:
        stored = arrays[theirs]
        return Piece(theirs, stored, {ours: stored.shape[::-1]}, lambda array: {ours: array.T[..., ORDER]})

    return dataclasses.replace(
        found,
        architecture=PairConfig(backbone, labels=len(ORDER), pooling="pooler"),
        parameters=(*map(_below_pair, found.parameters), *(head(*names) for names in HEAD.items())),
    )


def _below_pair(piece: Piece) -> Piece:
    """The pooler, which in a pair scorer is a part of its head."""
    ((name, shape),) = piece.shapes.items()
    if not name.startswith("pooler/"):
        return piece

    def convert(array: np.ndarray) -> dict[str, Any]:
        return {f"pair/{name}": piece.convert(array)[name]}

    return dataclasses.replace(piece, shapes={f"pair/{name}": shape}, convert=convert)
