"""Label-word scoring: softmax over the words' logits at the first decoder step.

This is the number of monoT5 and of LisT5 (section 3.2 and 3.3), not a sequence log-probability. Inputs are
scored in batches of about equal length, so that little of the work is padding.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from lisax.records import LisaxError
from lisax.runtime.batching import bucket_width
from lisax.runtime.finite import check_finite
from lisax.runtime.partitioning import Partitioner
from lisax.runtime.program import first_step_logits

if TYPE_CHECKING:
    from lisax.models.architectures import T5Config

EOS_ID = 1
# A batch holds about so many tokens, padding included: small ones stay in a CPU's cache, and hold equal lengths.
TOKENS_PER_BATCH = {"cpu": 2048, "gpu": 8192, "tpu": 8192}


class LabelScorer:
    """Scores token sequences against label words. Each shape of batch is compiled once and kept."""

    def __init__(
        self,
        config: T5Config | None,
        parameters: Any,
        pieces: Sequence[int],
        *,
        max_tokens: int,
        tokens_per_batch: int | None = None,
        program: Callable | None = None,
        source: str | os.PathLike = "the model",
    ):
        """`pieces` are the vocabulary ids of the label words, `max_tokens` the longest input with its EOS, `source`
        where the parameters are from.

        With `program`, a bundle's (parameters, tokens) -> (logits of just these pieces,), no model is built."""
        tokens_per_batch = tokens_per_batch or TOKENS_PER_BATCH[jax.default_backend()]
        self._partitioner = Partitioner.over_all_devices()
        self._parameters, self._source = self._partitioner.place_state(parameters), source
        self._max_tokens, self._tokens_per_batch = max_tokens, tokens_per_batch
        self._pieces = jnp.array(pieces, jnp.int32)
        self._score = compiled_scorer(config, self._partitioner, program)

    def logits(self, tokens: Sequence[Sequence[int]], progress: Callable[[int], None] | None = None) -> np.ndarray:
        """Logits float32 [len(tokens), len(pieces)] of inputs that end in EOS.

        `progress` is told of each batch's number of inputs. An input above `max_tokens` is an error: formats
        shorten, the scorer does not.
        """
        scores = np.zeros((len(tokens), len(self._pieces)), np.float32)
        pending: tuple[np.ndarray, jax.Array] | None = None
        for rows, batch in self._batches(tokens):
            # The previous result is fetched only after the next batch is under way.
            running = rows, self._score(self._parameters, self._place(batch), self._pieces)
            if pending is not None:
                _store(scores, *pending)
            pending = running
            if progress is not None:
                progress(len(rows))
        if pending is not None:
            _store(scores, *pending)
        check_finite([scores], self._parameters, self._source)
        return scores

    def _place(self, batch: np.ndarray) -> jax.Array:
        return self._partitioner.place_batch({"tokens": batch})["tokens"]

    def _batches(self, tokens: Sequence[Sequence[int]]) -> Iterable[tuple[np.ndarray, np.ndarray]]:
        """(indices, int32 [rows, width]): longest first; of a width, only the last batch may have fewer rows."""
        lengths = [len(ids) for ids in tokens]
        for rows, count, width in batches_by_length(
            lengths, self._max_tokens, self._tokens_per_batch, self._partitioner.batch_shards
        ):
            batch = np.zeros((count, width), np.int32)
            for i, row in enumerate(rows):
                batch[i, : lengths[row]] = tokens[row]
            batch[len(rows) :, 0] = EOS_ID  # empty rows attend to something
            yield rows, batch


def batches_by_length(
    lengths: Sequence[int], longest: int, tokens_per_batch: int, devices: int
) -> Iterable[tuple[np.ndarray, int, int]]:
    """(indices, rows, width) of batches: longest first; of a width, only the last batch may have fewer rows.

    A length above `longest` is an error."""
    lengths = np.array(lengths)
    if len(lengths) and lengths.max() > longest:
        raise LisaxError(
            f"an input of {lengths.max()} tokens was given to a scorer of at most {longest}: shorten it with its format"
        )
    order = np.argsort(-lengths, kind="stable")
    while len(order):
        width = bucket_width(int(lengths[order[0]]), longest)
        largest = max(1, tokens_per_batch // width // devices) * devices
        rows, order = order[:largest], order[largest:]
        yield rows, _rows_for(len(rows), largest, devices), width


def softmax(logits: np.ndarray) -> np.ndarray:
    """Probabilities over the last axis."""
    odds = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return odds / odds.sum(axis=-1, keepdims=True)


def _rows_for(rows: int, largest: int, devices: int) -> int:
    """Rows of a batch that is not full: a power of two times the devices, or once and a half that, so that few
    shapes exist."""
    size = devices
    while size < rows:
        if size % (2 * devices) == 0 and size // 2 * 3 >= rows:
            size = size // 2 * 3
            break
        size *= 2
    return min(size, largest)


@functools.cache
def compiled_scorer(config: T5Config | None, partitioner: Partitioner, program: Callable | None = None) -> Callable:
    """The compiled (parameters, tokens [rows, width], pieces) -> logits float32 [rows, pieces]."""

    def score(parameters: Any, tokens: jax.Array, pieces: jax.Array) -> jax.Array:
        if program is not None:
            return program(parameters, tokens)[0]
        from lisax.models.t5 import Transformer

        with partitioner.constraints():
            return first_step_logits(Transformer(config), parameters, tokens, pieces)

    return jax.jit(score, out_shardings=partitioner.batch)


def _store(scores: np.ndarray, rows: np.ndarray, logits: jax.Array) -> None:
    scores[rows] = np.asarray(logits)[: len(rows)]
