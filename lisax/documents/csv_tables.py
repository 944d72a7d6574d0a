"""Reads one table from a file of separated values: UTF-8 (or UTF-16 or UTF-32 with a byte order mark), or else the
encoding that it is most likely in, with a warning; header in the first row, unless that is surely a row of data.

The separator is that of Excel's first line (`sep=;`), or the tab in a `.tsv`, or whichever of comma, tab, semicolon,
bar and `#` splits the first rows most evenly. Quotes are read as spreadsheets write them; a field may span lines. Blank
lines are left out.
"""

from __future__ import annotations

import collections
import csv
import functools
import io
import itertools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from lisax.documents import encodings, headers
from lisax.documents.blocks import Block, Kind
from lisax.documents.grid import Place, within_limits
from lisax.errors import DataError
from lisax.text import titles

SEPARATORS = (",", "\t", ";", "|", "#")
IN_TEXT = (";", "|", "#")  # which may also occur within cells
_DIVIDING = re.compile(r",(?![ \d])|(?<!\d),(?=\d)")  # a comma that is neither of text (`net, EUR`) nor a decimal's
SEPARATOR_LINE = re.compile(r'"?sep=([^\w\s"]|\t)"?[\r\n]+', re.IGNORECASE)
SAMPLE_CHARACTERS = 1 << 16
LONGEST_ROW = 1 << 24
END = "\0end of file\0"  # read as a line after the last: an unclosed quote includes it


def read(place: Place) -> list[Block]:
    """The table as a block, or several if blank lines separate tables with names of their own: lines of title above a
    header are its caption. Raises `DataError` for a file without a table."""
    path = place.path
    try:
        with path.open("rb") as file:
            start = file.read(4)
        encoding = encodings.marked(start) or "utf-8-sig"
        return _read(place, encoding)
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", path=path) from None
    except UnicodeError as error:
        with path.open("rb") as file:
            guessed = None if encoding != "utf-8-sig" else encodings.guess(file.read(encodings.SAMPLE))
        if guessed is None:
            raise DataError(
                f"not {encoding.removesuffix('-sig').upper()} ({error.reason}), nor in another encoding that is known",
                path=path,
            ) from None
        place.warn(f"files that are not UTF-8 (read as {guessed})")
        return _read(place, guessed)


def _read(place: Place, encoding: str) -> list[Block]:
    path = place.path
    errors = "strict" if encoding.startswith("utf") else "replace"
    with path.open(encoding=encoding, errors=errors, newline="") as file:
        sample = file.read(SAMPLE_CHARACTERS)
        file.seek(0)
        if said := SEPARATOR_LINE.match(sample):
            file.readline()
            delimiter = said[1]
        else:
            delimiter = "\t" if path.suffix.lower() == ".tsv" else separator(sample)
        lines = iter(functools.partial(file.readline, LONGEST_ROW + 1), "")
        blanks: list[int] = []
        rows = _rows(lines, delimiter, path, 2 if said else 1, blanks)
        first = list(itertools.islice(rows, headers.SEARCHED_ROWS))
        nameless = len(first) > 1 and not any(map(str.strip, first[0]))
        skipped = int(nameless and (blanks[:1] == [1] or headers.begins_table(first, 1)))
        first = _with_whole_titles(first[skipped:], delimiter)
        captions, count = headers.top(first)
        above = len(captions) + count
        header = headers.header_of(first[len(captions) : above])
        is_data = headers.is_row_of_data(first[0], first[1:]) if first and above == 1 else False
        if is_data:
            above, header = 0, [f"column {j}" for j in range(1, len(first[0]) + 1)]
        elif is_data is None:
            place.warn("headers with numbers, which may be a row of data")
        below = _with_whole_notes(itertools.chain(first[above:], rows), delimiter)
        header, kept, left_out = within_limits(header, below, place)
        if not kept and not any(cell.strip() for cell in header):
            raise DataError("the file is empty", path=path)
    if blanks and not left_out:
        every = [*first[:above], *kept]
        for at in reversed(blanks):
            every.insert(at - skipped, [])
        found = list(headers.tables(every))
        if sum(bool(block.rows) for block in found) > 1:
            return found
    notes: list[Block] = []
    while len(kept) > 1 and not left_out and headers.begins_as_note([*kept[-1], *[""] * (len(header) - len(kept[-1]))]):
        notes.insert(0, Block(Kind.FOOTNOTE, titles.one_line(next(filter(str.strip, kept.pop())))))
    caption = titles.one_line(" ".join(captions))
    table = Block(Kind.TABLE, caption, header=tuple(header), rows=tuple(map(tuple, kept)), rows_left_out=left_out)
    return [table, *notes]


