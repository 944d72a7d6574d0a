"""InfoTabs' hypotheses and info-boxes."""

import json

import pytest
from dataset_files import packed

from lisax.corpora import open_folder, read_claims
from lisax.corpora.check import check
from lisax.documents import csv_tables
from lisax.errors import DataError
from lisax.records import Claim, Label, Table

BOX = '{"title": ["Boy George"], "Genres": ["soul", "pop"], "Born": "1961", "Genres": [" disco"]}'
CLAIMS = (
    "annotater_id\ttable_id\thypothesis\tlabel\nG\tT0\tHe was born in 1961.\tE\n"
    'G\tT0\t"He sang ""soul"", only."\tC\nG\tT1\tHe  is tall.\tN\n'
)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "infotabs_train.tsv").write_text(CLAIMS)
    (tmp_path / "infotabs_test_alpha1.tsv").write_text(CLAIMS)
    boxes = packed(**{"tables/json/T0.json": BOX, "tables/json/T1.json": '{"title": []}'})
    (tmp_path / "tables.tar.gz").write_bytes(boxes)
    return tmp_path


def test_claims_and_info_boxes(folder):
    dataset = open_folder(folder)
    assert (dataset.layout, dataset.splits) == ("infotabs", ("train", "test_alpha1"))
    claims = [
        Claim("train:T0:0", "He was born in 1961.", Label.SUPPORTS, (("T0",),)),
        Claim("train:T0:1", 'He sang "soul", only.', Label.REFUTES, (("T0",),)),
        Claim("train:T1:0", "He is tall.", Label.NOT_ENOUGH_INFO, (("T1",),)),
    ]
    assert list(dataset.claims("train")) == list(dataset.table_claims("train")) == claims
    assert list(read_claims(folder / "infotabs_train.tsv")) == list(dataset.claims("train"))
    assert list(dataset.tables()) == [
        Table("T0", "Boy George", ("key", "value"), (("Genres", "soul, pop"), ("Born", "1961"), ("Genres", "disco"))),
        Table("T1", "", ("key", "value"), ()),
    ]
    summary = check(folder)
    assert summary.sound and summary.counts["tables"] == 2
    assert summary.warnings == (
        f"info-boxes with a key twice (each keeps its row): 1, first at {folder}/tables.tar.gz/tables/json/T0.json",
    )


def test_an_info_box_that_is_there_twice_is_a_problem(folder):
    boxes = packed(**dict.fromkeys(("json/T0.json", "json/T1.json", "more/T1.json"), BOX))
    (folder / "tables.tar.gz").write_bytes(boxes)
    (problem,) = check(folder).problems
    assert "more/T1.json" in problem and "duplicate id 'T1', first at" in problem


def test_unpacked_boxes(folder):
    packed = list(open_folder(folder).tables())
    (folder / "tables.tar.gz").unlink()
    with pytest.raises(DataError, match="expected InfoTabs' info-boxes as tables.tar.gz"):
        open_folder(folder)
    (folder / "json").mkdir()
    (folder / "json/T0.json").write_text(BOX)
    (folder / "json/T1.json").write_text('{"title": []}')
    assert list(open_folder(folder).tables()) == packed


@pytest.mark.parametrize(
    "line, said",
    [
        ("G\tT0\tc", "infotabs_train.tsv:2: expected 4 fields separated by tabs, found 3"),
        ("G\tT0\tc\tX", "infotabs_train.tsv:2: field 'label': unknown label 'X'; expected 'E', 'C', 'N'"),
        ("G\tT 0\tc\tE", "infotabs_train.tsv:2: field 'table_id': an id must be non-empty and without white space"),
        ("G\tT0\t \tE", "infotabs_train.tsv:2: field 'hypothesis': the text is empty"),
    ],
)
def test_broken_lines_are_problems(folder, line, said):
    (folder / "infotabs_train.tsv").write_text(f"annotater_id\ttable_id\thypothesis\tlabel\n{line}\n")
    assert any(said in problem for problem in check(folder).problems)
    (folder / "infotabs_train.tsv").write_text("a\tb\n")
    assert any("hypothesis, label, table_id is missing" in problem for problem in check(folder).problems)


def test_a_giant_text_is_a_problem_with_its_place(folder, monkeypatch):
    monkeypatch.setattr(csv_tables, "LONGEST_ROW", 30)
    assert any(
        "train.tsv:3: not separated values: the row has more than 30 characters" in problem
        for problem in check(folder).problems
    )


@pytest.mark.parametrize(
    "box, said",
    [
        ([1], "expected one JSON object"),
        ({"a": 1}, "field 'a': expected a list of"),
        ({"a": [1]}, "field 'a': expected a list of strings"),
    ],
)
def test_broken_boxes_are_problems(folder, box, said):
    (folder / "tables.tar.gz").unlink()
    (folder / "json").mkdir()
    (folder / "json/T0.json").write_text(json.dumps(box))
    assert any(said in problem for problem in check(folder).problems)
