"""One thread for heavy work, behind a bounded queue. Items of several users for the same model are computed together:
items that arrive while it works are its next batch."""

from __future__ import annotations

import asyncio
import collections
import contextlib
import dataclasses
import math
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

from lisax.retrieval.cluster_client import Unreachable

Result = TypeVar("Result")
WEIGHT = 0.5  # of the last batch in the time that an item takes


class Busy(Exception):
    """The queue is full, or the work did not finish in time; try again later."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Job:
    """Work, or an `item` of work on several items: jobs with the same `key` may be done in one call."""

    future: Future
    work: Callable
    key: Hashable = None
    item: Any = None


class Worker:
    """`await run(work, seconds)` returns the result of `work()`. Raises the errors of `work`, and `Busy`.

    `submit_item(key, work, item)` returns the future of one of the results of `work(items)`, which is called with up to
    `together` items that wait under the same key, no more than take about `together_seconds`. An error in a batch is
    raised only for items that also fail on their own. `observe` is called with the size and the seconds of each batch.
    """

    def __init__(self, name: str, waiting: int, together: int = 32, together_seconds: float = 2.0):
        self._most, self._waiting, self._ended = waiting, collections.deque(), False
        self._together, self._together_seconds = together, together_seconds
        self._pace: dict[Hashable, float] = {}  # seconds per item of each key
        self._idle: collections.deque[Iterator[Callable[[], object]]] = collections.deque()
        self._changed = threading.Condition()
        self.observe: Callable[[int, float], None] = lambda size, seconds: None
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive() and not self._ended

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @property
    def is_full(self) -> bool:
        return len(self._waiting) >= self._most

    def _work(self) -> None:
        while (jobs := self._next()) is not None:
            # Those whose callers have gone are left out.
            jobs = [job for job in jobs if job.future.set_running_or_notify_cancel()]
            if jobs and jobs[0].key is None:
                self._do(jobs[0].future, jobs[0].work)
            elif jobs:
                self._do_together(jobs)

    @staticmethod
    def _do(future: Future, work: Callable[[], object]) -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # raised to the waiting caller
            future.set_exception(error)

    def _do_together(self, jobs: Sequence[_Job]) -> None:
        work, key, started = jobs[0].work, jobs[0].key, time.perf_counter()
        try:
            results = list(zip(jobs, work([job.item for job in jobs]), strict=True))
        except BaseException as error:
            alone = len(jobs) == 1 or isinstance(error, Unreachable)  # a cluster that is away is not asked for each
            for job in jobs if alone else ():
                job.future.set_exception(error)
            for job in () if alone else jobs:
                self._do(job.future, lambda job=job: work([job.item])[0])
            return
        seconds = time.perf_counter() - started
        before = self._pace.get(key, seconds / len(jobs))
        self._pace[key] = (1 - WEIGHT) * before + WEIGHT * seconds / len(jobs)
        self.observe(len(jobs), seconds)
        for job, result in results:
            job.future.set_result(result)

    def _next(self) -> list[_Job] | None:
        with self._changed:
            if not self._waiting and not self._ended and self._idle:
                return [_Job(Future(), self._work_idly)]
            self._changed.wait_for(lambda: self._waiting or self._ended)
            if self._ended:
                return None
            key = self._waiting[0].key
            mates = [job for job in self._waiting if job.key == key]
            mates = mates[: self._batch_size(key, len(mates))]
            taken = set(map(id, mates))
            self._waiting = collections.deque(job for job in self._waiting if id(job) not in taken)
            return mates

    def _batch_size(self, key: Hashable, waiting: int) -> int:
        """A power of four, since JAX compiles a program for each size that it meets."""
        if (pace := self._pace.get(key)) is None:  # the first of a kind is a batch of one, and is timed
            return 1
        most = min(self._together, waiting, int(self._together_seconds / max(pace, 1e-6)))
        return 4 ** int(math.log(most, 4) + 1e-9) if most else 1

    def _work_idly(self) -> None:
        """Runs the next piece of idle work. Finding it may itself take work and fail, so it is run like any other."""
        if (work := next(self._idle[0], None)) is None:
            self._idle.popleft()
        else:
            work()

    def when_idle(self, work: Iterable[Callable[[], object]]) -> None:
        """Runs work piece by piece while no item waits; results and errors are ignored."""
        with self._changed:
            self._idle.append(iter(work))
        with contextlib.suppress(Busy):  # then the worker is not idle
            self.submit(lambda: None)  # wakes the thread

    def forget(self, gone: Callable[[Hashable], bool]) -> None:
        """Drops how long work took under the keys that are `gone`."""
        for key in filter(gone, list(self._pace)):
            self._pace.pop(key, None)

    def submit(self, work: Callable[[], Result]) -> Future[Result]:
        return self._submit(_Job(Future(), work))

    def submit_item(self, key: Hashable, work: Callable[[list], Sequence[Result]], item: Any) -> Future[Result]:
        return self._submit(_Job(Future(), work, key, item))

    def _submit(self, job: _Job) -> Future:
        with self._changed:
            # Drops jobs whose callers gave up, so that they take no places.
            self._waiting = collections.deque(job for job in self._waiting if not job.future.cancelled())
            if self._ended:
                raise Busy("the server is stopping")
            if self.is_full:
                raise Busy("too many people are asking at this moment")
            self._waiting.append(job)
            self._changed.notify()
        return job.future

    async def run(self, work: Callable[[], Result], seconds: float) -> Result:
        return await self.result(self.submit(work), seconds)

    @staticmethod
    async def result(future: Future[Result], seconds: float) -> Result:
        """The result of submitted work, or `Busy` after `seconds`."""
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
            for job in self._waiting:
                job.future.cancel()
            self._changed.notify()
        self._thread.join(seconds)
