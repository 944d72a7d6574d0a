"""The layout of pages of words: columns, lines, paragraphs, headings, tables, and lines that repeat on every page.

Words and rules (drawn lines and boxes) come with coordinates in points from the upper left corner of their page.

1. Repeated lines at the edge of pages, and page numbers, are left out.
2. Words within a grid of drawn lines are a table.
3. The rest is cut into columns where a blank strip separates two runs of text.
4. Lines whose pieces are below each other are a table without lines.
5. Other lines are paragraphs, list items, headings (larger or bold) and footnotes (smaller, at the foot).
"""

from __future__ import annotations

import collections
import dataclasses
import itertools
import re
import statistics
from collections.abc import Iterator, Mapping, Sequence, Set

from lisax.documents import headers, pdf_tables
from lisax.documents.blocks import ITEM, Block, Kind
from lisax.documents.broken_words import joined, whole_words
from lisax.documents.pdf_lines import Line, Page, Word, lines_of
from lisax.text.titles import one_line

EDGE = 0.1  # of a page's height, in which repeated lines are looked for
HEADING_CHARACTERS = 120
COLUMN_CHARACTERS = 22  # mean of a line's text in a column of prose; in a table's column it is shorter
_BULLET = re.compile(r"\A[-*+•–·▪●○◦‣]\s+")
_PAGE_NUMBER = re.compile(
    r"(?:page|seite|p\.|s\.)?\s*[-–—]?\s*(?:\d{1,4}|[ivxl]{1,6})\s*[-–—]?(?:\s*(?:/|of|von|de|sur)\s*\d{1,4})?", re.I
)
_SAME_SIZE = 0.93  # PDFium gives the letters of some fonts heights that differ by up to 6 %
_NOTE = re.compile(r"(?:\d{1,2}|[*†‡§])\s*\S")
_NOTE_MARK = re.compile(r"^(?:\d{1,2}|[*†‡§])\s*")


def blocks(pages: Sequence[Page]) -> list[Block]:
    """The blocks of a document's pages, in reading order."""
    sizes = collections.Counter()
    for page in pages:
        for word in page.words:
            sizes[round(word.size, 1)] += len(word.text)
    body = sizes.most_common(1)[0][0] if sizes else 10.0
    levels: list[float] = []
    for size in sorted((s for s in sizes if s > 1.12 * body), reverse=True):
        if not levels or size < _SAME_SIZE * levels[-1]:
            levels.append(size)
    known = whole_words(word.text for page in pages for word in page.words)
    offset, repeated = _number_offset(pages), _repeated(pages)
    found: list[Block] = []
    for page in pages:
        words = [
            word
            for line, below in itertools.zip_longest(page.lines, page.lines[1:])
            if not _is_edge(line, page, repeated, offset)
            or (repeated.get(_digitless(line.text)) == page.number and _is_row(line) and _is_row(below))
            for word in line.words
        ]
        for block in _Layout(page, body, levels, known).blocks(words):
            _append(found, block, known)
    return found


def _append(found: list[Block], block: Block, known: Set[str]) -> None:
    """Adds a block; a paragraph or a table that continues from the page before is joined to it."""
    before = found[-1] if found else None
    if before is None or before.place == block.place or before.kind is not block.kind:
        found.append(block)
    elif block.kind is Kind.PARAGRAPH and before.text[-1] not in '.!?:;”"' and block.text[:1].islower():
        text = one_line(joined(f"{before.text}\n{block.text}", known, always=True))
        found[-1] = dataclasses.replace(before, text=text)
    elif block.kind is Kind.TABLE and len(block.header) == len(before.header):
        if block.header == before.header:
            found[-1] = dataclasses.replace(before, rows=(*before.rows, *block.rows))
        elif any(map(headers.is_number, block.header)) and not (
            block.rows
            and not headers.is_number(block.header[0])
            and all(map(headers.YEARS.fullmatch, block.header[1:]))
        ):
            found[-1] = dataclasses.replace(before, rows=(*before.rows, block.header, *block.rows))
        else:
            found.append(block)
    else:
        found.append(block)


# --- Repeated lines ---------------------------------------------------------------------------


