"""Each stage of a finished run by itself: it reads the settings that are noted, and writes its outputs alone."""

import hashlib
import re
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from lisax.devices.workers import Workers
from lisax.papers import base
from lisax.papers.staged import Staged
from lisax.retrieval.folder import META


def check(
    make_run: Callable[[], Staged],
    monkeypatch: pytest.MonkeyPatch,
    names: Iterable[str] | None = None,
    workers: Workers | None = None,
) -> None:
    """Does the work of each stage again in a new run, which has nothing in memory of the stages before, and compares.

    Models are not trained again; what their training reads of the recipe is read. With `workers`, compares their files
    with those of one process that has the same sizes of blocks."""
    trained = []
    monkeypatch.setattr(base, "train_by_gin", lambda gin_file, *_, **__: trained.append(gin_file))
    for name in names or make_run().graph:
        if workers is not None:
            make_run().graph[name].work()
        run = make_run()
        run.workers = workers
        stage, before = run.graph[name], _files(run.out)
        if not ("train" in name.split(".") or name == "warm_up"):
            for path in stage.outputs:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        seen = set()
        with run.seen_by(seen.add):
            stage.work()
        noted = {setting for one in run.before(name) for setting in run.runner.settings(one)}
        assert seen <= noted, f"{name} reads {', '.join(sorted(seen - noted))}, which no note has"
        after = _files(run.out)
        written = {path for path in after if after[path] != before.get(path)}
        strange = [path for path in written if not any(path == own or own in path.parents for own in stage.outputs)]
        assert not strange, f"{name} writes {', '.join(map(str, sorted(strange)))}"
        assert _named(before) == _named(after), name
        changed = [path for path in written & before.keys() if after[path][0] != before[path][0]]
        assert not changed, f"{name} writes other things than before: {', '.join(map(str, changed))}"
    assert trained or names is not None


def _files(folder: Path) -> dict[Path, tuple[str, int]]:
    """SHA-256 and time of change of every file, but for notes of stages, locks, and what is added to an index in use:
    a retriever's vectors, and the list of what there is."""
    return {
        path: (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file()
        and not {"stages", META} & set(path.parts)
        and not any(part.startswith((".", "dense-", "ivf-")) for part in path.relative_to(folder).parts)
    }


def _named(files: Iterable[Path]) -> set[str]:
    """The files' names; parts of indexes have drawn ones."""
    return {re.sub("part-[0-9a-f]{8}", "part", str(path)) for path in files}
