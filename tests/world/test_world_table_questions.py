"""Questions over the world's tables: an oracle reads question and table, and every kind is there in enough variety."""

import collections
import json
import re

import pytest

import lisax.world
from lisax.corpora import open_folder
from lisax.corpora.check import check
from lisax.formats.parts import PartKind
from lisax.records import is_cell, split_cell_id
from lisax.sampling.part_examples import examples
from lisax.world.table_questions import QUESTIONS_PER_TABLE, SHARES


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    lisax.world.write(folder, 1500, seed=7, claims_per_page=1)
    return folder


@pytest.fixture(scope="module")
def tables(folder):
    return {table.id: table for table in open_folder(folder).tables()}


@pytest.fixture(scope="module")
def questions(folder):
    files = [folder / f"questions.{split}.jsonl" for split in ("train", "dev", "test")]
    rows = (json.loads(line) for path in files for line in path.read_text().splitlines())
    return [row for row in rows if row["kind"] in SHARES]


def number(text):
    return int(text.replace(",", ""))


def test_every_kind_is_there_of_series_and_of_lists_and_answers_stand_in_the_cells(questions, tables):
    kinds = collections.Counter()
    for question in questions:
        cells = [split_cell_id(unit) for unit in filter(is_cell, question["evidence"])]
        assert cells and all(tables[table].rows[i][j] in question["answers"] for table, i, j in cells)
        kinds[question["kind"], tables[cells[0][0]].header[0] == "year"] += 1
    assert {kind for kind, _ in kinds} == set(SHARES)
    assert set(kinds) == {(kind, series) for kind in SHARES for series in (True, False)} - {("neighbour", False)}
    assert min(kinds.values()) > 0.02 * len(questions)
    per_table = collections.Counter(unit.partition("#")[0] for q in questions for unit in q["evidence"][:1])
    assert len(questions) > 0.8 * QUESTIONS_PER_TABLE * len(per_table)


def test_wordings_vary_and_answers_are_spread_over_rows_and_columns(questions, tables):
    starts = collections.Counter(" ".join(q["question"].split()[:2]) for q in questions)
    assert starts.most_common(1)[0][1] < 0.25 * len(questions)
    wordings = {re.sub(r"[A-Z][\w'-]*|[\d,]+", "*", q["question"]) for q in questions}
    assert len(wordings) > 600
    rows, columns = collections.Counter(), collections.Counter()
    for question in questions:
        _, i, j = split_cell_id(question["evidence"][0])
        rows[min(i, 4)] += 1
        columns[min(j, 3)] += 1
    assert all(count > 0.05 * len(questions) for count in (*rows.values(), *columns.values()))


def test_an_oracle_agrees_on_superlatives_and_comparisons_of_series(questions, tables):
    seen = collections.Counter()
    for question in questions:
        table_id, i, j = split_cell_id(question["evidence"][0])
        table, text = tables[table_id], question["question"]
        if table.header[0] != "year":
            continue
        named = next((k for k, name in enumerate(table.header) if k and re.search(rf"\b{name}\b", text, re.I)), None)
        if named is None:
            continue
        column = [number(row[named]) for row in table.rows]
        if question["kind"] == "superlative":
            low = re.search(r"\b(lowest|smallest|least|fewest)\b", text, re.I)
            assert column[i] == (min if low else max)(column) and column.count(column[i]) == 1
            assert j in (0, named)
        elif question["kind"] == "compare":
            years = [k for k, row in enumerate(table.rows) if row[0] in text]
            less = re.search(r"\b(lower|smaller|less)\b", text, re.I)
            assert len(years) == 2 and i == (min if less else max)(years, key=column.__getitem__)
        else:
            continue
        seen[question["kind"]] += 1
    assert min(seen.values()) > 50 and len(seen) == 2


def test_questions_by_a_cell_have_one_answer(questions, tables):
    for question in questions:
        if question["kind"] not in ("reverse", "conjunction"):
            continue
        table_id, i, _ = split_cell_id(question["evidence"][0])
        assert len(question["evidence"]) == 1
        table = tables[table_id]
        # Some cell of the row is told in the question, and no other row has all that is told.
        told = [k for k in range(1, len(table.header)) if table.rows[i][k].partition(" (")[0] in question["question"]]
        assert told and sum(all(row[k] == table.rows[i][k] for k in told) for row in table.rows) == 1


def test_the_world_reads_as_a_dataset_and_gives_rows_and_columns(folder, tables):
    assert check(folder).sound
    with_cells = [q for q in open_folder(folder).questions("dev") if any(map(is_cell, q.evidence))]
    asked = [(question, ()) for question in with_cells]
    labels = collections.Counter(
        (part.kind, part.label) for kind in PartKind for part in examples(asked, kind, tables.get)
    )
    assert labels["row", True] >= len(with_cells) and labels["column", True] >= len(with_cells)
    assert labels["row", False] > labels["row", True]
