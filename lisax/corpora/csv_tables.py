"""One table from one file of separated values: UTF-8 (or UTF-16 with its mark), the header in the first row.

The separator is the one of comma, tab, semicolon, bar and `#` that cuts the first rows most evenly. Quotes are read
as spreadsheets write them; a field may span lines. Blank lines are left out.
"""

from __future__ import annotations

import collections
import csv
import io
import itertools
from collections.abc import Iterator
from pathlib import Path

from lisax.corpora.grid import Place, make_table
from lisax.records import DataError, Table

SEPARATORS = (",", "\t", ";", "|", "#")
SAMPLE_CHARACTERS = 1 << 16
LONGEST_FIELD = 1 << 24
END = "\0end of file\0"  # read as a line after the last: a quote that is never closed swallows it


def read_table(name: str, place: Place) -> Table:
    """The table of the file at `place.path`, called `name`. Raises `DataError` for a file that holds none."""
    path = place.path
    try:
        with path.open("rb") as file:
            start = file.read(4)
        encoding = "utf-16" if start[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
        with path.open(encoding=encoding, newline="") as file:
            sample = file.read(SAMPLE_CHARACTERS)
            file.seek(0)
            rows = _rows(file, separator(sample), path)
            header = next(rows, None)
            if header is None:
                raise DataError("the file is empty", path=path)
            kept = list(itertools.islice(rows, place.limits.rows))
            rest = sum(1 for _ in rows)
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", path=path) from None
    except UnicodeError as error:
        raise DataError(f"not {encoding.removesuffix('-sig').upper()} ({error.reason}); if the file is Latin-1, "
                        "convert it with `iconv -f latin1 -t utf-8`", path=path) from None
    return make_table(name, Path(name).stem.replace("_", " "), header, kept, place, rows_left_out=rest)


def separator(sample: str) -> str:
    """The separator that cuts the most of the sample's rows into the same number of cells, two at least."""
    best, best_score = SEPARATORS[0], (0.0, 0)
    lines = sample.splitlines(keepends=True)
    whole = "".join(lines[:-1] if len(sample) >= SAMPLE_CHARACTERS and len(lines) > 1 else lines)
    for candidate in SEPARATORS:
        try:
            rows = itertools.islice(csv.reader(io.StringIO(whole, newline=""), delimiter=candidate), 50)
            widths = collections.Counter(len(row) for row in rows if row)
        except csv.Error:
            continue
        width, count = max(widths.items(), key=lambda item: (item[1], item[0]), default=(1, 0))
        if width > 1 and (score := (count / widths.total(), width)) > best_score:
            best, best_score = candidate, score
    return best


def _rows(file, delimiter: str, path: Path) -> Iterator[list[str]]:
    csv.field_size_limit(LONGEST_FIELD)
    reader = csv.reader(itertools.chain(file, [END]), delimiter=delimiter)
    line = 1
    try:
        for row in reader:
            if row == [END]:
                return
            if row and row[-1].endswith(END):
                raise DataError("not separated values: a quote of this row is never closed", path=path, line=line)
            line = reader.line_num + 1
            if any(cell.strip() for cell in row):
                yield row
    except csv.Error as error:
        raise DataError(f"not separated values: {error}", path=path, line=reader.line_num) from None
