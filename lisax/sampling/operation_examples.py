"""Example records of operations: a question, the header of its table, and the operation that computes the answer from
cells.

Questions whose operation is unknown (those of WikiTableQuestions) give no example.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from lisax.formats.parts import OperationExample
from lisax.records import (
    Question,
    Table,
    is_cell,
    split_cell_id,
)

OPERATIONS = "operations"


def file_name(role: str) -> str:
    return f"{OPERATIONS}.{role}.jsonl"


def examples(questions: Iterable[Question], lookup: Callable[[str], Table | None]) -> Iterator[OperationExample]:
    """One example per question with a known operation, with its first table that `lookup` finds."""
    for question in questions:
        if question.operation is not None and (table := _table_of(question, lookup)) is not None:
            yield OperationExample(question.id, question.text, table.id, table.header, question.operation)


def _table_of(question: Question, lookup: Callable[[str], Table | None]) -> Table | None:
    units = (split_cell_id(unit)[0] if is_cell(unit) else unit for unit in question.evidence)
    return next(filter(None, map(lookup, dict.fromkeys(units))), None)
