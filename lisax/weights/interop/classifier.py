"""Published classifiers of two texts, BERT's and ALBERT's `…ForSequenceClassification`, as pair scorers."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lisax.errors import DataError
from lisax.formats.vocabulary_file import TokenizerVocabulary
from lisax.models.architectures import EncoderConfig, PairConfig
from lisax.weights.interop.huggingface import open_huggingface
from lisax.weights.interop.kinds import HF_CONFIG, TOKENIZER_NAME
from lisax.weights.interop.pieces import Checkpoint, Piece
from lisax.weights.interop.safetensors_files import stored_arrays

HEAD = {"classifier.weight": "pair/classes/kernel", "classifier.bias": "pair/classes/bias"}


def open_classifier(folder: Path, order: Sequence[int]) -> Checkpoint:
    """The pair scorer of a Hugging Face folder: `order` names its classes in the order that ours have. DataError where
    the folder holds none."""
    found, arrays = open_huggingface(folder), stored_arrays(folder)
    backbone = found.architecture
    missing = next((name for name in HEAD if name not in arrays), None)
    if not isinstance(backbone, EncoderConfig) or not backbone.pooler or missing:
        raise DataError(
            f"no classifier of BERT's or ALBERT's kind: it has {f'no {missing}' if missing else 'no pooler'}",
            path=folder / HF_CONFIG,
        )
    if arrays["classifier.weight"].shape != (len(order), backbone.emb_dim):
        shape = list(arrays["classifier.weight"].shape)
        raise DataError(f"classifier.weight is {shape}, expected {len(order)} classes", path=folder / HF_CONFIG)
    if found.vocabulary is None:
        raise DataError("no such file: the vocabulary belongs next to the weights", path=folder / TOKENIZER_NAME)
    separator = TokenizerVocabulary(found.vocabulary).separator_id
    backbone = backbone.replaced(pooler=False, separator_id=separator)

    def head(theirs: str, ours: str) -> Piece:
        stored = arrays[theirs]
        return Piece(theirs, stored, {ours: stored.shape[::-1]}, lambda array: {ours: array.T[..., list(order)]})

    return dataclasses.replace(
        found,
        architecture=PairConfig(backbone, labels=len(order), pooling="pooler"),
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
