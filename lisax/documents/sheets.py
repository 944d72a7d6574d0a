"""Spreadsheets: the tables of each sheet, with cells as the sheet shows them.

An Excel file holds values and formats apart (0.085 shown as `8.5 %`), so its cells are written by their formats. An
OpenDocument file holds the text (`open_document.py`). Old binary files have values only.
"""

from __future__ import annotations

import datetime
import decimal
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence, Set
from pathlib import Path

from lisax.documents import headers
from lisax.documents.archives import Archive, check_zip
from lisax.documents.blocks import Block, Kind
from lisax.documents.grid import Place
from lisax.text.dates import in_words

_QUOTED = re.compile(r'"([^"]*)"|\\(.)|\[\$([^\]-]*)[^\]]*\]|\[[^\]]*\]|_.|\*.')
_UNSTORED = re.compile(rb"</f>(?:<v\s*/>|<v></v>)?</c>")
_DECIMALS = re.compile(r"0\.(0+)")
_PLACE = re.compile(r"[0#?]")  # of a digit, in a format
_PARTS = re.compile(rf"{_QUOTED.pattern}|( )|({_PLACE.pattern})")
_MOST_DECIMALS = 30  # of a format
_DEFAULT_NAME = re.compile(  # that programs give to sheets, in several languages
    r"(?:(?:work)?sheet|tabelle|feuil(?:le)?|hoja|foglio|blad|planilha|plan|arkusz|ark|list|лист|munka|taul|sayfa)?"
    r"[ _]?\d*",
    re.IGNORECASE,
)
HIDDEN = "hidden sheets (left out)"


def read_excel(path: Path, place: Place) -> Iterator[Block]:
    """The blocks of an .xlsx or .xlsm file; macros are never run, and formulas have the values that are stored."""
    import openpyxl

    check_zip(path)
    with Archive(path) as archive:
        texts = (archive.read(name) for name in archive.names if name.startswith("xl/worksheets/sheet"))
        place.warn(
            "formulas without a stored value (read as empty)", sum(len(_UNSTORED.findall(text)) for text in texts)
        )
    with path.open("rb") as file:  # by its content: the library refuses a path that ends in .xls
        book = openpyxl.load_workbook(file, data_only=True)
    for sheet in book.worksheets:
        if sheet.sheet_state != "visible":
            place.warn(HIDDEN)
            continue
        # `iter_rows` would make every empty cell before the last one that has a format.
        cells = sheet._cells.values()
        rows = _cropped(((cell.row, cell.column, shown(cell.value, cell.number_format)) for cell in cells), place)
        width = max(map(len, rows), default=0)
        _fill(rows, [merged.bounds for merged in sheet.merged_cells.ranges])
        hidden_rows = {number for number, row in sheet.row_dimensions.items() if row.hidden}
        spans = [one for one in sheet.column_dimensions.values() if one.hidden]
        hidden_columns = {j for one in spans for j in range((one.min or 1) - 1, min(one.max or 0, width))}
        numbers, rows = visible(rows, hidden_rows, hidden_columns, place)
        yield from sheet_blocks(sheet.title, rows, len(book.worksheets) > 1, numbers)


def _cropped(cells: Iterable[tuple[int, int, str]], place: Place) -> list[list[str]]:
    """The rows, each up to its last filled cell within the limits, of cells as (row, column, text) from 1."""
    limits = place.limits
    rows: list[list[str]] = []
    far_rows, far_columns = set(), set()
    for row, column, text in cells:
        if not text.strip():
            continue
        if row > limits.rows:
            far_rows.add(row)
        elif column > limits.columns:
            far_columns.add(column)
        else:
            rows += ([] for _ in range(row - len(rows)))
            rows[row - 1] += [""] * (column - len(rows[row - 1]))
            rows[row - 1][column - 1] = text
    place.warn(f"rows of a sheet past {limits.rows:,} (left out)", len(far_rows))
    place.warn(f"columns of a sheet past {limits.columns:,} (left out)", len(far_columns))
    return rows


