"""Stages are skipped, made again and continued exactly when they should be."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisax.pipelines.stages import Stages, Stopped, partial, resumable_lines
from lisax.records import LisaxError


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


@settings(max_examples=60, deadline=None)
@given(groups=st.lists(st.lists(st.text(st.characters(exclude_characters="\n\r#", codec="utf-8"), max_size=5),
                                max_size=3), max_size=6), data=st.data())
def test_lines_cut_at_any_byte_are_completed_to_the_same_file(tmp_path_factory, groups, data):
    folder = tmp_path_factory.mktemp("lines")
    whole, cut = folder / "whole", folder / "cut"
    resumable_lines(whole, groups, lambda group: group)

    class Stop(Exception):
        pass

    stop_at = data.draw(st.integers(0, len(groups)))
    reached = iter(range(len(groups) + 1))

    def until(group):
        if next(reached) == stop_at:
            raise Stop
        return group

    try:
        resumable_lines(cut, groups, until)
    except Stop:
        written = partial(cut).read_bytes()
        partial(cut).write_bytes(written[:data.draw(st.integers(0, len(written)))])
        resumable_lines(cut, groups, lambda group: group)
    assert cut.read_bytes() == whole.read_bytes()
    assert not partial(cut).exists()
