"""A run whose folder is in a bucket: it works in a folder of this machine, which goes there stage by stage.

Indexes are memory-mapped, and so are on a disk. What the bucket has is fetched first; after every stage that was done,
what has changed is sent, and the notes of stages last: a stage that has its note there has all its files there. A run
that was killed goes on, on any machine, after the last stage that was sent; on the same one from where it was.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from lisax.places import SCHEME, fetch, listing, send, telling
from lisax.progress import say


class Mirror:
    """`folder` on this machine, and the place in the bucket of which it is the copy."""

    def __init__(self, place: Path):
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        self.place, self.folder = place, cache / "lisax" / os.fspath(place).removeprefix(SCHEME)
        self._sent: dict[str, tuple[int, int]] = {}  # name to (bytes, time of change here) of what both have

    def pull(self) -> None:
        """Makes the folder's files those of the bucket; what only this machine has, of a stage that was cut off, stays."""
        there = {name: entry for name, entry in listing(self.place).items() if not _is_kept_here(name)}
        for name, (size, changed) in there.items():
            if _state(self.folder / name) != (size, changed):
                fetch(self.place / name, self.folder / name, changed)
            self._sent[name] = size, changed
        if there:
            say(f"{len(there)} files of {self.place} are in {self.folder}")

    def push(self) -> None:
        """Sends what has changed, notes of stages last, and removes what is no longer there.

        Files here get the times that the bucket has for them: the next run, on any machine, finds them unchanged."""
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
    """Locks, and what a stage that is not done has gathered."""
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
