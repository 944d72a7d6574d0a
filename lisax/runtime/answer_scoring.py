"""Log-probabilities of whole answers, given inputs: for models whose answers are more than one piece."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from lisax.models.architectures import T5Config
from lisax.runtime.batching import by_tokens, padded
from lisax.runtime.loop import DeviceLoop, HostBatch, Progress, batch_tokens
from lisax.runtime.partitioning import Partitioner
from lisax.runtime.scoring import EOS_ID


class AnswerScorer:
    """Scores token sequences against the same few answers. Each shape of batch is compiled once and kept."""

    def __init__(
        self,
        config: T5Config,
        parameters: Any,
        answers: Sequence[Sequence[int]],
        *,
        max_tokens: int,
        source: str | os.PathLike = "the model",
    ):
        """`answers` without EOS; `max_tokens` is the longest input with its EOS, `source` where the parameters are
        from."""
        self._loop = DeviceLoop(parameters, source=source)
        self._max_tokens, self._tokens_per_batch = max_tokens, batch_tokens()
        longest = max(map(len, answers)) + 1
        self._answers = jnp.asarray(padded([[*ids, EOS_ID] for ids in answers], len(answers), longest))
        self._score = compiled_answers(config, self._loop.partitioner)

    def log_likelihoods(self, tokens: Sequence[Sequence[int]], progress: Progress | None = None) -> np.ndarray:
        """float32 [len(tokens), len(answers)] of inputs that end in EOS: of each answer, with its EOS.

        `progress` is told of each batch's number of inputs."""
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


@functools.cache
def compiled_answers(config: T5Config, partitioner: Partitioner) -> Callable:
    """The compiled (parameters, tokens [rows, width], answers [answers, length]) -> float32 [rows, answers]."""

    def score(parameters: Any, tokens: jax.Array, answers: jax.Array) -> jax.Array:
        from lisax.models.t5 import Transformer

        model, variables = Transformer(config), {"params": parameters}
        with partitioner.constraints():
            encoded = model.apply(variables, tokens, method="encode")

            def of_answer(answer: jax.Array) -> jax.Array:
                targets = jnp.broadcast_to(answer, (tokens.shape[0], len(answer)))
                inputs = jnp.pad(targets, ((0, 0), (1, 0)))[:, :-1]
                logits = model.apply(variables, encoded, tokens, inputs, targets, method="decode")
                chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), targets[..., None], axis=-1)[..., 0]
                return jnp.sum(chosen * (targets > 0), axis=-1)

            # One answer at a time: the logits of all of them are as many times the vocabulary.
            return jax.lax.map(of_answer, answers).T

    return jax.jit(score, out_shardings=partitioner.batch)
