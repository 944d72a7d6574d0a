"""Stages are skipped, made again and continued exactly when they should be."""

import json

import pytest

from lisax.pipelines.stages import Stages, Stopped
from lisax.records import LisaxError
from lisax.runtime.resumable import partial


def test_a_stage_runs_once_and_again_when_its_settings_or_what_it_depends_on_change(tmp_path):
    ran = []

    def run(first=1, second=1):
        stages = Stages(tmp_path)
        for name, settings_, after in (("a", {"x": first}, []), ("b", {"x": second}, ["a"])):
            out = tmp_path / name
            stages.run(name, lambda: (ran.append(name), out.write_text("done")), outputs=[out], after=after,
                       settings=settings_)
        return stages

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

    def attempt(settings_, work):
        Stages(tmp_path).run("s", work, outputs=[out], settings=settings_)

    with pytest.raises(KeyboardInterrupt):
        attempt({"x": 1}, interrupted)
    seen = []
    with pytest.raises(KeyboardInterrupt):
        attempt({"x": 1}, lambda: (seen.append(partial(out).read_text()), interrupted()))
    attempt({"x": 2}, lambda: (seen.append(partial(out).exists()), out.write_text("whole")))
    assert seen == ["half", False]


def test_a_stage_that_writes_nothing_is_an_error_and_until_stops(tmp_path):
    with pytest.raises(LisaxError, match="without writing"):
        Stages(tmp_path).run("s", lambda: None, outputs=[tmp_path / "missing"])
    with pytest.raises(Stopped):
        Stages(tmp_path, until="s").run("s", lambda: (tmp_path / "missing").write_text(""),
                                        outputs=[tmp_path / "missing"])
    assert json.loads((tmp_path / "stages" / "s.json").read_text())["seconds"] >= 0
