"""Example records of rows and columns: a question with one part of a table, and whether the answer stands in it.

Every row and column of a table that answers a question is an example: all negatives are kept, as CLTR's authors do.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path

from lisax.formats.parts import PartKind
from lisax.records import (
    DataError,
    Question,
    Table,
    atomic_write,
    column_id,
    get_field,
    get_strings,
    is_cell,
    read_json_lines,
    row_id,
    split_cell_id,
    write_json_lines,
)

PARTS = "parts"
NO_CELL = "a question that no cell is known to answer"


@dataclasses.dataclass(frozen=True, slots=True)
class PartExample:
    """A question (`claim`, as in every example) and a row or column; `label`: is the answer in it? None: unknown.

    `header` holds the name of every cell of a row, or the one name of a column.
    """

    claim_id: str
    claim: str
    unit_id: str
    kind: PartKind
    header: tuple[str, ...]
    cells: tuple[str, ...]
    label: bool | None = None

    @property
    def unit_ids(self) -> list[str]:
        return [self.unit_id]

    def row(self) -> dict:
        """The JSON object of the example."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    @classmethod
    def from_row(cls, row: dict, *, path=None, line: int | None = None) -> PartExample:
        """The example of a JSON object; DataError names the field at fault."""
        where = {"path": path, "line": line}
        kind = get_field(row, "kind", str, **where)
        if kind not in list(PartKind):
            raise DataError(
                f"expected one of {', '.join(PartKind)}, found {json.dumps(kind)[:80]}", field="kind", **where
            )
        label = row.get("label")
        if label is not None and not isinstance(label, bool):
            raise DataError(f"expected true, false or null, found {json.dumps(label)[:80]}", field="label", **where)
        header, cells = (get_strings(row, field, **where) for field in ("header", "cells"))
        names = len(cells) if kind == PartKind.ROW else 1
        if len(header) != names:
            raise DataError(f"expected {names} names, found {len(header)}", field="header", **where)
        return cls(
            *(get_field(row, field, str, **where) for field in ("claim_id", "claim", "unit_id")),
            PartKind(kind),
            header,
            cells,
            label,
        )


def file_name(kind: PartKind, role: str) -> str:
    """The file of the examples of one kind for training, dev or test."""
    return f"{PARTS}_{kind}s.{role}.jsonl"


def write(path: str | os.PathLike, examples: Iterable[PartExample]) -> int:
    """Writes examples as JSON Lines, atomically; returns their number."""
    return write_json_lines(path, (example.row() for example in examples))


def read(path: str | os.PathLike) -> Iterator[PartExample]:
    return (PartExample.from_row(row, path=path, line=line) for line, row in read_json_lines(path))


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
