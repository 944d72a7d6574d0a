"""The tables of a report, the same for the page and the terminal."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from lisax.report.report import Report, ResultTable


def known(value: Any) -> bool:
    """Whether a figure is available: neither None nor NaN."""
    return value is not None and math.isfinite(value)


def result_tables(report: Report) -> list[ResultTable]:
    """The tables that have rows, without columns that are empty."""
    return [_without_empty_columns(table) for table in report.result_tables if table.rows]


def _without_empty_columns(table: ResultTable) -> ResultTable:
    rows = [(*row.values, *[None] * (len(table.columns) - len(row.values))) for row in table.rows]
    kept = [i for i in range(len(table.columns)) if any(known(values[i]) for values in rows)]
    return dataclasses.replace(
        table,
        columns=tuple(table.columns[i] for i in kept),
        rows=tuple(
            dataclasses.replace(row, values=tuple(values[i] for i in kept)) for row, values in zip(table.rows, rows)
        ),
    )
