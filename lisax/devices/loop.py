"""The one way from examples to results on the devices: batch, pad, place, run, fetch.

The caller gives the way from examples to batches (`batching` has two: a number of tokens, or a number of rows, of about
equal length), the program of a batch, and the results of its rows.
"""

from __future__ import annotations

import collections
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import jax
import numpy as np

from lisax.devices.batching import Progress
from lisax.devices.finite import check_finite
from lisax.devices.partitioning import Partitioner

HostBatch = dict[str, np.ndarray]  # arrays [rows, ...], the rows a multiple of `batch_shards`
# A batch of texts that are scored holds about this number of tokens, padding included: small ones stay in a CPU's
# cache, and hold equal lengths.
TOKENS_PER_BATCH = {"cpu": 2048, "gpu": 8192, "tpu": 8192}


def batch_tokens() -> int:
    """Tokens of a batch that suits the devices."""
    return TOKENS_PER_BATCH[jax.default_backend()]


class DeviceLoop:
    """A model's parameters on all devices, and batches for them.

    `source` is where the parameters are from, for messages."""

    def __init__(
        self, parameters: Any, *, source: str | os.PathLike = "the model", partitioner: Partitioner | None = None
    ):
        self.partitioner, self.source = partitioner or Partitioner.over_all_devices(), source
        self.parameters = self.partitioner.place_state(parameters)

    @property
    def shards(self) -> int:
        """Groups of devices that have rows of their own: the rows of every batch are a multiple of it."""
        return self.partitioner.batch_shards

    def windows(
        self,
        windows: Iterable[Sequence[Any]],
        batches: Callable[[Sequence[Any]], Iterable[tuple[np.ndarray, HostBatch]]],
        run: Callable[[Any, dict[str, jax.Array]], Any],
        fetch: Callable[[Any], Iterable[Any]],
        progress: Progress | None = None,
    ) -> Iterator[list[Any]]:
        """The results of each window of examples, in their order.

        `batches(window)` gives (indices in the window, arrays), of whose rows the first len(indices) count;
        `run(parameters, arrays)` starts a batch on the devices and `fetch` waits for the results of its rows. A batch
        is fetched only when the next one is under way, in the same window or the next."""

        pending: collections.deque = collections.deque()

        def finish() -> Iterator[list[Any]]:
            results, rows, running, last = pending.popleft()
            for row, result in zip(rows, fetch(running)):
                results[row] = result
            if last:
                yield results

        for window in windows:
            results: list[Any] = [None] * len(window)
            waiting = len(window)
            for rows, batch in batches(window):
                waiting -= len(rows)
                running = run(self.parameters, self.partitioner.place_batch(batch))
                pending.append((results, rows, running, waiting == 0))
                if len(pending) > 1:
                    yield from finish()
                if progress is not None:
                    progress(len(rows))
        while pending:
            yield from finish()

    def all(
        self,
        examples: Sequence[Any],
        batches: Callable[[Sequence[Any]], Iterable[tuple[np.ndarray, HostBatch]]],
        run: Callable[[Any, dict[str, jax.Array]], Any],
        fetch: Callable[[Any], Iterable[Any]],
        progress: Progress | None = None,
    ) -> list[Any]:
        """`windows` of one window that holds them all."""
        return next(self.windows([examples] if len(examples) else [], batches, run, fetch, progress), [])

    def check_finite(self, scores: Iterable[np.ndarray]) -> None:
        """DataError where an array of `scores` holds NaN or an infinity."""
        check_finite(scores, self.parameters, self.source)
