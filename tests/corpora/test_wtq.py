"""WikiTableQuestions: its own CSV, its TSV, the E2E sets, and which cells hold the answers."""

import json
from pathlib import Path

import pytest
from dataset_files import packed
from hypothesis import given, settings
from hypothesis import strategies as st

from lisax.corpora import open_folder, wtq
from lisax.corpora.answer_cells import NO_CELL, SEVERAL_COLUMNS
from lisax.corpora.check import check
from lisax.corpora.reading import Row, Watch
from lisax.documents.grid import Place
from lisax.errors import DataError
from lisax.records import Question, Table

CSV = (
    '"Year","Title","Chart\nUK","Note"\n"1969","The \\"Ring\\", again","60",""\n"1971","C:\\\\x","–","a|b"\n'
    '"1972","Prologue","60","1969"\n'
)
TRAINING = (
    "id\tutterance\tcontext\ttargetValue\n"
    "nt-0\twhen was\\nprologue?\tcsv/200-csv/0.csv\t1972\n"
    "nt-1\twhich places?\tcsv/200-csv/0.csv\t60|–\n"
    "nt-2\twhich note?\tcsv/200-csv/0.csv\ta\\pb\n"
    "nt-3\thow many?\tcsv/200-csv/0.csv\t3\n"
    "ns-4\twhich year?\tcsv/200-csv/0.csv\t1969\n"
)
E2E = {"id": "ns-4", "split": "train", "question": "Which year?", "table": "csv/200-csv/0.csv", "answers": ["1969"]}
CELL = "csv/200-csv/0.csv#r{}c{}"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data/training.tsv").write_text(TRAINING)
    (tmp_path / "pristine-seen-tables.tsv").write_text(
        TRAINING.replace("nt-", "dev-").replace("which note?", "what has \\\\x?").replace("a\\pb", "C:\\\\x")
    )
    (tmp_path / "e2e_train.jsonl").write_text(json.dumps(E2E) + "\n")
    (tmp_path / "csv/200-csv").mkdir(parents=True)
    (tmp_path / "csv/200-csv/0.csv").write_text(CSV)
    return tmp_path


def test_tables_and_questions(folder):
    dataset = open_folder(folder)
    assert (dataset.layout, dataset.question_splits) == ("wikitablequestions", ("train", "dev", "e2e_train"))
    rows = (("1969", 'The "Ring", again', "60", ""), ("1971", "C:\\x", "–", "a|b"), ("1972", "Prologue", "60", "1969"))
    assert list(dataset.tables()) == [Table("csv/200-csv/0.csv", "", ("Year", "Title", "Chart UK", "Note"), rows)]
    assert list(dataset.questions("train")) == [
        Question("nt-0", "when was prologue?", ("1972",), (CELL.format(2, 0),)),
        Question("nt-1", "which places?", ("60", "–"), tuple(CELL.format(i, 2) for i in range(3))),
        Question("nt-2", "which note?", ("a|b",), (CELL.format(1, 3),)),
        Question("nt-3", "how many?", ("3",), ("csv/200-csv/0.csv",)),
        Question("ns-4", "which year?", ("1969",), ("csv/200-csv/0.csv",)),
    ]  # in two columns
    dev = list(dataset.questions("dev"))
    assert [question.id for question in dev] == ["dev-0", "dev-1", "dev-2", "dev-3"]
    assert dev[2] == Question("dev-2", "what has \\x?", ("C:\\x",), (CELL.format(1, 1),))
    found = list(dataset.questions("e2e_train"))
    assert found == [Question("ns-4", "Which year?", ("1969",), (CELL.format(0, 0), CELL.format(2, 3)))]
    assert list(dataset.questions("test")) == []


