"""Log-probabilities of whole answers, given inputs: for models whose answers are more than one piece."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from lisax.devices.batching import Progress, padded
from lisax.devices.partitioning import Partitioner
from lisax.models.architectures import T5Config
from lisax.scoring.labels import EOS_ID, Scorer


class AnswerScorer(Scorer):
    """Scores token sequences against whole answers."""

    def __init__(self, config: T5Config, parameters: Any, answers: Sequence[Sequence[int]], **options: Any):
        """`answers` without EOS, the others as in `Scorer`."""
        ids = padded([[*ids, EOS_ID] for ids in answers], len(answers), max(map(len, answers)) + 1)
        super().__init__(parameters, jnp.asarray(ids), functools.partial(compiled_answers, config), **options)

    def log_likelihoods(self, tokens: Sequence[Sequence[int]], progress: Progress | None = None) -> np.ndarray:
        """float32 [len(tokens), len(answers)] of inputs that end in EOS: of each answer, with its EOS; see `Scorer`."""
        return self._scores(tokens, progress)


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

            # One answer at a time: only one's logits are kept.
            return jax.lax.map(of_answer, answers).T

    return jax.jit(score, out_shardings=partitioner.batch)
