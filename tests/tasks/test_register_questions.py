"""A user's questions over tables as tasks: cells given or found, the whole way to scores, errors that name the line."""

from __future__ import annotations

import json

import numpy as np
import pytest
import read_tasks
import seqio
from read_tasks import forget, train_a_step, written

from lisax import world
from lisax.errors import DataError, LisaxError
from lisax.files.reading import read_json_lines
from lisax.files.writing import write_json, write_json_lines
from lisax.formats.examples import Example, Passage, read_examples
from lisax.formats.parts import TABLE_PARTS, PartExample, PartKind
from lisax.predict.model import Model
from lisax.records import Table, is_cell
from lisax.sampling import part_examples
from lisax.tasks.register import register, register_file
from lisax.training.export import export
from lisax.weights.model_folder import ModelFolder

pytestmark = pytest.mark.usefixtures("forget")

CLUBS = ["Tirol", "Varn", "Keld", "Ostra", "Mirra", "Lund"]
TABLES = [
    {
        "id": f"T{i}",
        "title": club,
        "header": ["year", "coach", "goals"],
        "rows": [[str(1900 + i + r), f"{club} Coach {r}", str(40 + i + r)] for r in range(3)],
    }
    for i, club in enumerate(CLUBS)
]
QUESTIONS = [
    {
        "id": i,
        "question": f"Who was {club}'s coach in {1901 + i}?",
        "answers": [f"{club} coach 1"],
        "evidence": [f"T{i}#r1c1"] if i % 2 else [f"T{i}"],
    }
    for i, club in enumerate(CLUBS)
]


@pytest.fixture
def folder(tmp_path):
    files = {"tables": TABLES, "questions.train": QUESTIONS[:4], "questions.dev": QUESTIONS[4:]}
    return written(tmp_path / "mine", files)


def test_tables_that_were_judged_wrong_give_negative_parts(folder):
    judged = [
        {"id": 0, "question": "?", "table": "T5", "relevant": False},
        {"id": 0, "question": "?", "table": "T4", "relevant": True},
        {"id": 1, "question": "?", "table": "T1", "relevant": False},  # it has the right cell: that counts
    ]
    write_json_lines(folder / "table_judgements.jsonl", [one | {"id": str(one["id"])} for one in judged])
    mine = register("mine", folder=folder, vocabulary="train")
    assert mine.counts == {"rows": {"train": 15, "dev": 6}, "columns": {"train": 15, "dev": 6}}
    rows = [(row["sentence_ids"].decode(), bool(row["relevant"])) for row in read("mine_rows")]
    assert [row for row in rows if row[0].startswith("T5")] == [(f"T5#r{i}", False) for i in range(3)]


def read(name, split="train"):
    return read_tasks.read(name, {"inputs": 128, "targets": 2}, split)


def test_a_folder_of_questions_gives_rows_columns_and_both(folder):
    mine = register("mine", folder=folder, vocabulary="train")
    assert mine.tasks == {"rows": "mine_rows", "columns": "mine_columns", "parts": "mine_parts"}
    assert mine.counts == {"rows": {"train": 12, "dev": 6}, "columns": {"train": 12, "dev": 6}}
    rows, columns = read("mine_rows"), read("mine_columns", "dev")
    assert [row["sentence_ids"].decode() for row in rows if row["relevant"]] == [f"T{i}#r1" for i in range(4)]
    assert [row["sentence_ids"].decode() for row in columns if row["relevant"]] == ["T4#c1", "T5#c1"]
    assert rows[1]["inputs_pretokenized"].decode() == (
        "query: Who was Tirol's coach in 1901? row: year : 1901 | coach : Tirol Coach 1 | goals : 41 relevant:"
    )
    assert columns[1]["inputs_pretokenized"].decode() == (
        "query: Who was Mirra's coach in 1905? column: coach | Mirra Coach 0 | Mirra Coach 1 | Mirra Coach 2 relevant:"
    )
    assert {row["targets_pretokenized"] for row in rows} == {b"true", b"false"}
    task = seqio.get_mixture_or_task("mine_rows")
    targets = [{"claim_id": "a", "relevant": True}, {"claim_id": "a", "relevant": False}]
    assert [function(targets, [-0.1, -0.1]) for function in task.score_metric_fns] == [{"mrr": 1.0, "hit@1": 1.0}]


def test_a_model_trained_on_them_scores_parts_from_its_bundle(folder, tmp_path):
    mine = register("mine", folder=folder, vocabulary="train")
    mine.write_gin(tmp_path / "mine.gin", model="t5_1_1_micro")
    text = (tmp_path / "mine.gin").read_text()
    assert "MIXTURE_OR_TASK_NAME = 'mine_parts'" in text and "24 training examples" in text
    train_a_step(tmp_path, {"inputs": 64, "targets": 2})
    model = Model.open(export(ModelFolder.find(tmp_path / "model"), tmp_path / "bundle"))
    assert (model.format, model.max_tokens) == (TABLE_PARTS, 64)
    table = Table("T", "Tirol", ("year", "coach"), (("1901", "Anna"), ("1902", "")))
    shares = model.probabilities(list(part_examples.parts_of("q", "Who was the coach in 1901?", table)))
    assert shares.shape == (4, 2) and np.allclose(shares.sum(axis=1), 1)
    with pytest.raises(LisaxError, match="'table_parts' takes PartExample, found Example"):
        model.probabilities([Example("", "Who?", (Passage("", "", "a text"),))])


