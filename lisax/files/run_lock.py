"""One process at a time in the folder of a run: a second one would write over the first one's files."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator

from lisax.errors import LisaxError
from lisax.files.places import is_remote, place

LOCK = ".lock"  # as of an index (`retrieval/folder.py`); the system releases it when its process ends, however it ends


@contextlib.contextmanager
def alone_in(folder: str | os.PathLike) -> Iterator[None]:
    """Makes the folder if it is missing. Raises an error if another process is in it. A folder in a bucket has no lock:
    the user keeps to one run per folder."""
    folder = place(folder)
    if is_remote(folder):
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / LOCK).open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LisaxError(
                f"{folder}: another process is at work in this folder; wait for it or stop it, or give another folder"
            ) from None
        yield
