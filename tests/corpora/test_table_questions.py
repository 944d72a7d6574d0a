"""WikiSQL, TabMCQ, NQ-tables and our own layout of questions over tables."""

import dataset_files
import pytest

from lisax.corpora import open_folder, plain
from lisax.corpora.answer_cells import NO_CELL, SEVERAL_COLUMNS
from lisax.corpora.check import check
from lisax.corpora.tabmcq import split_of
from lisax.errors import DataError
from lisax.records import Operation, Question, Table


def lines(path, *rows):
    dataset_files.lines(path, rows)


# --- WikiSQL --------------------------------------------------------------------------------

PLAYERS = {
    "id": "1-10",
    "header": ["Player", "No.", "Nat"],
    "types": ["text", "real", "text"],
    "page_title": "Roster",
    "section_title": "L",
    "rows": [["Antonio  Lang", 21, "US"], ["Voshon Lenard", 2.0, "US"], ["Luc Longley", 2.5, "AU"], ["", None, "us"]],
}


def query(question, sel, agg, *conditions, table="1-10"):
    return {
        "phase": 1,
        "question": question,
        "table_id": table,
        "sql": {"sel": sel, "agg": agg, "conds": list(conditions)},
    }


@pytest.fixture
def wikisql(tmp_path):
    lines(tmp_path / "data/train.tables.jsonl", PLAYERS)
    lines(
        tmp_path / "data/train.jsonl",
        query("Who has 21?", 0, 0, [1, 0, 21]),
        query("Highest?", 1, 1, [2, 0, "us"]),
        query("Lowest?", 1, 2),
        query("Who over 2 of the US?", 0, 0, [1, 1, "2"], [2, 0, "US"]),
        query("Who under 2.5?", 0, 0, [1, 2, 2.5]),
        query("How many?", 0, 3),
        query("Who has 7?", 0, 0, [1, 0, 7]),
    )
    return tmp_path


def test_wikisql_runs_its_queries(wikisql):
    dataset = open_folder(wikisql)
    assert (dataset.layout, dataset.question_splits) == ("wikisql", ("train",))
    assert list(dataset.tables()) == [
        Table(
            "1-10",
            "Roster",
            ("Player", "No.", "Nat"),
            (("Antonio Lang", "21", "US"), ("Voshon Lenard", "2", "US"), ("Luc Longley", "2.5", "AU"), ("", "", "us")),
            "L",
        )
    ]
    assert [(question.id, question.answers, question.evidence) for question in dataset.questions("train")] == [
        ("train:1", ("Antonio Lang",), ("1-10#r0c0",)),
        ("train:2", ("21",), ("1-10#r0c1",)),
        ("train:3", ("2",), ("1-10#r1c1",)),
        ("train:4", ("Antonio Lang",), ("1-10#r0c0",)),
        ("train:5", ("Voshon Lenard",), ("1-10#r1c0",)),
        ("train:6", (), ("1-10",)),
        ("train:7", (), ("1-10",)),
    ]
    summary = check(wikisql)
    assert summary.sound and summary.warnings == (f"{NO_CELL}: 2, first at {wikisql}/data/train.jsonl:6",)


def test_wikisql_says_the_operation_and_the_cells_that_it_is_of(wikisql):
    lines(
        wikisql / "data/train.jsonl",
        query("q", 1, 1),
        query("q", 1, 3, [2, 0, "us"]),
        query("q", 1, 4, [1, 1, 2]),
        query("q", 1, 5, [1, 0, 7]),
        query("q", 0, 0, [1, 0, 7]),
    )
    assert [
        (question.operation, question.evidence, question.operands)
        for question in open_folder(wikisql).questions("train")
    ] == [
        ("max", ("1-10#r0c1",), ()),
        ("count", ("1-10",), ("1-10#r0c1", "1-10#r1c1", "1-10#r3c1")),
        ("sum", ("1-10",), ("1-10#r0c1", "1-10#r2c1")),
        ("average", ("1-10",), ()),
        ("none", ("1-10",), ()),
    ]


def test_an_empty_cell_answers_no_question_of_wikisql(wikisql):
    lines(wikisql / "data/train.jsonl", query("q", 0, 0, [2, 0, "us"]), query("q", 0, 0, [1, 0, ""]))
    assert [(question.answers, question.evidence) for question in open_folder(wikisql).questions("train")] == [
        (("Antonio Lang", "Voshon Lenard"), ("1-10#r0c0", "1-10#r1c0")),
        ((), ("1-10",)),
    ]


@pytest.mark.parametrize(
    "question, message",
    [
        (query("q", 3, 0), "field 'sql.sel': expected a column of the table, found 3"),
        (query("q", 0, 9), "field 'sql.agg': expected 0 to 5, found 9"),
        (query("q", 0, 0, [0, 3, "x"]), r"field 'sql.conds\[0\]': expected \[column, operator, value\]"),
        (query("q", 0, 0, table="2"), "field 'table_id': there is no table '2'"),
    ],
)
def test_wikisql_names_what_is_wrong(wikisql, question, message):
    lines(wikisql / "data/train.jsonl", query("q", 0, 0, [1, 0, 21]), question)
    with pytest.raises(DataError, match=f"train.jsonl:2: {message}"):
        list(open_folder(wikisql).questions("train"))


