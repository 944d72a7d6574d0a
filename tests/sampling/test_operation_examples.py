"""Headers of tables as examples: whose operation is known, and files that read back equal."""

import json

import pytest

from lisax.errors import DataError
from lisax.formats.examples import read_examples, write_examples
from lisax.formats.parts import OperationExample
from lisax.records import Operation, Question, Table
from lisax.sampling import operation_examples

TABLES = {name: Table(name, "", ("year", "club"), (("1921", "Tirol"),)) for name in ("t", "u")}


def test_one_of_each_question_whose_operation_and_table_are_known():
    questions = [
        Question("a", "A?", evidence=("u#r0c0", "t#r0c0"), operation=Operation.MAX),
        Question("b", "B?", evidence=("page_3", "t"), operation=Operation.COUNT),
        Question("c", "C?", evidence=("t#r0c0",)),
        Question("d", "D?", evidence=("v",), operation=Operation.SUM),
    ]
    assert list(operation_examples.examples(questions, TABLES.get)) == [
        OperationExample("a", "A?", "u", ("year", "club"), Operation.MAX),
        OperationExample("b", "B?", "t", ("year", "club"), Operation.COUNT),
    ]


def test_written_examples_read_back_equal(tmp_path):
    path = tmp_path / operation_examples.file_name("dev")
    examples = [OperationExample("q", "Wer? שלום", "t", ("a", ""), label) for label in (*Operation, None)]
    assert path.name == "operations.dev.jsonl" and write_examples(path, examples) == 7
    assert list(read_examples(path, OperationExample)) == examples
    assert examples[0].unit_ids == ["t"]


@pytest.mark.parametrize(
    "field, value, message",
    [
        ("label", "mean", "field 'label': expected null or one of none, max"),
        ("header", ["a", 1], "field 'header': expected a list of strings"),
    ],
)
def test_a_wrong_field_is_named(tmp_path, field, value, message):
    row = OperationExample("q", "Q", "t", ("a",)).row()
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps(row) + "\n" + json.dumps(row | {field: value}) + "\n")
    with pytest.raises(DataError, match=rf"x.jsonl:2: {message}"):
        list(read_examples(path, OperationExample))
