"""Scoring pairs of texts: probabilities of their classes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from lisax.devices.batching import Progress, Tokens
from lisax.devices.partitioning import Partitioner
from lisax.models.architectures import PairConfig
from lisax.scoring.passages import TextScorer


class PairScoring(TextScorer):
    """A pair scorer's parameters on the devices, and batches for it."""

    architecture = PairConfig

    def probabilities(self, pairs: Sequence[Tokens], progress: Progress | None = None) -> np.ndarray:
        """float32 [pairs, labels] of the token ids of both texts with their special tokens."""
        score = compiled_pairs(self.model, self._loop.partitioner)
        found = list(self._each(pairs, score, progress))
        return np.array(found, np.float32).reshape(len(pairs), self.model.labels)


@functools.cache
def compiled_pairs(model: PairConfig, partitioner: Partitioner) -> Callable[[Any, jax.Array], jax.Array]:
    """The compiled (parameters, tokens [rows, width]) -> probabilities float32 [rows, labels]."""

    def score(parameters: Any, tokens: jax.Array) -> jax.Array:
        from lisax.models.pair import probabilities

        with partitioner.constraints():
            return probabilities(model, parameters, tokens)

    return jax.jit(score, out_shardings=partitioner.batch)
