"""Example records of rows and columns: a question with one part of a table, and whether the answer stands in it.

Every row and column of a table that answers a question is an example: all negatives are kept, as CLTR's authors do.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path

from lisax.formats.parts import PartExample, PartKind
from lisax.records import (
    Question,
    Table,
    atomic_write,
    column_id,
    is_cell,
    row_id,
    split_cell_id,
)

PARTS = "parts"
NO_CELL = "a question that no cell is known to answer"


def file_name(kind: PartKind, role: str) -> str:
    """The file of the examples of one kind for training, dev or test."""
    return f"{PARTS}_{kind}s.{role}.jsonl"


def parts_of(
    question_id: str, question: str, table: Table, answer_cells: Collection[str] | None = None
) -> Iterator[PartExample]:
    """All rows of a table, then all of its columns, but for those without any text.

    `answer_cells` are ids of cells; those of other tables make no part of this one true. None: nothing is known,
    and the parts have no label.
    """
    places = {cell[1:] for cell in map(split_cell_id, answer_cells or ()) if cell[0] == table.id}
    rows, columns = {i for i, _ in places}, {j for _, j in places}

    def label(true: bool) -> bool | None:
        return None if answer_cells is None else true

    for i, cells in enumerate(table.rows):
        if any(map(str.strip, cells)):
            yield PartExample(
                question_id, question, row_id(table.id, i), PartKind.ROW, table.header, cells, label(i in rows)
            )
    for j, name in enumerate(table.header):
        cells = tuple(row[j] for row in table.rows)
        if any(map(str.strip, cells)):
            yield PartExample(
                question_id, question, column_id(table.id, j), PartKind.COLUMN, (name,), cells, label(j in columns)
            )


def answering_cells(question: Question) -> dict[str, list[str]]:
    """Table -> its cells among the question's evidence; other evidence does not count."""
    cells: dict[str, list[str]] = {}
    for unit in filter(is_cell, question.evidence):
        cells.setdefault(split_cell_id(unit)[0], []).append(unit)
    return cells


def labelled(
    questions: Iterable[Question], lookup: Callable[[str], Table | None], *, skipped: Counter | None = None
) -> Iterator[PartExample]:
    """The parts of each question with each table that answers it; what has no such table is counted in `skipped`."""
    skipped = Counter() if skipped is None else skipped
    for question in questions:
        answering = answering_cells(question)
        if not answering:
            skipped[NO_CELL] += 1
        for table_id, cells in answering.items():
            table = lookup(table_id)
            if table is None:
                skipped["a table that is not in the collection"] += 1
            else:
                yield from parts_of(question.id, question.text, table, cells)


def write_all(
    folder: str | os.PathLike,
    role: str,
    questions: Iterable[Question],
    lookup: Callable[[str], Table | None],
    *,
    skipped: Counter | None = None,
) -> dict[PartKind, int]:
    """Writes `labelled` to the files of both kinds; returns the number of examples of each."""
    counts = dict.fromkeys(PartKind, 0)
    with contextlib.ExitStack() as stack:
        files = {kind: stack.enter_context(atomic_write(Path(folder) / file_name(kind, role))) for kind in PartKind}
        for example in labelled(questions, lookup, skipped=skipped):
            files[example.kind].write(json.dumps(example.row(), ensure_ascii=False) + "\n")
            counts[example.kind] += 1
    return counts
