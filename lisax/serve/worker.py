"""One thread for heavy work, behind a bounded queue: the model handles one question at a time."""

from __future__ import annotations

import asyncio
import collections
import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from typing import TypeVar

Result = TypeVar("Result")


class Busy(Exception):
    """The queue is full, or the work did not finish in time; try again later."""


class Worker:
    """`await run(work, seconds)` returns the result of `work()`. Raises what it raises, and `Busy`."""

    def __init__(self, name: str, waiting: int):
        self._most, self._waiting, self._ended = waiting, collections.deque(), False
        self._idle: collections.deque[Iterator[Callable[[], object]]] = collections.deque()
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def _work(self) -> None:
        while (job := self._next()) is not None:
            future, work = job
            if not future.set_running_or_notify_cancel():
                continue  # the caller has gone
            try:
                future.set_result(work())
            except BaseException as error:  # raised to the waiting caller
                future.set_exception(error)

    def _next(self) -> tuple[Future, Callable[[], object]] | None:
        with self._changed:
            if not self._waiting and not self._ended and self._idle:
                return Future(), self._work_idly
            self._changed.wait_for(lambda: self._waiting or self._ended)
            return None if self._ended else self._waiting.popleft()

    def _work_idly(self) -> None:
        """Runs the next piece of idle work. Finding it may itself take work and fail, so it is run like any other."""
        if (work := next(self._idle[0], None)) is None:
            self._idle.popleft()
        else:
            work()

    def when_idle(self, work: Iterable[Callable[[], object]]) -> None:
        """Runs work piece by piece while nobody waits; results and errors are ignored."""
        with self._changed:
            self._idle.append(iter(work))
        with contextlib.suppress(Busy):  # then the worker is not idle
            self.submit(lambda: None)  # wakes the thread

    def submit(self, work: Callable[[], Result]) -> Future[Result]:
        future: Future[Result] = Future()
        with self._changed:
            # Drops jobs whose callers gave up, so that they take no places.
            self._waiting = collections.deque(job for job in self._waiting if not job[0].cancelled())
            if len(self._waiting) >= self._most:
                raise Busy("too many people are asking at this moment")
            self._waiting.append((future, work))
            self._changed.notify()
        return future

    async def run(self, work: Callable[[], Result], seconds: float) -> Result:
        future = self.submit(work)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), seconds)
        except TimeoutError:
            if future.done() and not future.cancelled():
                raise  # a TimeoutError of the work itself
            raise Busy(f"this took longer than {seconds:.0f} seconds") from None

    def close(self, seconds: float = 5.0) -> None:
        """Stops after the current work; waiting work is dropped."""
        with self._changed:
            self._ended = True
            for future, _ in self._waiting:
                future.cancel()
            self._changed.notify()
        self._thread.join(seconds)
