"""One thread that does the heavy work, with a bounded queue before it: the model sees one question at a time."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

Result = TypeVar("Result")


class Busy(Exception):
    """Nothing more is taken on for now, or what was taken on did not finish in time; ask again later."""


class Worker:
    """`await run(work, seconds)` gives what `work()` gives; raises what it raises, and `Busy`."""

    def __init__(self, name: str, waiting: int):
        self._jobs: queue.Queue[tuple[Future, Callable[[], object]] | None] = queue.Queue(waiting)
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            future, work = job
            if not future.set_running_or_notify_cancel():
                continue  # who asked has gone
            try:
                future.set_result(work())
            except BaseException as error:  # told to who waits for it
                future.set_exception(error)

    def submit(self, work: Callable[[], Result]) -> Future[Result]:
        future: Future[Result] = Future()
        try:
            self._jobs.put_nowait((future, work))
        except queue.Full:
            raise Busy("too many people are asking at this moment") from None
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
        """Ends after the work at hand; what still waits is dropped."""
        while True:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                break
            if job is not None:
                job[0].cancel()
        self._jobs.put(None)
        self._thread.join(seconds)
