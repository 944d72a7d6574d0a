"""Prints a command's steps and progress, on standard error; and the streams that everything is printed on."""

from __future__ import annotations

import contextlib
import io
import itertools
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")

# Characters that steer a terminal (C0 but tab and line feed, DEL, C1) or turns the direction of writing. The written
# form is that of JSON, so that a line of JSON stays one with the same value.
_CONTROLS = (*range(9), *range(11, 32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_WRITTEN = {control: f"\\u{control:04x}" for control in _CONTROLS}


class Visible(io.TextIOWrapper):
    r"""A stream that shows control characters as `\u001b`: titles, claims, answers of servers, names of files and errors
    come from outside, and must not steer a terminal. Our own control characters go to `sys.__stderr__`.

    >>> shown = Visible(buffer := io.BytesIO(), encoding="utf-8")
    >>> print("Tarn \x1b[31m\x9b\u202e", file=shown, flush=True)
    >>> buffer.getvalue()
    b'Tarn \\u001b[31m\\u009b\\u202e\n'
    """

    def write(self, text: str) -> int:
        super().write(text.translate(_WRITTEN))
        return len(text)

    @classmethod
    def over(cls, stream: io.TextIOWrapper) -> Visible:
        """The same as `stream`; file names that are not UTF-8 are shown as well."""
        return cls(stream.buffer, stream.encoding, "backslashreplace", line_buffering=stream.line_buffering)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


@contextlib.contextmanager
def counting(total: int, what: str, every_seconds: float = 5.0) -> Iterator[Callable[[int], None]]:
    """Yields a function to call with the number of items just finished. Every few seconds it prints how many of `total`
    are done, how many per second, and the seconds left. The first items do not count for the speed: their time includes
    loading and compiling."""
    last = time.perf_counter()
    count = first = 0
    begun = None

    def advance(more: int) -> None:
        nonlocal count, first, begun, last
        count += more
        now = time.perf_counter()
        if begun is None:
            first, begun = count, now
        if now - last >= every_seconds:
            last, line = now, f"  {count:,} of {total:,} {what}"
            if count > first and now > begun:
                speed = (count - first) / (now - begun)
                line += f"  {speed:,.{0 if speed > 9 else 1}f}/s  {(total - count) / speed:,.0f} s left"
            say(line)

    yield advance


def counted(items: Iterable[Item], what: str, every_seconds: float = 5.0, each: int = 1) -> Iterator[Item]:
    """Yields the items of a stream of unknown length; prints their count and speed every few seconds. `each`: the number
    that an item counts for, such as the length of a block."""
    started = last = time.monotonic()
    for count, item in zip(itertools.count(each, each), items):
        yield item
        if count % 256 == 0 and (now := time.monotonic()) - last >= every_seconds:
            last = now
            say(f"  {count:,} {what}, {count / (now - started):,.0f}/s")
