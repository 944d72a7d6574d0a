"""Scoring with table fusion: probabilities of each claim's tables and truths, and the attention across its tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from lisax.models.architectures import FusionConfig
from lisax.scoring.claims import ClaimScorer


class Scores(NamedTuple):
    """See `table_truth` for a claim's p(truth) and p(table)."""

    probabilities: np.ndarray  # float32 [claims, k, 2]: true, false; or [claims, k, 3]: irrelevant, true, false
    attention: np.ndarray  # float32 [claims, heads, k, k], of each table to each


class FusionScorer(ClaimScorer):
    """Scores claims, each given as one text for each of its tables."""

    architecture, text_name, results = FusionConfig, "tables", Scores

    @staticmethod
    def outputs(
        model: FusionConfig, parameters: Any, tokens: jax.Array, vectors: jax.Array | None = None
    ) -> tuple[jax.Array, jax.Array]:
        """(probabilities, attention)"""
        from lisax.models.table_fusion import probabilities

        fused = model.network().apply({"params": parameters}, tokens, vectors=vectors)
        return probabilities(model.objective, fused), fused.attention

    def probabilities(
        self, claims: Sequence[Sequence[Sequence[int]]], progress: Callable[[int], None] | None = None
    ) -> Scores:
        """Scores of token ids [claim][table][token]; see `run`. A claim's missing tables, and texts without tokens,
        have probability and attention 0."""
        return Scores(*self.run(claims, progress))
