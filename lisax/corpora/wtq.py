"""WikiTableQuestions: questions about the tables of Wikipedia with answers as text, in the owners' layout.

    csv/204-csv/590.csv           a table, its first row the header; or csv.tar.gz. A backslash escapes, also a quote
    page/204-page/590.json        {"title"} of the page that the table stands on, where it is there
    data/training.tsv             id, utterance, context (the table's path), targetValue; also in the folder itself
    data/pristine-seen-tables.tsv the same, over tables of training.tsv; data/pristine-unseen-tables.tsv over others
    e2e_{train,dev,test}.jsonl    {"id", "question", "table", "answers"}: E2E_WTQ (CLTR, section 4.1), one cell each

The splits of questions: `train` is training.tsv, `dev` pristine-seen-tables.tsv, `test` pristine-unseen-tables.tsv.
`e2e_train`, `e2e_dev` and `e2e_test` are the sets for retrieval from all tables; their questions are from the former,
with the same ids. So that no training set has a question of a reported set, `train` leaves out those of `e2e_dev` and
`e2e_test`, and `dev` and `test` those of `e2e_train`.

In a .tsv the values of a list are separated by `|`, and `\\n`, `\\p` and `\\\\` are an end of line, a `|` and a
backslash. The evidence of a question is the cells that contain its answer, see `answer_cells.evidence_of`, or the
table. Questions of the E2E sets are known to be answered by a cell, so cells in several columns are all taken.
"""

from __future__ import annotations

import functools
import io
import os
import re
from collections.abc import Iterator
from pathlib import Path

from lisax.corpora import answer_cells, archives
from lisax.corpora.dataset import QuestionDataset
from lisax.corpora.reading import Row, Watch, parsed_files, read_json, read_records, told
from lisax.documents import csv_tables
from lisax.documents.grid import Place, make_table, within_limits
from lisax.errors import DataError
from lisax.files.reading import decoded, read_lines
from lisax.records import Question, Table, check_id
from lisax.text import titles

PLACES = ("", "data")
FILES = {
    "train": "training.tsv",
    "dev": "pristine-seen-tables.tsv",
    "test": "pristine-unseen-tables.tsv",
    **{f"e2e_{split}": f"e2e_{split}.jsonl" for split in ("train", "dev", "test")},
}
COLUMNS = ("id", "utterance", "context", "targetValue")
# Split -> the splits whose questions it leaves out.
LEFT_TO = {"train": ("e2e_dev", "e2e_test"), "dev": ("e2e_train",), "test": ("e2e_train",)}
_ESCAPED = re.compile(r"\\([np\\])")
_UNESCAPED = {"n": "\n", "p": "|", "\\": "\\"}


class WikiTableQuestions(QuestionDataset):
    layout = "wikitablequestions"

    def __init__(self, folder: Path):
        super().__init__(folder, question_files(folder))
        self.tables_path = next((path for name in ("csv", "csv.tar.gz") if (path := folder / name).exists()), None)
        if self.tables_path is None:
            raise DataError("expected WikiTableQuestions' tables as csv/ or csv.tar.gz", path=folder)

    def tables(self, watch=None):
        return told(lambda w: read_tables(self.tables_path, w), watch)

    @functools.cached_property
    def _tables(self) -> dict[str, Table]:
        return {table.id: table for table in self.tables(Watch(keep_going=True))}

    def _left_to_others(self, split: str) -> frozenset[str]:
        paths = [self.question_files[other] for other in LEFT_TO.get(split, ()) if other in self.question_files]
        return frozenset(question.id for path in paths for question, _ in _questions(path, Watch(keep_going=True)))

    def questions(self, split, watch=None):
        return told(functools.partial(self._with_evidence, split), watch)

    def _with_evidence(self, split: str, watch: Watch) -> Iterator[Question]:
        path, left_out = self.question_files.get(split), self._left_to_others(split)
        for question, table_id in () if path is None else _questions(path, watch):
            if question.id in left_out:
                watch.warn(f"questions of {split} that {' or '.join(LEFT_TO[split])} has too (left out)", *watch.where)
                continue
            table = self._tables.get(table_id)
            if table is None:
                watch.problem(
                    DataError(f"there is no table {table_id!r}", path=path, line=watch.where[1], field="context")
                )
                continue
            evidence = answer_cells.evidence_of(
                question.text,
                table,
                question.answers,
                known=split.startswith("e2e_"),
                warn=lambda kind: watch.warn(kind, *watch.where),
            )
            yield Question(question.id, question.text, question.answers, evidence, question.original_id)


