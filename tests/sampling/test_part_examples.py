"""Rows and columns of a table as examples: labels from answer cells, ids, and files that read back equal."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lisax.formats.examples import read_examples, write_examples
from lisax.formats.parts import PartExample, PartKind
from lisax.records import DataError, LisaxError, Table, cell_id
from lisax.sampling import part_examples
from lisax.sampling.part_examples import parts_of

TABLE = Table("t", "Clubs", ("year", "club", "note"), (("1921", "Tirol", ""), ("", " ", ""), ("1923", "Varn", "")))


def test_all_rows_then_all_columns_but_for_empty_ones():
    parts = list(parts_of("q", "Who?", TABLE, ["t#r2c1", "other#r0c0"]))
    assert [(part.unit_id, part.label) for part in parts] == [
        ("t#r0", False),
        ("t#r2", True),
        ("t#c0", False),
        ("t#c1", True),
    ]
    assert parts[1] == PartExample("q", "Who?", "t#r2", PartKind.ROW, TABLE.header, ("1923", "Varn", ""), True)
    assert parts[3] == PartExample("q", "Who?", "t#c1", PartKind.COLUMN, ("club",), ("Tirol", " ", "Varn"), True)
    assert parts[3].unit_ids == ["t#c1"]
    assert {part.label for part in parts_of("q", "Who?", TABLE)} == {None}
    assert {part.label for part in parts_of("q", "Who?", TABLE, [])} == {False}


def test_what_is_no_cell_is_refused():
    with pytest.raises(LisaxError, match="'t#r2' is not the id of a cell"):
        list(parts_of("q", "Who?", TABLE, ["t#r2"]))


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3))))
def test_a_part_is_true_exactly_where_a_cell_lies_in_it(places):
    table = Table("a#r1c1", "", ("x",) * 4, (("v",) * 4,) * 6)
    parts = {part.unit_id: part.label for part in parts_of("q", "Q", table, [cell_id("a#r1c1", *p) for p in places])}
    assert len(parts) == 10
    assert {unit for unit, label in parts.items() if label} == {
        f"a#r1c1#{part}" for i, j in places for part in (f"r{i}", f"c{j}")
    }


def test_written_examples_read_back_equal(tmp_path):
    path = tmp_path / part_examples.file_name(PartKind.ROW, "dev")
    assert path.name == "parts_rows.dev.jsonl"
    examples = [*parts_of("q", "Who?", TABLE, ["t#r2c1"]), *parts_of("p", "Wer? שלום", TABLE)]
    assert write_examples(path, examples) == 8
    assert list(read_examples(path, PartExample)) == examples


@pytest.mark.parametrize(
    "field, value, message",
    [
        ("kind", "cell", "field 'kind': expected one of row, column"),
        ("label", "true", "field 'label': expected true, false or null"),
        ("label", 1, "field 'label': expected true, false or null"),
        ("header", ["a", "b"], "field 'header': expected 3 names, found 2"),
        ("cells", ["a", 1, "c"], "field 'cells': expected a list of strings"),
        ("claim", 7, "field 'claim': expected str"),
    ],
)
def test_a_wrong_field_is_named(tmp_path, field, value, message):
    row = next(parts_of("q", "Who?", TABLE)).row()
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps(row) + "\n" + json.dumps(row | {field: value}) + "\n")
    with pytest.raises(DataError, match=rf"x.jsonl:2: {message}"):
        list(read_examples(path, PartExample))
