"""Generated texts of a checkpoint or bundle: hypotheses for token sequences, and answers from passages."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from lisax.devices.batching import Tokens, bucket_width, by_length, padded, padded_each, windows
from lisax.devices.finite import check_hypotheses
from lisax.devices.loop import HostBatch, batch_tokens
from lisax.devices.partitioning import Partitioner
from lisax.errors import LisaxError
from lisax.models.architectures import ReaderConfig, T5Config
from lisax.models.decoding import EOS_ID, IMPOSSIBLE, Decoding, Generated, generate
from lisax.scoring.texts import TextScorer
from lisax.weights.restore import load_model

# Inputs of a batch. On a CPU few: a step of ten beams of each already fills its matrix units.
ROWS = {"cpu": 16, "gpu": 64, "tpu": 64}


class Hypothesis(NamedTuple):
    """`score`: log-likelihood / length**length_penalty; `ids` without EOS."""

    ids: list[int]
    score: float


class Generator(TextScorer):
    """Generates with `decoding`. Each width of inputs is compiled once and kept."""

    architecture, loads = T5Config, staticmethod(load_model)

    def __init__(
        self,
        model: T5Config,
        parameters: Any,
        *,
        target_tokens: int,
        decoding: Decoding,
        rows: int | None = None,
        **options: Any,
    ):
        """`target_tokens`: the longest output, with its EOS."""
        super().__init__(model, parameters, **options)
        self._rows = -(-(rows or ROWS[jax.default_backend()]) // self._loop.shards) * self._loop.shards
        self._predict = make_predictor(self.model, target_tokens, decoding, self._loop.partitioner)

    def hypotheses(self, tokens: Sequence[Tokens]) -> list[list[Hypothesis]]:
        """Of inputs that end in EOS: `beam_size` hypotheses of each, best first. An input above `max_tokens` is an
        error: formats shorten."""
        if tokens and max(map(len, tokens)) > self._max_tokens:
            raise LisaxError(
                f"an input of {max(map(len, tokens))} tokens was given to a generator of at most "
                f"{self._max_tokens}: shorten it with its format"
            )

        def batches(tokens: Sequence[Tokens]) -> Iterator[tuple[np.ndarray, HostBatch]]:
            for chosen in by_length([(len(ids),) for ids in tokens], self._rows):
                width = bucket_width(len(tokens[chosen[0]]), self._max_tokens)
                inputs = padded([tokens[i] for i in chosen], self._rows, width)
                yield chosen, {"inputs": inputs, "numbers": np.zeros(self._rows, np.int32)}

        hypotheses = self._loop.all(
            tokens,
            batches,
            lambda parameters, batch: self._predict(parameters, batch["inputs"], batch["numbers"]),
            _readable,
        )
        if hypotheses:
            scores = np.array([[beam.score for beam in beams] for beams in hypotheses])
            check_hypotheses(scores, IMPOSSIBLE, self._loop.parameters, self._loop.source)
        return hypotheses


@functools.lru_cache(maxsize=32)
def make_predictor(
    model: T5Config | ReaderConfig, length: int, decoding: Decoding, partitioner: Partitioner
) -> Callable[[Any, jax.Array, jax.Array], Generated]:
    """The compiled (parameters, inputs [rows, inputs], example numbers [rows]) -> hypotheses of at most `length`."""

    def predict(parameters: Any, inputs: jax.Array, numbers: jax.Array) -> Generated:
        return generate(model, parameters, inputs, numbers, length, decoding)

    return jax.jit(predict, out_shardings=partitioner.batch)


def _readable(generated: Any) -> list[list[Hypothesis]]:
    return [
        [Hypothesis([int(token) for token in beam if token > EOS_ID], float(score)) for beam, score in zip(row, scores)]
        for row, scores in zip(*map(np.asarray, generated))
    ]


class AnswerGenerator(TextScorer):
    """Generates answers from a question's passages at once."""

    architecture = ReaderConfig

    def answers(
        self, questions: Sequence[Sequence[Tokens]], *, length: int, decoding: Decoding = Decoding()
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Returns per question, given as the texts of its passages, (tokens int32 [beams, length], scores [beams])."""
        model = dataclasses.replace(self.model, passages=max(map(len, questions), default=1) or 1)
        run = make_predictor(model, length, decoding, self._loop.partitioner)
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
