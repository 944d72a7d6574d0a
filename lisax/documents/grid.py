"""Builds a `Table` from any reader's rows: every row as wide as the header, limits with warnings, ids without white
space."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

from lisax.records import Table, check_id
from lisax.text import titles


@dataclasses.dataclass(frozen=True, slots=True)
class TableLimits:
    """The limits of one table; cells beyond them are left out, counted and reported."""

    rows: int = 20_000
    columns: int = 1_000
    cells: int = 2_000_000
    characters: int = 10_000  # per cell


LIMITS = TableLimits()


class Warns(Protocol):
    """Collects warnings by kind, with file, line and count."""

    def warn(self, kind: str, path: Path | str = "", line: int | None = None, count: int = 1) -> None: ...


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """The place of a table in its file, the callback for warnings, and the limits of the table."""

    path: Path
    line: int | None
    watch: Warns
    limits: TableLimits = LIMITS

    def warn(self, kind: str, count: int = 1) -> None:
        if count:
            self.watch.warn(kind, self.path, self.line, count)


def within_limits(
    header: Sequence[str], rows: Iterable[Sequence[str]], place: Place
) -> tuple[Sequence[str], list[Sequence[str]], int]:
    """(header, rows, number of rows left out) for `make_table`. Of rows that are streamed, only those within the limits
    are kept in memory; the others are counted."""
    limits = place.limits
    kept: list[Sequence[str]] = []
    left_out, cells, width = 0, 0, len(header)
    for row in rows:
        width = max(width, len(row))
        if len(kept) < limits.rows and cells <= limits.cells:
            kept.append(row[: limits.columns])
            cells += len(kept[-1])
        else:
            left_out += 1
    place.warn(f"columns beyond the {limits.columns:,} of a table (left out)", max(0, width - limits.columns))
    return header[: limits.columns], kept, left_out


def make_table(
    name: str,
    title: str,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    place: Place,
    caption: str = "",
    page: str | None = None,
    rows_left_out: int = 0,
) -> Table:
    """A rectangular table. Only cells beyond the limits are lost: short rows are padded with empty cells, and a header
    that is narrower than the widest row gets unnamed columns. All of this is counted and reported, including the
    `rows_left_out` that the caller did not read.
    """
    limits = place.limits
    width = max(map(len, (header, *rows)))
    place.warn(f"columns beyond the {limits.columns:,} of a table (left out)", max(0, width - limits.columns))
    width = min(width, limits.columns)
    height = min(limits.rows, limits.cells // max(1, width))
    place.warn(
        f"rows beyond the {limits.rows:,} or the {limits.cells:,} cells of a table (left out)",
        rows_left_out + max(0, len(rows) - height),
    )
    rows = rows[:height]
    place.warn("columns without a name, past the end of the header", max(0, width - len(header)))
    place.warn("rows that are shorter than the others (padded)", sum(len(row) < width for row in rows))
    long_cells = 0
    texts: dict[str, str] = {}  # a spanned cell is one string, however often it is repeated

    def fit(row: Sequence[str]) -> tuple[str, ...]:
        nonlocal long_cells
        cells = []
        for cell in row[:width]:
            if (text := texts.get(cell)) is None:
                text = titles.one_line(cell)
                long_cells += len(text) > limits.characters
                text = texts[cell] = text[: limits.characters]
            cells.append(text)
        return (*cells, *[""] * (width - len(cells)))

    def line(text: str) -> str:
        # Cut first: all tables of a page repeat its title.
        return titles.one_line(text[: limits.characters])

    place.warn(
        f"titles and captions with more than {limits.characters:,} characters (cut)",
        sum(len(text) > limits.characters for text in (title, caption)),
    )
    fitted_header, fitted = fit(header), tuple(map(fit, rows))
    place.warn(f"texts of cells with more than {limits.characters:,} characters (cut)", long_cells)
    table_id = check_id(titles.page_id(name), path=place.path, line=place.line)
    return Table(table_id, line(title), fitted_header, fitted, line(caption), page, None if name == table_id else name)


def join_names(rows: Sequence[Sequence[str]]) -> list[str]:
    """Joins header rows: the distinct names of each column, from top to bottom."""
    width = max(map(len, rows), default=0)
    columns = ([titles.one_line(row[j]) for row in rows if j < len(row)] for j in range(width))
    return [" ".join(dict.fromkeys(filter(None, column))) for column in columns]