# --- TabMCQ ---------------------------------------------------------------------------------

HEADER = [
    "QUESTION",
    "QUESTION-ALIGNMENT",
    *(f"CHOICE {i}" for i in range(1, 5)),
    "CORRECT CHOICE",
    "RELEVANT TABLE",
    "RELEVANT ROW",
    "RELEVANT COL",
]
MCQ = ["What changes ice to water?", "0,2", "adding heat", "a lid", "salt water", "wind", "1", "regents-7", "2", "4"]


@pytest.fixture
def tabmcq(tmp_path):
    (tmp_path / "Tables/regents").mkdir(parents=True)
    (tmp_path / "Tables/regents/7.tsv").write_text(
        "PHASE\t\tPHASE\t\tMEANS\ngas\tto\tliquid\tby\tcooling\nice\tto\twater\tby\tAdding heat\n"
    )
    write_mcqs(tmp_path, MCQ)
    return tmp_path


def write_mcqs(folder, row, number=20):
    (folder / "MCQs.tsv").write_text("\n".join("\t".join(fields) for fields in [HEADER, *[MCQ] * (number - 1), row]))


def test_tabmcq(tabmcq):
    dataset = open_folder(tabmcq)
    assert (dataset.layout, dataset.question_splits) == ("tabmcq", ("train", "dev", "test"))
    assert next(dataset.tables()) == Table(
        "regents-7",
        "",
        ("PHASE", "", "PHASE", "", "MEANS"),
        (("gas", "to", "liquid", "by", "cooling"), ("ice", "to", "water", "by", "Adding heat")),
    )
    assert list(dataset.questions("test")) == [
        Question("q20", MCQ[0], ("Adding heat", "adding heat"), ("regents-7#r1c4",))
    ]
    assert [split_of(number) for number in (1, 19, 20, 39, 40, 99, 100)] == (
        "dev dev test test train train dev".split()
    )
    assert check(tabmcq).sound


@pytest.mark.parametrize(
    "place, value, message",
    [
        (7, "regents-8", "field 'RELEVANT TABLE': there is no table 'regents-8'"),
        (8, "3", "field 'RELEVANT ROW': expected 1 to 2, found '3'"),
        (9, "x", "field 'RELEVANT COL': expected 0 to 4, found 'x'"),
        (6, "5", "field 'CORRECT CHOICE': expected 1 to 4, found '5'"),
        (0, "", "field 'QUESTION': the field is missing"),
    ],
)
def test_tabmcq_names_what_is_wrong(tabmcq, place, value, message):
    write_mcqs(tabmcq, [*MCQ[:place], value, *MCQ[place + 1 :]])
    with pytest.raises(DataError, match=f"MCQs.tsv:21: {message}"):
        list(open_folder(tabmcq).questions("test"))


def test_tabmcq_leaves_out_questions_over_several_tables_and_misses_no_column(tabmcq):
    write_mcqs(tabmcq, [*MCQ[:7], "regents-7&regents-8", *MCQ[8:]])
    summary = check(tabmcq)
    assert (
        summary.sound
        and summary.counts["questions in test"] == 0
        and "several tables (left out): 1" in (summary.warnings[0])
    )
    (tabmcq / "MCQs.tsv").write_text("QUESTION\n")
    with pytest.raises(DataError, match="MCQs.tsv:1: expected the columns .*; CHOICE 1 is missing"):
        list(open_folder(tabmcq).questions("dev"))
    for name in ("MCQs.tsv", "Tables/regents/8.tsv"):
        (tabmcq / name).write_text("")
        assert any(f"{name}: the file is empty" in problem for problem in check(tabmcq).problems)


# --- NQ-tables ------------------------------------------------------------------------------

CLUBS = {
    "tableId": "Tirol United_1A",
    "documentTitle": "Tirol United",
    "columns": [{"text": "year"}, {"text": "club"}],
    "rows": [{"cells": [{"text": "1921"}, {"text": "Tirol"}]}, {"cells": [{}, {"text": "1921"}]}],
}


def interaction(number, *questions, table=CLUBS):
    return {"id": f"dev_{number}", "table": table, "questions": list(questions)}


def asked(number, *answers, **coordinates):
    first, *others = [{"answerTexts": list(texts)} for texts in answers]
    return {
        "id": f"dev_{number}",
        "originalText": "which  club",
        "answer": first | coordinates,
        "alternativeAnswers": others,
    }


