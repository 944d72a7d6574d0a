"""Questions that several cells answer: an oracle agrees, and no other question of the world changes for them."""

import collections
import json

import pytest

import lisax.world
from lisax.corpora import open_folder
from lisax.corpora.answer_cells import value_of
from lisax.corpora.check import check
from lisax.predict.aggregation import aggregate
from lisax.records import Operation, split_cell_id

SPLITS = ("train", "dev", "test")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """(a world without, the same with such questions)"""
    made = [tmp_path_factory.mktemp("world") for _ in range(2)]
    for folder, count in zip(made, (0, 2)):
        lisax.world.write(folder, 600, seed=5, claims_per_page=1, aggregations_per_table=count)
    return made


@pytest.fixture(scope="module")
def questions(folders):
    return [question for split in SPLITS for question in open_folder(folders[1]).questions(split)]


def test_other_questions_and_files_stay_as_they_are(folders):
    without, with_them = folders
    for split in SPLITS:
        before, after = (
            {row["id"]: row for row in map(json.loads, (folder / f"questions.{split}.jsonl").open())}
            for folder in folders
        )
        for name, row in before.items():
            same = dict(after.pop(name))
            assert same.pop("operation") in ("none", "max", "min") and same == row
        assert after and {row["kind"] for row in after.values()} == {"aggregation"}
    for path in without.glob("*.jsonl"):
        assert path.name.startswith("questions.") or path.read_bytes() == (with_them / path.name).read_bytes()
    assert check(with_them).sound


def test_an_oracle_makes_the_answers_of_the_operands(folders, questions):
    tables = {table.id: table for table in open_folder(folders[1]).tables()}
    seen = collections.Counter()
    for question in questions:
        if not question.operands:
            assert question.operation in (Operation.NONE, Operation.MAX, Operation.MIN)
            seen[question.operation] += 1
            continue
        places = {cell: split_cell_id(cell) for cell in question.operands}
        assert {(table, j) for table, _, j in places.values()} == {(*question.evidence, next(iter(places.values()))[2])}
        made = aggregate(question.operation, {cell: tables[table].rows[i][j] for cell, (table, i, j) in places.items()})
        assert made.left_out == 0 and [value_of(made.text)] == list(map(value_of, question.answers))
        seen[question.operation] += 1
    assert set(seen) == set(Operation) and min(seen.values()) > 20


def test_extremes_are_answered_by_their_cell(folders, questions):
    tables = {table.id: table for table in open_folder(folders[1]).tables()}
    extremes = [question for question in questions if question.operation in (Operation.MAX, Operation.MIN)]
    for question in extremes:
        (cell,) = question.evidence
        table, i, j = split_cell_id(cell)
        column = {f"{table}#r{k}c{j}": row[j] for k, row in enumerate(tables[table].rows)}
        assert value_of(aggregate(question.operation, column).text) == value_of(tables[table].rows[i][j])
