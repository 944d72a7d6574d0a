"""Requests per client and second, of one server, or of several: the library `limits` counts these in a Redis, in a
sliding window.

While Redis cannot be reached each server counts on its own, and the log names the reason.
"""

from __future__ import annotations

import collections
import logging
import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from lisax.errors import LisaxError

if TYPE_CHECKING:
    from limits.aio.storage import Storage

CLIENTS_KEPT = 10_000
log = logging.getLogger(__name__)
SCHEMES = ("redis://", "rediss://", "redis+unix://")
TIMEOUT_SECONDS = 0.5  # a request waits no longer for Redis
PAUSE_SECONDS = 5.0  # after a failure, before Redis is asked again


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


def open_storage(url: str) -> Storage:
    """Raises LisaxError if the URL is not one of a Redis, or the extra is not installed."""
    if not url.startswith(SCHEMES):
        raise LisaxError(f"expected a Redis as redis://HOST:6379/0, found {url!r}")
    from limits.aio.storage import RedisStorage

    timeouts = {"socket_timeout": TIMEOUT_SECONDS, "socket_connect_timeout": TIMEOUT_SECONDS}
    return RedisStorage(f"async+{url}", wrap_exceptions=True, implementation="redispy", **timeouts)


class SharedRate:
    """A `Rate` over all servers that use a storage: `burst` requests in the time that a bucket takes to refill."""

    def __init__(
        self,
        name: str,
        storage: Storage,
        burst: int,
        per_second: float,
        clock: Callable[[], float] = time.monotonic,
    ):
        from limits import RateLimitItemPerSecond
        from limits.aio.strategies import SlidingWindowCounterRateLimiter

        self._own, self._clock, self._until = Rate(burst, per_second, clock), clock, -math.inf
        self._limiter = SlidingWindowCounterRateLimiter(storage)
        seconds = math.ceil(burst / per_second)
        self._item = RateLimitItemPerSecond(max(1, round(seconds * per_second)), seconds, namespace=f"lisax-{name}")

    async def wait(self, client: str) -> float:
        return await self._asked(client, self._limiter.hit, self._own.take)

    async def peek(self, client: str) -> float:
        return await self._asked(client, self._limiter.test, self._own.left)

    async def _asked(self, client: str, ask: Callable, own: Callable[[str], float]) -> float:
        """0, or the seconds until a request is available."""
        from limits.errors import StorageError

        if self._clock() < self._until:
            return own(client)
        try:
            if await ask(self._item, client):
                return 0.0
            stats = await self._limiter.get_window_stats(self._item, client)
            return max(0.1, stats.reset_time - time.time())
        except StorageError as error:
            self._until = self._clock() + PAUSE_SECONDS
            reason = error.storage_error
            log.warning("Redis cannot be reached, and this server counts requests on its own: %s", reason)
            return own(client)
