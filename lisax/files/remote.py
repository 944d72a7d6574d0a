"""Answers of other servers, which may be anything: bounded in time, size and depth. `reading.get_field` takes them
apart by type."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from lisax.errors import LisaxError
from lisax.files.reading import parse_json

Found = TypeVar("Found")


class AnswerError(LisaxError):
    """An answer other than the requested one: asking again does not help."""


@dataclasses.dataclass(frozen=True)
class Bounds:
    """The limits of an answer: `size` bytes, and `seconds`, to which every `bytes_per_second` that arrive add one."""

    seconds: float
    size: int
    bytes_per_second: float = float("inf")


def bounded(chunks: Iterable[bytes], bounds: Bounds, url: str) -> Iterator[bytes]:
    """The chunks of a body as they arrive. Raises AnswerError for one that is too long or too slow."""
    started, received = time.monotonic(), 0
    for chunk in chunks:
        received += len(chunk)
        if received > bounds.size:
            raise AnswerError(f"{url} answered with more than {bounds.size / 1e6:,.0f} MB, which is not read")
        if time.monotonic() - started > bounds.seconds + received / bounds.bytes_per_second:
            raise _slow(url, bounds.seconds)
        yield chunk


def within(seconds: float, work: Callable[[], Found], url: str) -> Found:
    """Returns the result of `work` or raises its error. Raises AnswerError after `seconds`, whatever it waits for then:
    a server that sends a byte now and then never lets a timeout between two bytes end."""
    found: concurrent.futures.Future[Found] = concurrent.futures.Future()

    def run() -> None:
        try:
            found.set_result(work())
        except BaseException as error:
            found.set_exception(error)

    threading.Thread(target=run, daemon=True, name="lisax-answer").start()
    try:
        return found.result(seconds)
    except concurrent.futures.TimeoutError:
        if found.done():  # it is the error of `work`
            raise
        raise _slow(url, seconds) from None


def parse(content: bytes, url: str):
    """The JSON value that an answer is. Raises DataError for text that is none, and for one of too many values or
    levels."""
    return parse_json(content.decode("utf-8", "replace"), path=url)


def _slow(url: str, seconds: float) -> AnswerError:
    return AnswerError(f"{url} has not answered completely within {seconds:g} seconds")
