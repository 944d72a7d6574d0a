"""Scores of texts by JAX: label words and whole answers of a T5, classes of pairs, vectors, and ends of answers.

The score of a label word is its logit at the first decoder step, as in monoT5 and LisT5 (sections 3.2 and 3.3), not a
sequence log-probability. Texts are scored in batches of about equal length, so that little of the work is padding.
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

from lisax.devices.batching import Progress, Tokens, by_tokens, padded
from lisax.devices.loop import DeviceLoop, HostBatch, batch_tokens
from lisax.devices.partitioning import Partitioner
from lisax.formats.vocabulary import EOS_ID
from lisax.models.architectures import DualEncoderConfig, Model, PairConfig, SpanReaderConfig, T5Config
from lisax.weights.model_folder import ModelFolder
from lisax.weights.sharing import load_beside


class TextScorer:
    """A model's parameters on the devices, and batches of texts for it. Each shape of batch is compiled once and kept."""

    architecture: ClassVar[type[Model]]
    loads: ClassVar[Callable] = staticmethod(load_beside)  # (model folder, architecture) -> model and parameters
    filler: ClassVar[int] = 0  # the first token of the empty rows of a batch

    def __init__(self, model: Any, parameters: Any, *, max_tokens: int, source: str | os.PathLike = "the model"):
        """`max_tokens`: of the longest text; a longer one is an error: formats shorten, this does not. `source`: where
        the parameters are from."""
        self.model, self._max_tokens = model.for_inference(), max_tokens
        self._loop = DeviceLoop(parameters, source=source)

    @classmethod
    def open(cls, model: ModelFolder, **options: Any) -> Self:
        return cls(*cls.loads(model, cls.architecture), **options, source=model.folder)

    def _each(self, texts: Sequence[Tokens], score: Callable, progress: Progress | None = None) -> list[np.ndarray]:
        """The result of `score(parameters, tokens [texts, width])` for each text, in their order. `progress` is called
        with each batch's number of texts."""

        def batches(texts: Sequence[Tokens]) -> Iterator[tuple[np.ndarray, HostBatch]]:
            lengths = [len(text) for text in texts]
            for rows, count, width in by_tokens(lengths, self._max_tokens, batch_tokens(), self._loop.shards):
                batch = padded([texts[row] for row in rows], count, width)
                batch[len(rows) :, 0] = self.filler
                yield rows, {"tokens": batch}

        scores = self._loop.all(
            texts, batches, lambda parameters, batch: score(parameters, batch["tokens"]), np.asarray, progress
        )
        self._loop.check_finite(scores)
        return scores

    def _rows(
        self, texts: Sequence[Tokens], score: Callable, width: int, progress: Progress | None = None
    ) -> np.ndarray:
        """`_each` of results that have one width, float32 [texts, width]."""
        return np.array(self._each(texts, score, progress), np.float32).reshape(len(texts), width)


class PairScoring(TextScorer):
    """Scores pairs of texts by their classes."""

    architecture = PairConfig

    def probabilities(self, pairs: Sequence[Tokens]) -> np.ndarray:
        """float32 [pairs, labels] of the token ids of both texts with their special tokens."""
        return self._rows(pairs, compiled_pairs(self.model, self._loop.partitioner), self.model.labels)


@functools.cache
def compiled_pairs(model: PairConfig, partitioner: Partitioner) -> Callable[[Any, jax.Array], jax.Array]:
    """The compiled (parameters, tokens [rows, width]) -> probabilities float32 [rows, labels]."""

    def score(parameters: Any, tokens: jax.Array) -> jax.Array:
        from lisax.models.pair import probabilities

        with partitioner.constraints():
            return probabilities(model, parameters, tokens)

    return jax.jit(score, out_shardings=partitioner.batch)


class LabelScorer(TextScorer):
    """Scores inputs that end in EOS against label words, given by their vocabulary ids."""

    architecture, filler = T5Config, EOS_ID  # empty rows attend to something

    def __init__(self, config: T5Config, parameters: Any, pieces: Sequence[int], **options: Any):
        super().__init__(config, parameters, **options)
        self._pieces = jnp.array(pieces, jnp.int32)

    def logits(self, tokens: Sequence[Tokens]) -> np.ndarray:
        """float32 [tokens, pieces], at the first decoder step."""
        score = compiled_scorer(self.model, self._loop.partitioner)
        return self._rows(tokens, lambda *given: score(*given, self._pieces), len(self._pieces))


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


class AnswerScorer(TextScorer):
    """Scores inputs that end in EOS against whole answers, for models whose answers are more than one piece."""

    architecture, filler = T5Config, EOS_ID

    def __init__(self, config: T5Config, parameters: Any, answers: Sequence[Tokens], **options: Any):
        """`answers`: without EOS."""
        super().__init__(config, parameters, **options)
        self._answers = padded([[*ids, EOS_ID] for ids in answers], len(answers), max(map(len, answers)) + 1)

    def log_likelihoods(self, tokens: Sequence[Tokens]) -> np.ndarray:
        """float32 [tokens, answers], of each answer with its EOS."""
        score = compiled_answers(self.model, self._loop.partitioner)
        return self._rows(tokens, lambda *given: score(*given, self._answers), len(self._answers))


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


@functools.cache
def _compiled(model: Model, partitioner: Partitioner, method: str) -> Callable[[Any, jax.Array], jax.Array]:
    def score(parameters: Any, tokens: jax.Array) -> jax.Array:
        with partitioner.constraints():
            return model.network().apply({"params": parameters}, tokens, method=method)

    return jax.jit(score, out_shardings=partitioner.batch)
