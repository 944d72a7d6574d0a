"""Dual encoders and readers at work: vectors of texts, ends of answers, and generated answers.

Texts go through the encoder in batches of about equal length; each shape of batch is compiled once and kept.
"""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np

from lisax.devices.batching import Progress, Tokens, bucket_width, by_tokens, padded, padded_each, windows
from lisax.devices.finite import check_hypotheses
from lisax.devices.loop import DeviceLoop, HostBatch, batch_tokens
from lisax.devices.partitioning import Partitioner
from lisax.errors import LisaxError
from lisax.models.architectures import DualEncoderConfig, Model, ReaderConfig, SpanReaderConfig
from lisax.models.decoding import IMPOSSIBLE, Decoding, generate
from lisax.weights.model_folder import ModelFolder
from lisax.weights.sharing import load_beside


class TextScorer:
    """A model's parameters on the devices, and batches of texts for it."""

    architecture: ClassVar[type[Model]]

    def __init__(self, model: Any, parameters: Any, *, max_tokens: int, source: str | os.PathLike = "the model"):
        """`max_tokens`: of the longest text; a longer one is an error: formats shorten, this does not. `source`: where
        the parameters are from."""
        self.model, self._max_tokens = model.for_inference(), max_tokens
        self._tokens_per_batch = batch_tokens()
        self._loop = DeviceLoop(parameters, source=source)

    @classmethod
    def open(cls, model: ModelFolder, *, max_tokens: int) -> Self:
        return cls(*load_beside(model, cls.architecture), max_tokens=max_tokens, source=model.folder)

    @property
    def leaves(self) -> list[jax.Array]:
        """The parameters, one after the other."""
        return jax.tree.leaves(self._loop.parameters)

    def _each(self, texts: Sequence[Tokens], score: Callable, progress: Progress | None) -> Iterator[Any]:
        """The result of `score(parameters, tokens [texts, width])` for each text, in their order."""

        def batches(texts: Sequence[Tokens]) -> Iterator[tuple[np.ndarray, HostBatch]]:
            lengths = [len(text) for text in texts]
            for rows, count, width in by_tokens(lengths, self._max_tokens, self._tokens_per_batch, self._loop.shards):
                yield rows, {"tokens": padded([texts[row] for row in rows], count, width)}

        scores = self._loop.all(
            texts, batches, lambda parameters, batch: score(parameters, batch["tokens"]), np.asarray, progress
        )
        self._loop.check_finite(scores)
        return iter(scores)


class VectorEncoder(TextScorer):
    """Vectors float32 [texts, width] of questions and of passages."""

    architecture, int8, rows_alone = DualEncoderConfig, False, False

    def questions(self, texts: Sequence[Tokens], progress: Progress | None = None) -> np.ndarray:
        return self._vectors("questions", texts, progress)

    def passages(self, texts: Sequence[Tokens], progress: Progress | None = None) -> np.ndarray:
        return self._vectors("passages", texts, progress)

    def _vectors(self, tower: str, texts: Sequence[Tokens], progress: Progress | None) -> np.ndarray:
        encode = _compiled(self.model, self._loop.partitioner, tower)
        vectors = list(self._each(texts, encode, progress))
        return np.array(vectors, np.float32).reshape(len(texts), self.model.width)


class SpanScorer(TextScorer):
    """Logits of each token of each text as the first and the last of an answer."""

    architecture = SpanReaderConfig

    def __init__(self, model: SpanReaderConfig, parameters: Any, **options: Any):
        super().__init__(dataclasses.replace(model, passages=1), parameters, **options)  # one text per row

    def ends(self, texts: Sequence[Tokens], progress: Progress | None = None) -> list[np.ndarray]:
        """float32 [tokens, 2] of each text."""
        found = self._each(texts, _compiled(self.model, self._loop.partitioner, "__call__"), progress)
        return [logits[: len(text)] for logits, text in zip(found, texts, strict=True)]


class AnswerGenerator(TextScorer):
    """Generates answers from a question's passages at once."""

    architecture = ReaderConfig

    def answers(
        self,
        questions: Sequence[Sequence[Tokens]],
        *,
        length: int,
        decoding: Decoding = Decoding(),
        progress: Progress | None = None,
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
        rows = max(1, self._tokens_per_batch // (width * model.passages) // shards) * shards

        def batches(questions: Sequence[Sequence[Tokens]]) -> Iterator[tuple[np.ndarray, HostBatch]]:
            for chosen in windows(range(len(questions)), rows):
                batch = padded_each([questions[i] for i in chosen], rows, model.passages, width)
                yield np.array(chosen), {"tokens": batch.reshape(rows, -1), "numbers": np.zeros(rows, np.int32)}

        found = self._loop.all(
            questions,
            batches,
            lambda parameters, batch: run(parameters, batch["tokens"], batch["numbers"]),
            lambda generated: list(zip(*map(np.asarray, generated))),
            progress,
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