def test_a_check_tells_how_many_have_cells(folder):
    summary = check(folder)
    assert summary.sound, summary.problems
    assert summary.counts == {
        "questions in train": 5,
        "questions in train answered by cells": 3,
        "questions in dev": 4,
        "questions in dev answered by cells": 3,
        "questions in e2e_train": 1,
        "questions in e2e_train answered by cells": 1,
        "tables": 1,
    }
    training = folder / "data/training.tsv"
    assert summary.warnings == (
        f"{NO_CELL}: 2, first at {training}:5",
        f"{SEVERAL_COLUMNS}: 1, first at {training}:6",
        f"questions of dev that e2e_train has too (left out): 1, first at {folder}/pristine-seen-tables.tsv:6",
    )


def test_training_questions_are_none_of_those_that_are_reported(folder):
    (folder / "e2e_dev.jsonl").write_text(json.dumps(E2E | {"id": "nt-0"}) + "\n")
    (folder / "e2e_test.jsonl").write_text(json.dumps(E2E | {"id": "nt-2"}) + "\n")
    dataset = open_folder(folder)
    assert [question.id for question in dataset.questions("train")] == ["nt-1", "nt-3", "ns-4"]
    assert [question.id for question in dataset.questions("e2e_test")] == ["nt-2"]
    assert check(folder).sound


def test_an_archive_reads_as_the_folder_does(folder):
    unpacked = list(open_folder(folder).tables())
    (folder / "csv/200-csv/0.csv").unlink()
    (folder / "csv/200-csv").rmdir()
    (folder / "csv").rmdir()
    with pytest.raises(DataError, match="expected WikiTableQuestions' tables as csv/ or csv.tar.gz"):
        open_folder(folder)
    (folder / "csv.tar.gz").write_bytes(packed(**{"csv/200-csv/0.csv": CSV}))
    assert list(open_folder(folder).tables()) == unpacked


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("targetValue", "answer", "training.tsv:1: expected the columns id, utterance, context, targetValue"),
        ("\t1972", "", "training.tsv:2: expected 4 fields separated by tabs, found 3"),
        ("nt-1", "nt-0", "training.tsv:3: field 'id': duplicate id 'nt-0', first on line 2"),
        (
            "how many?\tcsv/200-csv/0.csv",
            "how many?\tcsv/200-csv/1.csv",
            "training.tsv:5: field 'context': there is no table 'csv/200-csv/1.csv'",
        ),
    ],
)
def test_what_is_wrong_is_named(folder, old, new, message):
    (folder / "data/training.tsv").write_text(TRAINING.replace(old, new, 1))
    with pytest.raises(DataError, match=message):
        list(open_folder(folder).questions("train"))
    assert any(message in problem for problem in check(folder).problems)


def test_titles_of_pages(folder):
    (folder / "page/200-page").mkdir(parents=True)
    page = folder / "page/200-page/0.json"
    page.write_text('{"title": "Renaissance  (band)", "tableIndex": 0}')
    assert [table.title for table in open_folder(folder).tables()] == ["Renaissance (band)"]
    page.write_text('{"title": 5}')
    with pytest.raises(DataError, match="200-page/0.json: field 'title': expected a string, found 5"):
        list(open_folder(folder).tables())


@pytest.mark.parametrize(
    "content, message",
    [(b"", "the file is empty"), (b'"a\xff"', "byte 3 is not UTF-8"), (b'"a","b\n', "not separated values")],
)
def test_a_broken_table_is_named(folder, content, message):
    (folder / "csv/200-csv/1.csv").write_bytes(content)
    with pytest.raises(DataError, match=f"200-csv/1.csv.*{message}"):
        list(open_folder(folder).tables())


@settings(max_examples=150)
@given(
    st.text(st.sampled_from("ab|\\np\t 1")), st.binary(max_size=30) | st.text('a",\\\n', max_size=30).map(str.encode)
)
def test_whatever_a_file_holds_is_a_record_or_an_error_with_its_place(line, content):
    for parse in (
        lambda: wtq.parse_line(Row(dict.fromkeys(wtq.COLUMNS, line), Path("x.tsv"), 4, Watch())),
        lambda: wtq.parse_table("csv/1-csv/1.csv", content, Place(Path("x.csv"), None, Watch())),
    ):
        try:
            parse()
        except DataError as error:
            assert str(error).startswith("x.")
