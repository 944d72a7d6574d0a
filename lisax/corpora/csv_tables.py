"""One table from one file of separated values: UTF-8 (or UTF-16 or UTF-32 with its mark), the header in the first row.

The separator is what Excel's first line says (`sep=;`), or the tab in a `.tsv`, or the one of comma, tab, semicolon,
bar and `#` that cuts the first rows most evenly. Quotes are read as spreadsheets write them; a field may span lines.
Blank lines are left out.
"""

from __future__ import annotations

import collections
import csv
import io
import itertools
import re
from collections.abc import Iterator
from pathlib import Path

from lisax.corpora.grid import Place, make_table
from lisax.records import DataError, Table

SEPARATORS = (",", "\t", ";", "|", "#")
IN_TEXT = (";", "|", "#")  # which the cells of a single column may have too
SEPARATOR_LINE = re.compile(r'"?sep=([^\w\s"]|\t)"?[\r\n]+', re.IGNORECASE)
MARKS = {b"\xff\xfe\0\0": "utf-32", b"\0\0\xfe\xff": "utf-32", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
SAMPLE_CHARACTERS = 1 << 16
LONGEST_FIELD = 1 << 24
END = "\0end of file\0"  # read as a line after the last: a quote that is never closed swallows it


def read_table(name: str, place: Place) -> Table:
    """The table of the file at `place.path`, called `name`. Raises `DataError` for a file that holds none."""
    path = place.path
    try:
        with path.open("rb") as file:
            start = file.read(4)
        encoding = next((name for mark, name in MARKS.items() if start.startswith(mark)), "utf-8-sig")
        with path.open(encoding=encoding, newline="") as file:
            sample = file.read(SAMPLE_CHARACTERS)
            file.seek(0)
            if said := SEPARATOR_LINE.match(sample):
                file.readline()
                delimiter = said[1]
            else:
                delimiter = "\t" if path.suffix.lower() == ".tsv" else separator(sample)
            rows = _rows(file, delimiter, path, 2 if said else 1)
            header = next(rows, [])
            kept = list(itertools.islice(rows, place.limits.rows))
            if not kept and not any(cell.strip() for cell in header):
                raise DataError("the file is empty", path=path)
            rest = sum(1 for _ in rows)
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", path=path) from None
    except UnicodeError as error:
        raise DataError(f"not {encoding.removesuffix('-sig').upper()} ({error.reason}); if the file is Latin-1, "
                        "convert it with `iconv -f latin1 -t utf-8`", path=path) from None
    return make_table(name, Path(name).stem.replace("_", " "), header, kept, place, rows_left_out=rest)


def separator(sample: str) -> str:
    """The separator that cuts the most of the sample's rows into the same number of cells, two at least.

    What may stand in a text must cut the header too, and `#`, which a name may begin or end with, into names."""
    best, best_score = SEPARATORS[0], (0.0, 0)
    lines = sample.splitlines(keepends=True)
    whole = "".join(lines[:-1] if len(sample) >= SAMPLE_CHARACTERS and len(lines) > 1 else lines)
    for candidate in SEPARATORS:
        try:
            reader = csv.reader(io.StringIO(whole, newline=""), delimiter=candidate)
            rows = [row for row in itertools.islice(reader, 50) if any(map(str.strip, row))]
        except csv.Error:
            continue
        header = rows[0] if rows else []
        if candidate in IN_TEXT and len(header) < 2 or candidate == "#" and not all(map(str.strip, header)):
            continue
        widths = collections.Counter(map(len, rows))
        width, count = max(widths.items(), key=lambda item: (item[1], item[0]), default=(1, 0))
        if width > 1 and (score := (count / widths.total(), width)) > best_score:
            best, best_score = candidate, score
    return best


def _rows(file, delimiter: str, path: Path, line: int) -> Iterator[list[str]]:
    """The rows of a file from its `line` on. A first row of empty cells is a header without names, not a blank line."""
    before, is_first = line - 1, True
    csv.field_size_limit(LONGEST_FIELD)
    reader = csv.reader(itertools.chain(file, [END]), delimiter=delimiter)
    try:
        for row in reader:
            if row == [END]:
                return
            if row and row[-1].endswith(END):
                raise DataError("not separated values: a quote of this row is never closed", path=path, line=line)
            line = before + reader.line_num + 1
            if any(cell.strip() for cell in row) or is_first and len(row) > 1:
                is_first = False
                yield row
    except csv.Error as error:
        raise DataError(f"not separated values: {error}", path=path, line=before + reader.line_num) from None
