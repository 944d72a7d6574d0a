"""Writing files atomically: a file appears only when it is complete."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO

from lisax.errors import LisaxError

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextlib.contextmanager
def naming(path: str | os.PathLike) -> Iterator[None]:
    """Names `path` in errors of a full disk while it is written: the system's own error names no file."""
    try:
        yield
    except LisaxError:
        raise
    except Exception as error:  # native libraries have error types of their own, with the system's message
        # numpy's own error has no errno; it gives the numbers of array items to be written and written.
        if getattr(error, "filename", None) is None and (
            getattr(error, "errno", None) in FULL
            or any(words in str(error) for words in (" requested and ", os.strerror(errno.ENOSPC)))
        ):
            why = getattr(error, "strerror", None) or os.strerror(errno.ENOSPC)
            raise LisaxError(
                f"{path} could not be written: {why}. Make room, and run the same command again"
            ) from error
        raise


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike, mode: str = "w") -> Iterator[TextIO]:
    """Opens a temporary file next to `path` for writing and renames it to `path` only on success. In a bucket, which
    has no renaming, the object appears only when it is complete."""
    if os.fspath(path).startswith("gs://"):
        from lisax.files.places import place, uploading

        with uploading(place(path), mode) as file:
            yield file
        return
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".partial", dir=path.parent)
    try:
        # mkstemp creates private files; the result gets the permissions of any new file.
        umask = os.umask(0)
        os.umask(umask)
        os.fchmod(handle, 0o666 & ~umask)
        with naming(path):
            with os.fdopen(handle, mode, **({} if "b" in mode else {"encoding": "utf-8", "newline": "\n"})) as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def check_own(folder: Path, marker: str) -> None:
    """Raises `LisaxError` for a folder of data (`*.jsonl`) without `marker`, the file that their writer adds."""
    others = [] if (folder / marker).exists() else sorted(folder.glob("[!.]*.jsonl"))
    if others:
        raise LisaxError(f"{others[0]} was not written by this command, which adds {marker}: choose another folder")


def json_line(row: dict) -> str:
    """A row as a line of JSON Lines, without its end."""
    return json.dumps(row, ensure_ascii=False)


def write_json_lines(path: str | os.PathLike, rows: Iterable[dict]) -> int:
    """Writes rows atomically, one JSON object per line. Returns their number."""
    count = 0
    with atomic_write(path) as file:
        for row in rows:
            file.write(json_line(row) + "\n")
            count += 1
    return count


def write_json(path: str | os.PathLike, value: Any) -> None:
    """Writes one indented JSON value atomically."""
    with atomic_write(path) as file:
        json.dump(value, file, ensure_ascii=False, indent=2)
        file.write("\n")