def visible(
    rows: Sequence[Sequence[str]], hidden_rows: Set[int], hidden_columns: Set[int], place: Place
) -> tuple[list[int], list[list[str]]]:
    """(numbers from 1, rows) without hidden rows (numbers from 1) and hidden columns (places from 0)."""
    left = [(number, row) for number, row in enumerate(rows, start=1) if number not in hidden_rows]
    lost = (row for number, row in enumerate(rows, start=1) if number in hidden_rows)
    place.warn("hidden rows of sheets (left out)", sum(any(map(str.strip, row)) for row in lost))
    filled = {j for row in rows for j, cell in enumerate(row) if j in hidden_columns and cell.strip()}
    place.warn("hidden columns of sheets (left out)", len(filled))
    shown = [[cell for j, cell in enumerate(row) if j not in hidden_columns] for _, row in left]
    return [number for number, _ in left], shown


def _fill(rows: list[list[str]], merged: Iterable[tuple[int, int, int, int]]) -> None:
    """Repeats the text of merged cells, given as (column, row, last column, last row) from 1, in all that they cover."""
    starts = {(row - 1, column - 1): (last_row, last) for column, row, last, last_row in merged}
    covered: set[tuple[int, int]] = set()
    width = max(map(len, rows), default=0)
    for i in sorted({i for i, _ in starts if i < len(rows)}):
        joined = headers.JoinedCells()
        for j, text in enumerate(rows[i]):
            if (i, j) not in covered:
                last_row, last = starts.get((i, j), (i + 1, j + 1))
                below = joined.below(text, last_row - i)
                for row in range(i, min(last_row, len(rows))):
                    if (row, j) in covered:  # ranges of a damaged file may overlap: no cell is filled twice
                        break
                    for column in range(j, min(last, width)):
                        if (row, column) in covered:
                            break
                        rows[row] += [""] * (column + 1 - len(rows[row]))
                        rows[row][column] = text if row == i else below
                        covered.add((row, column))


def read_old_excel(path: Path, place: Place) -> Iterator[Block]:
    """The blocks of an .xls or .xlsb file; the library does not read the formats of numbers."""
    import python_calamine

    book = python_calamine.CalamineWorkbook.from_path(str(path))
    for name, metadata in zip(book.sheet_names, book.sheets_metadata):
        if metadata.visible != python_calamine.SheetVisibleEnum.Visible:
            place.warn(HIDDEN)
            continue
        sheet = book.get_sheet_by_name(name)
        has_numbers = any(type(value) in (int, float) for row in sheet.iter_rows() for value in row)
        place.warn("sheets whose numbers are without their formats, such as % and €", int(has_numbers))
        left = sheet.start[1] + 1 if sheet.start else 1  # rows are from the first on, but cells from the first filled
        numbered = enumerate(sheet.iter_rows(), start=1)
        rows = _cropped(((i, j, shown(value)) for i, row in numbered for j, value in enumerate(row, left)), place)
        merged = sheet.merged_cell_ranges or ()
        _fill(rows, [(first[1] + 1, first[0] + 1, last[1] + 1, last[0] + 1) for first, last in merged])
        yield from sheet_blocks(name, rows, len(book.sheet_names) > 1)


def sheet_blocks(
    name: str, rows: Sequence[Sequence[str]], is_one_of_many: bool, numbers: Sequence[int] = ()
) -> Iterator[Block]:
    """The blocks of one sheet: its name as a heading, then its tables; a column of texts is paragraphs. The only sheet
    of a file (not `is_one_of_many`) keeps its name if a person gave it. `numbers`: of the rows, by default from 1."""
    if not any(cell.strip() for row in rows for cell in row):
        return
    is_named = is_one_of_many or not _DEFAULT_NAME.fullmatch(name.strip())
    if is_named:
        yield Block(Kind.HEADING, name, 1)
    place, caption = (f"{name}, ", name) if is_named else ("", "")
    yield from headers.tables(rows, place, caption=caption, numbers=numbers or range(1, len(rows) + 1))


