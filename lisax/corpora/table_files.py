"""A folder of tables in common formats: CSV files and HTML pages.

    *.csv, *.tsv                one table each; its id is the file's path below the folder, `sales/2019.csv`
    *.html, *.htm               the tables of a page, `page.html:0`, `page.html:1`, …

White space in an id becomes an underscore. Files are read by path; others are ignored.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lisax.corpora.dataset import TableDataset
from lisax.corpora.reading import Watch, told, unique_documents
from lisax.documents import csv_tables, html_tables
from lisax.documents.grid import LIMITS, Place, TableLimits
from lisax.errors import DataError
from lisax.records import Table

CSV, HTML = {".csv", ".tsv"}, {".html", ".htm"}


class TableFolder(TableDataset):
    """Tables without claims."""

    layout = "tables"

    def __init__(self, folder: Path, limits: TableLimits = LIMITS):
        super().__init__(folder, {})
        self.limits = limits

    def claims(self, split, watch=None):
        self.claim_file(split)  # raises: there are none

    def tables(self, watch=None):
        return read_tables(self.folder, watch, self.limits)


def table_files(folder: Path) -> Iterator[Path]:
    """The files that may hold tables, by path."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.name.startswith(".") and path.suffix.lower() in CSV | HTML:
            yield path


def has_tables(folder: Path) -> bool:
    return folder.is_dir() and any(True for _ in table_files(folder))


def read_tables(folder: Path, watch: Watch | None = None, limits: TableLimits = LIMITS) -> Iterator[Table]:
    """All tables below a folder, streaming; duplicate ids are reported at the end."""

    def stream(w: Watch) -> Iterator[Table]:
        for path in table_files(folder):
            yield from _read_file(path, path.relative_to(folder).as_posix(), w, limits)

    return told(lambda w: unique_documents(stream, w), watch)


def _read_file(path: Path, name: str, watch: Watch, limits: TableLimits) -> Iterator[Table]:
    place = Place(path, None, watch, limits)
    try:
        if path.suffix.lower() in CSV:
            tables = iter((csv_tables.read_table(name, place),))
        else:
            tables = html_tables.read_tables(name, place)
        for number, table in enumerate(tables, start=1):
            watch.where = (path, number)
            yield table
    except DataError as error:
        watch.problem(error)
