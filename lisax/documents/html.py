"""An HTML page as blocks: the text that a reader of the page reads, and its tables, in order.

- **Text**: if a page marks its main content (`main`, `article`, or an element that is named so), only that; navigation,
  footers, the text of asides but notes, cookie banners and hidden elements are left out.
- **Marks within a line** keep their meaning: `10<sup>3</sup>` is `10³` and `H<sub>2</sub>O` is `H2O`, marks of footnotes
  and deleted text are left out, and `<q>` has quotation marks.
- **Tables** as a reader sees them: spanned cells are repeated, nested tables are separate tables. A table's header
  consists of the rows before the first with a plain cell (`td`), joined column by column; if there are no such rows, or
  only such, it is the first row. A table of names (`th`), each with one value, is one row under its names. Cells hidden
  by inline styles are left out, but not whole tables, since pages unfold them. A cell with only a picture or a check box
  has its alternative text.
"""

from __future__ import annotations

import codecs
import dataclasses
import itertools
import re
from collections.abc import Sequence

from lisax.documents import headers
from lisax.documents.blocks import Block, Kind
from lisax.documents.encodings import guess, marked
from lisax.documents.grid import Place, join_names
from lisax.documents.html_tags import Cell, HtmlTable, Text, parse
from lisax.text.titles import one_line

SPANNED_CELLS = 500_000  # per page: cells that exist because others span them
MAIN_SHARE = 0.5  # of the text outside of navigation: less than this is a teaser, not the main content
INSIDE_SHARE = 0.25  # of all text
WORDS = 4  # of a cell that is text, in a table of one row
# Python codecs that are not encodings of pages: they create markup, or take quadratic time.
_NO_CHARSETS = frozenset({"idna", "punycode", "raw-unicode-escape", "unicode-escape", "utf-7"})
# As in browsers: pages declared as Latin-1 usually have the quotes and dashes of Windows.
_WIDER = {"iso8859-1": "cp1252"}
_BETWEEN_NAMES = re.compile(r" [|\-–—·:»]+ ")  # in titles: `History - Tarn Online`
_CHARSET = re.compile(rb"<meta[^>]+charset\s*=\s*[\"']?([a-z0-9_-]+)", re.IGNORECASE)


def read(text: str, place: Place) -> tuple[str, list[Block]]:
    """(title, blocks) of a page. Never fails, whatever the input; warnings go to `place`."""
    limits = place.limits
    title, parts, left_out = parse(text.replace("\u00ad", "").replace("&shy;", ""), limits.rows, limits.cells)
    place.warn(f"tables past the {limits.cells:,} cells of a page (left out)", left_out)
    wanted = _content(parts)
    blocks, spanned = [], 0
    for part in parts:
        if isinstance(part, Text):
            if id(part) in wanted and (text := one_line("".join(part.pieces))):
                blocks.append(Block(part.kind, text, part.level))
            continue
        where, line = dataclasses.replace(place, line=part.line), f"line {part.line}"
        if not any(part.rows):
            where.warn("tables without a cell (left out)")
            continue
        if spanned > SPANNED_CELLS:
            where.warn(f"tables past {SPANNED_CELLS:,} spanned cells of a page (read without their spans)")
            for cell in itertools.chain(*part.rows):
                cell.rows = cell.columns = 1
        grid, headings = expand(part, where)
        spanned += sum(map(len, grid)) - sum(map(len, part.rows))
        is_wide = any(len(one_line(cell)) > headers.WIDE for row in grid for cell in row)
        if not any(headings) and (
            (len(grid) == 1 and (is_wide or any(len(cell.split()) >= WORDS for cell in grid[0])))
            or (is_wide and set(map(len, grid)) == {1})
        ):  # of layout, not of data
            cells = itertools.chain(["".join(part.caption)], *grid)
            texts = dict.fromkeys(filter(None, map(one_line, cells)))
            blocks += [Block(Kind.PARAGRAPH, text, place=line) for text in texts]
            continue
        header, rows, lines = _of_names(part.rows) or split_header(grid, headings)
        caption = one_line("".join(part.caption)) or " ".join(lines) or one_line(part.section)
        header, rows = tuple(header), tuple(map(tuple, rows))
        blocks.append(
            Block(Kind.TABLE, caption, place=line, header=header, rows=rows, rows_left_out=part.rows_left_out)
        )
    return _title(one_line(title), blocks), blocks


def _title(title: str, blocks: list[Block]) -> str:
    """The page's title; if it is the first heading with the name of the site, the heading."""
    first = next((block.text for block in blocks if block.kind is Kind.HEADING and block.level == 1), "")
    return first if first and first in map(str.strip, _BETWEEN_NAMES.split(title)) else title


