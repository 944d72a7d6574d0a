"""Finds the tables of a sheet: their first rows, their title lines, and their header of one or two rows.

A file of separated values or a spreadsheet has only cells. Above the header there may be lines of title, notes or dates,
in one cell each; a header may have a row of groups above it, and a row of units below it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

from lisax.documents.blocks import Block, Kind
from lisax.documents.grid import join_names
from lisax.text.dates import YEAR
from lisax.text.quantities import whole
from lisax.text.titles import one_line

SEARCHED_ROWS = 50  # in which a header is looked for
WIDE = 60  # characters of a cell that is a line of text
_NOTE = re.compile(
    r"(?:source|note|quelle|anmerkung|hinweis|nota|remarque|fuente)s?\b|[*†‡]|\(?[0-9a-d]\)\s", re.IGNORECASE
)
_UNIT = re.compile(
    r"[(\[]?(?:%|[$€£¥]|°?[A-Za-zµ²³/%€$£ .]{1,12}|[A-Za-z/ ]{0,10}(?:m|ft|in|mi|yd|s|CO)\^?[23]|000s?|'000)[)\]]?"
)

YEARS = re.compile(rf"{YEAR}(?:[/–-]\d{{2,4}})?")
_RECENT = re.compile(r"(?:1[89]|20)\d\d")

Rows = Sequence[Sequence[str]]


def tables(rows: Rows, place: str = "", *, caption: str = "", numbers: Sequence[int] = ()) -> Iterator[Block]:
    """The tables of a sheet, in order, each followed by the notes below its last row; a single column of texts is
    paragraphs. The lines above a header are the table's caption, or else the given `caption`.

    Blank rows separate tables if the next rows begin a table of their own: with a line of title, or with a row of other
    names. `numbers`, of the rows: the `place` of a block ends with that of its first row."""
    lines: list[str] = []
    for first, last in _blocks(rows):
        block = [row for row in rows[first:last] if _filled(row)]
        if all(map(_is_line, block)) and last < len(rows):  # titles of the next table
            lines += map(_line, block)
            continue
        where = f"{place}row {numbers[first]}" if numbers else place
        for part in _beside(block):
            yield from _table(part, lines, where, caption)
            lines = []


def is_number(cell: str) -> bool:
    """Whether a cell is a quantity in digits and no more: `1,234.5`, `(500)`, `12 %`, `€ 3`."""
    found = whole(cell.strip()) if any(map(str.isdecimal, cell)) else None
    return found is not None and not found.noun


def is_amount(cell: str) -> bool:
    """Whether a cell is a number, and no year from 1800 on. Sums count it once: see `JoinedCells`."""
    return is_number(cell) and _RECENT.fullmatch(cell.strip()) is None


class JoinedCells:
    """The text of one row's joined cells in the rows below. An amount over the rows of a group (`is_amount`), which a
    cell before it names, is in the first of them only."""

    def __init__(self) -> None:
        self._group = self._named = 0  # the rows of the first joined cell; the same after a cell that names this row

    def below(self, text: str, rows: int) -> str:
        """The text of the row's next cell, over `rows` rows, in those below."""
        self._group = self._group or (rows if rows > 1 else 0)
        if rows == 1 and text and not is_number(text):
            self._named = self._group
        return "" if 1 < rows == self._named and is_amount(text) else text


def is_row_of_data(first: Sequence[str], below: Rows) -> bool | None:
    """Whether a first row is data and not the header: it has numbers in all columns (at least one) that have only
    numbers below it, in the same units. None if the numbers may still be names: several that rise or fall, only a
    year, or with fewer than two rows below."""
    columns = [[row[j] for row in below if j < len(row) and row[j].strip()] for j in range(len(first))]
    numeric = [j for j, cells in enumerate(columns) if cells and all(map(is_number, cells))]
    if not all(map(str.strip, first)) or not all(is_number(first[j]) for j in numeric):
        return False
    # A year above other numbers names its column; above years it shows nothing.
    years = [j for j in numeric if YEARS.fullmatch(first[j].strip())]
    rest = [j for j in numeric if not YEARS.fullmatch(first[j].strip())]
    if not numeric or not all(YEARS.fullmatch(cell.strip()) for j in years for cell in columns[j]):
        return False
    if any(whole(cell.strip()).unit != whole(first[j].strip()).unit for j in rest for cell in columns[j]):
        return False
    values = [whole(first[j].strip()).value for j in rest or years]
    pairs = list(itertools.pairwise(values))
    is_ordered = bool(pairs or not rest) and (all(a < b for a, b in pairs) or all(a > b for a, b in pairs))
    return None if is_ordered or len(below) < 2 else True


