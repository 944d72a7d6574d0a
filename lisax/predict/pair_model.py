"""A pair scorer in use: probabilities of the classes of a claim with its evidence, or of a question with a part of a table,
read as two texts."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lisax.formats.tables import TABLES
from lisax.scoring.backends import open_pairs
from lisax.weights.checkpoints import resolve_checkpoint
from lisax.weights.model_card import ModelCard


class PairModel:
    """`format` is the one that it was trained on, `labels` are the names of its classes in order."""

    def __init__(self, path: str | os.PathLike, *, backend: str | None = None):
        """From a bundle, a checkpoint folder, or a MODEL_DIR (its best checkpoint, else its newest). `backend`: which
        library computes, see `text_scoring.backend_for`."""
        folder = resolve_checkpoint(path)
        card = ModelCard.read(folder)
        self.card, self.format, self.preset, self.calibration = card, card.format, card.preset, card.calibration
        self.columns, self.sentences = card.get("columns"), card.get("sentences")
        self.max_tokens, self.labels = card.needed("text.max_tokens", "text.labels")
        # Tables read at once; 0 for other formats.
        (self.tables,) = card.needed("text.tables") if self.format is TABLES else (0,)
        self.vocabulary = card.open_vocabulary()
        self._scoring = open_pairs(folder, max_tokens=self.max_tokens, backend=backend)
        if len(self.labels) != self._scoring.model.labels:
            raise card.error(
                "text.labels", f"has {len(self.labels)} names, the model {self._scoring.model.labels} classes"
            )

    @classmethod
    def open(cls, path: str | os.PathLike, *, backend: str | None = None) -> PairModel:
        return cls(path, backend=backend)

    def probabilities(self, examples: Sequence[Any], progress: Callable[[int], None] | None = None) -> np.ndarray:
        """float32 [examples, labels] of example records of `format`; their own labels are not looked at. `progress` is
        told of each batch's number of examples."""
        texts = (self.format.pair(example, preset=self.preset) for example in examples)
        return self.token_probabilities(
            [self.vocabulary.encode_pair(*pair, self.max_tokens).ids for pair in texts], progress
        )

    def token_probabilities(
        self, tokens: Sequence[Sequence[int]], progress: Callable[[int], None] | None = None
    ) -> np.ndarray:
        """`probabilities` of pairs that are already encoded."""
        return self._scoring.probabilities(tokens, progress)
