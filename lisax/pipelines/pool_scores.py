"""What scoring the pools of questions leaves on disk, and what follows from it: runs of tables and of answer cells, and
how much of the work could have been spared.

A line a question: every pooled table with its scores under both reductions and its best cell; the cells of the gold
table, ranked; and rows and columns of the first tables, for heatmaps.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from lisax.pipelines.table_answers import TableAnswerer, TableScores, bound
from lisax.records import Hit, Question, cell_id
from lisax.retrieval.table_text import gold_tables
from lisax.runtime.resumable import resumable_lines

SHOWN = 5  # tables of a question whose rows and columns are kept
KEPT_TOP = 5  # what a bound on the work must not change
GOLD_CELLS = 1000


@dataclasses.dataclass(frozen=True, slots=True)
class ScoredTable:
    """`bound`: what `max` could have been at most, by the columns; `cell`: the best one, with its text; `tokens`: of
    the rows and of the columns, what they cost."""

    id: str
    retrieval: float
    max: float
    mean: float
    bound: float
    cell: str
    text: str
    tokens: tuple[int, int]


@dataclasses.dataclass(frozen=True, slots=True)
class PoolScores:
    """`tables` in the order of the pool; `gold`: cells of the gold table with their scores, best first; `shown`:
    (table, score in the pool, P of rows, P of columns) of the first tables by their best cells."""

    id: str
    tables: tuple[ScoredTable, ...]
    gold: tuple[tuple[str, float], ...] = ()
    shown: tuple[tuple[str, float, tuple[float, ...], tuple[float, ...]], ...] = ()

    def line(self) -> str:
        tables = [dataclasses.astuple(table) for table in self.tables]
        return json.dumps([self.id, tables, self.gold, self.shown], ensure_ascii=False)

    @classmethod
    def from_line(cls, line: str) -> PoolScores:
        question, tables, gold, shown = json.loads(line)
        return cls(question, tuple(ScoredTable(*table[:-1], tuple(table[-1])) for table in tables),
                   tuple(map(tuple, gold)),
                   tuple((table, score, tuple(rows), tuple(columns)) for table, score, rows, columns in shown))

    def ordered(self, order: str) -> list[ScoredTable]:
        """The tables by falling `retrieval`, `max` or `mean`; equal ones as in the pool."""
        return sorted(self.tables, key=lambda table: -getattr(table, order))


def score_pool(answerer: TableAnswerer, question: Question, pool: Sequence[Hit]) -> PoolScores:
    """Every table of the pool and, pooled or not, the first gold one."""
    tables = [(answerer.table(hit.id), hit.score) for hit in pool]
    answers = gold_tables(question)
    if answers and answers[0] not in {hit.id for hit in pool}:
        tables.append((answerer.table(answers[0]), 0.0))
    found = answerer.rank(question.text, tables)
    pooled = [scores for scores in found[:len(pool)] if scores.filled.any()]
    shown = sorted(pooled, key=lambda scores: -scores.score())[:SHOWN]
    gold = next((scores for scores in found if answers and scores.table.id == answers[0]), None)
    return PoolScores(question.id, tuple(_scored(answerer, scores) for scores in pooled),
                      () if gold is None else tuple(ranked_cells(gold)[:GOLD_CELLS]),
                      tuple((scores.table.id, scores.retrieval, _short(scores.rows), _short(scores.columns))
                            for scores in shown))


def _scored(answerer: TableAnswerer, scores: TableScores) -> ScoredTable:
    table, (row, column) = scores.table, scores.best
    return ScoredTable(table.id, scores.retrieval, scores.score(), scores.score("mean"), bound(table, scores.columns),
                       cell_id(table.id, row, column), table.rows[row][column], answerer.tokens(table))


def _short(values: np.ndarray) -> tuple[float, ...]:
    """Six digits: for eyes."""
    return tuple(round(float(value), 6) for value in values)


def ranked_cells(scores: TableScores) -> list[tuple[str, float]]:
    """Every cell that holds anything, best first."""
    cells = scores.cells
    places = np.argwhere(scores.filled)
    order = np.argsort(-cells[scores.filled], kind="stable")
    return [(cell_id(scores.table.id, int(row), int(column)), float(cells[row, column]))
            for row, column in places[order]]


def score_to_file(answerer: TableAnswerer, questions: Sequence[Question], run: Mapping[str, Sequence[Hit]], out: Path,
                  progress: Callable[[int], None]) -> None:
    """A line for each question, of which `progress` is told; resumes."""
    def lines(question: Question) -> Iterator[str]:
        yield score_pool(answerer, question, run.get(question.id, ())).line()
        progress(1)

    resumable_lines(out, questions, lines)


def read_scores(path: Path) -> Iterator[PoolScores]:
    with path.open(encoding="utf-8") as file:
        yield from map(PoolScores.from_line, file)


# --- What follows -----------------------------------------------------------------------------


def table_run(scored: Iterable[PoolScores], order: str) -> Iterator[Hit]:
    """The tables by `retrieval`, `max` or `mean`."""
    for pool in scored:
        for rank, table in enumerate(pool.ordered(order), start=1):
            yield Hit(pool.id, table.id, rank, getattr(table, order))


def answer_run(scored: Iterable[PoolScores], tables: Mapping[str, Sequence[Hit]]) -> Iterator[Hit]:
    """Of each table of a run its best cell, with the table's score: the answers to a question, best first."""
    for pool in scored:
        best = {table.id: table.cell for table in pool.tables}
        hits = (hit for hit in tables.get(pool.id, ()) if hit.id in best)  # a table without any text has none
        for rank, hit in enumerate(hits, start=1):
            yield Hit(pool.id, best[hit.id], rank, hit.score)