def _beside(rows: Rows) -> list[list[list[str]]]:
    """The tables of a block that empty columns separate, if each has a header and names of rows, below lines of title
    or not."""
    width = max(map(len, rows))
    square = [[*row, *[""] * (width - len(row))] for row in rows]
    parts, start = [], None
    for j in range(width + 1):
        is_blank = j == width or not any(row[j].strip() for row in square)
        if is_blank and start is not None:
            part = [row[start:j] for row in square]
            parts.append([row for row in part if _filled(row)])
            start = None
        elif not is_blank and start is None:
            start = j
    are_tables = len(parts) > 1 and all(map(_is_whole, parts))
    return parts if are_tables else [list(rows)]


def _is_whole(part: Rows) -> bool:
    """Whether rows are a table: names of columns above at least two rows, whose first cells are names."""
    rest = list(itertools.dropwhile(lambda row: row[0].strip() and _is_line(row), part))
    below = rest[1:]
    return (
        len(below) > 1
        and _filled(rest[0]) > 1
        and not any(map(is_number, rest[0]))
        and not any(is_number(row[0]) or not row[0].strip() for row in below)
        and any(is_number(cell) for row in below for cell in row)
    )


def _filled(row: Sequence[str]) -> int:
    return sum(bool(cell.strip()) for cell in row)


def _is_line(row: Sequence[str]) -> bool:
    """Whether a row is a line of text over the whole width: one text, in one cell or in all that are joined."""
    texts = {cell.strip() for cell in row if cell.strip()}
    return len(texts) == 1 and not is_number(next(iter(texts)))


def _blocks(rows: Rows) -> Iterator[tuple[int, int]]:
    """(first, last + 1) of the runs of rows that belong together."""
    filled = (i for i, row in enumerate(rows) if _filled(row))
    runs = [[i for _, i in run] for _, run in itertools.groupby(enumerate(filled), lambda pair: pair[1] - pair[0])]
    starts = [run[0] for run in runs[:1]]
    for above, run in itertools.pairwise(runs):
        blanks = run[0] - above[-1] - 1
        if begins_table(rows, run[0]) or _has_other_words([rows[i] for i in above], [rows[i] for i in run], blanks):
            starts.append(run[0])
    yield from itertools.pairwise([*starts, len(rows)])


def begins_table(rows: Rows, i: int) -> bool:
    """Whether a table begins at row `i`, after a blank row: names above numbers, with or without lines of title."""
    at = i
    while at < min(len(rows), i + 5) and _filled(rows[at]) and _is_line(rows[at]):
        at += 1
    if at + 1 >= len(rows) or not _filled(rows[at]):
        return False
    names, below = rows[at], rows[at + 1]
    return _filled(names) >= 2 and not any(map(is_number, names)) and any(map(is_number, below))


def _has_other_words(above: Rows, run: Rows, blanks: int) -> bool:
    """Whether rows below others and `blanks` blank rows are a table of words, which `begins_table` does not know: their
    first row has texts that its columns do not repeat, and the rows have a column more, or words in one of numbers, or
    several blank rows above them."""
    names, *below = itertools.dropwhile(_is_line, run) if len(run) > 2 else [()]
    columns = [j for j, name in enumerate(names) if name.strip()]
    if len(columns) < 2 or len(below) < 2 or columns != [j for j, cell in enumerate(below[0]) if cell.strip()]:
        return False
    texts = {j: [row[j].strip() for row in below if j < len(row)] for j in columns}
    if any(is_number(names[j]) or names[j].strip() in texts[j] for j in columns):
        return False
    is_wider = not any(row[columns[-1]].strip() for row in above if columns[-1] < len(row))
    numeric = [j for j in columns if j < len(above[-1]) and is_number(above[-1][j])]
    return blanks > 1 or is_wider or not all(any(map(is_number, texts[j])) for j in numeric)


