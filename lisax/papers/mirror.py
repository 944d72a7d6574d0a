"""Runs in a bucket: a run works in a local folder, which is copied to the bucket stage by stage.

Indexes are memory-mapped, so they must be on a disk. Files in the bucket are fetched first. After every finished stage
changed files are sent, the notes of stages last: a stage whose note is in the bucket has all its files there. A killed
run resumes on any machine after the last stage that was sent, and on the same machine at its last file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from lisax.files.places import SCHEME, fetch, listing, send, telling
from lisax.progress import say


class Mirror:
    """Copies between `folder` on this machine and its place in the bucket."""

    def __init__(self, place: Path):
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        self.place, self.folder = place, cache / "lisax" / os.fspath(place).removeprefix(SCHEME)
        self._sent: dict[str, tuple[int, int]] = {}  # name -> (bytes, local modification time) of files that both have

    def pull(self) -> None:
        """Downloads the bucket's files. Files that only this machine has, from an interrupted stage, stay."""
        there = {name: entry for name, entry in listing(self.place).items() if not _is_kept_here(name)}
        for name, (size, changed) in there.items():
            if _state(self.folder / name) != (size, changed):
                fetch(self.place / name, self.folder / name, changed)
            self._sent[name] = size, changed
        if there:
            say(f"{len(there)} files of {self.place} are in {self.folder}")

    def push(self) -> None:
        """Uploads changed files, notes of stages last, and removes deleted ones from the bucket.

        Local files get the bucket's modification times, so that the next run, on any machine, finds them unchanged."""
        here = {file.relative_to(self.folder).as_posix(): file for file in self._files()}
        changed = [name for name, file in here.items() if self._sent.get(name) != _state(file)]
        for name in sorted(changed, key=lambda name: (_is_note(name), name)):
            send(here[name], self.place / name)
            self._sent[name] = _state(here[name])
        for name in self._sent.keys() - here.keys():
            with telling(self.place):
                (self.place / name).unlink(missing_ok=True)
            del self._sent[name]
        for name, (size, at) in (listing(self.place) if changed else {}).items():
            if self._sent.get(name) not in (None, (size, at)):
                os.utime(self.folder / name, ns=(at, at))
                self._sent[name] = size, at

    def _files(self) -> Iterator[Path]:
        for file in self.folder.rglob("*"):
            if file.is_file() and not _is_kept_here(file.relative_to(self.folder).as_posix()):
                yield file


def _is_kept_here(name: str) -> bool:
    """Whether a file is not uploaded: locks, and partial results of an unfinished stage."""
    last = name.rpartition("/")[2]
    return last.startswith(".") or last.endswith((".partial", ".begun"))


def _is_note(name: str) -> bool:
    return "stages" in name.split("/")[:-1]


def _state(file: Path) -> tuple[int, int] | None:
    try:
        found = file.stat()
    except FileNotFoundError:
        return None
    return found.st_size, found.st_mtime_ns