def gold_run(scored: Iterable[PoolScores]) -> Iterator[Hit]:
    """The cells of the gold table, best first: question answering when the table is known."""
    for pool in scored:
        for rank, (cell, score) in enumerate(pool.gold, start=1):
            yield Hit(pool.id, cell, rank, score)


def pruning_curve(scored: Iterable[PoolScores], limits: Sequence[int], top: int = KEPT_TOP) -> dict[str, list[dict]]:
    """What is lost and spared by scoring less, {"limit", "same", "cost"} a point: `same` is the share of questions
    whose first `top` tables stay what they are, `cost` the share of the tokens still read.

    `pool`: only the first so many tables of the pool; `reach`: columns of all, rows of the so many most promising;
    `exact`: rows as long as a table may still enter the top, where nothing is lost.
    """
    scored = [pool for pool in scored if pool.tables]
    whole = [sum(sum(table.tokens) for table in pool.tables) for pool in scored]
    tops = [_top(pool.tables, top) for pool in scored]

    def point(limit: int | None, read: list[tuple[Sequence[ScoredTable], int]]) -> dict:
        same = [_top(tables, top) == best for (tables, _), best in zip(read, tops)]
        return {"limit": limit, "same": float(np.mean(same)), "cost": sum(cost for _, cost in read) / sum(whole)}

    if not scored:
        return {}
    return {"pool": [point(limit, [_first(pool.tables, limit) for pool in scored]) for limit in limits],
            "reach": [point(limit, [_promising(pool.tables, limit) for pool in scored]) for limit in limits],
            "exact": [point(None, [_possible(pool.tables, top) for pool in scored])]}


def _top(tables: Sequence[ScoredTable], top: int) -> list[str]:
    return [table.id for table in sorted(tables, key=lambda table: -table.max)[:top]]


def _first(tables: Sequence[ScoredTable], limit: int) -> tuple[Sequence[ScoredTable], int]:
    return tables[:limit], sum(sum(table.tokens) for table in tables[:limit])


def _promising(tables: Sequence[ScoredTable], limit: int) -> tuple[Sequence[ScoredTable], int]:
    reached = {table.id for table in sorted(tables, key=lambda table: -table.bound)[:limit]}
    read = [table for table in tables if table.id in reached]
    return read, sum(table.tokens[1] for table in tables) + sum(table.tokens[0] for table in read)


def _possible(tables: Sequence[ScoredTable], top: int) -> tuple[Sequence[ScoredTable], int]:
    """Table by table, the most promising first, until no other can enter the top."""
    read: list[ScoredTable] = []
    for table in sorted(tables, key=lambda table: -table.bound):
        if len(read) >= top and table.bound < sorted((one.max for one in read), reverse=True)[top - 1]:
            break
        read.append(table)
    cost = sum(table.tokens[1] for table in tables) + sum(table.tokens[0] for table in read)
    names = {table.id for table in read}
    return [table for table in tables if table.id in names], cost