def _is_text(row: list[str]) -> bool:
    """Whether a row can be a line of text, in which a blank follows each separator."""
    return all(cell.startswith(" ") and cell.strip() for cell in row[1:])


def _with_whole_titles(rows: list[list[str]], delimiter: str) -> list[list[str]]:
    """The first rows with each line of title in one cell: the separator splits `Report, 2023` before a blank, into fewer
    cells than the header below it has."""
    count = sum(1 for _ in itertools.takewhile(_is_text, rows))
    names = rows[count] if count + 1 < len(rows) else []
    are_names = all(cell.strip() and (headers.YEARS.fullmatch(cell) or not headers.is_number(cell)) for cell in names)
    if not are_names or any(len(row) >= len(names) for row in rows[:count]):
        return rows
    return [*([delimiter.join(row)] for row in rows[:count]), *rows[count:]]


def _with_whole_notes(rows: Iterable[list[str]], delimiter: str) -> Iterator[list[str]]:
    """The rows with each line of note (`Source: the office, 2023`) in one cell, unless rows of data have blanks after
    separators too."""
    is_spaced = True
    for row in rows:
        is_text = len(row) > 1 and _is_text(row)
        if is_text and not is_spaced and headers.begins_as_note([row[0], ""]):
            yield [delimiter.join(row)]
        else:
            is_spaced = is_text
            yield row


def separator(sample: str) -> str:
    """The separator that splits most of the sample's rows into the same number of cells, at least two.

    A separator that may occur in text must split the header too; `#`, with which a name may begin or end, into
    non-empty names. Commas that are all of text or of decimals lose to a tab or a semicolon."""
    scores: dict[str, tuple[float, int]] = {}
    lines = sample.splitlines(keepends=True)
    whole = "".join(lines[:-1] if len(sample) >= SAMPLE_CHARACTERS and len(lines) > 1 else lines)
    for candidate in SEPARATORS:
        try:
            reader = csv.reader(io.StringIO(whole, newline=""), delimiter=candidate)
            rows = [row for row in itertools.islice(reader, 50) if any(map(str.strip, row))]
        except csv.Error:
            continue
        header = rows[0] if rows else []
        if (candidate in IN_TEXT and len(header) < 2) or (candidate == "#" and not all(map(str.strip, header))):
            continue
        widths = collections.Counter(map(len, rows))
        width, count = max(widths.items(), key=lambda item: (item[1], item[0]), default=(1, 0))
        if width > 1:
            scores[candidate] = (count / widths.total(), width)
    best = max(scores, key=scores.__getitem__, default=SEPARATORS[0])
    if best == "," and not _DIVIDING.search(whole):
        scores = {one: score for one, score in scores.items() if one in "\t;" and score[0] > 0.5}
        best = max(scores, key=scores.__getitem__, default=best)
    return best


def _rows(lines: Iterable[str], delimiter: str, path: Path, line: int, blanks: list[int]) -> Iterator[list[str]]:
    """The rows of a file from its `line` on. A first row of empty cells is a header without names, not a blank line.
    `blanks` gets the number of rows before each blank line."""
    before, is_first, count = line - 1, True, 0
    for number, row in rows_of(itertools.chain(lines, [END]), path, line, delimiter=delimiter):
        if row == [END]:
            return
        if row and row[-1].endswith(END):
            raise DataError("not separated values: a quote of this row is never closed", path=path, line=line)
        line = before + number + 1
        if any(cell.strip() for cell in row) or (is_first and len(row) > 1):
            is_first = False
            count += 1
            yield row
        elif len(blanks) < headers.SEARCHED_ROWS and count and blanks[-1:] != [count]:
            blanks.append(count)


def rows_of(lines: Iterable[str], path: Path, first_line: int = 1, **dialect) -> Iterator[tuple[int, list[str]]]:
    """(lines read so far, row) of separated values. Raises `DataError` for invalid input, and for a row of more than
    `LONGEST_ROW` characters. `dialect`: arguments of `csv.reader`."""
    csv.field_size_limit(LONGEST_ROW)
    taken = 0

    def counted() -> Iterator[str]:
        nonlocal taken
        for text in lines:
            taken += len(text)
            if taken > LONGEST_ROW:
                raise DataError(
                    f"not separated values: the row has more than {LONGEST_ROW:,} characters",
                    path=path,
                    line=first_line + reader.line_num,
                )
            yield text

    reader = csv.reader(counted(), **dialect)
    try:
        for row in reader:
            taken = 0
            yield reader.line_num, row
    except csv.Error as error:
        raise DataError(f"not separated values: {error}", path=path, line=first_line - 1 + reader.line_num) from None
