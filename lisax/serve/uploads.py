"""Reads uploaded files into pages and tables.

Files are written under generated names and read by `lisax.documents`; the client's file name is only used as text. All
are read in a process of their own, which has little memory and time: whatever a file holds, the server keeps answering.
A file that cannot be read is named, and the others are used.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
import time
from collections.abc import Sequence
from pathlib import Path

from lisax.corpora.files import Account, Skipped
from lisax.corpora.reading import Watch
from lisax.documents import Document, Reader, Unread
from lisax.documents.reading import SUFFIXES
from lisax.errors import LisaxError
from lisax.records import Document as Page
from lisax.records import Table
from lisax.serve.limits import Limits
from lisax.text import titles

TAKEN = sorted(SUFFIXES)
_UNWANTED = re.compile(r"[^\w .()-]+")


@dataclasses.dataclass(frozen=True, slots=True)
class Upload:
    """The content of files; `notes` are warnings, by the names of the user's files."""

    pages: list[Page]
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
    reading = _Reading(limits)
    end = time.monotonic() + limits.upload_seconds
    bounds = {"memory": limits.upload_memory, "seconds": limits.file_seconds}
    with Reader(limits.table, bounded=True, **bounds) as reader:
        for number, (file, content) in enumerate(files):
            shown = shown_name(file, limits.name_characters)
            path = folder / f"{number}{Path(shown).suffix.lower()}"
            path.write_bytes(content)
            stem = Path(shown).stem
            name = f"{number + 1}-{_UNWANTED.sub('_', '_'.join(stem.split())) or 'file'}{path.suffix}"
            if time.monotonic() > end:
                raise LisaxError("These files take too long to read.")
            try:
                document = reader.read(path, name)
            except Unread as error:
                reading.skipped.append(Skipped(shown, error.why, error.detail))
                continue
            reading.add(document, shown, stem)
    return reading.done(len(files))


class _Reading:
    def __init__(self, limits: Limits):
        self.limits, self.watch = limits, Watch()
        self.pages: list[Page] = []
        self.tables: list[Table] = []
        self.skipped: list[Skipped] = []
        self.cells = self.characters = 0

    def done(self, files: int) -> Upload:
        account = Account(files, files - len(self.skipped), tuple(self.skipped))
        if not self.tables and not self.pages:
            said = f": {'; '.join(map(str, self.skipped))}" if self.skipped else ""
            raise LisaxError(f"There is no table with a row and no page with text in these files{said}.")
        skipped = (f"not read: {one}" for one in self.skipped)
        return Upload(self.pages, self.tables, (*skipped, *self.watch.warnings), account)

    def add(self, document: Document, shown: str, stem: str) -> None:
        own = Path(document.name).stem.replace("_", " ")
        title = titles.one_line(stem.replace("_", " ") if document.title == titles.one_line(own) else document.title)
        document = dataclasses.replace(document, title=title[: self.limits.name_characters])
        for kind, count in document.notes:
            self.watch.warn(kind, shown, count=count)
        # Counted while reading: cells that span many others make a small file large.
        for table in document.tables(_Named(self.watch, shown), self.limits.table, Path(document.name).stem):
            if not (table.rows and table.header):
                self.watch.warn("tables without a row below their header (left out)", shown)
                continue
            self.tables.append(table)
            self.cells += len(table.header) * len(table.rows)
            self.characters += sum(map(len, itertools.chain(table.header, *table.rows)))
            self._check_size()
        page = document.page(Path(document.name).stem)
        if page.sentences:
            self.pages.append(page)
            self.characters += len(page.text)
            self._check_size()

    def _check_size(self) -> None:
        limits = self.limits
        if self.characters > limits.upload_characters:
            raise LisaxError(
                "The texts and cells of these files, each cell as often as it spans others, have more than the "
                f"{limits.upload_characters:,} characters that are taken at once."
            )
        if len(self.tables) > limits.upload_tables or self.cells > limits.upload_cells:
            raise LisaxError(
                f"{len(self.tables):,} tables with {self.cells:,} cells in these files; at most "
                f"{limits.upload_tables:,} with {limits.upload_cells:,} are taken at once."
            )


@dataclasses.dataclass(frozen=True, slots=True)
class _Named:
    """Passes on warnings under the user's name of a file."""

    watch: Watch
    shown: str

    def warn(self, kind: str, path: Path | str = "", line: int | None = None, count: int = 1) -> None:
        self.watch.warn(kind, self.shown, None, count)


def shown_name(file: str, most: int) -> str:
    """The name of an uploaded file on one line; a long name is shortened in the middle, which keeps the suffix."""
    name = titles.one_line(re.split(r"[/\\]", file)[-1]) or "a file"
    return name if len(name) <= most else f"{name[: most - 13]}…{name[-12:]}"
