"""The text and the tables of an HTML page, as its tags describe them.

The standard library's parser yields tags in order; the few rules that build blocks and tables from them are here, so
that unclosed or doubly closed tags do as little harm as in a browser.

Not lxml, which takes half the time for orderly pages: 140 KB of unclosed tags take it more than eight times as long as
us, growing with their square, and its tree ends where 2,048 elements are open.
"""

from __future__ import annotations

import collections
import dataclasses
import re
from html.parser import HTMLParser

from lisax.documents.blocks import Kind
from lisax.documents.grid import LIMITS
from lisax.documents.raised import raised

# The largest spans that browsers follow.
LARGEST_COLSPAN, LARGEST_ROWSPAN = 1_000, 65_534
CELLS_OF_A_TABLE = 8  # the memory of an empty table, in cells
UNSEEN = frozenset({"script", "style", "template"})
GRID = frozenset({"table", "caption", "thead", "tbody", "tfoot", "tr", "td", "th"})
CHILDLESS = frozenset({"area", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"})
BREAKS = frozenset({"br", "p", "div", "li", "hr", "ul", "ol", "dd", "dt"})
HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_BLOCKS = HEADINGS | frozenset(
    "address article aside blockquote body dd details div dl dt figcaption figure footer form header hr li main nav ol p "
    "pre section summary ul".split()
)
_ITEMS = frozenset({"li", "dd"})
# Elements that are not read, and elements of which only tables are read.
_SILENT = frozenset("head noscript svg math object select option button textarea iframe rt rp del s strike".split())
_LANDMARKS = frozenset({"nav", "footer", "aside"})
_CONTAINERS = frozenset("article aside body details div dl figure footer form header main nav ol section ul".split())
_ENDED_BY_BLOCKS = frozenset({"p", "li", "dt", "dd", "head", *HEADINGS})  # if their own end tag is missing
_MAIN_NAMES = frozenset(
    "main main-content maincontent content bodycontent mw-content-text article article-body post-content entry-content".split()
)
_BESIDE = re.compile(
    r"(?:^|[\s_-])(?:cookies?|consent|breadcrumbs?|sidebar|navbar|navigation|menu|footer|share|social|newsletter|"
    r"advert|adverts|ads|promo|skip-link|comments|catlinks|toc|navbox|printfooter|editsection|noprint)(?:$|[\s_-])"
)
_NOTE = re.compile(r"(?:foot|end|rear)note")  # the role of an aside in a book
# Marked sections, left in pages by Word and XML, which confuse the parser.
_MARKED_SECTION = re.compile(r"<!\[[^>]*>?")
# Attributes of a tag that has more of them than any page: the parser takes 600 times their memory.
_LONG_TAG = re.compile(r"(<[a-zA-Z][^\s/<>]*+)[^<>]{65536,}+")
_HIDING = re.compile(r"\b(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)


@dataclasses.dataclass(slots=True)
class Cell:
    heading: bool
    rows: int
    columns: int
    text: list[str] = dataclasses.field(default_factory=list)
    alternative: str = ""  # of its pictures and check boxes

    def __str__(self) -> str:
        text = "".join(self.text)
        return self.alternative if self.alternative and not text.strip() else text


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


@dataclasses.dataclass(slots=True)
class Text:
    """A block of text. `is_main`: within the main content; `is_beside`: within navigation and the like."""

    kind: Kind
    level: int
    pieces: list[str]
    is_main: bool
    is_beside: bool


def parse(text: str, row_limit: int, cell_limit: int = LIMITS.cells) -> tuple[str, list[Text | HtmlTable], int]:
    """A page's title, its blocks of text and tables in order, and the number of tables beyond the limit, which are not
    kept. Never fails, whatever the input."""
    parser = _Parser(row_limit, cell_limit)
    parser.feed(closed(text))
    parser.close()
    parser.end_block()
    return "".join(parser.title), parser.parts, parser.left_out


def closed(text: str) -> str:
    """`text` without marked sections, without the attributes of endless tags, and without comments and tags that never
    end: for each of these the parser would search the end again, taking quadratic time, and then drop the text after
    it."""
    text = _LONG_TAG.sub(r"\1", _MARKED_SECTION.sub("", text))
    comment_end = text.rfind("-->") + 1
    text = text[:comment_end] + text[comment_end:].replace("<!--", " ")
    tag_end = text.rfind(">") + 1
    return text[:tag_end] + text[tag_end:].replace("<", " ")


class _Parser(HTMLParser):
    """Collects text and tables. `open`: tables whose end tag is still missing, the innermost last. `kept`: memory used,
    in cells; beyond the limit all tables are `beyond`, which keeps nothing."""

    def __init__(self, row_limit: int, cell_limit: int):
        super().__init__(convert_charrefs=True)
        self.row_limit, self.cell_limit = row_limit, cell_limit
        self.kept, self.left_out, self.beyond = 0, 0, HtmlTable(0, rows_left_out=1)
        self.parts: list[Text | HtmlTable] = []
        self.open: list[HtmlTable] = []
        self.title: list[str] = []
        self.section = ""
        self.in_title = False
        self.text: Text | None = None  # the open block
        self.unseen = 0
        # A hidden tag in a cell, and the number of tags of its name that are open within.
        self.hidden, self.hidden_depth = "", 0
        # Elements that are open outside of tables: (tag, whether it is silent, outside of the content, its main part).
        self.elements: list[tuple[str, bool, bool, bool]] = []
        self.opened = collections.Counter()
        self.silent = self.beside = self.main = 0
        self.mark: tuple[str, list[str], bool] | None = None  # an open `sup`: its text, and whether it is a link

    # --- Elements ------------------------------------------------------------------------------

    def handle_starttag(self, tag, attributes):
        self.in_title = tag == "title" and not self.title and not self.open
        if tag in UNSEEN:
            self.unseen += 1
            return
        given = dict(attributes)
        if tag in ("sup", "sub") or (tag == "a" and "noteref" in _role(given)):
            self._end_mark()
            self.mark = (tag, [], tag == "a" or "reference" in (given.get("class") or ""))
        elif self.mark and tag == "a":
            self.mark = (*self.mark[:2], True)
        elif tag == "q":
            self.handle_data("“")
        if self.open and tag in GRID:
            self.hidden_depth = 0  # whatever is still open
        elif self.open and self.hidden_depth:
            self.hidden_depth += tag == self.hidden
        elif self.open and tag not in CHILDLESS and (tag in _SILENT or _is_hidden(given)):
            self.hidden, self.hidden_depth = tag, 1
        if tag == "table":
            self.end_block()
            self._new_table()
        elif self.open:
            self._in_table(tag, given)
        else:
            self._in_text(tag, given)

    def _in_text(self, tag: str, given: dict[str, str | None]) -> None:
        if tag == "br":
            self.handle_data(" ")
        if tag in _BLOCKS:
            self.end_block()
            while (
                self.elements
                and self.elements[-1][0] in _ENDED_BY_BLOCKS
                and not (tag in ("ul", "ol", "dl", "p", "div") and self.elements[-1][0] in _ITEMS)
            ):
                self._close_element()
        if tag in CHILDLESS:
            return
        silent = tag in _SILENT or _is_hidden(given) or _is_quoted(tag, given)
        if not (tag in _CONTAINERS or tag in _ENDED_BY_BLOCKS or silent):
            return
        names = f"{given.get('id') or ''} {given.get('class') or ''}".lower()
        role = (given.get("role") or "").lower()
        main = (
            tag in ("main", "article")
            or role == "main"
            or (tag in _CONTAINERS and not _MAIN_NAMES.isdisjoint(names.split()))
        )
        is_note = tag == "aside" and _NOTE.search(_role(given)) is not None
        beside = (tag in _LANDMARKS and not is_note) or role in ("navigation", "banner", "contentinfo", "search", "alert", "dialog") or (
            tag in _CONTAINERS and tag not in ("body", "main", "article") and _BESIDE.search(names[:200]) is not None
        )  # fmt: skip
        main = main and not beside
        self.elements.append((tag, silent, beside, main))
        self.opened[tag] += 1
        self.silent, self.beside, self.main = self.silent + silent, self.beside + beside, self.main + main

    def _close_element(self) -> str:
        tag, silent, beside, main = self.elements.pop()
        self.opened[tag] -= 1
        self.silent, self.beside, self.main = self.silent - silent, self.beside - beside, self.main - main
        return tag

    def handle_endtag(self, tag):
        self.in_title = False
        if tag in UNSEEN:
            self.unseen = max(0, self.unseen - 1)
            return
        if tag in ("sup", "sub") or (tag == "a" and self.mark and self.mark[0] == tag):
            self._end_mark()
        elif tag == "q":
            self.handle_data("”")
        if self.open:
            self._end_in_table(tag)
            return
        if tag in _BLOCKS:
            self.end_block()
        if self.opened[tag]:  # with unclosed elements within it
            while self._close_element() != tag:
                pass

    # --- Text ----------------------------------------------------------------------------------

    def handle_data(self, data):
        if self.unseen or (self.open and self.hidden_depth):
            return
        if self.in_title:
            self.title.append(data)
        elif self.mark is not None:
            self.mark[1].append(data)
        elif self.open:
            if self.open[-1].open_to is not None:
                self.open[-1].open_to.append(data)
        elif not self.silent:
            self._write(data)

    def _write(self, data: str) -> None:
        if self.text is None:
            if not data.strip():
                return
            inner = next((tag for tag, *_ in reversed(self.elements) if tag in _ITEMS | HEADINGS | {"dt", "p"}), "")
            if inner == "p" and any(tag == "li" for tag, *_ in self.elements[-3:]):
                inner = "li"
            kind = Kind.HEADING if inner in HEADINGS else Kind.ITEM if inner in _ITEMS else Kind.PARAGRAPH
            level = int(inner[1]) if kind is Kind.HEADING else 0
            self.text = Text(kind, level, [], self.main > 0, self.beside > 0)
            self.parts.append(self.text)
        self.text.pieces.append(data)

    def end_block(self) -> None:
        self._end_mark()
        if self.text is not None and self.text.kind is Kind.HEADING and not self.text.is_beside:
            self.section = "".join(self.text.pieces)
        if self.text is not None and self.elements and self.elements[-1][0] == "dt":
            self.text.pieces.append(":")  # introduces its descriptions
        self.text = None

    def _end_mark(self) -> None:
        if self.mark is None:
            return
        (tag, pieces, is_link), self.mark = self.mark, None
        target = self.open[-1].open_to if self.open else self.text.pieces if self.text else []
        before = "".join(target[-2:])[-12:] if target else ""
        if written := ("".join(pieces) if tag == "sub" else raised("".join(pieces).strip(), before, is_link)):
            self.handle_data(written)

    # --- Tables --------------------------------------------------------------------------------

    def _in_table(self, tag: str, attributes: dict[str, str | None]) -> None:
        table = self.open[-1]
        if tag == "tr":
            self._new_row(table, _is_hidden(attributes))
        elif tag in ("td", "th"):
            self._end_mark()
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
        elif tag in ("img", "input") and table.rows and table.rows[-1] and table.open_to is not None:
            cell = table.rows[-1][-1]
            if tag == "img":
                cell.alternative = cell.alternative or (attributes.get("alt") or "")
            elif (attributes.get("type") or "").lower() in ("checkbox", "radio"):
                cell.alternative = "yes" if "checked" in attributes else "no"

    def _new_table(self) -> None:
        if self.kept >= self.cell_limit:
            self.left_out += 1
            self.open.append(self.beyond)
            return
        self.kept += CELLS_OF_A_TABLE
        self.open.append(HtmlTable(self.getpos()[0], section=self.section))
        # Not a list of links in the content, such as a box of navigation, but that of facts in an aside.
        if not self.main or self.beside == self.opened["aside"]:
            self.parts.append(self.open[-1])

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

    def _end_in_table(self, tag: str) -> None:
        if tag in GRID:
            self._end_mark()
            self.hidden_depth = 0
        elif self.hidden_depth:
            self.hidden_depth -= tag == self.hidden
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


def _is_hidden(attributes: dict[str, str | None]) -> bool:
    return "hidden" in attributes or _HIDING.search(attributes.get("style") or "") is not None


def _role(attributes: dict[str, str | None]) -> str:
    return f"{attributes.get('epub:type') or ''} {attributes.get('role') or ''}"


def _is_quoted(tag: str, attributes: dict[str, str | None]) -> bool:
    """Whether an element is the message that a message answers, or a link of MediaWiki's to edit a section."""
    names = attributes.get("class") or ""
    is_cited = tag == "blockquote" and (attributes.get("type") or "").lower() == "cite"
    return is_cited or "gmail_quote" in names or "mw-editsection" in names


def _span(value: str | None, largest: int) -> int:
    """A span as browsers read it: its leading digits, 1 without any; a row span of 0 extends to the end."""
    digits = re.match(r"\s*\+?(\d{1,9})", value or "", re.ASCII)
    span = int(digits[1]) if digits else 1
    return largest if span == 0 and largest == LARGEST_ROWSPAN else max(1, min(span, largest))
