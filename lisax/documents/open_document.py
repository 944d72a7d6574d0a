"""OpenDocument texts, sheets and slides (.odt, .ods, .odp): one walk over paragraphs, lists and tables.

Cells hold the text that they show. odfpy reads these files too, with a class for each element."""

from __future__ import annotations

import datetime
import itertools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from xml.etree.ElementTree import Element

from lisax.documents import archives, headers
from lisax.documents.blocks import Block, Kind
from lisax.documents.grid import Place
from lisax.documents.office import HIDDEN_SLIDES
from lisax.documents.sheets import HIDDEN, sheet_blocks, shown, visible
from lisax.text.titles import one_line

_ROOT = "{urn:oasis:names:tc:opendocument:xmlns:%s:1.0}"
TEXT, TABLE, DRAW, OFFICE, PRESENTATION, STYLE = (
    _ROOT % name for name in ("text", "table", "drawing", "office", "presentation", "style")
)
_UNREAD = {f"{TEXT}tracked-changes", f"{OFFICE}annotation", f"{TEXT}table-of-content", f"{PRESENTATION}notes"}
_PAGE = f"{DRAW}page"
_LISTS = {f"{TEXT}list", f"{TEXT}list-header", f"{TEXT}list-item"}
_ROW_GROUPS = {f"{TABLE}table-header-rows", f"{TABLE}table-rows", f"{TABLE}table-row-group"}
_NUMERIC_DATE = re.compile(r"\d+([./-]) ?\d+\1 ?\d+(?![./-])")


def read(path: Path, place: Place) -> Iterator[Block]:
    """The blocks of the file, in order; footnotes are at the end."""
    with archives.Archive(path) as archive:
        root = archive.xml("content.xml")
    body = root.find(f"{OFFICE}body")
    notes: list[Block] = []
    if body is not None:
        is_sheets = body.find(f"{OFFICE}spreadsheet") is not None
        for parent in body:
            _leave_out_hidden(root, parent, place)
        yield from _blocks(body, place, notes, is_sheets)
    yield from notes


def _leave_out_hidden(root: Element, parent: Element, place: Place) -> None:
    """Removes the sheets and slides whose style hides them."""
    hidden = {
        style.get(f"{STYLE}name")
        for style in root.iter(f"{STYLE}style")
        for found in style
        if found.get(f"{TABLE}display") == "false" or found.get(f"{PRESENTATION}visibility") == "hidden"
    }
    for kind, tag, name in (
        (HIDDEN, f"{TABLE}table", f"{TABLE}style-name"),
        (HIDDEN_SLIDES, _PAGE, f"{DRAW}style-name"),
    ):
        kept = [child for child in parent if child.tag != tag or child.get(name) not in hidden]
        place.warn(kind, len(parent) - len(kept))
        parent[:] = kept


def _blocks(
    parent: Iterable[Element], place: Place, notes: list[Block], is_sheets: bool, in_list: bool = False
) -> Iterator[Block]:
    tables = [child for child in parent if child.tag == f"{TABLE}table"]
    for child in parent:
        if child.tag in _UNREAD:
            continue
        if child.tag == _PAGE:
            name = child.get(f"{DRAW}name") or ""
            for block in _blocks(child, place, notes, is_sheets):
                yield Block(block.kind, block.text, block.level, name, block.header, block.rows)
        elif child.tag in (f"{TEXT}h", f"{TEXT}p"):
            if text := one_line(_text(child, notes)):
                level = int(child.get(f"{TEXT}outline-level") or 1) if child.tag.endswith("}h") else 0
                kind = Kind.HEADING if level else Kind.ITEM if in_list else Kind.PARAGRAPH
                yield Block(kind, text, level)
        elif child.tag == f"{TABLE}table":
            rows, hidden = _rows(child, place, notes)
            if is_sheets:
                numbers, rows = visible(rows, hidden, _hidden_columns(child, place), place)
                yield from sheet_blocks(child.get(f"{TABLE}name") or "", rows, len(tables) > 1, numbers)
            else:
                yield from headers.tables(rows)
                for cell in itertools.chain.from_iterable(_own_rows(child)):
                    yield from _blocks([part for part in cell if part.tag == child.tag], place, notes, is_sheets)
        else:
            is_title = child.get(f"{PRESENTATION}class") == "title"
            for block in _blocks(child, place, notes, is_sheets, in_list or child.tag == f"{TEXT}list"):
                yield Block(Kind.HEADING, block.text, 1) if is_title and not block.rows else block


