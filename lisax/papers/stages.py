"""Stages that write files, are skipped when done, and resume after an interruption."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lisax.errors import LisaxError
from lisax.files.resumable import partial
from lisax.files.writing import write_json
from lisax.progress import say
from lisax.retrieval.folder import META


@dataclasses.dataclass(frozen=True, kw_only=True)
class Stage:
    """One step of a run: `work` writes the files or folders `outputs`.

    `after` names the stages whose outputs it reads; `reads` the settings it depends on, besides those of the stages
    before it. A change in either reruns the stage."""

    name: str
    after: Sequence[str] = ()
    reads: Sequence[str] = ()
    outputs: Sequence[Path]
    work: Callable[[], None]


class StageRunner:
    """Runs the stages of one run in `out`. `out/stages/NAME.json` notes the inputs of a stage, and the sizes and
    digests of its outputs.

    A stage is skipped if its note agrees with its inputs and its outputs are as they were written. If the inputs
    differ, the settings have changed; the stage is rerun, as is every stage that depends on it. If an output is
    damaged, the stage resumes from the intact files.
    """

    def __init__(self, out: str | os.PathLike, until: str | None = None):
        self.out, self.until = Path(out), until
        self.known_as = str(out)  # replaces `out` in the digested settings: a run may work in a copy of its folder
        self.after_each: Callable[[], None] = lambda: None  # called after each finished stage
        self.seconds: dict[str, float] = {}
        self._digests: dict[str, str] = {}

    def run(self, stage: Stage, settings: Mapping[str, Any] | None = None) -> None:
        """Runs the stage's work unless it is done. `settings` are the values of the settings it reads.

        Raises `Stopped` once the stage named by `until` is done, and `KeyError` if a stage that it depends on has not
        run."""
        made_from = self._made_from(stage, settings)
        digest, name, outputs = self._digests[stage.name], stage.name, stage.outputs
        note, workings = self._note(name), self.out / "stages" / f"{name}.begun"
        known = _read(note)
        done = known.get("digest") == digest
        damage = self._damaged(known, outputs) if done else {}
        for file, what in damage.items():
            say(f"[{name}] is made again: {file} {what}")
        if done and not damage:
            self.seconds[name] = known["seconds"]
            say(f"[{name}] done before")
        else:
            if damage:
                write_json(workings, {"digest": digest, "seconds": known["seconds"]})
                note.unlink()
                for file in damage:
                    _remove(_unit(file, outputs))
            # Partial results of an interrupted run with the same inputs are continued; all others are removed.
            begun = _read(workings)
            if begun.get("digest") != digest:
                note.unlink(missing_ok=True)
                for path in outputs:
                    _remove(path)
                    _remove(partial(path))
                begun = {"digest": digest, "seconds": 0.0}
                write_json(workings, begun)
            for rest in (rest for path in outputs for rest in path.parent.glob(f".{path.name}.*.partial")):
                _remove(rest)  # from a killed write
            say(f"[{name}]")
            started = time.perf_counter()
            try:
                stage.work()
            finally:
                spent = begun["seconds"] + time.perf_counter() - started
                write_json(workings, {"digest": digest, "seconds": spent})
            if missing := [str(path) for path in outputs if not path.exists()]:
                raise LisaxError(f"stage {name} ended without writing {', '.join(missing)}")
            write_json(note, {"digest": digest, "seconds": spent, **made_from, "outputs": self._described(outputs)})
            workings.unlink()
            self.seconds[name] = spent
            say(f"[{name}] {spent:.1f} s")
        self.after_each()
        if name == self.until:
            raise Stopped(name)

    def state(self, stage: Stage, settings: Mapping[str, Any] | None = None) -> str:
        """The state that `run` would find, in a few words. Query stages in running order."""
        made_from, digest = self._made_from(stage, settings), self._digests[stage.name]
        known, begun = _read(self._note(stage.name)), _read(self.out / "stages" / f"{stage.name}.begun")
        if known.get("digest") == digest:
            damaged = next(iter(self._damaged(known, stage.outputs).items()), None)
            return "done" if damaged is None else f"again: {os.path.relpath(damaged[0], self.out)} {damaged[1]}"
        if begun.get("digest") == digest:
            return "begun"
        if not known:
            return "to do"
        changed = _changed(known.get("settings"), made_from["settings"])
        return f"again: {', '.join(changed or _changed(known.get('after'), made_from['after']))} changed"

    def digest(self, name: str) -> str:
        """The digest of the inputs of a stage that has run."""
        return self._digests[name]

    def _made_from(self, stage: Stage, settings: Mapping[str, Any] | None) -> dict[str, Any]:
        """The inputs of a stage; stores their digest."""
        made_from = {"settings": dict(settings or {}), "after": {name: self._digests[name] for name in stage.after}}
        described = json.dumps(made_from, sort_keys=True, default=str).replace(str(self.out), self.known_as)
        self._digests[stage.name] = hashlib.sha256(described.encode()).hexdigest()
        return made_from

    def _note(self, name: str) -> Path:
        return self.out / "stages" / f"{name}.json"

    def _described(self, outputs: Sequence[Path]) -> dict[str, list]:
        """[bytes, modification time, SHA-256] of every file of the outputs, by its path relative to the run's
        folder."""
        return {
            os.path.relpath(file, self.out): [*_size_and_time(file), _sha256(file)]
            for path in outputs
            for file in _files(path)
        }

    def _damaged(self, known: dict, outputs: Sequence[Path]) -> dict[Path, str]:
        """The files that differ from the note, each with the reason; notes of older runs list no files.

        A file with its noted size and time counts as unchanged, as in git."""
        damaged = {path: "is missing" for path in outputs if not path.exists()}
        for name, (size, time_of_change, sha256) in (known.get("outputs") or {}).items():
            file = self.out / name
            if not any(file == path or path in file.parents for path in outputs):
                continue
            if not file.is_file():
                damaged[file] = "is missing"
            elif file.stat().st_size != size:
                damaged[file] = f"has {file.stat().st_size:,} bytes, not the {size:,} that were written"
            elif _size_and_time(file) != [size, time_of_change] and _sha256(file) != sha256:
                damaged[file] = "is not as it was written"
        return damaged


class Stopped(Exception):
    """Raised when the stage given as `--until` is done."""


def _changed(before: Any, now: Mapping[str, Any]) -> list[str]:
    """Names whose values differ, including those that only one side has."""
    before, now = before if isinstance(before, dict) else {}, json.loads(json.dumps(now, default=str))
    return [name for name in {**now, **before} if before.get(name, ...) != now.get(name, ...)]


def _read(path: Path) -> dict:
    """Reads a note; {} if there is none or it is not valid."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError, RecursionError):
        return {}
    if not isinstance(found, dict) or not isinstance(found.get("seconds"), (int, float)):
        return {}
    outputs = found.get("outputs")
    if outputs is not None and not (
        isinstance(outputs, dict)
        and all(
            isinstance(entry, list) and [type(value) for value in entry] == [int, int, str]
            for entry in outputs.values()
        )
    ):
        return {}
    return found


def _files(path: Path) -> list[Path]:
    """The files of an output that must stay as the stage wrote them. Excluded are locks and events, and the
    descriptions of indexes, to which a retriever's vectors are added; opening an index checks these."""
    if not path.is_dir():
        return [path]
    return sorted(
        file
        for file in path.rglob("*")
        if file.is_file() and file.name != META and not file.name.startswith((".", "events.out."))
    )


def _unit(file: Path, outputs: Sequence[Path]) -> Path:
    """The paths to remove with a damaged file: for a model its checkpoint, since training resumes from the one before;
    otherwise the whole folder."""
    folder = next((path for path in outputs if path in file.parents), file)
    return folder / file.relative_to(folder).parts[0] if any(folder.glob("checkpoint_*")) else folder


def _size_and_time(file: Path) -> list[int]:
    found = file.stat()
    return [found.st_size, found.st_mtime_ns]


def _sha256(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
