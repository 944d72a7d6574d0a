"""Files of an index as they are read: memory-mapped, and each block compared with its CRC-32 when it is first used.

An index that is read whole would take seconds to open. `folder.open_component` notes the index description's sums of
its files (`expect`), after it has compared files of up to `SMALL` bytes at once.
"""

from __future__ import annotations

import mmap
import os
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from lisax.errors import DataError

BLOCK = 1 << 18  # bytes
HEADER = 128  # bytes of an array's description
SMALL = 4 * BLOCK  # a file of this size or less is compared when its index is opened, in half a millisecond
ADVICE = "`lisax index check INDEX` names the damaged files; build the index again"
_expected: dict[str, list[int]] = {}  # path -> the sums of its blocks


def checksum(chunk: bytes) -> str:
    """The CRC-32 of a block, 8 hexadecimal digits."""
    return f"{zlib.crc32(chunk):08x}"


def expect(path: Path, sums: str) -> None:
    """Notes the sums of a file's blocks, end to end, for the code that maps it."""
    _expected[os.path.abspath(path)] = [int(sums[at : at + 8], 16) for at in range(0, len(sums), 8)]


class Mapped:
    """The bytes of a file. `between` reads some, after comparing the blocks that they are in."""

    def __init__(self, path: Path):
        self.path = path
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            # An empty file cannot be mapped.
            self.bytes: mmap.mmap | bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b""
        self._sums = _expected.get(os.path.abspath(path), []) if size > SMALL else []
        self.unread = bytearray(b"\1") * len(self._sums)  # 1 for a block that was not compared yet

    def between(self, start: int, stop: int) -> bytes:
        if self.unread:
            self.check(start, stop)
        return self.bytes[start:stop]

    def check(self, start: int = 0, stop: int | None = None) -> None:
        """Compares the blocks of some bytes that were not compared yet. Raises DataError for one that is not as it was
        written."""
        unread = self.unread
        stop = len(self.bytes) if stop is None else stop
        last = -(-stop // BLOCK)
        block = unread.find(1, start // BLOCK, last)
        while block >= 0:
            with memoryview(self.bytes) as view:
                if zlib.crc32(view[block * BLOCK : (block + 1) * BLOCK]) != self._sums[block]:
                    raise DataError(
                        f"the index is damaged: bytes {block * BLOCK:,} and after are not the written ones; {ADVICE}",
                        path=self.path,
                    )
            unread[block] = 0
            block = unread.find(1, block + 1, last)


class Numbers(Mapped):
    """A file of numbers with an `array` type code: reading one creates no numpy scalar."""

    def __init__(self, path: Path, code: str):
        super().__init__(path)
        self._view = memoryview(self.bytes).cast(code)
        self._size = self._view.itemsize

    def __len__(self) -> int:
        return len(self._view)

    def __getitem__(self, at: int) -> Any:
        if self.unread:
            self.check(at * self._size, (at + 1) * self._size)
        return self._view[at]

    def span(self, first: int, last: int) -> memoryview:
        """The numbers from `first` to before `last`."""
        if self.unread:
            self.check(first * self._size, last * self._size)
        return self._view[first:last]

    def whole(self) -> memoryview:
        self.check()
        return self._view


class Array(Mapped):
    """An array as numpy saves it. `rows` has some of them; `unchecked` all, of which no block is compared."""

    def __init__(self, path: Path):
        super().__init__(path)
        self.check(0, min(HEADER, len(self.bytes)))
        # A plain array over the mapped file, because slicing np.memmap is slow.
        self.unchecked = np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
        self._begin = len(self.bytes) - self.unchecked.nbytes
        self._size = self.unchecked.nbytes // max(len(self.unchecked), 1)

    def __len__(self) -> int:
        return len(self.unchecked)

    def rows(self, first: int, last: int) -> np.ndarray:
        if self.unread:
            self.check(self._begin + first * self._size, self._begin + last * self._size)
        return self.unchecked[first:last]

    def whole(self) -> np.ndarray:
        self.check()
        return self.unchecked
