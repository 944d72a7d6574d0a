"""Stages that write files, are skipped when done, and resume after an interruption."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lisax.errors import DataError, LisaxError
from lisax.files.resumable import partial
from lisax.files.writing import write_json
from lisax.progress import say
from lisax.retrieval.folder import META, read_components


@dataclasses.dataclass(frozen=True)
class Stage:
    """One step of a run: `work` writes the files or folders `outputs`.

    `after` names the stages whose outputs it reads. A change in one of them reruns the stage, as does a change in a
    setting that its work has read."""

    name: str
    after: Sequence[str]
    outputs: Sequence[Path]
    work: Callable[[], None]


class StageRunner:
    """Runs the stages of one run in `out`. `out/stages/NAME.json` notes the inputs of a stage, which are the settings
    that its work has read and the digests of the stages before it, and the sizes and digests of its outputs.

    `value` returns the present value of a setting, by its name; it raises `AttributeError` for one that does not exist.
    The work calls `read` with the name of each setting that it reads.

    A stage is skipped if its note agrees with its inputs and its outputs are as they were written. If the inputs
    differ, the settings have changed; the stage is rerun, as is every stage that depends on it. If an output is
    damaged, the stage resumes from the intact files."""

    def __init__(self, out: str | os.PathLike, until: str | None = None, value: Callable[[str], Any] = {}.get):
        self.out, self.until, self._value = Path(out), until, value
        self.known_as = str(out)  # replaces `out` in the noted settings: a run may work in a copy of its folder
        self.after_each: Callable[[], None] = lambda: None  # called after each finished stage
        self.seconds: dict[str, float] = {}
        self.read: Callable[[str], None] = lambda setting: None
        self._digests: dict[str, str] = {}

    def run(self, stage: Stage) -> None:
        """Runs the stage's work unless it is done.

        Raises `Stopped` once the stage named by `until` is done, and `KeyError` if a stage before it has not run."""
        name, outputs, after = stage.name, stage.outputs, self._after(stage)
        note, workings = self._note(name), self._workings(name)
        known = _read(note)
        changed = self._changed(known, after) if known else []
        done = bool(known) and not changed
        damage = self._damaged(known, outputs) if done else {}
        for file, what in damage.items():
            say(f"[{name}] is made again: {file} {what}")
        if done and not damage:
            self.seconds[name] = known["seconds"]
            say(f"[{name}] done before")
        else:
            begun = _read(workings)
            if damage:
                begun = known
                write_json(workings, _inputs(begun))
                note.unlink()
                for file in damage:
                    _remove(_unit(file, outputs))
            # Partial results of an interrupted run with the same inputs are continued; all others are removed.
            elif not begun or (changed := self._changed(begun, after)):
                if changed:
                    say(f"[{name}] is made again: {', '.join(changed)} changed")
                note.unlink(missing_ok=True)
                for path in outputs:
                    _remove(path)
                    _remove(partial(path))
                begun = {"read": {}, "after": after, "seconds": 0.0}
                write_json(workings, begun)
            for rest in (rest for path in outputs for rest in path.parent.glob(f".{path.name}.*.partial")):
                _remove(rest)  # from a killed write
            say(f"[{name}]")
            known = self._work(stage, _inputs(begun))
            if missing := [str(path) for path in outputs if not path.exists()]:
                raise LisaxError(f"stage {name} ended without writing {', '.join(missing)}")
            write_json(note, {**known, "outputs": self._described(outputs)})
            workings.unlink()
            self.seconds[name] = known["seconds"]
            say(f"[{name}] {known['seconds']:.1f} s")
        self._digests[name] = _digest(known)
        self.after_each()
        if name == self.until:
            raise Stopped(name)

    def _work(self, stage: Stage, inputs: dict[str, Any]) -> dict[str, Any]:
        """Does the stage's work; returns its inputs with the settings that it has read. They are written before the
        work goes on with one: after a kill, it is known what the partial results depend on."""
        workings, settings, before = self._workings(stage.name), inputs["read"], self.read

        def read(setting: str) -> None:
            if setting not in settings:
                settings[setting] = self._noted(setting)
                write_json(workings, inputs)

        started, self.read = time.perf_counter(), read
        try:
            stage.work()
        finally:
            self.read = before
            inputs["seconds"] += time.perf_counter() - started
            write_json(workings, inputs)
        return inputs

    def state(self, stage: Stage) -> str:
        """The state that `run` would find, in a few words. Query stages in running order."""
        known, begun, after = _read(self._note(stage.name)), _read(self._workings(stage.name)), self._after(stage)
        changed = self._changed(known, after) if known else []
        self._digests[stage.name] = "" if changed or not known else _digest(known)  # "": known once it has run
        if known and not changed:
            damaged = next(iter(self._damaged(known, stage.outputs).items()), None)
            return "done" if damaged is None else f"again: {os.path.relpath(damaged[0], self.out)} {damaged[1]}"
        if begun and not self._changed(begun, after):
            return "begun"
        return f"again: {', '.join(changed)} changed" if known else "to do"

    def settings(self, name: str) -> Mapping[str, Any]:
        """The settings that a stage has read, as far as it has been run, with their present values."""
        read = (_read(self._note(name)) or _read(self._workings(name))).get("read", {})
        present = {}
        for setting in read:
            with contextlib.suppress(AttributeError):  # a setting of another version
                present[setting] = self._noted(setting)
        return present

    def digest(self, name: str) -> str:
        """The digest of the inputs of a stage that has run."""
        return self._digests[name]

    def _after(self, stage: Stage) -> dict[str, str]:
        return {name: self._digests[name] for name in stage.after}

    def _noted(self, setting: str) -> Any:
        """The present value of a setting, as a note has it."""
        described = json.dumps(self._value(setting), sort_keys=True, default=str)
        return json.loads(described.replace(str(self.out), self.known_as))

    def _changed(self, inputs: Mapping[str, Any], after: Mapping[str, str]) -> list[str]:
        """The settings, or else the stages before, that are not as they were noted."""
        changed = [name for name, value in inputs["read"].items() if self._differs(name, value)]
        return changed or [
            name for name in {**after, **inputs["after"]} if inputs["after"].get(name) != after.get(name)
        ]

    def _differs(self, setting: str, value: Any) -> bool:
        try:
            return self._noted(setting) != value
        except AttributeError:  # a setting of another version
            return True

    def _note(self, name: str) -> Path:
        return self.out / "stages" / f"{name}.json"

    def _workings(self, name: str) -> Path:
        return self.out / "stages" / f"{name}.begun"

    def _described(self, outputs: Sequence[Path]) -> dict[str, list]:
        """[bytes, modification time, SHA-256] of every file of the outputs, by its path within the run's folder."""
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
            elif file.name == META:
                try:
                    read_components(file.parent)
                except DataError:
                    damaged[file] = "is damaged"
            elif file.stat().st_size != size:
                damaged[file] = f"has {file.stat().st_size:,} bytes, not the {size:,} that were written"
            elif _size_and_time(file) != [size, time_of_change] and _sha256(file) != sha256:
                damaged[file] = "is not as it was written"
        return damaged


class Stopped(Exception):
    """Raised when the stage given as `--until` is done."""


def _inputs(note: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs in a note, to which further settings may be added."""
    return {"read": dict(note["read"]), "after": note["after"], "seconds": note["seconds"]}


def _digest(inputs: Mapping[str, Any]) -> str:
    described = json.dumps({name: inputs[name] for name in ("read", "after")}, sort_keys=True)
    return hashlib.sha256(described.encode()).hexdigest()


def _read(path: Path) -> dict:
    """Reads a note; {} if there is none or it is not valid."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError, RecursionError):
        return {}
    if not isinstance(found, dict) or not isinstance(found.get("seconds"), (int, float)):
        return {}
    if not all(isinstance(found.get(name), dict) for name in ("read", "after")):
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
    """The files of an output, without locks and events. They must stay as the stage wrote them; the description of an
    index must only be readable, as a retriever's vectors are added to it."""
    if not path.is_dir():
        return [path]
    return sorted(file for file in path.rglob("*") if file.is_file() and not file.name.startswith((".", "events.out.")))


def _unit(file: Path, outputs: Sequence[Path]) -> Path:
    """The path to remove with a damaged file: its folder, or only its checkpoint, as training resumes from the last."""
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
