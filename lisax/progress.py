"""Prints what a command is doing and how far it is, on standard error."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


@contextlib.contextmanager
def counting(total: int, what: str, every_seconds: float = 5.0) -> Iterator[Callable[[int], None]]:
    """Yields a function to call with the number of items just finished. Every few seconds it prints how many of `total`
    are done, how many per second, and the seconds left."""
    started = last = time.perf_counter()
    count = 0

    def advance(more: int) -> None:
        nonlocal count, last
        count += more
        now = time.perf_counter()
        if now - last >= every_seconds:
            last = now
            speed = count / (now - started)
            say(f"  {count:,} of {total:,} {what}  {speed:,.0f}/s  {(total - count) / speed:,.0f} s left")

    yield advance


def counted(items: Iterable[Item], what: str, every_seconds: float = 5.0) -> Iterator[Item]:
    """Yields the items of a stream of unknown length; prints their count and speed every few seconds."""
    started = last = time.monotonic()
    for count, item in enumerate(items, start=1):
        yield item
        if count % 256 == 0 and (now := time.monotonic()) - last >= every_seconds:
            last = now
            say(f"  {count:,} {what}, {count / (now - started):,.0f}/s")
