"""Hypotheses for token sequences with a checkpoint or bundle: batches of about equal length, results in order."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from lisax.models.architectures import T5Config
from lisax.models.decoding import EOS_ID, IMPOSSIBLE, Decoding
from lisax.records import LisaxError
from lisax.runtime.batching import bucket_width, by_length, in_order
from lisax.runtime.finite import check_hypotheses
from lisax.runtime.inference import make_predictor
from lisax.runtime.partitioning import Partitioner
from lisax.runtime.restore import load_model

# Inputs of a batch. On a CPU few: a step of ten beams of each already fills its matrix units.
ROWS = {"cpu": 16, "gpu": 64, "tpu": 64}


class Hypothesis(NamedTuple):
    """`score`: log-likelihood / length**length_penalty; `ids` without EOS."""

    ids: list[int]
    score: float


class Generator:
    """Generates with `decoding`. Each width of inputs is compiled once and kept."""

    def __init__(
        self,
        model: T5Config,
        parameters: Any,
        *,
        max_tokens: int,
        target_tokens: int,
        decoding: Decoding,
        rows: int | None = None,
        source: str | os.PathLike = "the model",
    ):
        """`max_tokens` and `target_tokens`: the longest input and output, with their EOS; `source`: where the
        parameters are from."""
        self.model, self._max_tokens, self._target_tokens = model.for_inference(), max_tokens, target_tokens
        self._partitioner = Partitioner.over_all_devices()
        shards = self._partitioner.batch_shards
        self._rows = -(-(rows or ROWS[jax.default_backend()]) // shards) * shards
        self._parameters, self._source = self._partitioner.place_state(parameters), source
        self._predict = make_predictor(self.model, target_tokens, decoding, self._partitioner)

    @classmethod
    def open(cls, path: str | os.PathLike, **options: Any) -> Generator:
        """Of a checkpoint of any kind, a MODEL_DIR (its best checkpoint, else its newest), or a bundle."""
        return cls(*load_model(path, T5Config, "T5"), **options, source=path)

    def hypotheses(
        self, tokens: Sequence[Sequence[int]], progress: Callable[[int], None] | None = None
    ) -> list[list[Hypothesis]]:
        """Of inputs that end in EOS: `beam_size` hypotheses of each, best first.

        `progress` is told of each batch's number of inputs. An input above `max_tokens` is an error: formats shorten.
        """
        if tokens and max(map(len, tokens)) > self._max_tokens:
            raise LisaxError(
                f"an input of {max(map(len, tokens))} tokens was given to a generator of at most "
                f"{self._max_tokens}: shorten it with its format"
            )

        def batches(tokens: Sequence[Sequence[int]]) -> Iterable[tuple[np.ndarray, jax.Array]]:
            for chosen in by_length([(len(ids),) for ids in tokens], self._rows):
                batch = np.zeros((self._rows, bucket_width(len(tokens[chosen[0]]), self._max_tokens)), np.int32)
                for row, i in zip(batch, chosen):
                    row[: len(tokens[i])] = tokens[i]
                yield chosen, self._partitioner.place_batch({"inputs": batch})["inputs"]
                if progress is not None:
                    progress(len(chosen))

        numbers = np.zeros(self._rows, np.int32)
        found = in_order(
            [tokens] if tokens else [],
            batches,
            lambda inputs: self._predict(self._parameters, inputs, numbers),
            _readable,
        )
        hypotheses = next(found, [])
        if hypotheses:
            scores = np.array([[beam.score for beam in beams] for beams in hypotheses])
            check_hypotheses(scores, IMPOSSIBLE, self._parameters, self._source)
        return hypotheses


def _readable(generated: Any) -> list[list[Hypothesis]]:
    return [
        [Hypothesis([int(token) for token in beam if token > EOS_ID], float(score)) for beam, score in zip(row, scores)]
        for row, scores in zip(*map(np.asarray, generated))
    ]