def question_files(folder: Path) -> dict[str, Path]:
    """Split -> its file."""
    return {
        split: path
        for split, name in FILES.items()
        for place in reversed(PLACES)
        if (path := folder / place / name).is_file()
    }


def is_wtq(folder: Path) -> bool:
    return bool(question_files(folder))


# --- Questions ------------------------------------------------------------------------------


def _questions(path: Path, watch: Watch) -> Iterator[tuple[Question, str]]:
    """(question without evidence, table id) pairs of one file."""
    if path.suffix == ".jsonl":
        yield from read_records(path, parse_e2e, watch, unique=lambda pair: pair[0].id)
        return
    try:
        lines = read_lines(path)
        _, first = next(lines)
        if tuple(first.split("\t")) != COLUMNS:
            raise DataError(f"expected the columns {', '.join(COLUMNS)}", path=path, line=1)
        seen: dict[str, int] = {}
        for number, line in lines:
            try:
                pair = parse_line(line, path, number)
                if (known := seen.setdefault(pair[0].id, number)) != number:
                    raise DataError(
                        f"duplicate id {pair[0].id!r}, first on line {known}", path=path, line=number, field="id"
                    )
            except DataError as error:
                watch.problem(error)
                continue
            watch.where = (path, number)
            yield pair
    except DataError as error:
        watch.problem(error)


def parse_line(line: str, path: Path, number: int) -> tuple[Question, str]:
    """(question, table id) of a line of a .tsv file."""
    fields = line.split("\t")
    if len(fields) != len(COLUMNS):
        raise DataError(
            f"expected {len(COLUMNS)} fields separated by tabs, found {len(fields)}", path=path, line=number
        )
    name, text, context, target = fields
    where = {"path": path, "line": number}
    answers = tuple(titles.one_line(unescape(value)) for value in target.split("|"))
    text = titles.one_line(unescape(text))
    if not text:
        raise DataError("the text is empty", field="utterance", **where)
    return (
        Question(check_id(titles.normal_form(name), **where), text, answers),
        check_id(titles.page_id(context), field="context", **where),
    )


def unescape(text: str) -> str:
    return _ESCAPED.sub(lambda match: _UNESCAPED[match[1]], text) if "\\" in text else text


def parse_e2e(row: Row) -> tuple[Question, str]:
    question, original = row.id()
    table = check_id(titles.page_id(row.get("table", str)), path=row.path, line=row.line, field="table")
    return Question(
        question, row.text("question"), row.strings("answers"), original_id=None if original == question else original
    ), table


# --- Tables ---------------------------------------------------------------------------------


def read_tables(path: Path, watch: Watch) -> Iterator[Table]:
    """The tables of csv/ by path, or of csv.tar.gz in its order; ids are like `csv/204-csv/590.csv`."""

    def parse(name: str, file: Path, content: bytes) -> Table:
        return parse_table(name, content, Place(file, None, watch), page_title(path, name))

    members = ((file, functools.partial(parse, name, file, content)) for name, file, content in _csv_files(path))
    return parsed_files(members, watch, nothing=DataError("no table: expected files *-csv/*.csv", path=path))


def _csv_files(path: Path) -> Iterator[tuple[str, Path, bytes]]:
    """(name from `csv/` on, path, content)."""
    if path.is_dir():
        for folder in sorted(folder for folder in path.iterdir() if folder.is_dir()):
            for file, content in archives.read_folder(folder, ".csv"):
                yield file.relative_to(path.parent).as_posix(), file, content
        return
    for file, content in archives.read_folder(path, ".csv"):
        yield file.relative_to(path).as_posix(), file, content


def page_title(path: Path, name: str) -> str:
    """The title of a table's page from `page/`, which mirrors `csv/`; empty if there is none."""
    _, folder, file = name.split("/") if name.count("/") == 2 else ("", "", name)
    page = path.parent / "page" / folder.replace("-csv", "-page") / f"{Path(file).stem}.json"
    if not os.path.isfile(page):  # false for a name that is too long
        return ""
    title = read_json(page, dict).get("title", "")
    if not isinstance(title, str):
        raise DataError(f"expected a string, found {title!r:.80}", path=page, field="title")
    return title


def parse_table(name: str, content: bytes, place: Place, title: str = "") -> Table:
    text = decoded(content, place.path)
    rows = (
        row
        for _, row in csv_tables.rows_of(
            io.StringIO(text, newline=""), place.path, doublequote=False, escapechar="\\", strict=True
        )
    )
    header = next(rows, None)
    if header is None:
        raise DataError("the file is empty", path=place.path)
    header, kept, left_out = within_limits(header, rows, place)
    return make_table(name, title, header, kept, place, rows_left_out=left_out)
