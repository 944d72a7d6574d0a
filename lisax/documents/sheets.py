"""Spreadsheets: the tables of each sheet, with cells as the sheet shows them.

An Excel file holds values and formats apart (0.085 shown as `8.5 %`), so its cells are written by their formats. An
OpenDocument file holds the text (`open_document.py`). Old binary files have values only.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from lisax.documents import headers
from lisax.documents.archives import check_zip, opened
from lisax.documents.blocks import Block, Kind
from lisax.documents.grid import Place
from lisax.text.dates import in_words

_QUOTED = re.compile(r'"([^"]*)"|\\(.)|\[\$([^\]-]*)[^\]]*\]|\[[^\]]*\]|_.|\*.')
_UNSTORED = re.compile(rb"</f>(?:<v\s*/>|<v></v>)?</c>")
_DECIMALS = re.compile(r"0\.(0+)")
_CURRENCIES = "$€£¥"


def read_excel(path: Path, place: Place) -> Iterator[Block]:
    """The blocks of an .xlsx or .xlsm file; macros are never run, and formulas have the values that are stored."""
    import openpyxl

    check_zip(path)
    with opened(path) as archive:
        texts = (archive.read(name) for name in archive.names if name.startswith("xl/worksheets/sheet"))
        place.warn(
            "formulas without a stored value (read as empty)", sum(len(_UNSTORED.findall(text)) for text in texts)
        )
    book = openpyxl.load_workbook(path, data_only=True)
    for sheet in book.worksheets:
        if sheet.sheet_state != "visible":
            place.warn("hidden sheets (left out)")
            continue
        limits = place.limits
        width, height = min(sheet.max_column or 0, limits.columns), min(sheet.max_row or 0, limits.rows)
        place.warn(f"rows of a sheet past {limits.rows:,} (left out)", max(0, (sheet.max_row or 0) - height))
        rows = [
            [shown(cell.value, cell.number_format) for cell in row]
            for row in sheet.iter_rows(1, height, 1, max(1, width))
        ]
        named = _names_of_groups(rows, [merged.bounds for merged in sheet.merged_cells.ranges])
        for merged in sheet.merged_cells.ranges:
            if merged.min_row <= height and merged.min_col <= width:
                text = rows[merged.min_row - 1][merged.min_col - 1]
                is_of_group = named.get((merged.min_row, merged.max_row), width) < merged.min_col
                last = merged.min_row if is_of_group and headers.is_amount(text) else merged.max_row
                for row in rows[merged.min_row - 1 : last]:
                    for column in range(merged.min_col - 1, min(merged.max_col, len(row))):
                        row[column] = text
        yield from sheet_blocks(sheet.title, rows, len(book.worksheets) > 1)


def _names_of_groups(
    rows: Sequence[Sequence[str]], merged: Sequence[tuple[int, int, int, int]]
) -> dict[tuple[int, int], int]:
    """(first row, last row) of merged cells -> the column that names these rows: the first with different texts to the
    right of the first cell that is merged over them. All count from 1; `merged`: (column, row, last column, last row)."""
    first: dict[tuple[int, int], int] = {}
    for column, row, _, last_row in merged:
        if row < last_row and row < len(rows):
            first[row, last_row] = min(column, first.get((row, last_row), column))
    found = {}
    for (row, last_row), start in first.items():
        pairs = enumerate(zip(rows[row - 1][start:], rows[row][start:]), start=start + 1)
        found[row, last_row] = next(
            (j for j, (one, other) in pairs if one and other and one != other), len(rows[row]) + 1
        )
    return found


def read_old_excel(path: Path, place: Place) -> Iterator[Block]:
    """The blocks of an .xls or .xlsb file."""
    import python_calamine

    book = python_calamine.CalamineWorkbook.from_path(str(path))
    for name in book.sheet_names:
        sheet = book.get_sheet_by_name(name)
        rows = [
            [shown(value) for value in row[: place.limits.columns]] for row in sheet.to_python(nrows=place.limits.rows)
        ]
        yield from sheet_blocks(name, rows, len(book.sheet_names) > 1)


def sheet_blocks(name: str, rows: Sequence[Sequence[str]], is_named: bool) -> Iterator[Block]:
    """The blocks of one sheet: its name as a heading, then its tables; a column of texts is paragraphs."""
    if not any(cell.strip() for row in rows for cell in row):
        return
    if is_named:
        yield Block(Kind.HEADING, name, 1)
    place, caption = (f"{name}, ", name) if is_named else ("", "")
    yield from headers.tables(rows, place, caption=caption, is_numbered=True)


def shown(value: object, number_format: str = "General") -> str:
    """A cell's value as a sheet shows it: dates in words, numbers with the decimals, separators and signs of their
    format."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if (
        isinstance(value, datetime.date)
        and number_format != "General"
        and not (getattr(value, "hour", 0) or getattr(value, "minute", 0))
    ):
        marks = _QUOTED.sub("", number_format).lower()
        if "y" in marks and "d" not in marks and "h" not in marks:  # a month or a year
            return in_words(value.year, value.month) if "m" in marks else str(value.year)
    if isinstance(value, datetime.datetime):
        clock = f" {value:%H:%M}" if (value.hour or value.minute) else ""
        return _day(value) + clock
    if isinstance(value, datetime.date):
        return _day(value)
    if isinstance(value, datetime.time):
        return f"{value:%H:%M:%S}" if value.second else f"{value:%H:%M}"
    if isinstance(value, datetime.timedelta):
        minutes, seconds = divmod(round(value.total_seconds()), 60)
        return f"{minutes // 60}:{minutes % 60:02}" + (f":{seconds:02}" if seconds else "")
    if isinstance(value, (int, float)):
        return _number(value, number_format)
    return str(value)


def _day(day: datetime.date) -> str:
    return in_words(day.year, day.month, day.day)


def _number(value: float, number_format: str) -> str:
    form = number_format.split(";")[0]
    literals = " ".join(
        filter(None, (quoted or escaped or currency for quoted, escaped, currency in _QUOTED.findall(form)))
    )
    plain = _QUOTED.sub("", form)
    if form == "General" or not any(mark in plain for mark in "0#?"):
        text = f"{value:.11g}" if isinstance(value, float) else str(value)
        return text if "e" not in text else f"{value:f}".rstrip("0").rstrip(".")
    found = _DECIMALS.search(plain)
    decimals = len(found[1]) if found else 0
    if "E" in plain.upper():
        return f"{value:.{decimals}e}"
    if "%" in plain:
        return f"{value * 100:.{decimals}f}%"
    if "#/" in plain or "?/" in plain:
        return f"{value:.11g}"
    if scaled := re.search(r"[0#?](,+)[^0#?,]*$", plain):  # `0.0,,` shows millions
        value /= 1000 ** len(scaled[1])
    text = f"{value:,.{decimals}f}" if re.search(r"[0#?],[0#?]", plain) else f"{value:.{decimals}f}"
    if zeros := re.fullmatch(r"0{2,}", plain.strip()):  # `00000`: numbers of houses and places
        text = text.zfill(len(zeros[0]))
    sign = next((mark for mark in _CURRENCIES if mark in plain or mark in literals), "")
    if sign:
        negative, text = text.startswith("-"), text.removeprefix("-")
        return f"{'-' if negative else ''}{sign}{text}"
    words = literals.strip()
    return f"{text} {words}" if re.search(r"\w", words) else text