def shown(value: object, number_format: str = "General") -> str:
    """A cell's value as a sheet shows it: dates in words, numbers with the decimals, separators and signs of their
    format."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime.date):
        return _date(value, number_format)
    if isinstance(value, datetime.time):
        return f"{value:%H:%M:%S}" if value.second else f"{value:%H:%M}"
    if isinstance(value, datetime.timedelta):
        whole = round(value.total_seconds())
        minutes, seconds = divmod(abs(whole), 60)
        return f"{'-' * (whole < 0)}{minutes // 60}:{minutes % 60:02}" + (f":{seconds:02}" if seconds else "")
    if isinstance(value, (int, float)):
        return _number(value, number_format)
    return str(value)


def _date(value: datetime.date, number_format: str) -> str:
    marks = "" if number_format == "General" else _QUOTED.sub("", number_format).lower()
    clock = ""
    if isinstance(value, datetime.datetime):
        seconds = f":{value:%S}" if value.second and (not marks or "s" in marks) else ""
        clock = f" {value:%H:%M}{seconds}" if (value.hour or value.minute or seconds) else ""
    if not clock and "y" in marks and "d" not in marks and "h" not in marks:  # a month or a year
        return in_words(value.year, value.month) if "m" in marks else str(value.year)
    return in_words(value.year, value.month, value.day) + clock


def _number(value: float, number_format: str) -> str:
    form = number_format.split(";")[0]
    plain = _QUOTED.sub("", form)
    if form == "General" or not _PLACE.search(plain):
        text = f"{value:.11g}" if isinstance(value, float) else str(value)
        if "e-" in text:  # 1.2E-07
            return text.upper()
        return text if "e" not in text else f"{value:f}".rstrip("0").rstrip(".")
    found = _DECIMALS.search(plain)
    decimals = min(len(found[1]), _MOST_DECIMALS) if found else 0
    if "E" in plain.upper():
        return f"{value:.{decimals}E}"
    exact = decimal.Decimal(f"{value:.15g}" if isinstance(value, float) else value)
    if "%" in plain:
        return f"{_rounded(exact.scaleb(2), decimals)}%"
    if "#/" in plain or "?/" in plain:
        return f"{value:.11g}"
    if scaled := re.search(r"[0#?](,+)[^0#?,]*$", plain):  # `0.0,,` shows millions
        exact = exact.scaleb(-3 * len(scaled[1]))
    text = _rounded(exact, decimals, "," if re.search(r"[0#?],[0#?]", plain) else "")
    if zeros := re.fullmatch(r"0{2,}", plain.strip()):  # `00000`: numbers of houses and places
        text = text.zfill(len(zeros[0]))
    before, after = _literals(form)
    sign = next((mark for mark in plain + before + after if unicodedata.category(mark) == "Sc"), "")
    negative, text = text.startswith("-"), text.removeprefix("-")
    if sign:
        return f"{'-' * negative}{sign}{text}"
    if re.search(r"\w", before):
        text = before.lstrip() + text
    if re.search(r"\w", after):
        text = f"{text} {after.strip()}"
    elif after.strip() in ("%", "‰", "°"):
        text += after.strip()
    return f"{'-' * negative}{text}"


def _rounded(value: decimal.Decimal, decimals: int, separator: str = "") -> str:
    """Rounds halves away from zero, as spreadsheets do."""
    with decimal.localcontext(rounding=decimal.ROUND_HALF_UP):
        return f"{value:{separator}.{decimals}f}"


def _literals(form: str) -> tuple[str, str]:
    """The texts of a format before and after the place of its first digit."""
    texts, side = ["", ""], 0
    for found in _PARTS.finditer(form):
        *literals, is_place = found.groups("")
        side = 1 if is_place else side
        texts[side] += "".join(literals)
    return texts[0], texts[1]
