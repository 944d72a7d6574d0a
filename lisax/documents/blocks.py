"""A document as its readers see it: headings, paragraphs, list items, footnotes and tables in order, each with its place.

Every reader of a file type returns these blocks; pages with sentences and tables with rows are made of them here, once.
"""

from __future__ import annotations

import dataclasses
import enum
import re
from collections.abc import Iterator
from pathlib import Path

from lisax.documents.grid import LIMITS, Place, TableLimits, Warns, make_table
from lisax.errors import DataError
from lisax.records import Document as Page
from lisax.records import Sentence, Table, check_id
from lisax.text import titles
from lisax.text.sentences import split_sentences

HEADING_CHARACTERS = 200  # of a sentence's heading path; a longer one is a paragraph that was taken for a heading
INTRODUCTION_CHARACTERS = 150  # of a paragraph that introduces a list or a table
ITEM = re.compile(r"\A\s*+(?:[-*+•–·▪●○◦‣]|\(?(?:\d{1,3}|[a-z])[.)])\s+")  # the mark of a list item
_CAPTION = re.compile(r"(?=.{3,150}$)(?:table|tab\.|tabelle|tableau|tabla)\s+[\dA-Z]", re.IGNORECASE)


TOO_LARGE = "too large"  # the reason of a file that exceeds a bound


class Unread(DataError):
    """A file that is not read. `why` is a reason that many files may share, such as `scanned PDF without text`."""

    def __init__(self, why: str, detail: str = "", *, path: Path | str | None = None):
        self.why, self.detail = why, detail
        super().__init__(f"{why}{detail and f': {detail}'}", path=path)


class Kind(enum.StrEnum):
    HEADING = "heading"
    PARAGRAPH = "paragraph"
    ITEM = "item"
    FOOTNOTE = "footnote"
    TABLE = "table"


@dataclasses.dataclass(frozen=True, slots=True)
class Block:
    """A piece of a document. `level`: of a heading, from 1. `place`: its position in the file, in words (`page 3`,
    `line 12`), empty if the file type has no positions. The `text` of a table is its caption.

    `is_said`: the heading was recognised by its looks, and is also a sentence of the page."""

    kind: Kind
    text: str
    level: int = 0
    place: str = ""
    header: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    rows_left_out: int = 0
    is_said: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Document:
    """The content of a file. `name` is its path within the corpus, `title` its own title or its file's name. `notes`:
    (kind, count) of warnings."""

    name: str
    title: str
    blocks: tuple[Block, ...]
    notes: tuple[tuple[str, int], ...] = ()

    def page(self, page_id: str = "") -> Page:
        """The sentences of the text. Each has the headings above it as its `heading`, and in a list also the line that
        introduces the list. A heading without text below it is a sentence itself."""
        page = check_id(_unmarked(titles.page_id(page_id or self.name)), path=self.name)
        found: list[tuple[str, str]] = []  # (heading, sentence)
        path: list[tuple[int, str]] = []
        unused: Block | None = None  # the last heading, while no text follows it
        introduction = ""
        for block in self.blocks:
            if block.kind is Kind.HEADING:
                if unused is not None and block.level <= unused.level:
                    found += self._sentences(unused.text, self._path(path[:-1]))
                path = [*((level, text) for level, text in path if level < block.level), (block.level, block.text)]
                introduction = ""
                if block.is_said:
                    found += self._sentences(block.text, self._path(path[:-1]))
                unused = None if block.is_said or block.text in self.title else block
                continue
            unused = None
            if block.kind is Kind.TABLE:
                introduction = ""
                continue
            heading = self._path(path)
            if block.kind is Kind.ITEM and introduction:
                heading = ": ".join(filter(None, (heading, introduction)))
            elif block.kind is not Kind.ITEM:
                is_introduction = block.text.endswith(":") and len(block.text) <= INTRODUCTION_CHARACTERS
                introduction = block.text.rstrip(": ") if is_introduction else ""
            found += self._sentences(block.text, heading)
        if unused is not None:
            found += self._sentences(unused.text, self._path(path[:-1]))
        sentences = (Sentence(page, number, text, heading) for number, (heading, text) in enumerate(found))
        return Page(page, self.title, tuple(sentences))

    def _path(self, headings: list[tuple[int, str]]) -> str:
        """The headings that are not in the document's own title, the outermost first."""
        return ": ".join(text for _, text in headings if text not in self.title)[:HEADING_CHARACTERS]

    @staticmethod
    def _sentences(text: str, heading: str) -> list[tuple[str, str]]:
        return [(heading, sentence) for sentence in split_sentences(text)]

    def tables(self, watch: Warns, limits: TableLimits = LIMITS, name: str = "") -> Iterator[Table]:
        """The tables, as `{name}:0`, `{name}:1`, …, or `name` of a file that is a single table. The caption of a table
        without one is the line `Table 1: …` above it, or below it if more tables have one there, or the heading above."""
        name = _unmarked(name or self.name)
        heading, number = "", 0
        count = sum(block.kind is Kind.TABLE for block in self.blocks)
        is_single = count == 1 and self.name.lower().endswith((".csv", ".tsv"))
        captions = [
            block.text if block.kind is Kind.PARAGRAPH and _CAPTION.match(block.text) else "" for block in self.blocks
        ]
        # `Table 1 shows the costs.` is a sentence and not the caption of the table above it.
        after = [text if ":" in text or not text.endswith(".") else "" for text in captions[1:]]
        around = list(zip(("", *captions), self.blocks, (*after, "")))
        below_more = sum(bool(below) - bool(above) for above, block, below in around if block.kind is Kind.TABLE) > 0
        for above, block, below in around:
            if block.kind is Kind.HEADING:
                heading = block.text
            elif block.kind is Kind.TABLE:
                place = Place(Path(self.name), None, watch, limits)
                caption = block.text or ("" if heading == self.title else heading)
                caption = (below if below_more else above) or caption
                table_id = name if is_single else f"{name}:{number}"
                yield make_table(
                    table_id, self.title, block.header, block.rows, place, caption, rows_left_out=block.rows_left_out
                )
                number += 1


def _unmarked(name: str) -> str:
    """A file's name for an id, in which `#` separates a table from its rows and columns."""
    return name.replace("#", "_")
