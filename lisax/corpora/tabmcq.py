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
from lisax.corpora.dataset import QuestionDataset
from lisax.corpora.reading import Watch, parsed_files, told
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


class TabMcq(QuestionDataset):
    layout = "tabmcq"

    def __init__(self, folder: Path):
        super().__init__(folder, dict.fromkeys(("train", "dev", "test"), folder / QUESTIONS))

    def tables(self, watch=None):
        return told(lambda w: read_tables(self.folder / "Tables", w), watch)

    @functools.cached_property
    def _tables(self) -> dict[str, Table]:
        return {table.id: table for table in self.tables(Watch(keep_going=True))}

    def questions(self, split, watch=None):
        return told(lambda w: read_questions(self.folder / QUESTIONS, split, self._tables, w), watch)


def is_tabmcq(folder: Path) -> bool:
    return (folder / QUESTIONS).is_file()


def split_of(number: int) -> str:
    return "dev" if number % 100 < 20 else "test" if number % 100 < 40 else "train"


def read_questions(path: Path, split: str, tables: dict[str, Table], watch: Watch) -> Iterator[Question]:
    """The questions of a split; reports only their problems and those of the file."""
    try:
        header, rows = _rows(path, read_file(path))
        names = [name.strip() for name in header]
        if missing := [name for name in COLUMNS if name not in names]:
            raise DataError(f"expected the columns {', '.join(COLUMNS)}; {missing[0]} is missing", path=path, line=1)
        for number, fields in enumerate(rows, start=1):
            line = number + 1
            if split_of(number) != split:
                continue
            try:
                question = parse_question(dict(zip(names, map(titles.one_line, fields))), number, tables, path, line)
            except DataError as error:
                watch.problem(error)
                continue
            if question is None:
                watch.warn(SEVERAL_TABLES, path, line)
            else:
                watch.where = (path, line)
                yield question
    except DataError as error:
        watch.problem(error)


def parse_question(
    row: dict[str, str], number: int, tables: dict[str, Table], path: Path, line: int
) -> Question | None:
    """The question of a line; None for one over several tables."""

    def whole(field: str, size: int, lowest: int = 0) -> int:
        text = row[field]
        if not (text.isascii() and text.isdigit() and len(text) < 10 and lowest <= int(text) < lowest + size):
            raise DataError(
                f"expected {lowest} to {lowest + size - 1}, found {text!r:.80}", path=path, line=line, field=field
            )
        return int(text)

    if missing := [name for name in COLUMNS if not row.get(name)]:
        raise DataError("the field is missing", path=path, line=line, field=missing[0])
    if "&" in row["RELEVANT TABLE"]:
        return None
    table = tables.get(row["RELEVANT TABLE"].lower())
    if table is None:
        raise DataError(
            f"there is no table {row['RELEVANT TABLE']!r:.80}", path=path, line=line, field="RELEVANT TABLE"
        )
    i = whole("RELEVANT ROW", len(table.rows), 1) - 1  # the header is row 0
    j = whole("RELEVANT COL", len(table.header))
    choice = row[f"CHOICE {whole('CORRECT CHOICE', 4, 1)}"]
    return Question(
        f"q{number}", row["QUESTION"], tuple(dict.fromkeys((table.rows[i][j], choice))), (cell_id(table.id, i, j),)
    )


def read_tables(folder: Path, watch: Watch) -> Iterator[Table]:
    """The tables by subfolder and name."""
    members = (
        (file, functools.partial(parse_table, f"{place}-{file.stem}", file, content, watch))
        for place in FOLDERS
        if (folder / place).is_dir()
        for file, content in archives.read_folder(folder / place, ".tsv")
    )
    return parsed_files(
        members, watch, nothing=DataError(f"no table: expected {', '.join(FOLDERS)} with files *.tsv", path=folder)
    )


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
