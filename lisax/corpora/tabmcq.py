"""TabMCQ: multiple-choice questions about tables of general knowledge, in the owners' layout.

    MCQs.tsv                              QUESTION, …, CHOICE 1 to 4, CORRECT CHOICE, RELEVANT TABLE, ROW and COL
    Tables/{auto,monarch,regents}/1.tsv   a table, its first row the header; its id is `regents-1`

A question's answer is the relevant cell; its accepted answers are that cell's text and the correct choice, which may be
worded differently. The choices are not shown to a model. The owners have no splits; CLTR's authors split by the
question's number in the file (from 1): of each hundred the first twenty are dev, the next twenty test. A question's id
is `q{number}`. Questions over several tables (`regents-1&regents-2`) are left out, and counted.
"""

from __future__ import annotations

import functools
import io
from collections.abc import Iterator
from pathlib import Path

from lisax.corpora import archives
from lisax.corpora.dataset import SPLITS, TableDataset
from lisax.corpora.reading import Row, Watch, parse_rows, parsed_files
from lisax.documents import csv_tables
from lisax.documents.grid import Place, make_table, within_limits
from lisax.errors import DataError
from lisax.files.reading import decoded, read_file
from lisax.records import Question, Table, cell_id, check_id
from lisax.text import titles

QUESTIONS = "MCQs.tsv"
FOLDERS = ("auto", "monarch", "regents")
COLUMNS = (
    "QUESTION",
    *(f"CHOICE {i}" for i in range(1, 5)),
    "CORRECT CHOICE",
    "RELEVANT TABLE",
    "RELEVANT ROW",
    "RELEVANT COL",
)
SEVERAL_TABLES = "questions over several tables (left out)"


class TabMcq(TableDataset):
    layout = "tabmcq"

    def __init__(self, folder: Path):
        super().__init__(folder, question_files=dict.fromkeys(SPLITS, folder / QUESTIONS))

    def _tables(self, watch):
        """The tables by subfolder and name."""
        folder = self.folder / "Tables"
        members = (
            (file, functools.partial(parse_table, f"{place}-{file.stem}", file, content, watch))
            for place in FOLDERS
            if (folder / place).is_dir()
            for file, content in archives.read_folder(folder / place, ".tsv")
        )
        nothing = DataError(f"no table: expected {', '.join(FOLDERS)} with files *.tsv", path=folder)
        return parsed_files(members, watch, nothing=nothing)

    @functools.cached_property
    def _tables_by_id(self) -> dict[str, Table]:
        return {table.id: table for table in self.tables(Watch(keep_going=True))}

    def _questions(self, split, watch):
        return read_questions(self.question_files[split], split, self._tables_by_id, watch)


def is_tabmcq(folder: Path) -> bool:
    return (folder / QUESTIONS).is_file()


def split_of(number: int) -> str:
    return "dev" if number % 100 < 20 else "test" if number % 100 < 40 else "train"


def read_questions(path: Path, split: str, tables: dict[str, Table], watch: Watch) -> Iterator[Question]:
    """The questions of a split; reports only their problems and those of the file."""
    names: list[str] = []

    def rows() -> Iterator[tuple[int, list[str]]]:
        header, rows = _rows(path, read_file(path))
        names.extend(name.strip() for name in header)
        if missing := [name for name in COLUMNS if name not in names]:
            raise DataError(f"expected the columns {', '.join(COLUMNS)}; {missing[0]} is missing", path=path, line=1)
        yield from ((number + 1, fields) for number, fields in enumerate(rows, start=1) if split_of(number) == split)

    def row(line: int, fields: list[str]) -> Row:
        return Row(dict(zip(names, map(titles.one_line, fields))), path, line, watch)

    return parse_rows(rows(), row, path, lambda row: parse_question(row, tables), watch)


def parse_question(row: Row, tables: dict[str, Table]) -> Question | None:
    """The question of a line; None for one over several tables."""

    def whole(field: str, size: int, lowest: int = 0) -> int:
        text = row.value[field]
        if not (text.isascii() and text.isdigit() and len(text) < 10 and lowest <= int(text) < lowest + size):
            raise row.error(field, f"expected {lowest} to {lowest + size - 1}, found {text!r:.80}")
        return int(text)

    if missing := [name for name in COLUMNS if not row.value.get(name)]:
        raise row.error(missing[0], "the field is missing")
    name = row.value["RELEVANT TABLE"]
    if "&" in name:
        row.warn(SEVERAL_TABLES)
        return None
    if (table := tables.get(name.lower())) is None:
        raise row.error("RELEVANT TABLE", f"there is no table {name!r:.80}")
    i = whole("RELEVANT ROW", len(table.rows), 1) - 1  # the header is row 0
    j = whole("RELEVANT COL", len(table.header))
    choice = row.value[f"CHOICE {whole('CORRECT CHOICE', 4, 1)}"]
    answers = tuple(dict.fromkeys((table.rows[i][j], choice)))
    return Question(f"q{row.line - 1}", row.value["QUESTION"], answers, (cell_id(table.id, i, j),))


def parse_table(name: str, file: Path, content: bytes, watch: Watch) -> Table:
    place = Place(file, None, watch)
    header, rows, left_out = within_limits(*_rows(file, content), place)
    name = check_id(titles.page_id(name), path=file, field="file name")
    return make_table(name, "", header, rows, place, rows_left_out=left_out)


def _rows(path: Path, content: bytes) -> tuple[list[str], Iterator[list[str]]]:
    """(first row, other rows)."""
    text = decoded(content, path).removeprefix("\ufeff")
    rows = (
        row
        for _, row in csv_tables.rows_of(io.StringIO(text, newline=""), path, delimiter="\t", doublequote=False)
        if row
    )
    header = next(rows, None)
    if header is None:
        raise DataError("the file is empty", path=path)
    return header, rows
