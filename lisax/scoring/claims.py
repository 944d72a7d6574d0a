"""Scoring claims of which each has several texts: with table fusion, and with the evidence pointer.

Claims are scored in batches of about equal length: the longest of a claim's texts gives the width of all of them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

import jax
import numpy as np

from lisax.devices.batching import Tokens, by_tokens, padded_each
from lisax.devices.loop import HostBatch, batch_tokens
from lisax.devices.partitioning import Partitioner
from lisax.errors import LisaxError
from lisax.models.architectures import FusionConfig, Model, PointerConfig
from lisax.scoring.kept_vectors import VECTORS, kept_for
from lisax.scoring.texts import TextScorer
from lisax.weights.restore import load_model

# At least this number of claims is scored together if only the layers after the encoder are computed.
CLAIMS_PER_BATCH = 32


class ClaimScorer(TextScorer):
    """Batches of claims for a model. Each shape of batch is compiled once and kept."""

    loads = staticmethod(load_model)
    text_name: ClassVar[str]  # the name of a claim's texts
    results: ClassVar[Any]  # the named tuple of `outputs`
    # (model, parameters, tokens [rows, texts, width], their vectors if these are known) -> arrays of `rows`
    outputs: Callable[..., tuple[jax.Array, ...]]

    def __init__(self, model: Any, parameters: Any, *, texts: int, **options: Any):
        """`texts`: the most that a claim has."""
        super().__init__(model, parameters, **options)
        self._texts = texts
        self._score = compiled_claims(self.outputs, self.model, self._loop.partitioner)
        self._kept = kept_for(model, parameters)

    def probabilities(self, claims: Sequence[Sequence[Tokens]]) -> Any:
        """The `results` of `run`."""
        return self.results(*self.run(claims))

    def run(self, claims: Sequence[Sequence[Tokens]]) -> list[np.ndarray]:
        """The model's results for claims, given as token ids [claim][text][token], texts that end in EOS.

        A text above `max_tokens` or more of them than `texts` is an error: formats shorten, the scorer does not."""
        if claims and max(map(len, claims)) > self._texts:
            raise LisaxError(
                f"a claim with {max(map(len, claims))} {self.text_name} was given to a scorer of at most {self._texts}"
            )
        if not claims:
            shapes = jax.eval_shape(self._score, self._loop.parameters, np.zeros((1, self._texts, 1), np.int32))
            return [np.zeros((0, *leaf.shape[1:]), leaf.dtype) for leaf in shapes]
        if self._kept is not None:
            self._kept.begin()
        found = self._loop.all(
            claims,
            self._batches,
            lambda parameters, batch: self._score(parameters, batch["tokens"], batch.get(VECTORS)),
            lambda parts: list(zip(*map(np.asarray, parts))),
        )
        scores = list(map(np.array, zip(*found)))
        self._loop.check_finite(scores)
        return scores

    def _batches(self, claims: Sequence[Sequence[Tokens]]) -> Iterator[tuple[np.ndarray, HostBatch]]:
        """Arrays [rows, texts, width]."""
        lengths = [max(map(len, claim), default=0) for claim in claims]
        # Where vectors are kept, the tokens are not computed with.
        tokens = batch_tokens() // self._texts if self._kept is None else CLAIMS_PER_BATCH * self._max_tokens
        for rows, count, width in by_tokens(lengths, self._max_tokens, tokens, self._loop.shards):
            batch = {"tokens": padded_each([claims[row] for row in rows], count, self._texts, width)}
            yield rows, batch if self._kept is None else {**batch, VECTORS: self._kept.of(batch["tokens"])}


@functools.cache
def compiled_claims(outputs: Callable, model: Model, partitioner: Partitioner) -> Callable[..., tuple[jax.Array, ...]]:
    """The compiled (parameters, tokens) or (parameters, tokens, vectors) -> a `ClaimScorer`'s `outputs`."""

    def score(parameters: Any, tokens: jax.Array, vectors: jax.Array | None = None) -> tuple[jax.Array, ...]:
        with partitioner.constraints():
            return outputs(model, parameters, tokens, vectors)

    return jax.jit(score, out_shardings=partitioner.batch)


class Scores(NamedTuple):
    """See `table_truth` for a claim's p(truth) and p(table)."""

    probabilities: np.ndarray  # float32 [claims, k, 2]: true, false; or [claims, k, 3]: irrelevant, true, false
    attention: np.ndarray  # float32 [claims, heads, k, k], of each table to each


class FusionScorer(ClaimScorer):
    """Scores claims, each given as one text for each of its tables. A claim's missing tables, and texts without tokens,
    have probability and attention 0."""

    architecture, text_name, results = FusionConfig, "tables", Scores

    @staticmethod
    def outputs(
        model: FusionConfig, parameters: Any, tokens: jax.Array, vectors: jax.Array | None = None
    ) -> tuple[jax.Array, jax.Array]:
        """(probabilities, attention)"""
        from lisax.models.table_fusion import probabilities

        fused = model.network().apply({"params": parameters}, tokens, vectors=vectors)
        return probabilities(model.objective, fused), fused.attention


class Pointing(NamedTuple):
    """The best sequence of pointers of each claim."""

    pointers: np.ndarray  # int32 [claims, steps]: places of candidates, -1 if none is left
    shares: np.ndarray  # float32 [claims, steps]: probability of each pointer given those before
    labels: np.ndarray  # float32 [claims, 3] in the order of `LABELS`; zeros of a model that does not label


class PointerScorer(ClaimScorer):
    """Points for claims, each given as one text for each of its candidates, by beam search over them."""

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

    def probabilities(self, claims: Sequence[Sequence[Tokens]]) -> Pointing:
        """The best pointers. A claim without candidates points nowhere, and has not enough information."""
        pointers, shares, labels = self.run(claims)
        labels[[not claim for claim in claims]] = [0, 0, 1] if self._labels else 0
        return Pointing(pointers.astype(np.int32), shares, labels)