def _table(rows: Rows, lines: Sequence[str], place: str, caption: str) -> Iterator[Block]:
    """The blocks of one table, below the `lines` of title."""
    used = [j for j in range(max(map(len, rows))) if any(j < len(row) and row[j].strip() for row in rows)]
    if len(used) == 1:
        texts = (*lines, *(row[used[0]] for row in rows if len(row) > used[0]))
        yield from (Block(Kind.PARAGRAPH, text, place=place) for text in texts)
        return
    rows = [[row[j] if j < len(row) else "" for j in used] for row in rows]
    notes: list[str] = []
    while len(rows) > 2 and _is_note(rows[-1]):
        notes.insert(0, _line(rows[-1]))
        rows = rows[:-1]
    above, count = top(rows[:SEARCHED_ROWS])
    at = len(above)
    title = " ".join((*lines, *above)) or caption
    header, rest = header_of(rows[at : at + count]), tuple(map(tuple, rows[at + count :]))
    yield Block(Kind.TABLE, title, place=place, header=header, rows=rest)
    yield from (Block(Kind.FOOTNOTE, note, place=place) for note in notes)


def top(rows: Rows) -> tuple[list[str], int]:
    """(title lines, number of header rows after them) of the first rows of a table."""
    at = 0
    while at + 1 < len(rows) and _is_line(rows[at]) and any(_filled(row) > 1 for row in rows[at + 1 : at + 3]):
        at += 1
    if at and (_filled(rows[at]) < 2 or is_number(rows[at][0])):  # a header of one name
        at -= 1
    return [_line(row) for row in rows[:at]], _header_rows(rows[at:])


def header_of(rows: Rows) -> tuple[str, ...]:
    """The names of the columns: those of the header's rows joined, each group repeated over its columns."""
    return tuple(join_names([_spread(row) if i < len(rows) - 1 else row for i, row in enumerate(rows)]))


def _line(row: Sequence[str]) -> str:
    return one_line(next(cell for cell in row if cell.strip()))


def _is_note(row: Sequence[str]) -> bool:
    """Whether a last row is a note below the table: one text, which begins as notes do or is long."""
    return begins_as_note(row) or (len(row) > 1 and _is_line(row) and len(_line(row)) > WIDE)


def begins_as_note(row: Sequence[str]) -> bool:
    """Whether a row of several cells has one text, which begins as notes do."""
    return len(row) > 1 and _is_line(row) and _NOTE.match(_line(row)) is not None


def _header_rows(rows: Rows) -> int:
    """The number of header rows: two if names are below groups, and one more if units are below names."""
    count = 1
    if len(rows) > 2 and _groups(rows[0], rows[1]):
        is_joined = any(above.strip() and above == name for above, name in zip(rows[0], rows[1]))  # a cell over both
        count = 1 + (is_joined or any(map(is_number, rows[2])))
    if len(rows) > count + 1:
        units, below = rows[count], rows[count + 1]
        filled = [(unit.strip(), cell) for unit, cell in zip(units, below) if unit.strip()]
        is_marked = len(filled) > 1 or any(unit[0] in "([" for unit, _ in filled)
        if is_marked and all(_UNIT.fullmatch(unit) and is_number(cell) for unit, cell in filled):
            count += 1
    return count


def _groups(above: Sequence[str], names: Sequence[str]) -> bool:
    """Whether a row groups the names in the next: it repeats texts or leaves cells empty, and below it are different
    texts. Columns that are in no group may have no name below, if the first has no other."""
    texts = [cell.strip() for cell in above]
    gaps = {j for j in range(1, len(texts)) if not texts[j] or texts[j] == texts[j - 1]}
    grouped = gaps | {j - 1 for j in gaps} if "".join(names[:1]).strip() in ("", texts[0]) else range(len(texts))
    below = [name.strip() for j, name in enumerate(names[: len(texts)]) if j and (j in grouped or name.strip())]
    return (
        bool(gaps)
        and any(texts[1:])
        and len(names) >= len(texts)
        and all(below)
        and (not all(map(is_number, below)) or all(map(YEARS.fullmatch, below)))
    )


def _spread(row: Sequence[str]) -> list[str]:
    """A row of groups with each group repeated over the empty cells after it, from the second column on."""
    spread, last = [row[0]], ""
    for cell in row[1:]:
        last = cell if cell.strip() else last
        spread.append(last)
    return spread
