"""Dual encoders and readers at work: vectors of texts, ends of answers, and generated answers.

Texts go through the encoder in batches of about equal length; each shape of batch is compiled once and kept.
"""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np

from lisax.models.architectures import DualEncoderConfig, Model, ReaderConfig, SpanReaderConfig
from lisax.models.decoding import IMPOSSIBLE, Decoding, generate
from lisax.records import LisaxError
from lisax.runtime.batching import bucket_width, in_order, windows
from lisax.runtime.finite import check_finite, check_hypotheses
from lisax.runtime.partitioning import Partitioner
from lisax.runtime.restore import load_model
from lisax.runtime.scoring import TOKENS_PER_BATCH, batches_by_length

Tokens = Sequence[int]  # of a text, with its EOS
Progress = Callable[[int], None]  # is told of each batch's number of texts


class _Scorer:
    kind: type
    called: str

    def __init__(
        self,
        model: Any,
        parameters: Any,
        *,
        max_tokens: int,
        tokens_per_batch: int | None = None,
        source: str | os.PathLike = "the model",
    ):
        """`max_tokens`: of the longest text; a longer one is an error: formats shorten, this does not. `source`: where
        the parameters are from."""
        self.model, self._max_tokens = model.for_inference(), max_tokens
        self._tokens_per_batch = tokens_per_batch or TOKENS_PER_BATCH[jax.default_backend()]
        self._partitioner = Partitioner.over_all_devices()
        self._parameters, self._source = self._partitioner.place_state(parameters), source

    @classmethod
    def open(cls, path: str | os.PathLike, *, max_tokens: int) -> Self:
        """Of a checkpoint of any kind, a MODEL_DIR (its best checkpoint, else its newest), or a bundle."""
        return cls(*load_model(path, cls.kind, cls.called), max_tokens=max_tokens, source=path)

    @property
    def leaves(self) -> list[jax.Array]:
        """The parameters, one after the other."""
        return jax.tree.leaves(self._parameters)

    def _place(self, tokens: np.ndarray) -> jax.Array:
        return self._partitioner.place_batch({"tokens": tokens})["tokens"]

    def _each(self, texts: Sequence[Tokens], score: Callable, progress: Progress | None) -> Iterator[Any]:
        """What `score(parameters, tokens [texts, width])` gives of each text, in their order."""

        def batches(texts: Sequence[Tokens]) -> Iterable[tuple[np.ndarray, jax.Array]]:
            for rows, count, width in batches_by_length(
                [len(text) for text in texts], self._max_tokens, self._tokens_per_batch, self._partitioner.batch_shards
            ):
                batch = np.zeros((count, width), np.int32)
                for i, row in enumerate(rows):
                    batch[i, : len(texts[row])] = texts[row]
                yield rows, self._place(batch)
                if progress is not None:
                    progress(len(rows))

        found = in_order([texts], batches, lambda tokens: score(self._parameters, tokens), np.asarray)
        scores = list(next(found, []))
        check_finite(scores, self._parameters, self._source)
        return iter(scores)


class VectorEncoder(_Scorer):
    """Vectors float32 [texts, emb] of questions and of passages."""

    kind, called = DualEncoderConfig, "dual encoder"

    def questions(self, texts: Sequence[Tokens], progress: Progress | None = None) -> np.ndarray:
        return self._vectors("questions", texts, progress)

    def passages(self, texts: Sequence[Tokens], progress: Progress | None = None) -> np.ndarray:
        return self._vectors("passages", texts, progress)

    def _vectors(self, tower: str, texts: Sequence[Tokens], progress: Progress | None) -> np.ndarray:
        encode = _compiled(self.model, self._partitioner, tower)
        vectors = list(self._each(texts, encode, progress))
        return np.array(vectors, np.float32).reshape(len(texts), self.model.t5.emb_dim)


class SpanScorer(_Scorer):
    """Logits of each token of each text as the first and the last of an answer."""

    kind, called = SpanReaderConfig, "pointing reader"

    def __init__(self, model: SpanReaderConfig, parameters: Any, **options: Any):
        super().__init__(dataclasses.replace(model, passages=1), parameters, **options)  # one text a row

    def ends(self, texts: Sequence[Tokens], progress: Progress | None = None) -> list[np.ndarray]:
        """float32 [tokens, 2] of each text."""
        found = self._each(texts, _compiled(self.model, self._partitioner, "__call__"), progress)
        return [logits[: len(text)] for logits, text in zip(found, texts, strict=True)]


class AnswerGenerator(_Scorer):
    """Generates answers from a question's passages at once."""

    kind, called = ReaderConfig, "generating reader"

    def answers(
        self,
        questions: Sequence[Sequence[Tokens]],
        *,
        length: int,
        decoding: Decoding = Decoding(),
        progress: Progress | None = None,
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Of each question, given as the texts of its passages, (tokens int32 [beams, length], scores [beams])."""
        passages = max(map(len, questions), default=1)
        model = dataclasses.replace(self.model, passages=max(1, passages))
        run = _compiled_generation(model, self._partitioner, length, decoding)
        width = bucket_width(max((len(text) for texts in questions for text in texts), default=1), self._max_tokens)
        shards = self._partitioner.batch_shards
        rows = max(1, self._tokens_per_batch // (width * model.passages) // shards) * shards
        found: list[tuple[np.ndarray, np.ndarray]] = []
        for window in windows(questions, rows):
            batch = np.zeros((rows, model.passages, width), np.int32)
            for i, texts in enumerate(window):
                for j, text in enumerate(texts):
                    if len(text) > width:
                        raise LisaxError(
                            f"a text of {len(text)} tokens was given to a reader of at most {width}: "
                            "shorten it with its format"
                        )
                    batch[i, j, : len(text)] = text
            numbers = np.zeros(rows, np.int32)
            generated = run(self._parameters, self._place(batch.reshape(rows, -1)), self._place(numbers))
            tokens, scores = (np.asarray(part)[: len(window)] for part in generated)
            asked = np.array(list(map(bool, window)))  # whether there is a passage to answer from
            check_hypotheses(scores[asked], IMPOSSIBLE, self._parameters, self._source)
            found += list(zip(tokens, scores))
            if progress is not None:
                progress(len(window))
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
