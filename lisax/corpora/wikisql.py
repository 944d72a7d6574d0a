"""WikiSQL: questions about the tables of Wikipedia, each with the query that answers it, in the owners' layout.

    {train,dev,test}.jsonl         {"question", "table_id", "sql": {"sel", "agg", "conds": [[column, operator, value]]}}
    {train,dev,test}.tables.jsonl  {"id", "header", "rows", "page_title"?, "section_title"?, "caption"?}

The files may also be in `data/`. Answers are computed by running the query: they are the cells of column `sel` in the
rows that fulfil every condition, for a maximum or minimum those with that value. A count, a sum or an average is not a
cell: the evidence of such a question is its table, as for a query without results, and its `operands` are the
aggregated cells. A question's id is `{split}:{line}`, lines counted from 1.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lisax.corpora.answer_cells import NO_CELL, exact_number, value_of
from lisax.corpora.dataset import SPLITS, TableDataset
from lisax.corpora.reading import Row, Watch, read_records
from lisax.documents.grid import Place, make_table
from lisax.records import Operation, Question, Table, cell_id

OPERATIONS = tuple(Operation)  # by the number of an aggregation
COMPARISONS = (None, operator.gt, operator.lt)  # by the number of an operator: equal, greater, less


class WikiSql(TableDataset):
    layout = "wikisql"

    def __init__(self, folder: Path):
        super().__init__(folder, question_files=question_files(folder))

    def _tables(self, watch):
        for path in self.question_files.values():
            yield from read_records(tables_beside(path), parse_table, watch)

    def _questions(self, split, watch):
        """The questions of a split, with the answers that their queries find in the tables next to its file."""
        path = self.question_files[split]
        tables = {table.id: table for table in read_records(tables_beside(path), parse_table, Watch(keep_going=True))}
        return read_records(path, lambda row: parse_question(row, tables), watch)


def question_files(folder: Path) -> dict[str, Path]:
    """Split -> its file of questions, which has a file of tables next to it."""
    return {
        split: path
        for split in SPLITS
        for place in ("data", "")
        if (path := folder / place / f"{split}.jsonl").is_file() and tables_beside(path).is_file()
    }


def tables_beside(path: Path) -> Path:
    return path.with_name(f"{path.stem}.tables.jsonl")


def parse_table(row: Row) -> Table:
    rows = [
        [_cell(value) for value in row.each(f"rows[{i}]", cells, (str, int, float, type(None)))]
        for i, cells in enumerate(row.each("rows", row.get("rows", list), list))
    ]
    section = row.get("section_title", str, "")
    return make_table(
        row.id()[0],
        row.get("page_title", str, ""),
        row.strings("header"),
        rows,
        Place(row.path, row.line, row.watch),
        row.get("caption", str, "") or section,
    )


def _cell(value: str | float | None) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return "" if value is None else str(value)


def parse_question(row: Row, tables: Mapping[str, Table]) -> Question:
    table = tables.get(row.id("table_id")[0])
    if table is None:
        raise row.error("table_id", f"there is no table {row.value['table_id']!r}")
    sql = row.get("sql", dict)
    column, aggregation = sql.get("sel"), sql.get("agg")
    if not _is_index(column, len(table.header)):
        raise row.error("sql.sel", f"expected a column of the table, found {json.dumps(column)[:80]}")
    if not _is_index(aggregation, len(OPERATIONS)):
        raise row.error("sql.agg", f"expected 0 to {len(OPERATIONS) - 1}, found {json.dumps(aggregation)[:80]}")
    operation, rows = OPERATIONS[aggregation], _selected(row, table, sql.get("conds"))
    if operation is Operation.NONE:
        rows = [i for i in rows if table.rows[i][column].strip()]  # an empty cell is not an answer
    if operation in (Operation.MAX, Operation.MIN):
        rows = _extreme(table, rows, column, max if operation is Operation.MAX else min)
    cells = tuple(cell_id(table.id, i, column) for i in rows)
    answers, evidence, operands = (), (table.id,), ()
    if operation in (Operation.COUNT, Operation.SUM, Operation.AVERAGE) or not rows:
        row.warn(NO_CELL)
        operands = cells
    else:
        answers, evidence = tuple(dict.fromkeys(table.rows[i][column] for i in rows)), cells
    return Question(
        f"{row.path.stem}:{row.line}", row.text("question"), answers, evidence, operation=operation, operands=operands
    )


def _is_index(value: Any, size: int) -> bool:
    return type(value) is int and 0 <= value < size


def _selected(row: Row, table: Table, conditions: Any) -> list[int]:
    """The rows that fulfil every condition."""
    if not isinstance(conditions, list):
        raise row.error("sql.conds", f"expected a list, found {json.dumps(conditions)[:80]}")
    rows = list(range(len(table.rows)))
    for i, condition in enumerate(conditions):
        if (
            not isinstance(condition, list)
            or len(condition) != 3
            or not _is_index(condition[0], len(table.header))
            or not _is_index(condition[1], len(COMPARISONS))
            or not isinstance(condition[2], (str, int, float))
        ):
            raise row.error(
                f"sql.conds[{i}]",
                "expected [column, operator, value], the operator 0 (=), 1 (>) or "
                f"2 (<), found {json.dumps(condition)[:80]}",
            )
        column, comparison, value = condition[0], COMPARISONS[condition[1]], _cell(condition[2])
        rows = [i for i in rows if _holds(table.rows[i][column], comparison, value)]
    return rows


def _holds(cell: str, comparison, value: str) -> bool:
    if comparison is None:
        return value_of(cell) == value_of(value)
    left, right = exact_number(cell), exact_number(value)
    return left is not None and right is not None and comparison(left, right)


def _extreme(table: Table, rows: Sequence[int], column: int, choose) -> list[int]:
    numbers = {i: number for i in rows if (number := exact_number(table.rows[i][column])) is not None}
    best = choose(numbers.values(), default=None)
    return [i for i, number in numbers.items() if number == best]
