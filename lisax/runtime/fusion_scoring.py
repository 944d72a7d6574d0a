"""Scoring with table fusion: probabilities of each claim's tables and truths, and the attention across its tables."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from lisax.models.table_fusion import FusionConfig, probabilities
from lisax.runtime.claim_scoring import ClaimScorer
from lisax.runtime.partitioning import Partitioner


class Scores(NamedTuple):
    """See `table_fusion.truth` and `table_fusion.relevance` for a claim's p(truth) and p(table)."""

    probabilities: np.ndarray  # float32 [claims, k, 2]: true, false; or [claims, k, 3]: irrelevant, true, false
    attention: np.ndarray  # float32 [claims, heads, k, k], of each table to each


class FusionScorer(ClaimScorer):
    """Scores claims, each given as one text for each of its tables."""

    kind, kind_name, text_name = FusionConfig, "table fusion", "tables"

    def scores(self, claims: Sequence[Sequence[Sequence[int]]], progress: Callable[[int], None] | None = None
               ) -> Scores:
        """Scores of token ids [claim][table][token]; see `run`. A claim's missing tables, and texts without tokens,
        have probability and attention 0."""
        results = self.run(claims, compiled_fusion(self.model, self.partitioner), progress)
        k, heads = self.texts, self.model.heads
        return Scores(np.array([share for share, _ in results]).reshape(-1, k, self.model.classes),
                      np.array([weights for _, weights in results]).reshape(len(results), heads, k, k))


@functools.cache
def compiled_fusion(model: FusionConfig, partitioner: Partitioner) -> Callable[[Any, jax.Array], Any]:
    """The compiled (parameters, tokens [rows, k, width]) -> (probabilities, attention)."""

    def score(parameters: Any, tokens: jax.Array) -> tuple[jax.Array, jax.Array]:
        with partitioner.constraints():
            fused = model.network().apply({"params": parameters}, tokens)
            return probabilities(model.objective, fused), fused.attention

    return jax.jit(score, out_shardings=partitioner.batch)
