"""The layout of pages of words: columns, lines, paragraphs, headings, tables, and lines that repeat on every page.

Words and rules (drawn lines and boxes) come with coordinates in points from the upper left corner of their page.

1. Repeated lines at the edge of pages, and page numbers, are left out.
2. Words within a grid of drawn lines are a table.
3. The rest is cut into columns where a blank strip separates two runs of text.
4. Lines whose pieces are below each other are a table without lines.
5. Other lines are paragraphs, list items, headings (larger or bold) and footnotes (smaller, at the foot).
"""

from __future__ import annotations

import bisect
import collections
import dataclasses
import itertools
import re
import statistics
from collections.abc import Iterable, Iterator, Sequence

from lisax.documents import headers
from lisax.documents.blocks import Block, Kind
from lisax.documents.html import raised
from lisax.text.titles import one_line

EDGE = 0.1  # of a page's height, in which repeated lines are looked for
HEADING_CHARACTERS = 120
COLUMN_CHARACTERS = 22  # mean of a line's text in a column of prose; in a table's column it is shorter
CELL_CHARACTERS = 28  # mean of a table without lines
_HYPHEN = re.compile(r"(\w)[-\u00ad]\n(?=[a-z\u00df-\u024f])")  # a word that continues in the next line
_ITEM = re.compile(r"(?:[-*+•–·▪●○◦‣]|\(?(?:\d{1,3}|[a-z])[.)])\s+")
_BULLETS = re.compile(r"[-*+•–·▪●○◦‣]\s+")
_PAGE_NUMBER = re.compile(
    r"(?:page|seite|p\.|s\.)?\s*[-–—]?\s*(?:\d{1,4}|[ivxl]{1,6})\s*[-–—]?(?:\s*(?:/|of|von|de|sur)\s*\d{1,4})?", re.I
)
_NOTE = re.compile(r"(?:\d{1,2}|[*†‡§])\s*\S")


@dataclasses.dataclass(slots=True)
class Word:
    text: str
    x0: float
    y0: float
    x1: float
    y1: float
    baseline: float
    size: float
    bold: bool


@dataclasses.dataclass(slots=True)
class Rule:
    x0: float
    y0: float
    x1: float
    y1: float


@dataclasses.dataclass(slots=True)
class Page:
    number: int
    width: float
    height: float
    words: list[Word]
    rules: list[Rule]
    has_pictures: bool = False


@dataclasses.dataclass(slots=True)
class Line:
    """Words on one baseline, from left to right. `pieces`: the words between wide gaps."""

    words: list[Word]

    @property
    def text(self) -> str:
        return _text_of(self.words)

    @property
    def x0(self) -> float:
        return self.words[0].x0

    @property
    def x1(self) -> float:
        return max(word.x1 for word in self.words)

    @property
    def baseline(self) -> float:
        return max(self.words[:3], key=lambda word: word.size).baseline

    @property
    def size(self) -> float:
        return statistics.median(word.size for word in self.words)

    @property
    def bold(self) -> bool:
        return sum(len(word.text) for word in self.words if word.bold) > 0.8 * sum(
            len(word.text) for word in self.words
        )

    def pieces(self) -> list[list[Word]]:
        found = [[self.words[0]]]
        for before, word in itertools.pairwise(self.words):
            if word.x0 - before.x1 > 0.85 * max(before.size, word.size):
                found.append([])
            found[-1].append(word)
        return found


def blocks(pages: Sequence[Page]) -> list[Block]:
    """The blocks of a document's pages, in reading order."""
    sizes = collections.Counter()
    for page in pages:
        for word in page.words:
            sizes[round(word.size, 1)] += len(word.text)
    body = sizes.most_common(1)[0][0] if sizes else 10.0
    levels = {
        size: level for level, size in enumerate(sorted((s for s in sizes if s > 1.12 * body), reverse=True)[:5], 1)
    }
    offset = _number_offset(pages)
    repeated = _repeated(pages)
    found: list[Block] = []
    for page in pages:
        lines = _lines(page.words)
        words = [
            word
            for number, line in enumerate(lines)
            if not _is_edge(line, page, repeated, offset, number in (0, len(lines) - 1))
            or (page is pages[0] and len(line.pieces()) > 1 and _digitless(line.text) in repeated)
            for word in line.words
        ]
        for block in _page_blocks(page, words, body, levels):
            _append(found, block)
    return found


