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

import dataclasses
import functools
import io
import os
import re
from collections.abc import Iterator
from pathlib import Path

from lisax.corpora import answer_cells, archives
from lisax.corpora.dataset import TableDataset
from lisax.corpora.reading import Row, Watch, parsed_files, read_json, read_records, read_separated
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


class WikiTableQuestions(TableDataset):
    layout = "wikitablequestions"

    def __init__(self, folder: Path):
        super().__init__(folder, question_files=question_files(folder))
        self.tables_path = next((path for name in ("csv", "csv.tar.gz") if (path := folder / name).exists()), None)
        if self.tables_path is None:
            raise DataError("expected WikiTableQuestions' tables as csv/ or csv.tar.gz", path=folder)

    def _tables(self, watch):
        """The tables of csv/ by path, or of csv.tar.gz in its order; ids are like `csv/204-csv/590.csv`."""
        path = self.tables_path

        def parse(name: str, file: Path, content: bytes) -> Table:
            return parse_table(name, content, Place(file, None, watch), page_title(path, name))

        members = ((file, functools.partial(parse, name, file, content)) for name, file, content in _csv_files(path))
        return parsed_files(members, watch, nothing=DataError("no table: expected files *-csv/*.csv", path=path))

    @functools.cached_property
    def _tables_by_id(self) -> dict[str, Table]:
        return {table.id: table for table in self.tables(Watch(keep_going=True))}

    def _left_to_others(self, split: str) -> frozenset[str]:
        paths = [self.question_files[other] for other in LEFT_TO.get(split, ()) if other in self.question_files]
        return frozenset(question.id for path in paths for question in read_questions(path, Watch(keep_going=True)))

    def _questions(self, split, watch):
        path, left_out = self.question_files[split], self._left_to_others(split)
        for question in read_questions(path, watch):
            if question.id in left_out:
                watch.warn(f"questions of {split} that {' or '.join(LEFT_TO[split])} has too (left out)", *watch.where)
                continue
            (table_id,) = question.evidence
            if (table := self._tables_by_id.get(table_id)) is None:
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
            yield dataclasses.replace(question, evidence=evidence)


def question_files(folder: Path) -> dict[str, Path]:
    """Split -> its file."""
    return {
        split: path
        for split, name in FILES.items()
        for place in reversed(PLACES)
        if (path := folder / place / name).is_file()
    }


# --- Questions ------------------------------------------------------------------------------


def read_questions(path: Path, watch: Watch) -> Iterator[Question]:
    """The questions of one file; the evidence of each is its table."""

    def header(text: str) -> list[str]:
        names = text.split("\t")
        if tuple(names) != COLUMNS:
            raise DataError(f"expected the columns {', '.join(COLUMNS)}", path=path, line=1)
        return names

    if path.suffix == ".jsonl":
        return read_records(path, parse_e2e, watch, unique="id")
    return read_separated(
        path, read_lines(path), header, lambda text, _: text.split("\t"), parse_line, watch, unique="id"
    )


def parse_line(row: Row) -> Question:
    """The question of a line of a .tsv file."""
    answers = tuple(titles.one_line(unescape(value)) for value in row.get("targetValue", str).split("|"))
    text = titles.one_line(unescape(row.get("utterance", str)))
    if not text:
        raise row.error("utterance", "the text is empty")
    return Question(row.id()[0], text, answers, (_table_id(row, "context"),))


def _table_id(row: Row, field: str) -> str:
    return check_id(titles.page_id(row.get(field, str)), path=row.path, line=row.line, field=field)


def unescape(text: str) -> str:
    return _ESCAPED.sub(lambda match: _UNESCAPED[match[1]], text) if "\\" in text else text


def parse_e2e(row: Row) -> Question:
    question, original = row.id()
    return Question(
        question,
        row.text("question"),
        row.strings("answers"),
        (_table_id(row, "table"),),
        None if original == question else original,
    )


# --- Tables ---------------------------------------------------------------------------------


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
