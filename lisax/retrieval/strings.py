"""Memory-mapped strings on disk: a list (index to string) and a table (string to index as well).

`name.utf8` holds all strings end to end, `name.offsets` their byte offsets (uint64, one more than strings). A table
adds `name.hashes` (uint64, ascending: the first 8 bytes of BLAKE2b) and `name.order` (uint32: the string of each hash).
Lookup is a binary search followed by a comparison of the strings themselves. Numbers are little-endian. Building
streams to disk and keeps 8 bytes per string in memory, 8 more for a table.

Not sqlite3, whose lookups take three times as long; LMDB's take 0.6 to 0.8 times as long, but its keys end at 511 bytes
and its files are an eighth larger; pyarrow's are not faster, and it is 168 MiB.
"""

from __future__ import annotations

import hashlib
import itertools
import sys
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np

from lisax.errors import LisaxError
from lisax.retrieval.blocks import ADVICE, Mapped, Numbers

if sys.byteorder != "little":
    raise LisaxError("LisaX's index files are little-endian, and this machine is not")


def hash_of(data: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


CACHED = 1 << 20  # names of recent hits


class Strings:
    """A list of strings: `strings[i]`, `strings.between(start, stop)`, `len`."""

    def __init__(self, stem: Path):
        self._text = Mapped(stem.with_name(stem.name + ".utf8"))
        self._offsets = Numbers(stem.with_name(stem.name + ".offsets"), "Q")
        if len(self._offsets) == 0 or self._offsets[len(self)] != len(self._text.bytes):
            raise LisaxError(f"the strings at {stem}.* are damaged: offsets and text differ in length; {ADVICE}")

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def raw(self, number: int) -> bytes:
        start, stop = self._offsets.span(number, number + 2)
        return self._text.between(start, stop)

    def __getitem__(self, number: int) -> str:
        if not 0 <= number < len(self):
            raise IndexError(number)
        return self.raw(number).decode("utf-8")

    def between(self, start: int, stop: int) -> list[str]:
        offsets = self._offsets.span(start, stop + 1)
        return [self._text.between(*pair).decode("utf-8") for pair in itertools.pairwise(offsets)]

    def __iter__(self) -> Iterator[str]:
        return (self[i] for i in range(len(self)))

    def filled(self) -> np.ndarray:
        """The numbers of the strings that are not empty, uint32, ascending."""
        return np.flatnonzero(np.diff(np.frombuffer(self._offsets.whole(), np.uint64))).astype(np.uint32)


class StringTable(Strings):
    """Strings with lookup; a string may occur more than once."""

    def __init__(self, stem: Path):
        super().__init__(stem)
        self.hashes = Numbers(stem.with_name(stem.name + ".hashes"), "Q")
        self.order = Numbers(stem.with_name(stem.name + ".order"), "I")
        if not len(self.hashes) == len(self.order) == len(self):
            raise LisaxError(f"the table at {stem}.* is damaged: its files differ in length; {ADVICE}")

    def find_all(self, text: str) -> list[int]:
        """Indices of all strings equal to `text`, ascending."""
        data = text.encode("utf-8", "surrogatepass")
        wanted = hash_of(data)
        found, hashes = [], self.hashes.whole()
        at = bisect_left(hashes, wanted)
        while at < len(hashes) and hashes[at] == wanted:
            if self.raw(self.order[at]) == data:
                found.append(self.order[at])
            at += 1
        return found

    def find(self, text: str) -> int | None:
        """Index of the first string equal to `text`, or None."""
        found = self.find_all(text)
        return found[0] if found else None


Strung = TypeVar("Strung", bound=Strings)


class Joined(Generic[Strung]):
    """Lists of strings one after the other, such as those of an index's parts: `joined[i]`, `joined.find(text)`."""

    def __init__(self, parts: Iterable[Strung]):
        self.parts = list(parts)
        self.starts = list(itertools.accumulate(map(len, self.parts), initial=0))
        self._known: dict[int, str] = {}

    def __len__(self) -> int:
        return self.starts[-1]

    def __getitem__(self, number: int) -> str:
        part = bisect_right(self.starts, number) - 1
        return self.parts[part][number - self.starts[part]]

    def name(self, number: int) -> str:
        """The string, kept for further calls: hits share documents, and reading ids takes longer than searching."""
        if (found := self._known.get(number)) is None:
            if len(self._known) >= CACHED:
                self._known.clear()
            found = self._known[number] = self[number]
        return found

    def find(self, text: str) -> int | None:
        """The number of the first string equal to `text`, or None."""
        for part, start in zip(self.parts, self.starts):
            if (number := part.find(text)) is not None:
                return start + number
        return None


class StringsWriter:
    """Appends strings; `close` completes the files and returns the number of strings."""

    def __init__(self, stem: Path):
        self._stem = stem
        self._file = stem.with_name(stem.name + ".utf8").open("wb", buffering=1 << 20)
        self._offsets = array("Q", [0])

    def append(self, text: str) -> None:
        # A lone surrogate (broken JSON escape) cannot be encoded; it becomes the replacement character.
        self._append(text.encode("utf-8", "replace"))

    def _append(self, data: bytes) -> None:
        self._file.write(data)
        self._offsets.append(self._offsets[-1] + len(data))

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def close(self) -> int:
        self._file.close()
        with self._stem.with_name(self._stem.name + ".offsets").open("wb") as file:
            self._offsets.tofile(file)
        return len(self)


class StringTableWriter(StringsWriter):
    """Appends strings to a table; see `first_duplicate` to check that they differ."""

    def __init__(self, stem: Path):
        super().__init__(stem)
        self._hashes = array("Q")

    def _append(self, data: bytes) -> None:
        super()._append(data)
        self._hashes.append(hash_of(data))

    def close(self) -> int:
        hashes = np.frombuffer(self._hashes, dtype=np.uint64)
        order = np.argsort(hashes, kind="stable").astype(np.uint32)
        hashes[order].tofile(self._stem.with_name(self._stem.name + ".hashes"))
        order.tofile(self._stem.with_name(self._stem.name + ".order"))
        return super().close()


def first_duplicate(tables: Sequence[StringTable]) -> str | None:
    """The first string, reading the tables one after the other, that repeats an earlier one."""
    starts = np.cumsum([0] + [len(table) for table in tables])
    hashes = np.concatenate([np.frombuffer(table.hashes.whole(), dtype=np.uint64) for table in tables])
    numbers = np.concatenate(
        [
            np.frombuffer(table.order.whole(), dtype=np.uint32).astype(np.int64) + start
            for table, start in zip(tables, starts)
        ]
    )
    order = np.argsort(hashes, kind="stable")
    suspects = hashes[order][np.flatnonzero(np.diff(hashes[order]) == 0)]
    repeated = []
    # Equal hashes are nearly always equal strings; `find_all` compares the strings themselves.
    for at in np.flatnonzero(np.isin(hashes, suspects)):
        part = int(np.searchsorted(starts, numbers[at], side="right")) - 1
        text = tables[part][int(numbers[at] - starts[part])]
        everywhere = (number + start for table, start in zip(tables, starts) for number in table.find_all(text))
        if min(everywhere) < numbers[at]:
            repeated.append((int(numbers[at]), text))
    return min(repeated)[1] if repeated else None
