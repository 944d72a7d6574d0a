"""One process at a time in the folder of a run: a second one would write over the first one's files."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from lisax.records import LisaxError

LOCK = ".lock"  # as of an index (`retrieval/folder.py`); the system lets go of it when its process ends, however it ends


@contextlib.contextmanager
def alone_in(folder: str | os.PathLike) -> Iterator[None]:
    """Makes the folder where it is missing; an error, at once, where another process is in it."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / LOCK).open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LisaxError(f"{folder}: another process is at work in this folder; wait for it or stop it, or give "
                             "another folder") from None
        yield
