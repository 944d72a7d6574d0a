"""Files of lines that grow group by group and, after an interruption of any kind, resume."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import BinaryIO

from lisax.errors import LisaxError
from lisax.files.places import is_remote, listing, telling, uploading
from lisax.files.writing import naming, write_json


def partial(path: Path) -> Path:
    """The path where lines gather before they are complete."""
    return path.with_name(path.name + ".partial")


def resumable_groups(path: Path, groups_after: Callable[[int], Iterable[Iterable[str]]], made_from: str = "") -> None:
    """Writes groups of lines to `path`; an interrupted call resumes at the first group that was not finished.

    `groups_after(done)` gives the groups in order, without the first `done`. A group is written as a whole, so that
    interruption changes no result. `made_from` stands for all that the lines depend on: lines of a call with another
    one are not continued. Until all are there, they gather in `partial(path)`; in a bucket, whose objects do not grow,
    that is a folder with an object for each group.
    """
    gathering = partial(path)
    begin = f"#from {hashlib.sha256(made_from.encode()).hexdigest()}\n".encode()
    if is_remote(path):
        _gather_in_bucket(path, gathering, begin, groups_after)
        return
    gathering.parent.mkdir(parents=True, exist_ok=True)
    # Unbuffered: bytes that did not fit on a full disk would be written once more when the file is closed.
    with gathering.open("ab", buffering=0) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LisaxError(f"{path} is being written by another process; wait for it or stop it") from None
        done, end = _finished_groups(gathering, begin)
        file.truncate(end)
        if not end:
            _append(file, begin, gathering)
        for number, group in enumerate(groups_after(done), start=done):
            lines = "".join(line + "\n" for line in group)
            # The mark is written last, in the same call: without it the group counts as unfinished.
            _append(file, lines.encode() + _mark(number), gathering)
        _finish(gathering, path)


def _gather_in_bucket(
    path: Path, gathering: Path, begin: bytes, groups_after: Callable[[int], Iterable[Iterable[str]]]
) -> None:
    written = listing(gathering)
    start, groups = gathering / "from", [f"{number:08d}" for number in range(len(written))]
    if "from" not in written or start.read_bytes() != begin:
        for name in written:
            (gathering / name).unlink()
        written = {}
        start.write_bytes(begin)
    done = next((number for number, name in enumerate(groups) if name not in written), len(groups))
    for number, group in enumerate(groups_after(done), start=done):
        lines = "".join(line + "\n" for line in group)
        with telling(gathering):
            (gathering / f"{number:08d}").write_bytes(lines.encode())
    names = sorted(name for name in listing(gathering) if name.isdigit())
    with uploading(path, "wb") as file:
        for name in names:
            file.write((gathering / name).read_bytes())
    for name in (*reversed(names), "from"):
        (gathering / name).unlink()


def _append(file: BinaryIO, content: bytes, path: Path) -> None:
    with naming(path):
        while content:
            content = content[file.write(content) :]
        os.fsync(file.fileno())


def _finish(gathering: Path, path: Path) -> None:
    """Writes the gathered lines to `path`, without the marks."""
    finished = path.with_name(f".{path.name}.finished")
    with naming(finished), gathering.open("rb") as source, finished.open("wb") as target:
        source.readline()
        number = 0
        for line in source:
            if line == _mark(number):
                number += 1
            else:
                target.write(line)
        target.flush()
        os.fsync(target.fileno())
    os.replace(finished, path)
    gathering.unlink()


def _mark(number: int) -> bytes:
    return f"#group {number}\n".encode()


def _finished_groups(path: Path, begin: bytes) -> tuple[int, int]:
    """(groups finished, bytes up to their end) of a file that may end anywhere; (0, 0) if it does not `begin` so."""
    done = end = 0
    if path.exists():
        with path.open("rb") as file:
            if file.readline() != begin:
                return 0, 0
            end = position = len(begin)
            for line in file:
                position += len(line)
                if line == _mark(done):
                    done, end = done + 1, position
    return done, end


def fingerprint(path: Path, besides: Path | None = None) -> list:
    """Names, sizes and times of a file or of a folder's files: enough to see that they have changed.

    `besides`: a path within `path` that does not count: a folder such as that of the run itself, or a file that is
    written.
    """
    if is_remote(path):
        return [[name, *entry] for name, entry in listing(path).items()]
    return sorted((str(file.relative_to(path)), *_size_and_time(file)) for file in _files(path, besides))


def content_print(
    path: Path, known: Path, besides: Path | None = None, counts: Callable[[Path], bool] = lambda file: True
) -> list:
    """Names, sizes and digests (SHA-256) of a file or of a folder's files, which a copy has too.

    `known` is a JSON file of digests. A file that has the size and time in it is not read again, as in git. It is
    written if its folder is there. `besides`: see `fingerprint`. `counts`: whether a file of the folder is included.
    """
    if is_remote(path):
        return fingerprint(path)
    before, after = _known_digests(known), {}
    for file in filter(counts, _files(path, besides)):
        state = list(_size_and_time(file))
        entry = before.get(str(file))
        if not isinstance(entry, list) or entry[:2] != state:
            with file.open("rb") as content:
                entry = [*state, hashlib.file_digest(content, "sha256").hexdigest()]
        after[str(file)] = entry
    if not before.items() >= after.items() and known.parent.is_dir():
        write_json(known, before | after)
    return sorted([str(Path(file).relative_to(path)), size, digest] for file, (size, _, digest) in after.items())


def _known_digests(known: Path) -> dict[str, list]:
    try:
        found = json.loads(known.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _size_and_time(file: Path) -> tuple[int, int]:
    found = file.stat()
    return found.st_size, found.st_mtime_ns


def _files(path: Path, besides: Path | None) -> list[Path]:
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    if besides is not None and path.resolve() in besides.resolve().parents:
        own = besides.resolve(), partial(besides.resolve())
        files = [file for file in files if not any(map(file.resolve().is_relative_to, own))]
    return files
