"""Example records of operations: a question with the header of its table, and what makes the answer of the cells.

Questions whose operation is not known (those of WikiTableQuestions) are none.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable, Iterable, Iterator

from lisax.records import (
    DataError,
    Operation,
    Question,
    Table,
    get_field,
    get_strings,
    is_cell,
    read_json_lines,
    split_cell_id,
    write_json_lines,
)

OPERATIONS = "operations"


@dataclasses.dataclass(frozen=True, slots=True)
class OperationExample:
    """A question (`claim`, as in every example) and the names of a table's columns; `label` None: unknown."""

    claim_id: str
    claim: str
    unit_id: str  # of the table
    header: tuple[str, ...]
    label: Operation | None = None

    @property
    def unit_ids(self) -> list[str]:
        return [self.unit_id]

    def row(self) -> dict:
        """The JSON object of the example."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    @classmethod
    def from_row(cls, row: dict, *, path=None, line: int | None = None) -> OperationExample:
        """The example of a JSON object; DataError names the field at fault."""
        where = {"path": path, "line": line}
        header, label = get_strings(row, "header", **where), row.get("label")
        if label is not None and label not in tuple(Operation):
            raise DataError(
                f"expected null or one of {', '.join(Operation)}, found {json.dumps(label)[:80]}",
                field="label",
                **where,
            )
        return cls(
            *(get_field(row, field, str, **where) for field in ("claim_id", "claim", "unit_id")),
            header,
            None if label is None else Operation(label),
        )


def file_name(role: str) -> str:
    return f"{OPERATIONS}.{role}.jsonl"


def examples(questions: Iterable[Question], lookup: Callable[[str], Table | None]) -> Iterator[OperationExample]:
    """One of each question whose operation is known, with its first table that `lookup` finds."""
    for question in questions:
        if question.operation is not None and (table := _table_of(question, lookup)) is not None:
            yield OperationExample(question.id, question.text, table.id, table.header, question.operation)


def _table_of(question: Question, lookup: Callable[[str], Table | None]) -> Table | None:
    units = (split_cell_id(unit)[0] if is_cell(unit) else unit for unit in question.evidence)
    return next(filter(None, map(lookup, dict.fromkeys(units))), None)


def write(path: str | os.PathLike, made: Iterable[OperationExample]) -> int:
    """Writes examples as JSON Lines, atomically; returns their number."""
    return write_json_lines(path, (example.row() for example in made))


def read(path: str | os.PathLike) -> Iterator[OperationExample]:
    return (OperationExample.from_row(row, path=path, line=line) for line, row in read_json_lines(path))
