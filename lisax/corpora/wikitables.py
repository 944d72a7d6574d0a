"""WikiTables: tables from a dump of Wikipedia, JSON Lines with one table per line.

    {"_id", "pgTitle", "sectionTitle"?, "tableCaption"?, "tableHeaders": [[cell, ...], ...], "tableData": [[cell, ...]]}

A cell is `{"text": ...}` with further fields, or a string. Several header rows are joined column by column.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lisax.corpora import titles
from lisax.corpora.grid import LIMITS, Place, TableLimits, join_names, make_table
from lisax.corpora.reading import Row, Watch, read_records
from lisax.records import Table


def read_tables(path, watch: Watch, limits: TableLimits = LIMITS) -> Iterator[Table]:
    return read_records(path, lambda row: parse_table(row, limits), watch)


def parse_table(row: Row, limits: TableLimits = LIMITS) -> Table:
    original = row.get("_id", (str, int)) if "_id" in row.value else row.get("tableId", (str, int))
    header = join_names(_grid(row, "tableHeaders"))
    title = row.get("pgTitle", str)
    caption = row.get("tableCaption", str, "") or row.get("sectionTitle", str, "")
    place = Place(row.path, row.line, row.watch, limits)
    return make_table(
        str(original), title, header, _grid(row, "tableData"), place, caption, titles.title_to_id(title) or None
    )


def is_wikitables(first_line: dict) -> bool:
    return "tableHeaders" in first_line and "tableData" in first_line


def _grid(row: Row, field: str) -> list[list[str]]:
    rows = row.each(field, row.get(field, list), list)
    return [[_text(row, f"{field}[{i}][{j}]", cell) for j, cell in enumerate(cells)] for i, cells in enumerate(rows)]


def _text(row: Row, field: str, cell: Any) -> str:
    text = cell.get("text") if isinstance(cell, dict) else cell
    if not isinstance(text, str):
        raise row.error(field, f"expected a cell with a text, found {cell!r:.80}")
    return text
