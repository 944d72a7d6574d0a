"""Reads uploaded files into pages and tables.

Files are written under generated names and read by the readers of `corpora`; the client's file name is only used as
text. A CSV file is a table, a text, Markdown or PDF file a page, an HTML page both: its text, and its tables.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from lisax.corpora import csv_tables, html_tables, page_files, pdf_files, titles
from lisax.corpora.grid import Place
from lisax.corpora.page_files import MARKDOWN, TEXT
from lisax.corpora.reading import Watch
from lisax.corpora.table_files import CSV, HTML
from lisax.records import DataError, Document, LisaxError, Table
from lisax.serve.limits import Limits

PDF = frozenset({".pdf"})
TAKEN = sorted(CSV | HTML | TEXT | MARKDOWN | PDF)
_UNWANTED = re.compile(r"[^\w .()-]+")


@dataclasses.dataclass(frozen=True, slots=True)
class Upload:
    """What files hold; `notes` are warnings, by the names of the user's files."""

    pages: list[Document]
    tables: list[Table]
    notes: tuple[str, ...]

    @property
    def counts(self) -> list[tuple[int, str]]:
        """(count, what) of what there is."""
        counts = (
            (len(self.pages), "page"),
            (sum(len(page.sentences) for page in self.pages), "sentence"),
            (len(self.tables), "table"),
            (sum(len(table.rows) for table in self.tables), "row"),
        )
        return [(count, what) for count, what in counts if count]


def read(files: Sequence[tuple[str, bytes]], folder: Path, limits: Limits) -> Upload:
    """The pages and tables of files (name, content), which are written to `folder`. Raises LisaxError, in words for the
    user, for a file that cannot be read, for too much at once, and where there is nothing."""
    return _Reading(folder, limits).read(files)


class _Reading:
    def __init__(self, folder: Path, limits: Limits):
        self.folder, self.limits, self.watch = folder, limits, Watch()
        self.pages: list[Document] = []
        self.tables: list[Table] = []
        self.cells = self.characters = 0

    def read(self, files: Sequence[tuple[str, bytes]]) -> Upload:
        names: dict[str, str] = {}  # generated name -> the user's name of a file
        for number, (file, content) in enumerate(files):
            shown = shown_name(file, self.limits.name_characters)
            path = self.folder / f"{number}{Path(shown).suffix.lower()}"
            names[str(path)] = shown
            self._read_file(path, number, shown, content)
        if not self.tables and not self.pages:
            raise LisaxError("There is no table with a row and no page with text in these files.")
        notes = tuple(_with_names(note, names) for note in self.watch.warnings)
        return Upload(self.pages, self.tables, notes)

    def _read_file(self, path: Path, number: int, shown: str, content: bytes) -> None:
        suffix = path.suffix
        if suffix not in TAKEN:
            raise LisaxError(f"'{shown}' cannot be read here: expected a name that ends in {', '.join(TAKEN)}.")
        path.write_bytes(content)
        stem = Path(shown).stem
        name = f"{number + 1}-{_UNWANTED.sub('_', stem).strip() or 'file'}"
        try:
            for table in self._tables_of(path, name, stem, content) if suffix in CSV | HTML else ():
                self._add_table(table, shown)
            if suffix not in CSV:
                self._add_page(path, name, stem)
        except DataError as error:
            where = f", line {error.line}" if error.line is not None else ""
            said = str(error).removeprefix(f"{path}:").removeprefix(f"{error.line}:").strip()
            raise LisaxError(f"'{shown}'{where}: {said}.") from None

    def _tables_of(self, path: Path, name: str, stem: str, content: bytes) -> Iterator[Table]:
        place = Place(path, None, self.watch, self.limits.table)
        if path.suffix in CSV:
            yield dataclasses.replace(csv_tables.read_table(name, place), title=stem.replace("_", " "))
            return
        # Counted before parsing, which takes a hundred times their memory.
        tags = html_tables.decode(content, Place(path, None, Watch())).lower()
        self._check_size("this page", tags.count("<table"), tags.count("<td") + tags.count("<th"))
        yield from html_tables.read_tables(name, place)

    def _add_table(self, table: Table, shown: str) -> None:
        if not (table.rows and table.header):
            self.watch.warn("tables without a row below their header (left out)", shown)
            return
        self.tables.append(table)
        # Counted while reading: cells that span many others make a small file large.
        self.cells += len(table.header) * len(table.rows)
        self.characters += sum(map(len, itertools.chain(table.header, *table.rows)))
        self._check_size("these files", len(self.tables), self.cells)

    def _add_page(self, path: Path, name: str, stem: str) -> None:
        named = f"{name}{path.suffix}"
        if path.suffix in PDF:
            page = pdf_files.read_page(path, named)
        else:
            page = page_files.read_page(path, named, self.watch)
        if not page.sentences:
            return
        title = stem.replace("_", " ") if page.title == path.stem else page.title
        self.pages.append(dataclasses.replace(page, title=titles.one_line(title)[: self.limits.name_characters]))
        self.characters += len(page.text)
        self._check_size("these files", len(self.tables), self.cells)

    def _check_size(self, what: str, tables: int, cells: int) -> None:
        limits = self.limits
        if self.characters > limits.upload_characters:
            raise LisaxError(
                f"The texts and cells of {what}, each cell as often as it spans others, have more than the "
                f"{limits.upload_characters:,} characters that are taken at once."
            )
        if tables > limits.upload_tables or cells > limits.upload_cells:
            raise LisaxError(
                f"{tables:,} tables with {cells:,} cells in {what}; at most {limits.upload_tables:,} with "
                f"{limits.upload_cells:,} are taken at once."
            )


def shown_name(file: str, most: int) -> str:
    """The name of an uploaded file on one line; a long name is shortened in the middle, which keeps the suffix."""
    name = titles.one_line(re.split(r"[/\\]", file)[-1]) or "a file"
    return name if len(name) <= most else f"{name[: most - 13]}…{name[-12:]}"


def _with_names(note: str, names: Mapping[str, str]) -> str:
    """A warning with the user's file names instead of the generated ones; it ends with a path, or a path and a line."""
    said, first, place = note.rpartition(", first at ")
    path = next((path for path in names if place == path or place.startswith(f"{path}:")), "")
    return f"{said}{first}{names.get(path, '')}{place.removeprefix(path)}"