def _content(parts: list[Text | HtmlTable]) -> set[int]:
    """The ids of the text parts of the main content; without one, of all parts outside of navigation, or of all."""
    texts = [part for part in parts if isinstance(part, Text)]
    inside = [part for part in texts if not part.is_beside]
    main = [part for part in inside if part.is_main]
    lengths = [sum(len(piece) for part in found for piece in part.pieces) for found in (main, inside, texts)]
    if lengths[0] > MAIN_SHARE * lengths[1]:
        return set(map(id, main))
    return set(map(id, inside if lengths[1] > INSIDE_SHARE * lengths[2] else texts))


def decode(content: bytes, place: Place) -> str:
    """The text of a page in its declared encoding or UTF-8; if neither fits, as it is most likely, with a warning."""
    declared = _CHARSET.search(content[:4096])
    if (encoding := marked(content)) is not None:
        encodings = [encoding]
    # A declaration that could be read is not in UTF-16.
    elif declared is None or declared[1].lower().startswith(b"utf"):
        encodings = ["utf-8-sig"]
    else:
        encodings = [declared[1].decode("ascii"), "utf-8-sig"]
    for encoding in encodings:
        try:
            name = codecs.lookup(encoding).name
            if name not in _NO_CHARSETS:
                return content.decode(_WIDER.get(name, encoding))
        except (UnicodeError, LookupError):
            continue
    guessed = guess(content) or "cp1252"
    place.warn(f"pages that are neither UTF-8 nor in the encoding that they declare (read as {guessed})")
    return content.decode(guessed, errors="replace")


def expand(found: HtmlTable, place: Place) -> tuple[list[list[str]], list[bool]]:
    """The grid with spanned cells repeated, and for each row whether it has only heading cells.

    Spans end with the last row of their group, and columns end at the limits, so that no page can exhaust memory.
    """
    limits = place.limits
    widest = 0
    grid: list[list[str]] = []
    headings: list[bool] = []
    hanging: dict[int, tuple[int, str]] = {}  # column -> (rows still to fill, text)
    cells = 0
    for number, row in enumerate(found.rows):
        if cells > limits.cells:
            place.warn(f"rows past {limits.cells:,} cells of a table (left out)", len(found.rows) - number)
            break
        if number in found.group_starts:
            hanging.clear()
        line: dict[int, str] = {}
        for column, (left, text) in list(hanging.items()):
            line[column] = text
            hanging[column] = (left - 1, text)
            if left == 1:
                del hanging[column]
        column = 0
        joined = headers.JoinedCells()
        for cell in row:
            while column in line:
                column += 1
            text = str(cell)
            below = joined.below(text, cell.rows)
            for spanned in range(column, min(column + cell.columns, limits.columns)):
                line[spanned] = text
                if cell.rows > 1:
                    hanging[spanned] = (cell.rows - 1, below)
            column += cell.columns
        if not line:  # `<tr></tr>`, which is invisible
            continue
        widest = max(widest, column)
        grid.append([line.get(j, "") for j in range(max(line, default=-1) + 1)])
        headings.append(bool(row) and all(cell.heading for cell in row))
        cells += len(grid[-1])
    place.warn(f"columns beyond the {limits.columns:,} of a table (left out)", max(0, widest - limits.columns))
    return grid, headings


def _of_names(rows: Sequence[Sequence[Cell]]) -> tuple[list[str], list[list[str]], list[str]] | None:
    """Reads a table that describes one thing as `split_header` does: each row is a heading and its value, or one cell."""
    rows = [row for row in rows if row]
    pairs = [row for row in rows if len(row) == 2]
    if len(pairs) < 2 or any(len(row) > 2 or any(cell.rows > 1 for cell in row) for row in rows):
        return None
    if not all(name.heading and not value.heading for name, value in pairs):
        return None
    lines = [text for row in rows if len(row) == 1 and (text := one_line(str(row[0])))]
    return [one_line(str(name)) for name, _ in pairs], [[str(value) for _, value in pairs]], lines


def split_header(grid: list[list[str]], headings: list[bool]) -> tuple[Sequence[str], list[list[str]], list[str]]:
    """(header, rows, lines of title): the header joins the leading heading rows; a table without heading cells is read
    as a sheet is."""
    count = next((i for i, heading in enumerate(headings) if not heading), 0)
    lines: list[str] = []
    if not any(headings):
        lines, count = headers.top(grid[: headers.SEARCHED_ROWS])
        header = headers.header_of(grid[len(lines) : len(lines) + count])
        return header, grid[len(lines) + count :], lines
    if count > 1 and _is_over_all(grid[0]):  # a group of rows if there are others, or the title
        groups = [row for row in grid[1:] if _is_over_all(row)]
        above = [grid[0]] if groups else []
        return join_names(grid[1:count]), [*above, *grid[count:]], [] if groups else [one_line(grid[0][0])]
    return join_names(grid[: count or 1]), grid[count or 1 :], lines


def _is_over_all(row: list[str]) -> bool:
    return len(row) > 1 and bool(row[0].strip()) and len(set(row)) == 1