def test_files_from_json_and_again(folder, tmp_path):
    write_json(
        tmp_path / "task.json",
        {
            "name": "theirs",
            "questions": {"train": "mine/questions.train.jsonl", "dev": "mine/questions.dev.jsonl"},
            "tables": "mine/tables.jsonl",
            "vocabulary": "bytes",
            "out": "built",
        },
    )
    theirs = register_file(tmp_path / "task.json")
    examples = list(read_examples(tmp_path / "built" / part_examples.file_name(PartKind.COLUMN, "dev"), PartExample))
    assert len(examples) == 6 and {example.kind for example in examples} == {PartKind.COLUMN}
    assert register_file(tmp_path / "task.json") == theirs  # once
    described = json.loads((tmp_path / "task.json").read_text())
    (tmp_path / "other.json").write_text(json.dumps(described | {"out": "elsewhere"}))
    with pytest.raises(LisaxError, match="already a task 'theirs_columns'"):
        register_file(tmp_path / "other.json")
    theirs.write_gin(tmp_path / "theirs.gin", "rows")
    assert "12 training examples" in (tmp_path / "theirs.gin").read_text()
    forget("theirs_")
    assert register_file(tmp_path / "theirs.json").counts == theirs.counts


def test_questions_that_no_cell_answers_are_left_out_and_counted(folder, caplog):
    write_json_lines(
        folder / "questions.train.jsonl",
        [*QUESTIONS[:2], QUESTIONS[2] | {"answers": ["Nobody"]}, QUESTIONS[4] | {"answers": ["44", "45"]}],
    )
    mine = register("mine", folder=folder, vocabulary="bytes")
    assert mine.counts["rows"] == {"train": 9, "dev": 6}
    assert f"{part_examples.NO_CELL}: 1" in caplog.text
    assert [row["sentence_ids"].decode() for row in read("mine_columns") if row["relevant"]][-1] == "T4#c2"


def test_a_folder_with_pages_too_is_told_by_evidence(folder):
    write_json_lines(folder / "pages.jsonl", [{"id": "P", "title": "P", "sentences": ["one"]}])
    write_json_lines(folder / "questions.train.jsonl", [QUESTIONS[1] | {"evidence": ["P_0", "T1#r1c1"]}])
    assert register("mine", folder=folder, vocabulary="bytes", evidence="cells").counts["rows"]["train"] == 3


def test_questions_of_a_world_that_its_text_answers_are_left_out_and_counted(tmp_path, caplog):
    world.write(tmp_path, 40)
    assert register("mine", folder=tmp_path, vocabulary="bytes", evidence="cells").counts["rows"]["train"]
    rows = [row for file in tmp_path.glob("questions.*.jsonl") for _, row in read_json_lines(file)]
    of_text = sum(not any(map(is_cell, row["evidence"])) for row in rows)
    assert of_text and f"{part_examples.NO_CELL}: {of_text}" in caplog.text


@pytest.mark.parametrize(
    "change, message",
    [
        (
            {"evidence": []},
            "field 'evidence': question '1' has no evidence: give the cells that answer it, or its table",
        ),
        ({"evidence": ["T9"]}, "field 'evidence': 'T9' of question '1' is not a table of the collection"),
        ({"evidence": ["T1#r3c0"]}, "field 'evidence': 'T1#r3c0' of question '1' is beyond the table's 3 rows"),
    ],
)
def test_bad_questions_are_named_and_nothing_is_registered(folder, change, message):
    write_json_lines(folder / "questions.train.jsonl", [QUESTIONS[0], QUESTIONS[1] | change])
    with pytest.raises(DataError, match=f"questions.train.jsonl:2: {message}"):
        register("mine", folder=folder, vocabulary="bytes")
    assert not [name for name in seqio.TaskRegistry.names() if name.startswith("mine_")]
    assert not (folder / "mine_tasks/dataset.json").exists()


def test_bad_calls_say_what_is_wrong(folder, tmp_path):
    with pytest.raises(LisaxError, match="or `questions` and `tables`"):
        register("mine", questions=folder / "questions.train.jsonl")
    with pytest.raises(LisaxError, match="no run is read for them"):
        register("mine", folder=folder, run="run.trec")
    with pytest.raises(LisaxError, match="`questions` must be a path, found 7"):
        register("mine", questions={"train": 7}, tables="t")
    write_json_lines(
        tmp_path / "claims.train.jsonl", [{"id": "1", "claim": "c", "label": "SUPPORTS", "evidence": [["T1"]]}]
    )
    write_json_lines(tmp_path / "tables.jsonl", TABLES)
    with pytest.raises(DataError, match="the folder has no questions"):
        register("mine", folder=tmp_path, evidence="cells")
    write_json_lines(folder / "questions.train.jsonl", [QUESTIONS[0] | {"answers": ["Nobody"]}])
    write_json_lines(folder / "questions.dev.jsonl", [QUESTIONS[1] | {"evidence": ["T1"], "answers": []}])
    with pytest.raises(DataError, match="none of the questions is answered by a cell"):
        register("mine", folder=folder, vocabulary="bytes")
