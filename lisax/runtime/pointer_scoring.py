"""Pointing with the evidence pointer: beam search over each claim's candidates, and label probabilities."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from lisax.models.evidence_pointer import LABEL_COUNT, PointerConfig
from lisax.runtime.claim_scoring import ClaimScorer
from lisax.runtime.partitioning import Partitioner


class Pointing(NamedTuple):
    """Of the best sequence of pointers of each claim."""

    pointers: np.ndarray  # int32 [claims, steps]: places of candidates, -1 where none is left
    shares: np.ndarray  # float32 [claims, steps]: probability of each pointer given those before
    labels: np.ndarray  # float32 [claims, 3] in the order of `LABELS`; zeros of a model that does not label


class PointerScorer(ClaimScorer):
    """Points for claims, each given as one text for each of its candidates."""

    kind, kind_name, text_name = PointerConfig, "evidence pointer", "candidates"

    def point(self, claims: Sequence[Sequence[Sequence[int]]], progress: Callable[[int], None] | None = None
              ) -> Pointing:
        """The best pointers for token ids [claim][candidate][token]; see `run`. A claim without candidates points
        nowhere and has labels of no meaning."""
        results = self.run(claims, compiled_search(self.model, self.partitioner), progress)
        pointers, shares, labels = zip(*results) if results else ((), (), ())
        steps = self.model.steps
        return Pointing(np.array(pointers, np.int32).reshape(-1, steps),
                        np.array(shares, np.float32).reshape(-1, steps),
                        np.array(labels, np.float32).reshape(-1, LABEL_COUNT))


@functools.cache
def compiled_search(model: PointerConfig, partitioner: Partitioner) -> Callable[[Any, jax.Array], Any]:
    """The compiled (parameters, tokens [rows, k, width]) -> (pointers, shares, labels) of the best hypotheses."""

    def search(parameters: Any, tokens: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        with partitioner.constraints():
            found = model.network().apply({"params": parameters}, tokens, method="search")
            return found.pointers[:, 0], found.shares[:, 0], found.labels[:, 0]

    return jax.jit(search, out_shardings=partitioner.batch)
