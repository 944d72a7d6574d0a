"""The papers' own rows, shown next to ours for orientation: `published.tsv`."""

from __future__ import annotations

import functools
from pathlib import Path

from lisax.report.report import ResultRow


@functools.cache
def _tables() -> dict[str, tuple[ResultRow, ...]]:
    tables: dict[str, tuple[ResultRow, ...]] = {}
    for line in Path(__file__).with_suffix(".tsv").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            table, row, *figures = line.split("\t")
            values = tuple(float(figure) if figure else None for figure in figures)
            tables[table] = (*tables.get(table, ()), ResultRow(row, values, published=True))
    return tables


def published(table: str) -> tuple[ResultRow, ...]:
    """The rows of a table; they may end before its last columns. Raises `KeyError` for a table that is not there."""
    return _tables()[table]
