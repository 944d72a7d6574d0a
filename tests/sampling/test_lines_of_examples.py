"""Files of examples: lines read back equal, and a bad one is named with its line and field."""

import json

import pytest

from lisax.errors import DataError
from lisax.formats.examples import Example, Passage, read_examples, write_examples
from lisax.formats.parts import OperationExample, PartExample, PartKind
from lisax.formats.pointing import PointerExample
from lisax.formats.reading import PassageView, QuestionExample
from lisax.formats.tables import TableExample, TableView
from lisax.records import Label, Operation

PASSAGES = (Passage("a", "A", "text"), Passage("b", "B", ""))
CLAIM = Example("1", "c", PASSAGES, ("A", "B"), True)
LABELLED = Example("1", "Wer? שלום", PASSAGES, label=Label.REFUTES)
ROW = PartExample("q", "Who?", "t#r2", PartKind.ROW, ("year", "club", "note"), ("1923", "Varn", ""), True)
COLUMN = PartExample("p", "Wer? שלום", "t#c1", PartKind.COLUMN, ("club",), ("Tirol", " ", "Varn"))
HEADER = OperationExample("q", "Wer? שלום", "t", ("a", ""), Operation.MAX)
POINTED = PointerExample("1", "c", PASSAGES, Label.SUPPORTS, ((1,), (0, 1)))
TABLE = {"id": "t", "caption": "", "header": ["a"], "rows": [["1"]]}
TABLES = TableExample("1", "c", (TableView("t", "", ("a",), (("1",),)),), None, (True,))
READ = QuestionExample("q", "Who?", ("A",), (PassageView("a", "A", "A b", ((0, 1),)),))
ABSENT = object()


@pytest.mark.parametrize(
    "example, change, told",
    [
        (CLAIM, {"claim_id": ABSENT}, "field 'claim_id': the field is missing"),
        (LABELLED, {"label": "MAYBE"}, "field 'label': expected true"),
        (CLAIM, {"sentences": [{"id": "a", "title": "b"}]}, "field 'text'"),
        (CLAIM, {"sentences": [3]}, "field 'sentences': expected objects"),
        (CLAIM, {"entities": [3]}, "field 'entities': expected a list of strings"),
        (ROW, {"kind": "cell"}, "field 'kind': expected one of row, column"),
        (COLUMN, {"label": "true"}, "field 'label': expected true, false or null"),
        (ROW, {"header": ["a", "b"]}, "field 'header': expected 3 names, found 2"),
        (ROW, {"cells": ["a", 1, "c"]}, "field 'cells': expected a list of strings"),
        (HEADER, {"label": "mean"}, "field 'label': expected null or one of none, max"),
        (HEADER, {"header": ["a", 1]}, "field 'header': expected a list of strings"),
        (
            POINTED,
            {"candidates": [{"id": "a"}]},
            r"field 'candidates\[0\]': expected an object with id, title and text",
        ),
        (POINTED, {"sets": [[2]]}, r"field 'sets\[0\]': expected places from 0 to 1, found \[2\]"),
        (POINTED, {"label": True}, "field 'label': expected null or one of SUPPORTS"),
        (TABLES, {"tables": [TABLE | {"id": 3}]}, r"field 'tables\[0\].id': expected str, found 3"),
        (
            TABLES,
            {"tables": [TABLE | {"rows": [["1"], "x"]}]},
            r"field 'tables\[0\].rows\[1\]': expected a list of strings",
        ),
        (TABLES, {"tables": [TABLE | {"rows": [["1", "2"]]}]}, r".*rows\[0\]': expected 1 cells .* header, found 2"),
        (TABLES, {"tables": [TABLE | {"header": [1]}]}, r"field 'tables\[0\].header': expected a list of strings"),
        (READ, {"passages": [["x"]]}, "field 'passages'"),
        (TABLES, {"gold": [1]}, "field 'gold': expected 1 times true or false"),
    ],
)
def test_lines_read_back_and_bad_ones_are_named(tmp_path, example, change, told):
    path = tmp_path / "e.jsonl"
    assert write_examples(path, [example]) == 1 and list(read_examples(path, type(example))) == [example]
    row = {name: value for name, value in {**example.row(), **change}.items() if value is not ABSENT}
    with path.open("a") as file:
        file.write(json.dumps(row) + "\n")
    with pytest.raises(DataError, match=f"e.jsonl:2: {told}"):
        list(read_examples(path, type(example)))
