"""The tables of a report, the same for the page and the terminal."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

from lisax.report.report import Report, ResultRow, ResultTable, SelectionRow, VerdictRow

# (heading, field of the row)
VERDICT_COLUMNS = (
    ("Label accuracy", "label_accuracy"),
    ("FEVER score", "fever_score"),
    ("2+ sentences", "multi_accuracy"),
    ("Evidence recall", "evidence_recall"),
)
SELECTION_COLUMNS = (("P@5", "precision"), ("R@5", "recall"), ("F1@5", "f1"), ("MAP@5", "map"))


def known(value: Any) -> bool:
    """Whether a figure is available: neither None nor NaN."""
    return value is not None and math.isfinite(value)


def result_tables(report: Report, published: bool = True) -> list[ResultTable]:
    """The non-empty tables: labels and selection of a LisT5 run, then the report's own."""
    tables = [
        _table(
            "Label prediction",
            VERDICT_COLUMNS,
            report.verdict_rows,
            report.published_note,
            "Label accuracy and FEVER score (label right and a whole evidence set among the first five sentences), "
            "in percent.",
        ),
        _table(
            "Sentence selection",
            SELECTION_COLUMNS,
            report.selection_rows,
            report.published_note,
            "Of the first five sentences, in percent. Recall asks for a complete evidence set.",
        ),
        *report.result_tables,
    ]
    if not published:
        tables = [
            dataclasses.replace(table, rows=tuple(row for row in table.rows if not row.published)) for table in tables
        ]
    return [_without_empty_columns(table) for table in tables if table.rows]


def _table(
    name: str,
    columns: Sequence[tuple[str, str]],
    rows: Sequence[SelectionRow | VerdictRow],
    published_note: str,
    explanation: str,
) -> ResultTable:
    return ResultTable(
        name,
        tuple(head for head, _ in columns),
        tuple(
            ResultRow(
                row.name, tuple(getattr(row, field) for _, field in columns), row.published, getattr(row, "best", False)
            )
            for row in rows
        ),
        explanation,
        published_note,
    )


def _without_empty_columns(table: ResultTable) -> ResultTable:
    kept = [i for i in range(len(table.columns)) if any(known(row.values[i]) for row in table.rows)]
    return dataclasses.replace(
        table,
        columns=tuple(table.columns[i] for i in kept),
        rows=tuple(dataclasses.replace(row, values=tuple(row.values[i] for i in kept)) for row in table.rows),
    )