@pytest.fixture
def nq_tables(tmp_path):
    lines(tmp_path / "tables/tables.jsonl", CLUBS)
    by_name = {"tableId": CLUBS["tableId"], "documentTitle": "", "columns": [], "rows": []}
    lines(
        tmp_path / "interactions/dev.jsonl",
        interaction(0, asked("0_0", ["tirol"], ["Varn"])),
        interaction(1, asked("1_0", ["1921"]), table=by_name),
        interaction(
            2, asked("2_0", ["x"], answerCoordinates=[{"rowIndex": 1, "columnIndex": 1}]), asked("2_1", ["nothing"])
        ),
    )
    return tmp_path


def test_nq_tables(nq_tables):
    dataset = open_folder(nq_tables)
    assert (dataset.layout, dataset.question_splits) == ("nq_tables", ("dev",))
    assert list(dataset.tables()) == [
        Table(
            "Tirol_United_1A",
            "Tirol United",
            ("year", "club"),
            (("1921", "Tirol"), ("", "1921")),
            original_id="Tirol United_1A",
        )
    ]
    assert list(dataset.questions("dev")) == [
        Question("dev_0_0", "which club", ("tirol", "Varn"), ("Tirol_United_1A#r0c1",)),
        Question("dev_1_0", "which club", ("1921",), ("Tirol_United_1A",)),
        Question("dev_2_0", "which club", ("x",), ("Tirol_United_1A#r1c1",)),
        Question("dev_2_1", "which club", ("nothing",), ("Tirol_United_1A",)),
    ]
    summary = check(nq_tables)
    path = nq_tables / "interactions/dev.jsonl"
    assert summary.sound and summary.warnings == (
        f"{SEVERAL_COLUMNS}: 1, first at {path}:2",
        f"{NO_CELL}: 1, first at {path}:3",
    )


def test_an_empty_cell_answers_no_question_of_nq_tables(nq_tables):
    empty = {"rowIndex": 1}  # in column 0
    lines(
        nq_tables / "interactions/dev.jsonl",
        interaction(
            0,
            asked("0_0", ["x"], answerCoordinates=[empty]),
            asked("0_1", ["x"], answerCoordinates=[empty, {"rowIndex": 1, "columnIndex": 1}]),
        ),
    )
    assert [question.evidence for question in open_folder(nq_tables).questions("dev")] == [
        ("Tirol_United_1A",),
        ("Tirol_United_1A#r1c1",),
    ]


@pytest.mark.parametrize(
    "row, message",
    [
        (interaction(3, asked("0_0", ["x"])), "field 'questions': duplicate id 'dev_0_0'"),
        (
            interaction(3, asked("3_0", ["x"], answerCoordinates=[{"rowIndex": 9}])),
            "field 'answerCoordinates': the table",
        ),
        (interaction(3, table={"tableId": "other"}), "field 'table.tableId': there is no table 'other'"),
    ],
)
def test_nq_tables_names_what_is_wrong(nq_tables, row, message):
    lines(nq_tables / "interactions/dev.jsonl", interaction(0, asked("0_0", ["tirol"])), row)
    with pytest.raises(DataError, match=f"dev.jsonl:2: {message}"):
        list(open_folder(nq_tables).questions("dev"))


# --- Our own layout -------------------------------------------------------------------------


def test_operations_and_operands_read_back_equal(tmp_path):
    path = tmp_path / "questions.train.jsonl"
    made = [
        Question("1", "q?", ("3",), ("t",), operation=Operation.SUM, operands=("t#r0c0", "t#r1c0")),
        Question("2", "q?", ("a",), ("t#r0c0",), operation=Operation.NONE),
        Question("3", "q?"),
    ]
    plain.write_questions(path, made)
    assert list(plain.read_questions(path)) == made
    for field, value, message in (
        ("operation", "mean", "expected one of none, max, min, count, sum, average"),
        ("operands", ["t#r0c0", "t#r1"], r"field 'operands\[1\]': 't#r1' is not the"),
    ):
        lines(path, {"id": 1, "question": "q?"}, {"id": 2, "question": "q?", field: value})
        with pytest.raises(DataError, match=f"questions.train.jsonl:2: .*{message}"):
            list(plain.read_questions(path))


def test_questions_and_tables_alone_are_a_dataset(tmp_path):
    lines(tmp_path / "tables.jsonl", {"id": "t", "title": "", "header": ["h"], "rows": [["a"]]})
    lines(
        tmp_path / "questions.train.jsonl",
        {"id": 1, "question": "q?", "answers": ["a"], "evidence": ["t#r0c0"]},
        {"id": 2, "question": "q?", "answers": ["a"], "evidence": ["t"]},
    )
    dataset = open_folder(tmp_path)
    assert (dataset.layout, dataset.question_splits, list(dataset.documents())) == ("plain", ("train",), [])
    summary = check(tmp_path)
    assert summary.sound and summary.counts == {
        "questions in train": 2,
        "questions in train answered by cells": 1,
        "tables": 1,
    }
