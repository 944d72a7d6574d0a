"""Scoring with table fusion: probabilities of each claim's tables and truths, and the attention across its tables.

Claims are scored in batches of about equal length: the longest of a claim's texts says the width of all of them.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np

from lisax.records import LisaxError
from lisax.runtime import bundle, program
from lisax.runtime.batching import in_order
from lisax.runtime.checkpoints import nested, resolve_checkpoint
from lisax.runtime.partitioning import Partitioner
from lisax.runtime.scoring import TOKENS_PER_BATCH, batches_by_length
from lisax.runtime.shapes import check_parameters

if TYPE_CHECKING:
    from lisax.models.table_fusion import FusionConfig


class Scores(NamedTuple):
    """See `table_truth` for a claim's p(truth) and p(table)."""

    probabilities: np.ndarray  # float32 [claims, k, 2]: true, false; or [claims, k, 3]: irrelevant, true, false
    attention: np.ndarray  # float32 [claims, heads, k, k], of each table to each


class FusionScorer:
    """Scores claims, each given as one text for each of its tables. Each shape of batch is compiled once and kept."""

    def __init__(self, model: FusionConfig | None, parameters: Any, *, tables: int, max_tokens: int,
                 tokens_per_batch: int | None = None, program: Callable | None = None):
        """`tables`: k, the most that a claim has; `max_tokens`: the longest text, with its EOS.

        With `program`, a bundle's (parameters, tokens) -> (probabilities, attention), no model is built."""
        self._tables, self._max_tokens = tables, max_tokens
        self._tokens_per_batch = tokens_per_batch or TOKENS_PER_BATCH[jax.default_backend()]
        self._partitioner = Partitioner.over_all_devices()
        self._score = compiled_fusion(model and model.for_inference(), self._partitioner, program)
        self._parameters = self._partitioner.place_state(parameters)

    @classmethod
    def open(cls, path: str | os.PathLike, *, tables: int, max_tokens: int) -> FusionScorer:
        """Of a checkpoint of any kind, a MODEL_DIR (its best checkpoint, else its newest), or a bundle, whose program
        needs neither flax nor the model's definition."""
        folder = resolve_checkpoint(path)
        if (folder / program.PROGRAM_JSON).is_file():
            described, (_, parameters) = program.read_description(folder), bundle.read(folder)
            check_parameters(described["parameters"], parameters, folder)
            return cls(None, parameters, tables=tables, max_tokens=max_tokens, program=program.load(folder, described))
        from lisax.models.table_fusion import FusionConfig
        from lisax.runtime.interop.architecture import parameter_shapes
        from lisax.runtime.interop.opening import open_checkpoint
        from lisax.runtime.restore import shape_tree

        checkpoint = open_checkpoint(folder)
        model = checkpoint.architecture
        if not isinstance(model, FusionConfig):
            raise LisaxError(f"{checkpoint.folder} is no table fusion by its model.json")
        check_parameters(parameter_shapes(model.for_inference()), shape_tree(checkpoint.parameters), checkpoint.folder)
        parameters = nested(dict(checkpoint.read(checkpoint.parameters)))
        return cls(model, parameters, tables=tables, max_tokens=max_tokens)

    def scores(self, claims: Sequence[Sequence[Sequence[int]]], progress: Callable[[int], None] | None = None
               ) -> Scores:
        """Scores of token ids [claim][table][token], texts that end in EOS.

        A claim's missing tables, and texts without tokens, have probability and attention 0. `progress` is told of
        each batch's number of claims. A text above `max_tokens` or more tables than `tables` is an error: formats
        shorten, the scorer does not."""
        if claims and max(map(len, claims)) > self._tables:
            raise LisaxError(f"a claim with {max(map(len, claims))} tables was given to a scorer of at most "
                             f"{self._tables}")
        if not claims:
            shapes = jax.eval_shape(self._score, self._parameters, np.zeros((1, self._tables, 1), np.int32))
            return Scores(*(np.zeros((0, *leaf.shape[1:]), np.float32) for leaf in shapes))

        def batches(claims: Sequence[Sequence[Sequence[int]]]) -> Iterable[tuple[np.ndarray, jax.Array]]:
            for rows, tokens in self._batches(claims):
                yield rows, self._partitioner.place_batch({"tokens": tokens})["tokens"]
                if progress is not None:
                    progress(len(rows))

        found = in_order([claims], batches, lambda tokens: self._score(self._parameters, tokens),
                         lambda parts: list(zip(*map(np.asarray, parts))))
        return Scores(*map(np.array, zip(*next(found))))

    def _batches(self, claims: Sequence[Sequence[Sequence[int]]]) -> Iterable[tuple[np.ndarray, np.ndarray]]:
        """(indices, int32 [rows, tables, width])"""
        lengths = [max(map(len, claim), default=0) for claim in claims]
        for rows, count, width in batches_by_length(lengths, self._max_tokens, self._tokens_per_batch // self._tables,
                                                    self._partitioner.batch_shards):
            batch = np.zeros((count, self._tables, width), np.int32)
            for i, row in enumerate(rows):
                for j, tokens in enumerate(claims[row]):
                    batch[i, j, :len(tokens)] = tokens
            yield rows, batch


@functools.cache
def compiled_fusion(model: FusionConfig | None, partitioner: Partitioner, program: Callable | None = None
                    ) -> Callable[[Any, jax.Array], Any]:
    """The compiled (parameters, tokens [rows, k, width]) -> (probabilities, attention)."""

    def score(parameters: Any, tokens: jax.Array) -> tuple[jax.Array, jax.Array]:
        if program is not None:
            return program(parameters, tokens)
        from lisax.models.table_fusion import probabilities

        with partitioner.constraints():
            fused = model.network().apply({"params": parameters}, tokens)
            return probabilities(model.objective, fused), fused.attention

    return jax.jit(score, out_shardings=partitioner.batch)
