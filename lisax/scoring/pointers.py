"""Pointing with the evidence pointer: beam search over each claim's candidates, and label probabilities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from lisax.models.architectures import PointerConfig
from lisax.scoring.claims import ClaimScorer


class Pointing(NamedTuple):
    """The best sequence of pointers of each claim."""

    pointers: np.ndarray  # int32 [claims, steps]: places of candidates, -1 if none is left
    shares: np.ndarray  # float32 [claims, steps]: probability of each pointer given those before
    labels: np.ndarray  # float32 [claims, 3] in the order of `LABELS`; zeros of a model that does not label


class PointerScorer(ClaimScorer):
    """Points for claims, each given as one text for each of its candidates."""

    architecture, text_name, results = PointerConfig, "candidates", Pointing

    def __init__(self, model: PointerConfig, parameters: Any, **options: Any):
        super().__init__(model, parameters, **options)
        self._labels = model.relation != "none"

    @staticmethod
    def outputs(
        model: PointerConfig, parameters: Any, tokens: jax.Array, vectors: jax.Array | None = None
    ) -> tuple[jax.Array, ...]:
        """(pointers, shares, labels) of the best hypotheses, float32 all"""
        return model.network().apply({"params": parameters}, tokens, vectors, method="search").best()

    def probabilities(
        self, claims: Sequence[Sequence[Sequence[int]]], progress: Callable[[int], None] | None = None
    ) -> Pointing:
        """The best pointers for token ids [claim][candidate][token]; see `run`. A claim without candidates points
        nowhere, and has not enough information."""
        pointers, shares, labels = self.run(claims, progress)
        labels[[not claim for claim in claims]] = [0, 0, 1] if self._labels else 0
        return Pointing(pointers.astype(np.int32), shares, labels)
