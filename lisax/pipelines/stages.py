"""Stages that write files, are skipped when they have, and go on where they were interrupted."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lisax.records import LisaxError, write_json
from lisax.runtime.resumable import partial


class Stages:
    """The stages of one run in `out`. What a stage was made from is noted in `out/stages/NAME.json`.

    A stage is skipped when its note agrees with its inputs and its outputs exist. When they disagree the
    settings have changed, and the stage is made again, as is every stage that depends on it.
    """

    def __init__(self, out: str | os.PathLike, until: str | None = None):
        self.out, self.until = Path(out), until
        self.seconds: dict[str, float] = {}
        self._prints: dict[str, str] = {}
        self.out.mkdir(parents=True, exist_ok=True)

    def run(self, name: str, work: Callable[[], None], *, outputs: Sequence[Path], after: Sequence[str] = (),
            settings: Mapping[str, Any] | None = None) -> None:
        """Runs `work` unless it is done. `settings` and the stages named in `after` are what it depends on.

        Raises `Stopped` once the stage named by `until` is done.
        """
        made_from = {"settings": settings or {}, "after": {stage: self._prints[stage] for stage in after}}
        digest = hashlib.sha256(json.dumps(made_from, sort_keys=True, default=str).encode()).hexdigest()
        self._prints[name] = digest
        note, workings = self.out / "stages" / f"{name}.json", self.out / "stages" / f"{name}.begun"
        known = _read(note)
        if known.get("digest") == digest and all(path.exists() for path in outputs):
            self.seconds[name] = known["seconds"]
            say(f"[{name}] done before")
        else:
            # What an interrupted try with the same inputs left is continued; anything else is in the way.
            begun = _read(workings)
            if begun.get("digest") != digest:
                note.unlink(missing_ok=True)
                for path in outputs:
                    _remove(path)
                    _remove(partial(path))
                begun = {"digest": digest, "seconds": 0.0}
                write_json(workings, begun)
            for rest in (rest for path in outputs for rest in path.parent.glob(f".{path.name}.*.partial")):
                _remove(rest)  # of a write that was killed
            say(f"[{name}]")
            started = time.perf_counter()
            try:
                work()
            finally:
                spent = begun["seconds"] + time.perf_counter() - started
                write_json(workings, {"digest": digest, "seconds": spent})
            if missing := [str(path) for path in outputs if not path.exists()]:
                raise LisaxError(f"stage {name} ended without writing {', '.join(missing)}")
            write_json(note, {"digest": digest, "seconds": spent, **made_from})
            workings.unlink()
            self.seconds[name] = spent
            say(f"[{name}] {spent:.1f} s")
        if name == self.until:
            raise Stopped(name)

    def digest(self, name: str) -> str:
        """What a stage that has run was made from, in one word."""
        return self._prints[name]


class Stopped(Exception):
    """The stage given as `--until` is done."""


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


@contextlib.contextmanager
def counting(total: int, what: str, every_seconds: float = 5.0) -> Iterator[Callable[[int], None]]:
    """A function to be told of progress; it prints count, speed and the time left now and then."""
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


def _read(path: Path) -> dict:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, json.JSONDecodeError):
        return {}


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
