"""Reads uploaded files into pages and tables.

Files are written under generated names and read by the readers of `corpora`; the client's file name is only used as
text. A CSV file is a table, a text, Markdown or PDF file a page, an HTML page both: its text, and its tables. They are
read in a process of their own, which has little memory and time: whatever a file holds, the server keeps answering.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from lisax.corpora import page_files, pdf_files, plain
from lisax.corpora.page_files import MARKDOWN, TEXT
from lisax.corpora.reading import Watch
from lisax.corpora.table_files import CSV, HTML
from lisax.documents import csv_tables, html_tables
from lisax.documents.grid import Place, TableLimits
from lisax.errors import DataError, LisaxError
from lisax.records import Document, Table
from lisax.serve.limits import Limits
from lisax.text import titles

PDF = frozenset({".pdf"})
TAKEN = sorted(CSV | HTML | TEXT | MARKDOWN | PDF)
PAGES, TABLES = "pages.jsonl", "tables.jsonl"  # the files that the process writes
_UNWANTED = re.compile(r"[^\w .()-]+")


@dataclasses.dataclass(frozen=True, slots=True)
class Upload:
    """The content of files; `notes` are warnings, by the names of the user's files."""

    pages: list[Document]
    tables: list[Table]
    notes: tuple[str, ...]

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
    user, for a file that cannot be read, for too much at once, and for nothing."""
    names: dict[str, str] = {}  # path -> the user's name of a file
    for number, (file, content) in enumerate(files):
        shown = shown_name(file, limits.name_characters)
        path = folder / f"{number}{Path(shown).suffix.lower()}"
        if path.suffix not in TAKEN:
            raise LisaxError(f"'{shown}' cannot be read here: expected a name that ends in {', '.join(TAKEN)}.")
        path.write_bytes(content)
        names[str(path)] = shown
    with tempfile.TemporaryDirectory(dir=folder) as out:
        notes = _in_a_process(names, out, limits)
        pages, tables = (Path(out, name) for name in (PAGES, TABLES))
        return Upload(
            list(plain.read_pages(pages)) if pages.exists() else [],
            list(plain.read_tables(tables)) if tables.exists() else [],
            notes,
        )


def _in_a_process(names: Mapping[str, str], out: str, limits: Limits) -> tuple[str, ...]:
    """Runs `main` on files; returns its warnings."""
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", __name__],
            input=json.dumps({"names": names, "out": out, "limits": dataclasses.asdict(limits)}),
            capture_output=True,
            text=True,
            timeout=limits.upload_seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise LisaxError("These files take too long to read.") from None
    last = (done.stdout.splitlines() or [""])[-1]
    if done.returncode == 0:
        found = json.loads(last)
        if "error" in found:
            raise LisaxError(found["error"])
        return tuple(found["notes"])
    takes = f"it takes more than {limits.file_seconds} s"
    if done.returncode != -signal.SIGXCPU:
        takes = f"it is damaged, or takes more than {limits.upload_memory >> 20:,} MiB of memory"
    raise LisaxError((f"'{names[json.loads(last)]}'" if last else "A file") + f" cannot be read: {takes}.")


def main() -> int:
    """Reads the files named on standard input; writes pages and tables to its `out`, and prints the path of each file
    before it is read, then the warnings or the error, each a line of JSON."""
    given = json.load(sys.stdin)
    limits = Limits(**{**given["limits"], "table": TableLimits(**given["limits"]["table"])})
    resource.setrlimit(resource.RLIMIT_AS, (limits.upload_memory, limits.upload_memory))

    def begin(path: str) -> None:
        print(json.dumps(path), flush=True)
        end = int(time.process_time()) + limits.file_seconds
        resource.setrlimit(resource.RLIMIT_CPU, (end, resource.getrlimit(resource.RLIMIT_CPU)[1]))

    try:
        found = parse(given["names"], limits, begin)
        if found.pages:
            plain.write_pages(Path(given["out"], PAGES), found.pages)
        if found.tables:
            plain.write_tables(Path(given["out"], TABLES), found.tables)
        print(json.dumps({"notes": found.notes}))
    except MemoryError:
        return 1
    except LisaxError as error:
        print(json.dumps({"error": str(error)}))
    return 0


def parse(names: Mapping[str, str], limits: Limits, begin: Callable[[str], None] = lambda path: None) -> Upload:
    """The pages and tables of the files at the paths `names`, which has the user's names for them, read here. `begin`
    is called with each path before it is read. Raises as `read` does."""
    return _Reading(names, limits).read(begin)


class _Reading:
    def __init__(self, names: Mapping[str, str], limits: Limits):
        self.names, self.limits, self.watch = names, limits, Watch()
        self.pages: list[Document] = []
        self.tables: list[Table] = []
        self.cells = self.characters = 0

    def read(self, begin: Callable[[str], None]) -> Upload:
        for number, (path, shown) in enumerate(self.names.items()):
            begin(path)
            self._read_file(Path(path), number, shown)
        if not self.tables and not self.pages:
            raise LisaxError("There is no table with a row and no page with text in these files.")
        notes = tuple(_with_names(note, self.names) for note in self.watch.warnings)
        return Upload(self.pages, self.tables, notes)

    def _read_file(self, path: Path, number: int, shown: str) -> None:
        suffix, stem = path.suffix, Path(shown).stem
        name = f"{number + 1}-{_UNWANTED.sub('_', '_'.join(stem.split())) or 'file'}"
        try:
            for table in self._tables_of(path, name, stem) if suffix in CSV | HTML else ():
                self._add_table(table, shown)
            if suffix not in CSV:
                self._add_page(path, name, stem)
        except DataError as error:
            where = f", line {error.line}" if error.line is not None else ""
            said = str(error).removeprefix(f"{path}:").removeprefix(f"{error.line}:").strip()
            raise LisaxError(f"'{shown}'{where}: {said}.") from None

    def _tables_of(self, path: Path, name: str, stem: str) -> Iterator[Table]:
        place = Place(path, None, self.watch, self.limits.table)
        if path.suffix in CSV:
            yield dataclasses.replace(csv_tables.read_table(name, place), title=stem.replace("_", " "))
            return
        # Counted before parsing, which takes a hundred times their memory.
        tags = html_tables.decode(path.read_bytes(), Place(path, None, Watch())).lower()
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
            page = pdf_files.read_page(path, named, self.watch)
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


if __name__ == "__main__":
    sys.exit(main())
