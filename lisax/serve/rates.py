"""Requests per second of each client."""

from __future__ import annotations

import collections
import time
from collections.abc import Callable

CLIENTS_KEPT = 10_000


class Rate:
    """A bucket of requests per client, refilled over time."""

    def __init__(self, burst: int, per_second: float, clock: Callable[[], float] = time.monotonic):
        self._burst, self._per_second, self._clock = burst, per_second, clock
        self._clients: collections.OrderedDict[str, tuple[float, float]] = collections.OrderedDict()

    async def wait(self, client: str) -> float:
        """Takes one request and returns 0, or returns the seconds until one is available."""
        return self.take(client)

    async def peek(self, client: str) -> float:
        """The same, and takes none."""
        return self.left(client)

    def left(self, client: str) -> float:
        left, _ = self._refilled(client)
        return 0.0 if left >= 1 else (1 - left) / self._per_second

    def _refilled(self, client: str) -> tuple[float, float]:
        now = self._clock()
        left, since = self._clients.get(client, (float(self._burst), now))
        return min(self._burst, left + (now - since) * self._per_second), now

    def take(self, client: str) -> float:
        left, now = self._refilled(client)
        self._clients.pop(client, None)
        granted = left >= 1
        self._clients[client] = (left - granted, now)
        while len(self._clients) > CLIENTS_KEPT:
            self._clients.popitem(last=False)
        return 0.0 if granted else (1 - left) / self._per_second
