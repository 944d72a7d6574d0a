"""Scoring claims of which each has several texts, as table fusion and the evidence pointer read them.

Claims are scored in batches of about equal length: the longest of a claim's texts says the width of all of them.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import jax
import numpy as np

from lisax.records import LisaxError
from lisax.runtime import bundle, program
from lisax.runtime.batching import in_order
from lisax.runtime.checkpoints import resolve_checkpoint
from lisax.runtime.finite import check_finite
from lisax.runtime.partitioning import Partitioner
from lisax.runtime.scoring import TOKENS_PER_BATCH, batches_by_length

if TYPE_CHECKING:
    from lisax.models.architectures import Model


class ClaimScorer(ABC):
    """A model's parameters on the devices, and batches for it. Each shape of batch is compiled once and kept."""

    model_name: ClassVar[str]
    text_name: ClassVar[str]  # what a claim has several of

    def __init__(
        self,
        model: Model | None,
        parameters: Any,
        *,
        texts: int,
        max_tokens: int,
        tokens_per_batch: int | None = None,
        program: Callable | None = None,
        source: str | os.PathLike = "the model",
    ):
        """`texts`: the most that a claim has; `max_tokens`: the longest of them, with its EOS; `source`: where the
        parameters are from.

        With `program`, a bundle's (parameters, tokens) -> arrays, no model is built."""
        self._texts, self._max_tokens = texts, max_tokens
        self._tokens_per_batch = tokens_per_batch or TOKENS_PER_BATCH[jax.default_backend()]
        self._partitioner = Partitioner.over_all_devices()
        self._score = self.compiled(model and model.for_inference(), self._partitioner, program)
        self._parameters, self._source = self._partitioner.place_state(parameters), source

    @staticmethod
    @abstractmethod
    def compiled(
        model: Any, partitioner: Partitioner, program: Callable | None
    ) -> Callable[[Any, jax.Array], tuple[jax.Array, ...]]:
        """The compiled (parameters, tokens [rows, texts, width]) -> arrays of `rows`."""

    @staticmethod
    @abstractmethod
    def model_type() -> type: ...

    @staticmethod
    @abstractmethod
    def gives(outputs: Sequence[Sequence[int]], texts: int) -> bool:
        """Whether these are the shapes, but for the rows, of what such a model says of so many texts."""

    @classmethod
    def open(cls, path: str | os.PathLike, *, texts: int, max_tokens: int) -> Self:
        """Of a checkpoint of any kind, a MODEL_DIR (its best checkpoint, else its newest), or a bundle, whose program
        needs neither flax nor the model's definition."""
        folder = resolve_checkpoint(path)
        if (folder / program.PROGRAM_JSON).is_file():
            described, (_, parameters) = program.read_description(folder), bundle.read(folder)
            program.check_use(
                described,
                parameters,
                folder,
                tokens=["batch", texts, "length"],
                outputs=cls.gives([shape[1:] for shape in described["outputs"]], texts),
            )
            return cls(
                None,
                parameters,
                texts=texts,
                max_tokens=max_tokens,
                program=program.load(folder, described),
                source=folder,
            )
        from lisax.runtime.restore import load_model

        return cls(
            *load_model(folder, cls.model_type(), cls.model_name), texts=texts, max_tokens=max_tokens, source=folder
        )

    def run(
        self, claims: Sequence[Sequence[Sequence[int]]], progress: Callable[[int], None] | None
    ) -> list[np.ndarray]:
        """What the model says of claims, given as token ids [claim][text][token], texts that end in EOS.

        `progress` is told of each batch's number of claims. A text above `max_tokens` or more of them than `texts` is
        an error: formats shorten, the scorer does not."""
        if claims and max(map(len, claims)) > self._texts:
            raise LisaxError(
                f"a claim with {max(map(len, claims))} {self.text_name} was given to a scorer of at most {self._texts}"
            )
        if not claims:
            shapes = jax.eval_shape(self._score, self._parameters, np.zeros((1, self._texts, 1), np.int32))
            return [np.zeros((0, *leaf.shape[1:]), leaf.dtype) for leaf in shapes]

        def batches(claims: Sequence[Sequence[Sequence[int]]]) -> Iterable[tuple[np.ndarray, jax.Array]]:
            for rows, tokens in self._batches(claims):
                yield rows, self._partitioner.place_batch({"tokens": tokens})["tokens"]
                if progress is not None:
                    progress(len(rows))

        found = in_order(
            [claims],
            batches,
            lambda tokens: self._score(self._parameters, tokens),
            lambda parts: list(zip(*map(np.asarray, parts))),
        )
        scores = list(map(np.array, zip(*next(found))))
        check_finite(scores, self._parameters, self._source)
        return scores

    def _batches(self, claims: Sequence[Sequence[Sequence[int]]]) -> Iterable[tuple[np.ndarray, np.ndarray]]:
        """(indices, int32 [rows, texts, width])"""
        lengths = [max(map(len, claim), default=0) for claim in claims]
        for rows, count, width in batches_by_length(
            lengths, self._max_tokens, self._tokens_per_batch // self._texts, self._partitioner.batch_shards
        ):
            batch = np.zeros((count, self._texts, width), np.int32)
            for i, row in enumerate(rows):
                for j, tokens in enumerate(claims[row]):
                    batch[i, j, : len(tokens)] = tokens
            yield rows, batch
