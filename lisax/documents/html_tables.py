"""The tables of an HTML page, as a reader sees them: spanned cells are repeated, nested tables are separate tables.

The standard library's parser yields tags in order; the few rules that build tables from them are here, so that unclosed
or doubly closed tags do as little harm as in a browser. A table's header consists of the rows before the first with a
plain cell (`td`), joined column by column; if there are no such rows, or only such, it is the first row. Cells hidden
by inline styles are left out, but not whole tables, since pages unfold them.

Not lxml, which takes half the time for orderly pages: 140 KB of unclosed tags take it more than eight times as long as
us, growing with their square, and its tree ends where 2,048 elements are open.
"""

from __future__ import annotations

import codecs
import dataclasses
import itertools
import re
from collections.abc import Iterator
from html.parser import HTMLParser

from lisax.documents.encodings import guess, marked
from lisax.documents.grid import LIMITS, Place, join_names, make_table
from lisax.files.reading import read_file
from lisax.records import Table

# The largest spans that browsers follow.
LARGEST_COLSPAN, LARGEST_ROWSPAN = 1_000, 65_534
LARGEST_PAGE = 1 << 24  # bytes
SPANNED_CELLS = 500_000  # per page: cells that exist because others span them
CELLS_OF_A_TABLE = 8  # the memory of an empty table, in cells
UNSEEN = frozenset({"script", "style", "template"})
GRID = frozenset({"table", "caption", "thead", "tbody", "tfoot", "tr", "td", "th"})
CHILDLESS = frozenset({"area", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"})
BREAKS = frozenset({"br", "p", "div", "li", "hr", "ul", "ol"})
# Marked sections, left in pages by Word and XML, which confuse the parser.
_MARKED_SECTION = re.compile(r"<!\[[^>]*>?")
# Attributes of a tag that has more of them than any page: the parser takes 600 times their memory.
_LONG_TAG = re.compile(r"(<[a-zA-Z][^\s/<>]*+)[^<>]{65536,}+")
# Python codecs that are not encodings of pages: they create markup, or take quadratic time.
_NO_CHARSETS = frozenset({"idna", "punycode", "raw-unicode-escape", "unicode-escape", "utf-7"})
# As in browsers: pages declared as Latin-1 usually have the quotes and dashes of Windows.
_WIDER = {"iso8859-1": "cp1252"}
_CHARSET = re.compile(rb"<meta[^>]+charset\s*=\s*[\"']?([a-z0-9_-]+)", re.IGNORECASE)
_HIDING = re.compile(r"\bdisplay\s*:\s*none", re.IGNORECASE)


@dataclasses.dataclass(slots=True)
class Cell:
    heading: bool
    rows: int
    columns: int
    text: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(slots=True)
class HtmlTable:
    """A table as its tags describe it. `group_starts`: the rows that begin a group (`thead`, `tbody`, `tfoot`).
    `rows_left_out`: the number of rows beyond the limit."""

    line: int
    rows: list[list[Cell]] = dataclasses.field(default_factory=list)
    caption: list[str] = dataclasses.field(default_factory=list)
    section: str = ""
    open_to: list[str] | None = None  # the target of text: a cell, the caption, or none
    in_row: bool = False
    in_hidden_row: bool = False
    group_starts: set[int] = dataclasses.field(default_factory=set)
    rows_left_out: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class HtmlPage:
    """A page's title, its tables, and the number of tables beyond the limit, which are not kept."""

    title: str
    tables: list[HtmlTable]
    left_out: int


def read_tables(name: str, place: Place) -> Iterator[Table]:
    """Yields the tables of the page at `place.path`, in the order of their start: `{name}:0`, `{name}:1`, …"""
    limits = place.limits
    page = parse(decode(read_file(place.path, LARGEST_PAGE), place), limits.rows, limits.cells)
    place.warn(f"tables past the {limits.cells:,} cells of a page (left out)", page.left_out)
    spanned = 0
    for number, found in enumerate(page.tables):
        where = dataclasses.replace(place, line=found.line)
        if not any(found.rows):
            where.warn("tables without a cell (left out)")
            continue
        if spanned > SPANNED_CELLS:
            where.warn(f"tables past {SPANNED_CELLS:,} spanned cells of a page (read without their spans)")
            for cell in itertools.chain(*found.rows):
                cell.rows = cell.columns = 1
        grid, headings = expand(found, where)
        spanned += sum(map(len, grid)) - sum(map(len, found.rows))
        header, rows = split_header(grid, headings)
        caption = "".join(found.caption) or found.section
        yield make_table(
            f"{name}:{number}", page.title or name, header, rows, where, caption, rows_left_out=found.rows_left_out
        )


def decode(content: bytes, place: Place) -> str:
    """The text of a page in its declared encoding or UTF-8; if neither fits, as it is most likely, with a warning."""
    declared = _CHARSET.search(content[:4096])
    if (encoding := marked(content)) is not None:
        encodings = [encoding]
    elif declared is None or declared[1].lower().startswith(
        b"utf"
    ):  # a declaration that could be read is not in UTF-16
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


def parse(text: str, row_limit: int, cell_limit: int = LIMITS.cells) -> HtmlPage:
    """The tables of a page. Never fails, whatever the input."""
    parser = _Parser(row_limit, cell_limit)
    parser.feed(closed(text))
    parser.close()
    return HtmlPage("".join(parser.title), parser.tables, parser.left_out)


def closed(text: str) -> str:
    """`text` without marked sections, without the attributes of endless tags, and without comments and tags that never
    end: for each of these the parser would search the end again, taking quadratic time, and then drop the text after
    it."""
    text = _LONG_TAG.sub(r"\1", _MARKED_SECTION.sub("", text))
    comment_end = text.rfind("-->") + 1
    text = text[:comment_end] + text[comment_end:].replace("<!--", " ")
    tag_end = text.rfind(">") + 1
    return text[:tag_end] + text[tag_end:].replace("<", " ")


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
        for cell in row:
            while column in line:
                column += 1
            text = "".join(cell.text)
            for spanned in range(column, min(column + cell.columns, limits.columns)):
                line[spanned] = text
                if cell.rows > 1:
                    hanging[spanned] = (cell.rows - 1, text)
            column += cell.columns
        if not line:  # `<tr></tr>`, which is invisible
            continue
        widest = max(widest, column)
        grid.append([line.get(j, "") for j in range(max(line, default=-1) + 1)])
        headings.append(bool(row) and all(cell.heading for cell in row))
        cells += len(grid[-1])
    place.warn(f"columns beyond the {limits.columns:,} of a table (left out)", max(0, widest - limits.columns))
    return grid, headings


def split_header(grid: list[list[str]], headings: list[bool]) -> tuple[list[str], list[list[str]]]:
    """(header, rows): the header joins the leading heading rows; without any, or without other rows, it is the first
    row."""
    count = next((i for i, heading in enumerate(headings) if not heading), 0) or 1
    return join_names(grid[:count]), grid[count:]


class _Parser(HTMLParser):
    """Collects tables. `open`: tables whose end tag is still missing, the innermost last. `kept`: memory used, in
    cells; beyond the limit all tables are `beyond`, which keeps nothing."""

    def __init__(self, row_limit: int, cell_limit: int):
        super().__init__(convert_charrefs=True)
        self.row_limit, self.cell_limit = row_limit, cell_limit
        self.kept, self.left_out, self.beyond = 0, 0, HtmlTable(0, rows_left_out=1)
        self.tables: list[HtmlTable] = []
        self.open: list[HtmlTable] = []
        self.title: list[str] = []
        self.section = ""
        self.text_to: list[str] | None = None  # title or section heading
        self.unseen = 0
        self.hidden, self.hidden_depth = "", 0  # a hidden tag in a cell, and how many tags of its name are open within

    def handle_starttag(self, tag, attributes):
        if tag in GRID:
            self.hidden_depth = 0  # whatever is still open
        elif self.hidden_depth:
            self.hidden_depth += tag == self.hidden
        elif self.open and tag not in CHILDLESS and _is_hidden(dict(attributes)):
            self.hidden, self.hidden_depth = tag, 1
        if tag in UNSEEN:
            self.unseen += 1
        elif tag == "table":
            self.text_to = None
            self._new_table()
        elif tag == "title" and not self.title:
            self.text_to = self.title
        elif tag in ("h1", "h2", "h3", "h4") and not self.open:
            self.text_to = []
        elif self.open:
            self._in_table(tag, dict(attributes))

    def _in_table(self, tag: str, attributes: dict[str, str | None]) -> None:
        table = self.open[-1]
        if tag == "tr":
            self._new_row(table, _is_hidden(attributes))
        elif tag in ("td", "th"):
            if not table.in_row:
                self._new_row(table)
            if table.in_hidden_row or _is_hidden(attributes):
                table.open_to = None
                return
            cell = Cell(
                tag == "th",
                _span(attributes.get("rowspan"), LARGEST_ROWSPAN),
                _span(attributes.get("colspan"), LARGEST_COLSPAN),
            )
            if not table.rows_left_out:
                table.rows[-1].append(cell)
                self.kept += 1
            table.open_to = cell.text
        elif tag == "caption":
            table.open_to = table.caption
        elif tag in ("thead", "tbody", "tfoot"):
            table.in_row, table.open_to = False, None
            table.group_starts.add(len(table.rows))
        elif tag in BREAKS:
            self.handle_data(" ")

    def _new_table(self) -> None:
        if self.kept >= self.cell_limit:
            self.left_out += 1
            self.open.append(self.beyond)
            return
        self.kept += CELLS_OF_A_TABLE
        self.open.append(HtmlTable(self.getpos()[0], section=self.section))
        self.tables.append(self.open[-1])

    def _new_row(self, table: HtmlTable, is_hidden: bool = False) -> None:
        table.in_row, table.in_hidden_row, table.open_to = True, is_hidden, None
        if is_hidden:
            return
        # The header and the limit's number of rows.
        if len(table.rows) <= self.row_limit and self.kept < self.cell_limit and table is not self.beyond:
            table.rows.append([])
            self.kept += 1
        else:
            table.rows_left_out += 1

    def handle_endtag(self, tag):
        if tag in GRID:
            self.hidden_depth = 0
        elif self.hidden_depth:
            self.hidden_depth -= tag == self.hidden
        if tag in UNSEEN:
            self.unseen = max(0, self.unseen - 1)
        elif tag in ("title", "h1", "h2", "h3", "h4"):
            if tag != "title" and self.text_to is not None:
                self.section = "".join(self.text_to)
            self.text_to = None
        elif self.open:
            table = self.open[-1]
            if tag == "table":
                self.open.pop()
            elif tag in ("td", "th", "caption"):
                table.open_to = None
            elif tag in ("tr", "thead", "tbody", "tfoot"):
                table.in_row, table.open_to = False, None
                if tag != "tr":
                    table.group_starts.add(len(table.rows))
            elif tag in BREAKS:
                self.handle_data(" ")

    def handle_data(self, data):
        if self.unseen or self.hidden_depth:
            return
        if self.text_to is not None:
            self.text_to.append(data)
        elif self.open and self.open[-1].open_to is not None:
            self.open[-1].open_to.append(data)


def _is_hidden(attributes: dict[str, str | None]) -> bool:
    return "hidden" in attributes or _HIDING.search(attributes.get("style") or "") is not None


def _span(value: str | None, largest: int) -> int:
    """A span as browsers read it: its leading digits, 1 without any; a row span of 0 extends to the end."""
    digits = re.match(r"\s*\+?(\d{1,9})", value or "", re.ASCII)
    span = int(digits[1]) if digits else 1
    return largest if span == 0 and largest == LARGEST_ROWSPAN else max(1, min(span, largest))
