"""Requests per client and second, which the library `limits` counts in a sliding window: in memory, or for several
servers in a Redis.

While Redis cannot be reached each server counts on its own, and the log names the reason.
"""

from __future__ import annotations

import logging
import math
import time

from limits import RateLimitItemPerSecond
from limits.aio.storage import MemoryStorage, RedisStorage, Storage
from limits.aio.strategies import RateLimiter, SlidingWindowCounterRateLimiter
from limits.errors import StorageError

from lisax.errors import LisaxError

log = logging.getLogger(__name__)
SCHEMES = ("redis://", "rediss://", "redis+unix://")
TIMEOUT_SECONDS = 0.5  # a request waits no longer for Redis
PAUSE_SECONDS = 5.0  # after a failure, before Redis is asked again


def open_storage(url: str) -> Storage:
    """Raises LisaxError if the URL is not one of a Redis."""
    if not url.startswith(SCHEMES):
        raise LisaxError(f"expected a Redis as redis://HOST:6379/0, found {url!r}")
    import redis  # noqa: F401, without which `limits` raises an error of its own

    timeouts = {"socket_timeout": TIMEOUT_SECONDS, "socket_connect_timeout": TIMEOUT_SECONDS}
    return RedisStorage(f"async+{url}", wrap_exceptions=True, implementation="redispy", **timeouts)


class Rate:
    """Allows each client `burst` requests in a window of `burst` / `per_second` seconds. `shared`: where several servers
    count; None: in memory."""

    def __init__(self, name: str, burst: int, per_second: float, shared: Storage | None = None):
        seconds = math.ceil(burst / per_second)
        self._item = RateLimitItemPerSecond(max(1, round(seconds * per_second)), seconds, namespace=f"lisax-{name}")
        self._own = SlidingWindowCounterRateLimiter(MemoryStorage())
        self._shared = None if shared is None else SlidingWindowCounterRateLimiter(shared)
        self._until = -math.inf  # before that time Redis is not asked

    async def wait(self, client: str) -> float:
        """Takes one request and returns 0, or returns the seconds until one is available."""
        return await self._asked("hit", client)

    async def peek(self, client: str) -> float:
        """The same, and takes none."""
        return await self._asked("test", client)

    async def _asked(self, what: str, client: str) -> float:
        if self._shared is not None and time.monotonic() >= self._until:
            try:
                return await self._seconds(self._shared, what, client)
            except StorageError as error:
                self._until = time.monotonic() + PAUSE_SECONDS
                reason = error.storage_error
                log.warning("Redis cannot be reached, and this server counts requests on its own: %s", reason)
        return await self._seconds(self._own, what, client)

    async def _seconds(self, limiter: RateLimiter, what: str, client: str) -> float:
        if await getattr(limiter, what)(self._item, client):
            return 0.0
        stats = await limiter.get_window_stats(self._item, client)
        return max(0.1, stats.reset_time - time.time())