def _repeated(pages: Sequence[Page]) -> dict[str, int]:
    """The texts, with `#` for numbers, at the upper or lower edge of at least three pages, or of half of them, whose
    numbers stay the same or count the pages: other numbers are content, such as those of a table's rows. Each with the
    number of the first page that has it."""
    numbers = collections.defaultdict(list)
    for page in pages:
        for line in page.lines:
            if _at_edge(line, page):
                numbers[_digitless(line.text)].append((page.number, [int(n) for n in re.findall(r"\d+", line.text)]))
    least = max(2, min(3, (len(pages) + 1) // 2))
    return {
        text: found[0][0]
        for text, found in numbers.items()
        if len({number for number, _ in found}) >= least
        and all(
            len(set(slot)) == 1 or len({n - page for n, (page, _) in zip(slot, found)}) == 1
            for slot in zip(*(values for _, values in found))
        )
    }


def _at_edge(line: Line, page: Page) -> bool:
    return line.baseline < EDGE * page.height or line.baseline > (1 - EDGE) * page.height


def _number_offset(pages: Sequence[Page]) -> int | None:
    """The difference between the numbers that are printed at the edges of at least three pages and those of the file;
    None if they have no such numbers."""
    found = collections.Counter()
    for page in pages:
        outermost = (*page.lines[:1], *page.lines[-1:])
        found.update({n - page.number for line in outermost for n in _edge_numbers(line, page)})
    offset, count = max(found.items(), key=lambda item: item[1], default=(0, 0))
    return offset if count >= max(3, len(pages) / 2) else None


def _edge_numbers(line: Line, page: Page) -> list[int]:
    words = (line.words[0].text, line.words[-1].text) if _at_edge(line, page) else ()
    return [int(word) for word in words if word.isdecimal() and len(word) < 5]


def _is_edge(line: Line, page: Page, repeated: Mapping[str, int], offset: int | None) -> bool:
    """Whether a line is a running head or foot, or a page number."""
    return _at_edge(line, page) and (
        _digitless(line.text) in repeated
        or _PAGE_NUMBER.fullmatch(line.text.strip()) is not None
        or (
            (line is page.lines[0] or line is page.lines[-1])
            and any(number - page.number == offset for number in _edge_numbers(line, page))
        )
    )


def _is_row(line: Line | None) -> bool:
    """Whether a line has several pieces. A repeated one above another is the header of a table: its first is read."""
    return line is not None and len(line.pieces()) > 1


def _digitless(text: str) -> str:
    return re.sub(r"\d+", "#", text).strip()


# --- The blocks of a page ---------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, slots=True)
class _Layout:
    """Lays out one page. `body`: the size of most text of the document; `levels`: the sizes of its headings, largest
    first; `known`: the words of the document."""

    page: Page
    body: float
    levels: list[float]
    known: Set[str]

    @property
    def place(self) -> str:
        return f"page {self.page.number}"

    def blocks(self, words: list[Word]) -> Iterator[Block]:
        """The blocks of words. Text above, between and below tables with lines is laid out separately."""
        tables: list[tuple[float, Block]] = []  # (top, block)
        for top, rows, inside in pdf_tables.ruled(self.page.rules, words):
            words = [word for word in words if id(word) not in inside]
            tables += [(top, block) for block in headers.tables(rows, self.place)]
        for top, block in sorted(tables, key=lambda table: table[0]):
            yield from self._region([word for word in words if word.middle < top])
            words = [word for word in words if word.middle >= top]
            yield block
        yield from self._region(words)

    def _region(self, words: list[Word]) -> Iterator[Block]:
        """The blocks of a region: its columns one after the other, or bands of it from top to bottom."""
        stack = [words]
        while stack:
            words = stack.pop()
            if not words:
                continue
            lines = lines_of(words)
            if (cut := _column_cut(words)) is not None:
                stack += [[word for word in words if word.x0 >= cut], [word for word in words if word.x0 < cut]]
            elif (split := _band_cut(lines)) is not None:
                stack += [[word for line in part for word in line.words] for part in (lines[split:], lines[:split])]
            else:
                yield from self._column(lines)

    def _column(self, lines: list[Line]) -> Iterator[Block]:
        """The blocks of lines in one column: runs of lines with several pieces are tables, others text."""
        at = 0
        text: list[Line] = []
        while at < len(lines):
            end = pdf_tables.end_of_rows(lines, at)
            rows = pdf_tables.aligned(lines[at:end])
            if rows is None:
                text += lines[at : max(end, at + 1)]
            else:
                yield from self._paragraphs(text)
                text = []
                yield from headers.tables(rows, self.place)
            at = max(end, at + 1)
        yield from self._paragraphs(text)

    def _paragraphs(self, lines: Sequence[Line]) -> Iterator[Block]:
        if not lines:
            return
        gaps = (below.baseline - above.baseline for above, below in itertools.pairwise(lines))
        steps = [gap for gap in gaps if 0 < gap < 3 * self.body]
        leading = statistics.median_low(steps) if steps else 1.2 * self.body
        left, right = min(line.x0 for line in lines), max(line.x1 for line in lines)
        group = [lines[0]]
        for before, line in itertools.pairwise(lines):
            if _begins(before, line, leading, left, right, self.body):
                yield self._block(group)
                group = []
            group.append(line)
        yield self._block(group)

    def _block(self, lines: Sequence[Line]) -> Block:
        text = one_line(joined("\n".join(line.text for line in lines), self.known, always=True)).replace("\u00ad", "")
        size, bold = lines[0].size, all(line.bold for line in lines)
        is_short = len(text) <= HEADING_CHARACTERS and len(lines) <= 3 and text[-1] not in ".,;:!?"
        if is_short and any(map(str.isalpha, text)) and not _BULLET.match(text) and (size > 1.12 * self.body or bold):
            is_large = size > 1.12 * self.body
            level = 1 + sum(size < _SAME_SIZE * larger for larger in self.levels[:5]) if is_large else 6
            return Block(Kind.HEADING, text, level, self.place, is_said=len(text.split()) > 3)
        if size < 0.88 * self.body and lines[0].baseline > 0.6 * self.page.height and _NOTE.match(text):
            return Block(Kind.FOOTNOTE, _NOTE_MARK.sub("", text), place=self.place)
        if ITEM.match(text):
            return Block(Kind.ITEM, _BULLET.sub("", text), place=self.place)
        return Block(Kind.PARAGRAPH, text, place=self.place)


def _gaps(words: Sequence[Word]) -> list[tuple[float, float]]:
    """The vertical strips (x0, x1) between words that no word crosses."""
    gaps, right = [], None
    for word in sorted(words, key=lambda word: word.x0):
        if right is not None and word.x0 > right:
            gaps.append((right, word.x0))
        right = word.x1 if right is None else max(right, word.x1)
    return gaps


def _column_cut(words: list[Word]) -> float | None:
    """The x at which two columns of prose are cut; None if there are none."""
    size = statistics.median(word.size for word in words)
    for x0, x1 in sorted(_gaps(words), key=lambda gap: gap[0] - gap[1])[:3]:
        if x1 - x0 < 0.8 * size:
            return None
        sides = [[w for w in words if w.x0 >= x1 - 0.01], [w for w in words if w.x0 < x1 - 0.01]]
        lengths = []
        for side in sides:
            rows = lines_of(side)
            lengths.append((len(rows), statistics.mean(len(row.text) for row in rows)))
        if all(count >= 3 and mean >= COLUMN_CHARACTERS for count, mean in lengths):
            return x1 - 0.01
    return None


def _band_cut(lines: list[Line]) -> int | None:
    """The number of the first line below the widest blank band, if columns may begin or end there."""
    if len(lines) < 4 or not any(len(line.pieces()) > 1 for line in lines):
        return None
    # A line that crosses the columns above or below it separates them.
    width = max(line.x1 for line in lines) - min(line.x0 for line in lines)
    crossing = [len(line.pieces()) == 1 and line.x1 - line.x0 > 0.55 * width for line in lines]
    for i in range(1, len(lines)):
        if crossing[i - 1] == crossing[i]:
            continue
        rest = lines[i:] if crossing[i - 1] else lines[:i]
        if len(rest) >= 3 and _column_cut([word for line in rest for word in line.words]) is not None:
            return i
    return None


def _begins(before: Line, line: Line, leading: float, left: float, right: float, body: float) -> bool:
    """Whether a line begins a new block after the one before it."""
    return (
        line.baseline - before.baseline > 1.35 * max(leading, 1.1 * line.size)
        or line.baseline < before.baseline
        or abs(line.size - before.size) > 0.1 * body
        or (line.bold != before.bold and (len(line.text) < 80 or len(before.text) < 80))
        or ITEM.match(line.text) is not None
        or (right - before.x1 > 0.25 * (right - left) and before.text[-1] in ".!?" and line.text[0].isupper())
        or (line.x0 - before.x0 > 0.8 * body and before.x0 - left < 0.3 * body and before.text[-1] in ".!?:")
    )
