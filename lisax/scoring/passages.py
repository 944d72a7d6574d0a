"""Dual encoders and readers at work: vectors of texts, ends of answers, and generated answers."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from lisax.devices.batching import Progress, Tokens, bucket_width, padded_each, windows
from lisax.devices.finite import check_hypotheses
from lisax.devices.loop import HostBatch, batch_tokens
from lisax.devices.partitioning import Partitioner
from lisax.errors import LisaxError
from lisax.models.architectures import DualEncoderConfig, Model, ReaderConfig, SpanReaderConfig
from lisax.models.decoding import IMPOSSIBLE, Decoding, generate
from lisax.scoring.texts import TextScorer


class VectorEncoder(TextScorer):
    """Vectors float32 [texts, width] of questions and of passages."""

    architecture, int8, rows_alone = DualEncoderConfig, False, False

    @property
    def leaves(self) -> list[jax.Array]:
        """The parameters, one after the other."""
        return jax.tree.leaves(self._loop.parameters)

    def questions(self, texts: Sequence[Tokens]) -> np.ndarray:
        return self._rows(texts, _compiled(self.model, self._loop.partitioner, "questions"), self.model.width)

    def passages(self, texts: Sequence[Tokens], progress: Progress | None = None) -> np.ndarray:
        return self._rows(texts, _compiled(self.model, self._loop.partitioner, "passages"), self.model.width, progress)


class SpanScorer(TextScorer):
    """Logits of each token of each text as the first and the last of an answer."""

    architecture = SpanReaderConfig

    def __init__(self, model: SpanReaderConfig, parameters: Any, **options: Any):
        super().__init__(dataclasses.replace(model, passages=1), parameters, **options)  # one text per row

    def ends(self, texts: Sequence[Tokens]) -> list[np.ndarray]:
        """float32 [tokens, 2] of each text."""
        found = self._each(texts, _compiled(self.model, self._loop.partitioner, "__call__"))
        return [logits[: len(text)] for logits, text in zip(found, texts, strict=True)]


class AnswerGenerator(TextScorer):
    """Generates answers from a question's passages at once."""

    architecture = ReaderConfig

    def answers(
        self, questions: Sequence[Sequence[Tokens]], *, length: int, decoding: Decoding = Decoding()
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Returns per question, given as the texts of its passages, (tokens int32 [beams, length], scores [beams])."""
        model = dataclasses.replace(self.model, passages=max(map(len, questions), default=1) or 1)
        run = _compiled_generation(model, self._loop.partitioner, length, decoding)
        longest = max((len(text) for texts in questions for text in texts), default=1)
        if longest > self._max_tokens:
            raise LisaxError(
                f"a text of {longest} tokens was given to a reader of at most {self._max_tokens}: "
                "shorten it with its format"
            )
        width, shards = bucket_width(longest, self._max_tokens), self._loop.shards
        rows = max(1, batch_tokens() // (width * model.passages) // shards) * shards

        def batches(questions: Sequence[Sequence[Tokens]]) -> Iterator[tuple[np.ndarray, HostBatch]]:
            for chosen in windows(range(len(questions)), rows):
                batch = padded_each([questions[i] for i in chosen], rows, model.passages, width)
                yield np.array(chosen), {"tokens": batch.reshape(rows, -1), "numbers": np.zeros(rows, np.int32)}

        found = self._loop.all(
            questions,
            batches,
            lambda parameters, batch: run(parameters, batch["tokens"], batch["numbers"]),
            lambda generated: list(zip(*map(np.asarray, generated))),
        )
        asked = [scores for texts, (_, scores) in zip(questions, found) if texts]  # there is a passage to answer from
        if asked:
            check_hypotheses(np.array(asked), IMPOSSIBLE, self._loop.parameters, self._loop.source)
        return found


@functools.cache
def _compiled(model: Model, partitioner: Partitioner, method: str) -> Callable[[Any, jax.Array], jax.Array]:
    def score(parameters: Any, tokens: jax.Array) -> jax.Array:
        with partitioner.constraints():
            return model.network().apply({"params": parameters}, tokens, method=method)

    return jax.jit(score, out_shardings=partitioner.batch)


@functools.cache
def _compiled_generation(model: ReaderConfig, partitioner: Partitioner, length: int, decoding: Decoding) -> Callable:
    def run(parameters: Any, inputs: jax.Array, numbers: jax.Array) -> Any:
        return generate(model, parameters, inputs, jnp.asarray(numbers), length, decoding)

    return jax.jit(run, out_shardings=partitioner.batch)