def _append(found: list[Block], block: Block) -> None:
    """Adds a block; a paragraph or a table that continues from the page before is joined to it."""
    before = found[-1] if found else None
    if before is None or before.place == block.place or before.kind is not block.kind:
        found.append(block)
    elif block.kind is Kind.PARAGRAPH and before.text[-1] not in '.!?:;”"' and block.text[:1].islower():
        joined = _HYPHEN.sub(r"\1", f"{before.text}\n{block.text}")
        found[-1] = dataclasses.replace(before, text=one_line(joined))
    elif block.kind is Kind.TABLE and len(block.header) == len(before.header):
        if block.header == before.header:
            found[-1] = dataclasses.replace(before, rows=(*before.rows, *block.rows))
        elif any(map(headers.is_number, block.header)) and not (
            block.rows and not headers.is_number(block.header[0]) and all(map(headers.YEAR.fullmatch, block.header[1:]))
        ):
            found[-1] = dataclasses.replace(before, rows=(*before.rows, block.header, *block.rows))
        else:
            found.append(block)
    else:
        found.append(block)


# --- Repeated lines ---------------------------------------------------------------------------


def _repeated(pages: Sequence[Page]) -> set[str]:
    """The texts, with `#` for numbers, at the upper or lower edge of at least three pages, or of half of them, whose
    numbers stay the same or count the pages: other numbers are content, such as those of a table's rows."""
    numbers = collections.defaultdict(list)
    for page in pages:
        for line in _lines(page.words):
            if _at_edge(line, page):
                numbers[_digitless(line.text)].append((page.number, [int(n) for n in re.findall(r"\d+", line.text)]))
    least = max(2, min(3, (len(pages) + 1) // 2))
    return {
        text
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
        lines = _lines(page.words)
        found.update({n - page.number for line in (*lines[:1], *lines[-1:]) for n in _edge_numbers(line, page)})
    offset, count = max(found.items(), key=lambda item: item[1], default=(0, 0))
    return offset if count >= max(3, len(pages) / 2) else None


def _edge_numbers(line: Line, page: Page) -> list[int]:
    words = (line.words[0].text, line.words[-1].text) if _at_edge(line, page) else ()
    return [int(word) for word in words if word.isdecimal() and len(word) < 5]


def _is_edge(line: Line, page: Page, repeated: set[str], offset: int | None, is_outermost: bool) -> bool:
    """Whether a line is a running head or foot, or a page number."""
    return _at_edge(line, page) and (
        _digitless(line.text) in repeated
        or _PAGE_NUMBER.fullmatch(line.text.strip()) is not None
        or (is_outermost and any(number - page.number == offset for number in _edge_numbers(line, page)))
    )


def _digitless(text: str) -> str:
    return re.sub(r"\d+", "#", text).strip()


# --- Lines and columns ----------------------------------------------------------------------


def _lines(words: Iterable[Word]) -> list[Line]:
    """Lines from top to bottom: words whose baselines differ by less than a third of their size, and small raised marks
    with the word that they follow."""
    found: list[list[Word]] = []
    for word in sorted(words, key=lambda word: (word.baseline, word.x0)):
        if found and abs(found[-1][0].baseline - word.baseline) <= 0.35 * min(word.size, found[-1][0].size):
            found[-1].append(word)
            continue
        if len(found) > 1 and _are_marks(found[-2], found[-1]):
            found[-2:] = [found[-1] + found[-2]]
        found.append([word])
    if len(found) > 1 and _are_marks(found[-2], found[-1]):
        found[-2:] = [found[-1] + found[-2]]
    return [Line(sorted(line, key=lambda word: word.x0)) for line in found]


def _are_marks(marks: Sequence[Word], line: Sequence[Word]) -> bool:
    """Whether all words of `marks` are raised marks: small, short, just above the line, each next to a word of it."""
    size = line[0].size
    return line[0].baseline - marks[0].baseline < 0.8 * size and all(
        len(mark.text) <= 3
        and mark.size < 0.86 * size
        and any(-1 < mark.x0 - word.x1 < 0.3 * size or -1 < word.x0 - mark.x1 < 0.3 * size for word in line)
        for mark in marks
    )


def _page_blocks(page: Page, words: list[Word], body: float, levels: dict[float, int]) -> Iterator[Block]:
    place = f"page {page.number}"
    pieces: list[tuple[float, Block]] = []  # (top, block)
    for top, rows, inside in _ruled_tables(page.rules, words):
        words = [word for word in words if id(word) not in inside]
        pieces += [(top, block) for block in headers.tables(rows, place)]
    regions = sorted(pieces, key=lambda piece: piece[0])
    tops = [top for top, _ in regions]
    # Text above, between and below tables with lines is laid out separately.
    for number, top in enumerate([*tops, float("inf")]):
        above = [word for word in words if (word.y0 + word.y1) / 2 < top]
        words = [word for word in words if (word.y0 + word.y1) / 2 >= top]
        yield from _layout(above, page, body, levels, place)
        if number < len(regions):
            yield regions[number][1]


def _layout(words: list[Word], page: Page, body: float, levels: dict[float, int], place: str) -> Iterator[Block]:
    """The blocks of a region: its columns one after the other, or bands of it from top to bottom."""
    stack = [words]
    while stack:
        words = stack.pop()
        if not words:
            continue
        lines = _lines(words)
        if (cut := _column_cut(words, lines)) is not None:
            stack += [[word for word in words if word.x0 >= cut], [word for word in words if word.x0 < cut]]
        elif (split := _band_cut(lines)) is not None:
            stack += [
                [w for line in lines[split:] for w in line.words],
                [w for line in lines[:split] for w in line.words],
            ]
        else:
            yield from _text_blocks(lines, page, body, levels, place)


def _gaps(words: Sequence[Word]) -> list[tuple[float, float]]:
    """The vertical strips (x0, x1) between words that no word crosses."""
    gaps, right = [], None
    for word in sorted(words, key=lambda word: word.x0):
        if right is not None and word.x0 > right:
            gaps.append((right, word.x0))
        right = word.x1 if right is None else max(right, word.x1)
    return gaps


def _column_cut(words: list[Word], lines: list[Line]) -> float | None:
    """The x at which two columns of prose are cut; None if there are none."""
    size = statistics.median(word.size for word in words)
    for x0, x1 in sorted(_gaps(words), key=lambda gap: gap[0] - gap[1])[:3]:
        if x1 - x0 < 0.8 * size:
            return None
        sides = [[w for w in words if w.x0 >= x1 - 0.01], [w for w in words if w.x0 < x1 - 0.01]]
        lengths = []
        for side in sides:
            rows = _lines(side)
            lengths.append((len(rows), statistics.mean(len(row.text) for row in rows)))
        if all(count >= 3 and mean >= COLUMN_CHARACTERS for count, mean in lengths):
            return x1 - 0.01
    return None


def _band_cut(lines: list[Line]) -> int | None:
    """The number of the first line below the widest blank band, if columns may begin or end there."""
    if len(lines) < 4 or not any(len(line.pieces()) > 1 for line in lines):
        return None
    # A line that crosses the columns above or below it separates them.
    crossing = [
        len(line.pieces()) == 1 and line.x1 - line.x0 > 0.55 * (max(o.x1 for o in lines) - min(o.x0 for o in lines))
        for line in lines
    ]
    for i in range(1, len(lines)):
        rest = (
            lines[i:]
            if crossing[i - 1] and not crossing[i]
            else lines[:i]
            if crossing[i] and not crossing[i - 1]
            else None
        )
        if rest is not None and len(rest) >= 3:
            words = [word for line in rest for word in line.words]
            if _column_cut(words, rest) is not None:
                return i
    return None


# --- Tables ---------------------------------------------------------------------------------


def _ruled_tables(rules: Sequence[Rule], words: Sequence[Word]) -> Iterator[tuple[float, list[list[str]], set[int]]]:
    """(top, rows, ids of the words inside) of each grid of drawn lines with at least two rows and columns."""
    across, down = [], []
    for rule in rules:
        width, height = rule.x1 - rule.x0, rule.y1 - rule.y0
        if height <= 2 and width > 10:
            across.append((rule.x0, rule.x1, (rule.y0 + rule.y1) / 2))
        elif width <= 2 and height > 5:
            down.append((rule.y0, rule.y1, (rule.x0 + rule.x1) / 2))
        elif width > 10 and height > 5:  # a box has four sides
            across += [(rule.x0, rule.x1, rule.y0), (rule.x0, rule.x1, rule.y1)]
            down += [(rule.y0, rule.y1, rule.x0), (rule.y0, rule.y1, rule.x1)]
    for group_across, group_down in _grids(across, down):
        ys = _distinct(y for _, _, y in group_across)
        xs = _distinct(x for _, _, x in group_down)
        if len(ys) < 3 or len(xs) < 3:
            continue
        cells: dict[tuple[int, int], list[Word]] = collections.defaultdict(list)
        inside: set[int] = set()
        for word in words:
            x, y = (word.x0 + word.x1) / 2, (word.y0 + word.y1) / 2
            if xs[0] <= x <= xs[-1] and ys[0] <= y <= ys[-1]:
                row = max(i for i, edge in enumerate(ys) if edge <= y)
                column = max(j for j, edge in enumerate(xs) if edge <= x)
                # A cell joined with its neighbours begins where a line is really drawn.
                while column > 0 and not _is_drawn(group_down, xs[column], y):
                    column -= 1
                while row > 0 and not _is_drawn(group_across, ys[row], x):
                    row -= 1
                cells[min(row, len(ys) - 2), min(column, len(xs) - 2)].append(word)
                inside.add(id(word))
        rows = [
            [" ".join(line.text for line in _lines(cells[i, j])) if (i, j) in cells else "" for j in range(len(xs) - 1)]
            for i in range(len(ys) - 1)
        ]
        for i, j in sorted(cells):  # the text of a joined cell is that of all its rows and columns
            right, below = j + 1, i + 1
            while right < len(xs) - 1 and not _is_drawn(group_down, xs[right], (ys[i] + ys[i + 1]) / 2):
                right += 1
            while below < len(ys) - 1 and not _is_drawn(group_across, ys[below], (xs[j] + xs[j + 1]) / 2):
                below += 1
            for row in rows[i:below]:
                row[j:right] = [cell or rows[i][j] for cell in row[j:right]]
        if sum(bool(cell) for row in rows for cell in row) >= 4 and sum(any(row) for row in rows) >= 2:
            yield ys[0], rows, inside


def _is_drawn(down: Sequence[tuple[float, float, float]], x: float, y: float) -> bool:
    return any(abs(at - x) <= 2 and y0 - 1 <= y <= y1 + 1 for y0, y1, at in down)


def _grids(across, down) -> Iterator[tuple[list, list]]:
    """Lines across and down that touch each other, directly or by way of others, as groups of their own."""
    lines = [("a", *line) for line in across] + [("d", *line) for line in down]
    leader = list(range(len(lines)))

    def find(i: int) -> int:
        while leader[i] != i:
            leader[i] = leader[leader[i]]
            i = leader[i]
        return i

    # Sorted by place, only lines that may touch are compared.
    downs = sorted((x, y0, y1, i + len(across)) for i, (y0, y1, x) in enumerate(down))
    places = [x for x, *_ in downs]
    for i, (x0, x1, y) in enumerate(across):
        for at in range(bisect.bisect_left(places, x0 - 3), bisect.bisect_right(places, x1 + 3)):
            _, y0, y1, j = downs[at]
            if y0 - 3 <= y <= y1 + 3:
                leader[find(i)] = find(j)
    groups: dict[int, tuple[list, list]] = collections.defaultdict(lambda: ([], []))
    for i, (kind, *line) in enumerate(lines):
        groups[find(i)][kind == "d"].append(tuple(line))
    yield from (group for group in groups.values() if group[0] and group[1])


def _distinct(places: Iterable[float]) -> list[float]:
    """Places in order, without those closer than 3 points to the one before."""
    found: list[float] = []
    for place in sorted(places):
        if not found or place - found[-1] > 3:
            found.append(place)
    return found


def _aligned(lines: Sequence[Line]) -> list[list[str]] | None:
    """The rows of lines whose pieces lie in the same columns; None if they are not a table."""
    pieces = [line.pieces() for line in lines]
    columns: list[list[float]] = []  # [x0, x1] of each
    for x0, x1 in sorted((piece[0].x0, piece[-1].x1) for line in pieces if len(line) > 1 for piece in line):
        if columns and x0 < columns[-1][1] + 2:
            columns[-1][1] = max(columns[-1][1], x1)
        else:
            columns.append([x0, x1])
    if len(columns) < 2:
        return None
    rows: list[list[str]] = []
    steps = [b.baseline - a.baseline for a, b in itertools.pairwise(lines)]
    is_wrapped = max(steps, default=0) > 1.25 * min(steps, default=0)  # rows are further apart than lines of a cell
    for step, line in zip([float("inf"), *steps], pieces):
        cells = [""] * len(columns)
        for piece in line:
            middle = (piece[0].x0 + piece[-1].x1) / 2
            at = min(range(len(columns)), key=lambda j: abs(middle - sum(columns[j]) / 2))
            cells[at] = f"{cells[at]} {_text_of(piece)}".strip()
        if (
            rows
            and (
                (not cells[0] and sum(map(bool, cells)) <= len(columns) / 2)
                or (is_wrapped and step < 1.1 * min(steps) and not all(cells))
            )
            and not any(map(headers.is_number, cells))
        ):
            rows[-1] = [f"{above} {below}".strip() for above, below in zip(rows[-1], cells)]  # a cell of two lines
        else:
            rows.append(cells)
    filled = sum(bool(cell) for row in rows for cell in row)
    if len(rows) < 2 or filled < 0.6 * len(rows) * len(columns):
        return None
    # Lines of prose with wide gaps have long pieces.
    return rows if sum(len(cell) for row in rows for cell in row) <= CELL_CHARACTERS * filled else None


# --- Text -----------------------------------------------------------------------------------


def _text_blocks(lines: list[Line], page: Page, body: float, levels: dict[float, int], place: str) -> Iterator[Block]:
    """Blocks of lines in one column: runs of lines with several pieces are tables, others text."""
    at = 0
    text: list[Line] = []
    while at < len(lines):
        end = at
        while end < len(lines) and (len(lines[end].pieces()) > 1 or (end > at and _continues(lines, end))):
            end += 1
        while end > at and len(lines[end - 1].pieces()) == 1:
            end -= 1
        while end - at > 1 and end < len(lines) and _ends_cell(lines[at : end + 1]):
            end += 1
        rows = _aligned(lines[at:end]) if end - at >= 3 or (end - at == 2 and len(lines[at].pieces()) > 2) else None
        if rows is None:
            text += lines[at : max(end, at + 1)]
        else:
            yield from _paragraphs(text, page, body, levels, place)
            text = []
            yield from headers.tables(rows, place)
        at = max(end, at + 1)
    yield from _paragraphs(text, page, body, levels, place)


def _ends_cell(lines: Sequence[Line]) -> bool:
    """Whether the last line is the rest of a cell of the row above it: rows are further apart."""
    *steps, last = [b.baseline - a.baseline for a, b in itertools.pairwise(lines)]
    return (
        len(lines[-1].pieces()) == 1
        and len(lines[-1].text) < 40
        and last < 1.3 * lines[-1].size < 1.3 * max(steps)
        and (max(steps) > 1.25 * last)
    )


def _continues(lines: Sequence[Line], at: int) -> bool:
    """Whether a line of one piece is within a table: between rows, close to the one above, and short."""
    return (
        at + 1 < len(lines)
        and len(lines[at + 1].pieces()) > 1
        and lines[at].baseline - lines[at - 1].baseline < 1.6 * lines[at].size
        and len(lines[at].text) < 40
    )


def _paragraphs(
    lines: Sequence[Line], page: Page, body: float, levels: dict[float, int], place: str
) -> Iterator[Block]:
    if not lines:
        return
    steps = [b.baseline - a.baseline for a, b in itertools.pairwise(lines) if 0 < b.baseline - a.baseline < 3 * body]
    leading = statistics.median_low(steps) if steps else 1.2 * body
    left = min(line.x0 for line in lines)
    right = max(line.x1 for line in lines)
    group: list[Line] = []
    for before, line in itertools.pairwise([None, *lines, None]):
        if group and (line is None or _begins(before, line, leading, left, right, body)):
            yield _block(group, page, body, levels, place)
            group = []
        if line is not None:
            group.append(line)


def _begins(before: Line, line: Line, leading: float, left: float, right: float, body: float) -> bool:
    """Whether a line begins a new block after the one before it."""
    return (
        line.baseline - before.baseline > 1.35 * max(leading, 1.1 * line.size)
        or line.baseline < before.baseline
        or abs(line.size - before.size) > 0.1 * body
        or (line.bold != before.bold and (len(line.text) < 80 or len(before.text) < 80))
        or _ITEM.match(line.text) is not None
        or (right - before.x1 > 0.25 * (right - left) and before.text[-1] in ".!?" and line.text[0].isupper())
        or (line.x0 - before.x0 > 0.8 * body and before.x0 - left < 0.3 * body and before.text[-1] in ".!?:")
    )


def _block(lines: Sequence[Line], page: Page, body: float, levels: dict[float, int], place: str) -> Block:
    text = one_line(_HYPHEN.sub(r"\1", "\n".join(line.text for line in lines))).replace("\u00ad", "")
    size, bold = lines[0].size, all(line.bold for line in lines)
    is_short = len(text) <= HEADING_CHARACTERS and len(lines) <= 3 and text[-1] not in ".,;:!?"
    if is_short and any(map(str.isalpha, text)) and (size > 1.12 * body or bold):
        return Block(Kind.HEADING, text, levels.get(round(size, 1), 6), place, is_said=len(text.split()) > 3)
    if size < 0.88 * body and lines[0].baseline > 0.6 * page.height and _NOTE.match(text):
        return Block(Kind.FOOTNOTE, re.sub(r"^(?:\d{1,2}|[*†‡§])\s*", "", text), place=place)
    if _ITEM.match(text):
        return Block(Kind.ITEM, _BULLETS.sub("", text, count=1), place=place)
    return Block(Kind.PARAGRAPH, text, place=place)


def _text_of(words: Sequence[Word]) -> str:
    """The words of a line; a small raised one is a power or the mark of a footnote."""
    text = ""
    size = max(word.size for word in words)
    right = None
    for word in words:
        if text and word.size < 0.86 * size and word.baseline < words[0].baseline - 0.1 * size and len(word.text) <= 3:
            text += raised(word.text, text[-12:])
        else:
            is_apart = right is None or word.x0 - right > 0.12 * word.size
            text += (" " if text and is_apart else "") + word.text
        right = word.x1
    return text
