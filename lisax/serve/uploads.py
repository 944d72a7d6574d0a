"""Reads files for the page: uploaded ones, or those of a folder that is served.

Uploaded files are written under generated names; the client's file name is only used as text. All are read in a process
of their own, which has little memory and time: whatever a file holds, the server keeps answering. A file that cannot be
read is named, and the others are used.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Sequence
from pathlib import Path

from lisax.corpora.files import Account, FileFolder
from lisax.corpora.reading import Watch
from lisax.documents import Reader
from lisax.documents.reading import SUFFIXES
from lisax.errors import LisaxError
from lisax.records import Document, Table
from lisax.serve.limits import Limits
from lisax.serve.schema import clean
from lisax.text import titles

TAKEN = sorted(SUFFIXES)
SUFFIX = 20  # characters of a suffix, which names a file on disk


@dataclasses.dataclass(frozen=True, slots=True)
class Upload:
    """The content of files; `notes` are the account of them and warnings."""

    pages: list[Document]
    tables: list[Table]
    notes: tuple[str, ...]
    account: Account

    @property
    def counts(self) -> list[tuple[int, str]]:
        """(count, kind) of the content."""
        counts = (
            (len(self.pages), "page"),
            (sum(len(page.sentences) for page in self.pages), "sentence"),
            (len(self.tables), "table"),
            (sum(len(table.rows) for table in self.tables), "row"),
        )
        return [(count, what) for count, what in counts if count]


def read(files: Sequence[tuple[str, bytes]], folder: Path, limits: Limits) -> Upload:
    """The pages and tables of files (name, content), which are written to `folder`. Raises LisaxError, in words for the
    user, for too much at once, and if no file could be read."""
    named: dict[str, Path] = {}
    for number, (file, content) in enumerate(files):
        shown = shown_name(file, limits.name_characters)
        path = folder / f"{number}{Path(shown).suffix.lower()[:SUFFIX]}"
        path.write_bytes(content)
        name = shown
        for copy in itertools.count(number + 1):
            if name not in named:
                break
            name = f"{copy}-{shown}"
        named[name] = path
    reader = Reader(
        limits.table,
        bounded=True,
        memory=limits.upload_memory,
        seconds=limits.file_seconds,
        all_seconds=limits.upload_seconds,
    )
    data = FileFolder(folder, limits.table, files=[(path, name) for name, path in named.items()], reader=reader)
    return content_of(data, limits)


def content_of(data: FileFolder, limits: Limits | None = None) -> Upload:
    """The pages and tables of files, within limits if they are given. Raises LisaxError for too much, and for nothing."""
    watch, pages, tables = Watch(), [], []
    cells = characters = 0
    # Counted while reading: cells that span many others make a small file large.
    for table in data.tables(watch):
        if not (table.rows and table.header):
            continue
        tables.append(table)
        cells += len(table.header) * len(table.rows)
        characters += sum(map(len, itertools.chain(table.header, *table.rows)))
        _check_size(limits, len(tables), cells, characters)
    for page in data.documents(watch):
        pages.append(page)
        characters += len(page.text)
        _check_size(limits, len(tables), cells, characters)
    account = data.account()
    lines = account.lines() if account.skipped else []
    if not tables and not pages:
        said = f": {'; '.join(map(str, account.skipped))}" if account.skipped else ""
        raise LisaxError(f"There is no table with a row and no page with text in these files{said}.")
    return Upload(pages, tables, (*lines, *watch.warnings), account)


def _check_size(limits: Limits | None, tables: int, cells: int, characters: int) -> None:
    if limits is None:
        return
    if characters > limits.upload_characters:
        raise LisaxError(
            "The texts and cells of these files, each cell as often as it spans others, have more than the "
            f"{limits.upload_characters:,} characters that are taken at once."
        )
    if tables > limits.upload_tables or cells > limits.upload_cells:
        raise LisaxError(
            f"{tables:,} tables with {cells:,} cells in these files; at most {limits.upload_tables:,} with "
            f"{limits.upload_cells:,} are taken at once."
        )


def shown_name(file: str, most: int) -> str:
    """The name of an uploaded file on one line, without control characters; a long name is shortened in the middle, which
    keeps the suffix."""
    name = titles.one_line(clean(re.split(r"[/\\]", file)[-1])) or "a file"
    return name if len(name) <= most else f"{name[: most - 13]}…{name[-12:]}"
