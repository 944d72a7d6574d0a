"""Label-word scoring: softmax over the words' logits at the first decoder step.

This is the number of monoT5 and of LisT5 (section 3.2 and 3.3), not a sequence log-probability. Inputs are
scored in batches of about equal length, so that little of the work is padding.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from lisax.devices.batching import Progress, by_tokens, padded
from lisax.devices.loop import DeviceLoop, HostBatch, batch_tokens
from lisax.devices.partitioning import Partitioner
from lisax.models.architectures import T5Config

EOS_ID = 1


class Scorer:
    """Scores token sequences against the same few answers. Each shape of batch is compiled once and kept."""

    def __init__(
        self,
        parameters: Any,
        answers: Array,
        compiled: Callable[[Partitioner], Callable],
        *,
        max_tokens: int,
        tokens_per_batch: int | None = None,
        source: str | os.PathLike = "the model",
    ):
        """`compiled` takes a partitioner and gives a compiled (parameters, tokens, answers) -> float32 [tokens,
        answers] for `answers` [answers, …]. `max_tokens` is the longest input with its EOS, `source` where the
        parameters are from."""
        self._loop = DeviceLoop(parameters, source=source)
        self._max_tokens, self._tokens_per_batch = max_tokens, batch_tokens(tokens_per_batch)
        self._answers, self._score = answers, compiled(self._loop.partitioner)

    def _scores(self, tokens: Sequence[Sequence[int]], progress: Progress | None) -> np.ndarray:
        """float32 [len(tokens), answers] of inputs that end in EOS. `progress` is called with each batch's number of
        inputs. An input above `max_tokens` is an error: formats shorten, the scorer does not."""
        rows = self._loop.all(
            tokens,
            self._batches,
            lambda parameters, batch: self._score(parameters, batch["tokens"], self._answers),
            np.asarray,
            progress,
        )
        scores = np.array(rows, np.float32).reshape(len(tokens), len(self._answers))
        self._loop.check_finite([scores])
        return scores

    def _batches(self, tokens: Sequence[Sequence[int]]) -> Iterator[tuple[np.ndarray, HostBatch]]:
        lengths = [len(ids) for ids in tokens]
        for rows, count, width in by_tokens(lengths, self._max_tokens, self._tokens_per_batch, self._loop.shards):
            batch = padded([tokens[row] for row in rows], count, width)
            batch[len(rows) :, 0] = EOS_ID  # empty rows attend to something
            yield rows, {"tokens": batch}


class LabelScorer(Scorer):
    """Scores token sequences against label words."""

    def __init__(self, config: T5Config, parameters: Any, pieces: Sequence[int], **options: Any):
        """`pieces` are the vocabulary ids of the label words, the others as in `Scorer`."""
        compiled = functools.partial(compiled_scorer, config)
        super().__init__(parameters, jnp.array(pieces, jnp.int32), compiled, **options)

    def logits(self, tokens: Sequence[Sequence[int]], progress: Progress | None = None) -> np.ndarray:
        """Logits float32 [len(tokens), len(pieces)] of inputs that end in EOS; see `Scorer`."""
        return self._scores(tokens, progress)


@functools.cache
def compiled_scorer(config: T5Config, partitioner: Partitioner) -> Callable:
    """The compiled (parameters, tokens [rows, width], pieces) -> logits float32 [rows, pieces]."""

    def score(parameters: Any, tokens: jax.Array, pieces: jax.Array) -> jax.Array:
        from lisax.models.t5 import Transformer

        with partitioner.constraints():
            return first_step_logits(Transformer(config), parameters, tokens, pieces)

    return jax.jit(score, out_shardings=partitioner.batch)


def first_step_logits(model: Any, parameters: Any, tokens: jax.Array, pieces: Any) -> jax.Array:
    """`Transformer.first_step_logits`, compiled in half the time for one input.

    Two decoder steps and not one: products of one row are matrix-vector products, for each of which XLA's CPU backend
    makes code of its own. Causal masks keep the first step as it is."""
    encoded = model.apply({"params": parameters}, tokens, method="encode")
    start = jnp.zeros((tokens.shape[0], 2), jnp.int32)
    return model.apply({"params": parameters}, encoded, tokens, start, start + 1, pieces=pieces, method="decode")[:, 0]
