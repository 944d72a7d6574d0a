"""NQ-tables: questions of Google users about tables of Wikipedia, in the owners' layout.

    tables/tables.jsonl                    {"tableId", "documentTitle", "columns": [{"text"}], "rows": [{"cells"}]}
    interactions/{train,dev,test}.jsonl    {"id", "table", "questions": [{"id", "originalText", "answer",
                                            "alternativeAnswers"}]}

An answer is {"answerTexts", "answerCoordinates"?}. Its cells are those of the coordinates, or else the cells that
contain its texts (see `answer_cells`); if there are none, the evidence is the table. The alternatives are other
annotators' answers, any of which may be right. A table within an interaction may have only its id; it is then looked
up. White space in a table's id becomes an underscore.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lisax.corpora import answer_cells
from lisax.corpora.dataset import SPLITS, QuestionDataset
from lisax.corpora.reading import Row, Watch, read_records, told, unique_documents
from lisax.documents.grid import Place, make_table
from lisax.records import Question, Table, cell_id, check_id
from lisax.text import titles

TABLES = Path("tables", "tables.jsonl")


class NqTables(QuestionDataset):
    layout = "nq_tables"

    def __init__(self, folder: Path):
        super().__init__(folder, question_files(folder))

    def tables(self, watch=None):
        path = self.folder / TABLES
        return told(lambda w: unique_documents(lambda v: read_records(path, parse_table, v), w), watch)

    def questions(self, split, watch=None):
        if split not in self.question_files:
            return iter(())
        return told(lambda w: read_questions(self.question_files[split], self.folder / TABLES, w), watch)


def question_files(folder: Path) -> dict[str, Path]:
    return {split: path for split in SPLITS if (path := folder / "interactions" / f"{split}.jsonl").is_file()}


def is_nq_tables(folder: Path) -> bool:
    return (folder / TABLES).is_file() and bool(question_files(folder))


def parse_table(row: Row) -> Table:
    return _table(row, row.value)


def _table(row: Row, value: dict) -> Table:
    inner = Row(value, row.path, row.line, row.watch)
    header = _texts(inner, "columns")
    rows = [
        _texts(Row(cells, row.path, row.line, row.watch), "cells")
        for cells in inner.each("rows", inner.get("rows", list, []), dict)
    ]
    _table_id(inner)  # validates it, with the field's name in errors
    return make_table(
        value["tableId"],
        inner.get("documentTitle", str, ""),
        header,
        rows,
        Place(row.path, row.line, row.watch),
        inner.get("caption", str, ""),
    )


def _texts(row: Row, field: str) -> list[str]:
    """The texts of a list of cells, without empty ones."""
    return [
        Row(cell, row.path, row.line, row.watch).get("text", str, "")
        for cell in row.each(field, row.get(field, list, []), dict)
    ]


def _table_id(row: Row) -> str:
    return check_id(titles.page_id(row.get("tableId", str)), path=row.path, line=row.line, field="tableId")


def read_questions(path: Path, tables_path: Path, watch: Watch) -> Iterator[Question]:
    """The questions of one file. Tables that the file only names are kept in memory."""
    missing = {name for name in read_records(path, _name_of_empty, Watch(keep_going=True)) if name is not None}
    tables: dict[str, Table] = {}
    if missing:
        found = read_records(tables_path, parse_table, Watch(keep_going=True))
        tables = {table.id: table for table in found if table.id in missing}
    seen: set[str] = set()
    for questions in read_records(path, lambda row: parse_interaction(row, tables, seen), watch):
        yield from questions


def _name_of_empty(row: Row) -> str | None:
    table = row.get("table", dict)
    return None if table.get("rows") else _table_id(Row(table, row.path, row.line, row.watch))


def parse_interaction(row: Row, tables: dict[str, Table], seen: set[str]) -> list[Question]:
    value = row.get("table", dict)
    name = _table_id(Row(value, row.path, row.line, row.watch))
    table = _table(row, value) if value.get("rows") else tables.get(name)
    if table is None:
        raise row.error("table.tableId", f"there is no table {value['tableId']!r:.80}")
    questions = []
    for inner in row.each("questions", row.get("questions", list), dict):
        question = _question(Row(inner, row.path, row.line, row.watch), table)
        if question.id in seen:
            raise row.error("questions", f"duplicate id {question.id!r}")
        seen.add(question.id)
        questions.append(question)
    return questions


def _question(row: Row, table: Table) -> Question:
    others = row.each("alternativeAnswers", row.get("alternativeAnswers", list, []), dict)
    texts: list[str] = []
    cells: list[str] = []
    for answer in (row.get("answer", dict, {}), *others):
        inner = Row(answer, row.path, row.line, row.watch)
        wanted = inner.strings("answerTexts", [])
        texts += map(titles.one_line, wanted)
        coordinates = [
            (place.get("rowIndex", 0), place.get("columnIndex", 0))
            for place in inner.each("answerCoordinates", inner.get("answerCoordinates", list, []), dict)
        ]
        for i, j in coordinates:
            if (
                type(i) is not int
                or type(j) is not int
                or i not in range(len(table.rows))
                or j not in range(len(table.header))
            ):
                raise row.error("answerCoordinates", f"the table has no cell ({i}, {j})")
        held = [(i, j) for i, j in coordinates if table.rows[i][j].strip()]  # an empty cell is not an answer
        cells += (cell_id(table.id, *place) for place in held or answer_cells.find_cells(table, wanted))
    if len({cell.rpartition("c")[2] for cell in cells}) != 1:
        row.warn(answer_cells.SEVERAL_COLUMNS if cells else answer_cells.NO_CELL)
        cells = [table.id]
    question, original = row.id()
    field = "originalText" if "originalText" in row.value else "text"
    return Question(
        question,
        row.text(field),
        tuple(dict.fromkeys(texts)),
        tuple(dict.fromkeys(cells)),
        None if original == question else original,
    )
