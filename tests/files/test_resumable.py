"""Files that grow group by group are the same however often they were interrupted."""

import hashlib
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisax.files.resumable import content_print, partial, resumable_groups

# What stands in runs and predictions, and what looks like the marks between groups but is none.
LINES = st.one_of(
    st.text(st.characters(exclude_characters="\n\r", codec="utf-8"), max_size=5),
    st.sampled_from(
        ["#1 Q0 T#r0c1 1 0.5 t", "#group", "#group 0 Q0 d 1 1 t", "#group 00", " #group 1", "#from x", "#"]
    ),
)
GROUPS = [
    ["#1 Q0 Tärn#r0c1 1 0.5 t", "#group 1 Q0 d#e2 2 0.25 t"],
    [],
    ["#group 0 Q0 d 1 1 t"],
    ['{"id": "#2"}', "", "#"],
]


@pytest.fixture(autouse=True, scope="module")
def no_waiting_for_the_disk():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda file: None)
        yield


class Stop(Exception):
    pass


def stopped_after(folder, groups, finished, made_from=""):
    """The bytes that a call leaves which is interrupted once so many groups are written."""
    left = folder / f"stopped{finished}"

    def work(group):
        nonlocal finished
        if not finished:
            raise Stop
        finished -= 1
        return group

    with pytest.raises(Stop):
        resumable_groups(left, lambda done: map(work, groups[done:]), made_from)
    return partial(left).read_bytes()


def resumed(file, groups, gathered, made_from=""):
    """The groups that are worked on again after an interruption that left these bytes."""
    again = []
    partial(file).write_bytes(gathered)
    resumable_groups(file, lambda done: (again.append(group) or group for group in groups[done:]), made_from)
    assert not partial(file).exists()
    return again


def test_what_other_inputs_began_is_not_continued(tmp_path):
    longest = stopped_after(tmp_path, GROUPS, 3, "these")
    assert resumed(tmp_path / "file", GROUPS, longest, "these") == GROUPS[3:]
    assert resumed(tmp_path / "file", GROUPS, longest, "others") == GROUPS


@settings(max_examples=60)
@given(groups=st.lists(st.lists(LINES, max_size=3), min_size=1, max_size=6), data=st.data())
def test_lines_cut_at_any_byte_are_completed_to_the_same_file(tmp_path_factory, groups, data):
    folder = tmp_path_factory.mktemp("lines")
    resumable_groups(folder / "whole", lambda done: groups[done:])
    lines = "".join(line + "\n" for group in groups for line in group)
    assert (folder / "whole").read_bytes() == lines.encode()
    written = stopped_after(folder, groups, data.draw(st.integers(0, len(groups) - 1)))
    again = resumed(folder / "cut", groups, written[: data.draw(st.integers(0, len(written)))])
    assert again == groups[len(groups) - len(again) :]
    assert (folder / "cut").read_bytes() == lines.encode()


def test_a_copy_of_data_has_the_same_print_and_other_content_another(tmp_path):
    data, known = tmp_path / "data", tmp_path / "digests.json"
    data.mkdir()
    (data / "a").write_text("one")
    (data / "b").write_text("two")
    first = content_print(data, known)
    assert [name for name, *_ in first] == ["a", "b"]
    os.utime(data / "a", (1, 1))  # as data that is fetched again
    assert content_print(data, known) == first
    (data / "a").write_text("ten")
    assert content_print(data, known) != first


@pytest.mark.parametrize("content", ["", "[", "[]", "7", '{"a": 7}'])
def test_digests_that_cannot_be_read_are_computed(tmp_path, content):
    (tmp_path / "a").write_text("one")
    (tmp_path / "digests.json").write_text(content)
    (found,) = content_print(tmp_path / "a", tmp_path / "digests.json")
    assert found[1:] == [3, hashlib.sha256(b"one").hexdigest()]


def test_a_file_with_its_known_size_and_time_is_not_read_again(tmp_path):
    path, known = tmp_path / "a", tmp_path / "digests.json"
    path.write_text("one")
    first, then = content_print(path, known), path.stat()
    path.write_text("two")
    os.utime(path, ns=(then.st_atime_ns, then.st_mtime_ns))
    assert content_print(path, known) == first
