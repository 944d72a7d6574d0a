"""Files of text and JSON Lines: exact errors, atomic writing."""

import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lisax.errors import DataError
from lisax.files.reading import get_field, read_json_lines, read_lines
from lisax.files.writing import write_json_lines


def write(path, data: bytes):
    path.write_bytes(data)
    return path


def test_lines_come_with_their_numbers_and_blank_ones_are_skipped(tmp_path):
    path = write(tmp_path / "a.txt", "one\r\n\n  \ntwo\u2028still two".encode())
    assert list(read_lines(path)) == [(1, "one"), (4, "two\u2028still two")]


@pytest.mark.parametrize(
    "data, said",
    [
        (b"", r"a\.jsonl: the file is empty"),
        (b"\n \n", r"a\.jsonl: the file is empty"),
        ('{"a": 1}\n{"a": "José"}\n'.encode("latin1"), r"a\.jsonl:2: byte 11 is not UTF-8 \(0xe9\).*Latin1, .*latin1"),
        ('{"a": 1}'.encode("utf-16"), r"a\.jsonl:1: byte 1 is not UTF-8 .*UTF-16, .*utf-16 -t utf-8"),
        (b'{"a": 1}\n{"a": \n', r"a\.jsonl:2: not valid JSON"),
        (b'{"a": 1}\n[1]\n', r"a\.jsonl:2: expected a JSON object, found list"),
        (b'{"a": "\\ud800"}\n', r"a\.jsonl:1: .*surrogate"),
        (b'{"a": ' + b"1" * 5000 + b"}\n", r"a\.jsonl:1: not valid JSON"),
        (b"[" * 100_000, r"a\.jsonl:1: not valid JSON"),
    ],
)
def test_bad_files_are_refused_with_their_place(tmp_path, data, said):
    with pytest.raises(DataError, match=said):
        list(read_json_lines(write(tmp_path / "a.jsonl", data)))


def test_a_byte_order_mark_is_passed_over(tmp_path):
    path = write(tmp_path / "a.jsonl", b'\xef\xbb\xbf{"a": 1}\n{"a": 2}\n')
    assert list(read_json_lines(path)) == [(1, {"a": 1}), (2, {"a": 2})]


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DataError, match="expected a file, found a folder"):
        list(read_json_lines(tmp_path))
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match="found a pipe or a device: write it to a file first"):
        list(read_lines(tmp_path / "pipe"))
    with pytest.raises(DataError, match="nowhere.jsonl: no such file"):
        list(read_json_lines(tmp_path / "nowhere.jsonl"))


def test_a_surrogate_pair_is_a_character(tmp_path):
    path = write(tmp_path / "a.jsonl", b'{"a": "\\ud83d\\ude00"}\n')
    assert list(read_json_lines(path)) == [(1, {"a": "😀"})]


@pytest.mark.parametrize(
    "row, kind, said",
    [
        ({}, str, "field 'f': the field is missing"),
        ({"f": 1}, str, "field 'f': expected str, found 1"),
        ({"f": True}, int, "field 'f': expected int, found true"),
        ({"f": None}, (str, int), "field 'f': expected str or int, found null"),
    ],
)
def test_a_wrong_field_is_named(row, kind, said):
    with pytest.raises(DataError, match=f"p:3: {said}"):
        get_field(row, "f", kind, path="p", line=3)


def test_a_failed_write_leaves_what_was_there(tmp_path):
    path = write(tmp_path / "out.jsonl", b"before")

    def rows():
        yield {"a": 1}
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError):
        write_json_lines(path, rows())
    assert path.read_bytes() == b"before"
    assert os.listdir(tmp_path) == ["out.jsonl"]


@given(st.lists(st.dictionaries(st.text(), st.none() | st.integers() | st.text()), min_size=1, max_size=5))
def test_rows_read_back_equal(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    assert write_json_lines(path, rows) == len(rows)
    assert [row for _, row in read_json_lines(path)] == rows
    assert json.loads(path.read_text("utf-8").split("\n")[0]) == rows[0]