def _text(element: Element, notes: list[Block]) -> str:
    """The text of a paragraph; its footnotes are added to `notes`."""
    pieces = [element.text or ""]
    for child in element:
        if child.tag == f"{TEXT}note":
            body = child.find(f"{TEXT}note-body")
            if body is not None and (text := one_line(" ".join(_text(part, []) for part in body))):
                notes.append(Block(Kind.FOOTNOTE, text))
        elif child.tag == f"{TEXT}s" or child.tag in (f"{TEXT}tab", f"{TEXT}line-break"):
            pieces.append(" ")
        elif child.tag not in _UNREAD:
            pieces.append(_text(child, notes))
        pieces.append(child.tail or "")
    return "".join(pieces)


def _paragraphs(cell: Element) -> Iterator[Element]:
    """The paragraphs of a cell and of its lists."""
    for part in cell:
        if part.tag in (f"{TEXT}p", f"{TEXT}h"):
            yield part
        elif part.tag in _LISTS:
            yield from _paragraphs(part)


def _dated(cell: Element, text: str) -> str:
    """A cell's text, or its date in words if it shows that in numbers: `04/05/23` may be of April or of May."""
    if (value := cell.get(f"{OFFICE}date-value")) and _NUMERIC_DATE.match(text.strip()):
        try:
            return shown(datetime.datetime.fromisoformat(value))
        except ValueError:  # before the year 1, or damaged
            pass
    return text


def _own_rows(table: Element) -> Iterator[Element]:
    """The rows of a table, without those of tables in its cells."""
    for part in table:
        if part.tag == f"{TABLE}table-row":
            yield part
        elif part.tag in _ROW_GROUPS:
            yield from _own_rows(part)


def _is_hidden(part: Element) -> bool:
    """Whether a row or a column is hidden, by a person or a filter."""
    return part.get(f"{TABLE}visibility") in ("collapse", "filter")


def _hidden_columns(table: Element, place: Place) -> set[int]:
    hidden, j = set(), 0
    for column in table.iter(f"{TABLE}table-column"):
        end = min(j + int(column.get(f"{TABLE}number-columns-repeated") or 1), place.limits.columns)
        hidden.update(range(j, end) if _is_hidden(column) else ())
        j = end
    return hidden


def _rows(table: Element, place: Place, notes: list[Block]) -> tuple[list[list[str]], set[int]]:
    """The rows of a table, with the text of joined cells repeated, within the limits; and the numbers of hidden ones."""
    limits, rows, hidden = place.limits, [], set()
    hanging: dict[int, tuple[int, str, str]] = {}  # column -> (rows still to fill, text of the next, of those below it)
    for row in _own_rows(table):
        cells: list[str] = []
        joined = headers.JoinedCells()
        for cell in row:
            if cell.tag not in (f"{TABLE}table-cell", f"{TABLE}covered-table-cell"):
                continue
            times = min(int(cell.get(f"{TABLE}number-columns-repeated") or 1), limits.columns - len(cells))
            text = _dated(cell, " ".join(_text(part, notes) for part in _paragraphs(cell)))
            covered = cell.tag.endswith("covered-table-cell")
            for _ in range(times):
                column = len(cells)
                left, above, lower = hanging.pop(column, (0, "", ""))
                if covered and left:
                    cells.append(above)
                    if left > 1:
                        hanging[column] = (left - 1, lower, lower)
                else:
                    cells.append(text)
            columns = int(cell.get(f"{TABLE}number-columns-spanned") or 1)
            down = int(cell.get(f"{TABLE}number-rows-spanned") or 1)
            lower = text if covered else joined.below(text, down)
            first = len(cells) - 1
            for column in range(first, min(first + columns, limits.columns)):
                below = down - 1 + (column > first)  # the covered cells of this row use their turn too
                if below and not covered:
                    hanging[column] = (below, text if column > first else lower, lower)
        while cells and not cells[-1]:
            cells.pop()
        times = int(row.get(f"{TABLE}number-rows-repeated") or 1) if cells else 1
        before = len(rows)
        rows += itertools.repeat(cells, min(times, limits.rows - before))
        hidden.update(range(before + 1, len(rows) + 1) if _is_hidden(row) else ())
        if len(rows) >= limits.rows:
            break
    return rows, hidden
