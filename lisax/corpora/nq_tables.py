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

from pathlib import Path

from lisax.corpora import answer_cells
from lisax.corpora.dataset import SPLITS, TableDataset
from lisax.corpora.reading import Row, Watch, read_records
from lisax.documents.grid import Place, make_table
from lisax.records import Question, Table, cell_id, check_id
from lisax.text import titles

TABLES = Path("tables", "tables.jsonl")


class NqTables(TableDataset):
    layout = "nq_tables"

    def __init__(self, folder: Path):
        super().__init__(folder, question_files=question_files(folder))

    def _tables(self, watch):
        return read_records(self.folder / TABLES, parse_table, watch)

    def _questions(self, split, watch):
        """The questions of one file. Tables that the file only names are kept in memory."""
        path = self.question_files[split]
        missing = {name for name in read_records(path, _name_of_empty, Watch(keep_going=True)) if name is not None}
        tables: dict[str, Table] = {}
        if missing:
            found = self._tables(Watch(keep_going=True))
            tables = {table.id: table for table in found if table.id in missing}
        seen: set[str] = set()
        for questions in read_records(path, lambda row: parse_interaction(row, tables, seen), watch):
            yield from questions


def question_files(folder: Path) -> dict[str, Path]:
    return {split: path for split in SPLITS if (path := folder / "interactions" / f"{split}.jsonl").is_file()}


def is_nq_tables(folder: Path) -> bool:
    return (folder / TABLES).is_file() and bool(question_files(folder))


def parse_table(row: Row) -> Table:
    rows = [_texts(cells, "cells") for cells in row.objects("rows", [])]
    _table_id(row)  # validates it, with the field's name in errors
    return make_table(
        row.value["tableId"],
        row.get("documentTitle", str, ""),
        _texts(row, "columns"),
        rows,
        Place(row.path, row.line, row.watch),
        row.get("caption", str, ""),
    )


def _texts(row: Row, field: str) -> list[str]:
    """The texts of a list of cells, without empty ones."""
    return [cell.get("text", str, "") for cell in row.objects(field, [])]


def _table_id(row: Row) -> str:
    return check_id(titles.page_id(row.get("tableId", str)), path=row.path, line=row.line, field="tableId")


def _name_of_empty(row: Row) -> str | None:
    table = row.within(row.get("table", dict))
    return None if table.value.get("rows") else _table_id(table)


def parse_interaction(row: Row, tables: dict[str, Table], seen: set[str]) -> list[Question]:
    given = row.within(row.get("table", dict))
    name = _table_id(given)
    table = parse_table(given) if given.value.get("rows") else tables.get(name)
    if table is None:
        raise row.error("table.tableId", f"there is no table {given.value['tableId']!r:.80}")
    questions = []
    for inner in row.objects("questions"):
        question = _question(inner, table)
        if question.id in seen:
            raise row.error("questions", f"duplicate id {question.id!r}")
        seen.add(question.id)
        questions.append(question)
    return questions


def _question(row: Row, table: Table) -> Question:
    texts: list[str] = []
    cells: list[str] = []
    for answer in (row.within(row.get("answer", dict, {})), *row.objects("alternativeAnswers", [])):
        wanted = answer.strings("answerTexts", [])
        texts += map(titles.one_line, wanted)
        coordinates = [
            (place.value.get("rowIndex", 0), place.value.get("columnIndex", 0))
            for place in answer.objects("answerCoordinates", [])
        ]
        for i, j in coordinates:
            if not (type(i) is type(j) is int and i in range(len(table.rows)) and j in range(len(table.header))):
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
