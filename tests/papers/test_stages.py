"""Stages are skipped, made again and continued exactly when they should be."""

import json
import shutil
from types import SimpleNamespace

import pytest

from lisax.errors import LisaxError
from lisax.files.resumable import partial
from lisax.papers.stages import Stage, StageRunner, Stopped
from lisax.retrieval.blocks import checksum


def test_a_stage_runs_once_and_again_when_its_settings_or_what_it_depends_on_change(tmp_path):
    ran = []

    def run(first=1, second=1):
        runner = StageRunner(tmp_path, value={"first": first, "second": second}.get)
        for name, setting, after in (("a", "first", []), ("b", "second", ["a"])):
            out = tmp_path / name
            work = lambda: (ran.append(name), runner.read(setting), out.write_text("done"))  # noqa: E731
            runner.run(Stage(name, after, [out], work))
        return runner

    run()
    run()
    assert ran == ["a", "b"]
    run(second=2)
    assert ran == ["a", "b", "b"]
    run(first=2, second=2)
    assert ran == ["a", "b", "b", "a", "b"]
    (tmp_path / "a").unlink()
    assert set(run(first=2, second=2).seconds) == {"a", "b"}
    assert ran[-1] == "a"  # its output was gone; the same inputs give the same output, so b stays


def test_an_interrupted_stage_keeps_its_workings_only_for_the_same_settings(tmp_path):
    out = tmp_path / "out.txt"

    def interrupted():
        partial(out).write_text("half")
        raise KeyboardInterrupt

    def attempt(x, work, *reads):
        runner = StageRunner(tmp_path, value={"x": x}.get)
        runner.run(Stage("s", [], [out], lambda: (*map(runner.read, reads), work())))
        return runner

    with pytest.raises(KeyboardInterrupt):
        attempt(1, interrupted, "x")
    seen = []
    with pytest.raises(KeyboardInterrupt):  # the part that reads x is not repeated, and still depends on it
        attempt(1, lambda: (seen.append(partial(out).read_text()), interrupted()))
    runner = attempt(2, lambda: (seen.append(partial(out).exists()), out.write_text("whole")), "x")
    assert seen == ["half", False] and runner.settings("s") == {"x": 2}


def test_what_a_killed_stage_has_read_is_known(tmp_path):
    """Of a process that was killed there is only what was written while it worked."""
    there = []

    def work():
        runner.read("x")
        there.append(json.loads((tmp_path / "stages/s.begun").read_text())["read"])
        (tmp_path / "out").write_text("")

    runner = StageRunner(tmp_path, value={"x": 1}.get)
    runner.run(Stage("s", [], [tmp_path / "out"], work))
    assert there == [{"x": 1}]


def test_a_setting_that_is_gone_has_changed(tmp_path):
    ran = []

    def run(recipe, setting):
        runner, out = StageRunner(tmp_path, value=lambda name: getattr(recipe, name)), tmp_path / "out"
        work = lambda: (ran.append(setting), runner.read(setting), out.write_text(""))  # noqa: E731
        runner.run(Stage("s", [], [out], work))

    for _ in range(2):
        run(SimpleNamespace(old=None), "old")
        run(SimpleNamespace(new=None), "new")
    assert ran == ["old", "new", "old", "new"]


def test_a_stage_that_writes_nothing_is_an_error_and_until_stops(tmp_path):
    out = tmp_path / "missing"
    with pytest.raises(LisaxError, match="without writing"):
        StageRunner(tmp_path).run(Stage("s", [], [out], lambda: None))
    with pytest.raises(Stopped):
        StageRunner(tmp_path, until="s").run(Stage("s", [], [out], lambda: out.write_text("")))
    assert json.loads((tmp_path / "stages" / "s.json").read_text())["seconds"] >= 0


def _meta(components: dict) -> str:
    about = {"format": "lisax index", "version": 1, "crc32": checksum(json.dumps(components, sort_keys=True).encode())}
    return json.dumps(about | {"components": components})


def _three_files(out, ran):
    def work():
        ran.append("s")
        (out / "lines.jsonl").write_text("one\ntwo\n" * 100)
        for file in (
            "index/meta.json",
            "index/a/b.npy",
            "models/m/checkpoint_1/state/x",
            "models/m/checkpoint_2/state/x",
        ):
            (out / file).parent.mkdir(parents=True, exist_ok=True)
            if not (out / file).exists():
                (out / file).write_text(_meta({}) if "meta" in file else f"the bytes of {file}")

    outputs = [out / "lines.jsonl", out / "index", out / "models/m"]
    StageRunner(out).run(Stage("s", [], outputs, work))


@pytest.mark.parametrize(
    "damaged", ["lines.jsonl", "index/a/b.npy", "index/meta.json", "models/m/checkpoint_2/state/x"]
)
@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(path.read_bytes()[:7]),
        lambda path: path.unlink(),
        lambda path: path.write_bytes(path.read_bytes()[::-1]),
    ],
    ids=["cut", "gone", "other"],
)
def test_what_is_not_as_it_was_written_is_made_again(tmp_path, capfd, damaged, damage):
    ran = []
    _three_files(tmp_path, ran)
    whole = (tmp_path / damaged).read_bytes()
    damage(tmp_path / damaged)
    untouched = tmp_path / "models/m/checkpoint_1/state/x"
    before = untouched.stat().st_mtime_ns
    _three_files(tmp_path, ran)
    assert ran == ["s", "s"] and (tmp_path / damaged).read_bytes() == whole
    assert untouched.stat().st_mtime_ns == before
    assert str(tmp_path / damaged) in capfd.readouterr().err
    _three_files(tmp_path, ran)
    assert ran == ["s", "s"]


def test_a_copied_run_with_other_times_is_as_it_was_written(tmp_path):
    ran = []
    _three_files(tmp_path / "a", ran)
    shutil.copytree(tmp_path / "a", tmp_path / "b", copy_function=shutil.copyfile)
    _three_files(tmp_path / "b", ran)
    # What later stages put beside a model's checkpoints is not the training's.
    (tmp_path / "b/models/m/fitted.json").write_text("{}")
    # Nor are a retriever's vectors the index's own.
    vectors = {"settings": {}, "parts": [], "digest": "", "files": {}}
    (tmp_path / "b/index/meta.json").write_text(_meta({"dense": vectors}))
    _three_files(tmp_path / "b", ran)
    assert ran == ["s"]


@pytest.mark.parametrize(
    "note",
    [
        "[]",
        "3",
        "[" * 100_000,
        '{"digest": "x"}',
        '{"seconds": "1"}',
        "\udcff",
        '{"seconds": 1, "read": [], "after": {}}',
        '{"seconds": 1, "read": {}, "after": {}, "outputs": [1]}',
        '{"seconds": 1, "read": {}, "after": {}, "outputs": {"a": 1}}',
        # Of a version whose stages declared what they read.
        '{"seconds": 1, "digest": "x", "settings": {}, "after": {}, "outputs": {}}',
        "",
    ],
)
@pytest.mark.parametrize("suffix", ["json", "begun"])
def test_a_note_that_is_none_is_as_if_it_were_not_there(tmp_path, note, suffix):
    ran = []
    _three_files(tmp_path, ran)
    (tmp_path / "stages/s.json").unlink()
    (tmp_path / f"stages/s.{suffix}").write_bytes(note.encode(errors="surrogateescape"))
    _three_files(tmp_path, ran)
    assert ran == ["s", "s"]
