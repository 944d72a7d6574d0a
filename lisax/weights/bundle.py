"""Bundles for inference: `model.safetensors` + `model.json` + vocabulary, parameters under T5X's names.

Where the checkpoint says its text format, the scorer is there as StableHLO too (see `program`), so that
`lisax.load` needs jax, numpy and sentencepiece alone. `export` writes them.

A bundle is data: it may come from anyone. `model_card`, `safetensors_file` and `program_check` say what it may hold.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from lisax.weights import safetensors_file
from lisax.weights.model_card import ModelCard

EMBEDDING = "token_embedder/embedding"
PARAMETERS_NAME = "model.safetensors"


def read(folder: str | os.PathLike) -> tuple[ModelCard, dict[str, np.ndarray]]:
    """(`model.json`, parameters by path) of a bundle; arrays are views of the file. DataError where the embedding is
    not of the size that `model.json` says: ids beyond it would be read as its last row."""
    folder = Path(folder)
    card, parameters = ModelCard.read(folder), safetensors_file.read(folder / PARAMETERS_NAME)
    (described,) = card.needed("architecture")
    described = described.get("backbone", described)
    for axis, field in enumerate(("vocab_size", "emb_dim")):
        found = parameters[EMBEDDING].shape[axis : axis + 1] if EMBEDDING in parameters else ()
        if field in described and found != (described[field],):
            raise card.error(
                f"architecture.{field}",
                f"is {described[field]:,}, but '{EMBEDDING}' of {PARAMETERS_NAME} has {list(found)} there",
            )
    return card, parameters
