"""Rich text (.rtf) is read by striprtf, which loses cells of tables, footnotes and text boxes: they are marked before
it reads. Deleted and hidden text is taken out."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator

from lisax.documents import headers
from lisax.text.titles import one_line

_TOKEN = re.compile(r"\\([a-z]+)(-?\d{1,9})? ?|\\[^a-z]|[{}]|[^\\{}]+|\\", re.IGNORECASE)
_UNREAD = frozenset("annotation header headerf headerl headerr footer footerf footerl footerr".split())
# Characters that end a cell and a row, also of a table within a cell, begin such a table, and begin the notes.
_CELL, _ROW, _INNER_CELL, _INNER_ROW, _INNER, _NOTES = _MARKS = "\x1f\x1e\x1d\x1c\x1a\x19"
_ENDS = {"cell": _CELL, "row": _ROW, "nestcell": _INNER_CELL}
_SYMBOL = re.compile("[\uf020-\uf0ff]")  # of a font of symbols, mostly the mark of an item
_SAME = 60  # twips between borders of different rows that are one
_COLUMNS = 63  # that Word allows

Rows = list[list[str]]
_Borders = list[tuple[int, bool]]  # the right border of each cell of a row, and whether the cell hangs from that above


def read(text: str) -> Iterator[tuple[bool, str | Rows]]:
    """(whether it is a footnote or the text of a box, a paragraph or the rows of a table), in order; notes come last."""
    from striprtf.striprtf import remove_pict_groups, rtf_to_text

    marked, borders = _marked(remove_pict_groups(re.sub(f"[{_MARKS}]", "", text)))
    body, _, notes = _SYMBOL.sub("•", rtf_to_text(marked, errors="ignore")).partition(_NOTES)
    yield from ((False, part) for part in _parts(body + "\n", iter(borders)))
    yield from ((True, note) for note in re.sub(f"[{_MARKS}]", " ", notes).split("\n") if note.strip())


def _marked(text: str) -> tuple[str, list[_Borders]]:
    """(the text with its marks, the borders of each row)."""
    main: list[str] = []
    notes = [_NOTES]
    rows: list[_Borders] = []
    borders: _Borders = []
    hangs = is_inner = False
    stack = []
    out, is_left_out, in_table, in_inner_row = main, False, False, False  # of the open group
    for token in _TOKEN.finditer(text):
        (word, number), written = token.groups(), token[0]
        if written == "{":
            stack.append((out, is_left_out, in_table, in_inner_row))
        elif written == "}" and stack:
            out, is_left_out, in_table, in_inner_row = stack.pop()
            if not stack:
                break
        elif word in ("deleted", "v"):
            is_left_out = number != "0"
        elif word == "plain":
            is_left_out = False
        elif is_left_out:
            continue
        elif word in _UNREAD:
            out = []
        elif word in ("footnote", "shptxt") and out is main:
            out, in_table, written = notes, False, r"\par "
        elif word == "nesttableprops" and out[-1:] == [r"\*"]:
            out.pop()  # with it striprtf would pass over the row's end
            in_inner_row, written = True, ""
        elif word in ("pard", "intbl"):
            in_table = word == "intbl"
        elif word in ("par", "line") and in_table:
            written = " "
        elif word == "itap" and number != "1" and not is_inner:
            is_inner, written = True, _INNER
        elif word == "nestrow":
            is_inner, written = False, _INNER_ROW
        elif word == "trowd" and not in_inner_row:
            borders = []
        elif word == "clvmrg":
            hangs = True
        elif word == "cellx":
            if not in_inner_row:
                borders.append((int(number or 0), hangs))
            hangs = False
        elif word in _ENDS:
            written = _ENDS[word]
            if word == "row" and out is main:
                rows.append(borders)
        out.append(written)
    return "".join([*main, *notes, "}"]), rows


def _parts(text: str, borders: Iterator[_Borders]) -> Iterator[str | Rows]:
    """The paragraphs and tables of a text with marks; a table within a cell comes after that around it."""
    table: list[tuple[list[str], _Borders]] = []
    cells: list[str] = []
    inner: Rows = []
    inner_cells: list[str] = []
    before = piece = ""
    for part in re.split(f"([{_MARKS}\n])", text):
        if part == _INNER:
            before, piece = before + piece, ""
        elif part == _INNER_CELL:
            inner_cells.append(piece)
            piece = ""
        elif part == _INNER_ROW:
            inner.append(inner_cells)
            inner_cells = []
        elif part == _CELL:
            cells.append(one_line(before + piece))
            before = piece = ""
        elif part == _ROW:
            table.append((cells, next(borders, [])))
            cells = []
        elif part == "\n" and not cells:
            yield from filter(None, (_rows(table), inner, piece.strip()))
            table, inner, piece = [], [], ""
        else:
            piece += part


def _rows(table: list[tuple[list[str], _Borders]]) -> Rows:
    """The rows of a table, with the text of a cell repeated in the columns that it covers, and in the cells below that
    hang from it."""
    ends: list[int] = []
    for end in sorted({end for _, borders in table for end, _ in borders}):
        if not ends or end - ends[-1] > _SAME:
            ends.append(end)
    if len(ends) > _COLUMNS or any(len(cells) != len(borders) for cells, borders in table):
        return [cells for cells, _ in table]
    rows: Rows = []
    is_even = len({len(cells) for cells, _ in table}) == 1
    for cells, borders in table:
        row: list[str] = []
        for cell, (end, hangs) in zip(cells, borders):
            if hangs and rows and len(row) < len(rows[-1]):
                above = rows[-1][len(row)]
                cell = "" if headers.is_amount(above) else above  # as of `headers.JoinedCells`
            row += [cell] * (1 if is_even else max(1, bisect.bisect_right(ends, end) - len(row)))
        rows.append(row)
    return rows
