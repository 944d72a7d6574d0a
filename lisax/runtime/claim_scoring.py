"""Scoring claims of which each has several texts, as table fusion and the evidence pointer read them.

Claims are scored in batches of about equal length: the longest of a claim's texts says the width of all of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Self

import jax
import numpy as np

from lisax.models.architectures import Model
from lisax.records import LisaxError
from lisax.runtime.batching import in_order
from lisax.runtime.checkpoints import nested
from lisax.runtime.interop.architecture import parameter_shapes
from lisax.runtime.interop.opening import open_checkpoint
from lisax.runtime.partitioning import Partitioner
from lisax.runtime.restore import shape_tree
from lisax.runtime.scoring import TOKENS_PER_BATCH, batches_by_length
from lisax.runtime.shapes import check_parameters


class ClaimScorer:
    """The parameters of a model on the devices, and batches for it. Each shape of batch is compiled once and kept."""

    kind: ClassVar[type]  # of the model
    kind_name: ClassVar[str]
    text_name: ClassVar[str]  # what a claim has several of

    def __init__(self, model: Model, parameters: Any, *, texts: int, max_tokens: int,
                 tokens_per_batch: int | None = None):
        """`texts`: the most that a claim has; `max_tokens`: the longest, with its EOS."""
        self.model, self.texts, self._max_tokens = model.for_inference(), texts, max_tokens
        self._tokens_per_batch = tokens_per_batch or TOKENS_PER_BATCH[jax.default_backend()]
        self.partitioner = Partitioner.over_all_devices()
        self._parameters = self.partitioner.place_state(parameters)

    @classmethod
    def open(cls, path: str | os.PathLike, *, texts: int, max_tokens: int) -> Self:
        """Of a checkpoint of any kind, a MODEL_DIR (its best checkpoint, else its newest), or a bundle."""
        checkpoint = open_checkpoint(path)
        model = checkpoint.architecture
        if not isinstance(model, cls.kind):
            raise LisaxError(f"{checkpoint.folder} is no {cls.kind_name} by its model.json")
        check_parameters(parameter_shapes(model.for_inference()), shape_tree(checkpoint.parameters), checkpoint.folder)
        parameters = nested(dict(checkpoint.read(checkpoint.parameters)))
        return cls(model, parameters, texts=texts, max_tokens=max_tokens)

    def run(self, claims: Sequence[Sequence[Sequence[int]]], compiled: Callable[[Any, jax.Array], Sequence[jax.Array]],
            progress: Callable[[int], None] | None) -> list[tuple[np.ndarray, ...]]:
        """What `compiled(parameters, tokens [rows, texts, width])` says of each claim, given as token ids
        [claim][text][token], texts that end in EOS.

        `progress` is told of each batch's number of claims. A text above `max_tokens` or more of them than `texts` is
        an error: formats shorten, the scorer does not."""
        if claims and max(map(len, claims)) > self.texts:
            raise LisaxError(f"a claim with {max(map(len, claims))} {self.text_name} was given to a scorer of at most "
                             f"{self.texts}")

        def batches(claims: Sequence[Sequence[Sequence[int]]]) -> Iterable[tuple[np.ndarray, jax.Array]]:
            for rows, tokens in self._batches(claims):
                yield rows, self.partitioner.place_batch({"tokens": tokens})["tokens"]
                if progress is not None:
                    progress(len(rows))

        found = in_order([claims], batches, lambda tokens: compiled(self._parameters, tokens),
                         lambda parts: list(zip(*map(np.asarray, parts))))
        return next(found, [])

    def _batches(self, claims: Sequence[Sequence[Sequence[int]]]) -> Iterable[tuple[np.ndarray, np.ndarray]]:
        """(indices, int32 [rows, texts, width])"""
        lengths = [max(map(len, claim), default=0) for claim in claims]
        for rows, count, width in batches_by_length(lengths, self._max_tokens, self._tokens_per_batch // self.texts,
                                                    self.partitioner.batch_shards):
            batch = np.zeros((count, self.texts, width), np.int32)
            for i, row in enumerate(rows):
                for j, tokens in enumerate(claims[row]):
                    batch[i, j, :len(tokens)] = tokens
            yield rows, batch
