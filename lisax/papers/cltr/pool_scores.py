"""The stored scores of the questions' pools, and the results computed from them: runs of tables and of answer cells,
and the share of the work that could have been spared.

Each line is a question: every pooled table with its scores under both reductions and its best cell; the ranked cells of
the gold table; and the rows and columns of the first tables, for heatmaps.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from lisax.predict import score_fusion
from lisax.predict.answer_confidence import ANSWERS, Asked, Cells
from lisax.predict.answerer import POOL
from lisax.predict.table_answers import TableAnswerer, TableScores, bound
from lisax.records import Hit, Question, Table, cell_id
from lisax.retrieval.table_text import gold_tables

SHOWN = 5  # tables per question whose rows and columns are kept
KEPT_TOP = 5  # the first tables, which limiting the work must not change
GOLD_CELLS = 1000


@dataclasses.dataclass(frozen=True, slots=True)
class ScoredTable:
    """A pooled table's scores. `bound`: the highest possible `max`, given the columns; `cell`: the best cell, with its
    text; `tokens`: the cost of the rows and of the columns in tokens."""

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
    """The scores of one question's pool. `tables`: in the order of the pool. `gold`: cells of the gold table with their
    scores, best first. `shown`: (table, score in the pool, P of rows, P of columns) of the first tables by best cell.
    """

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
        return cls(
            question,
            tuple(ScoredTable(*table[:-1], tuple(table[-1])) for table in tables),
            tuple(map(tuple, gold)),
            tuple((table, score, tuple(rows), tuple(columns)) for table, score, rows, columns in shown),
        )

    def first_tables(self, lookup: Callable[[str], Table]) -> list[TableScores]:
        """The first tables by best cell, which `lookup` reads."""
        return [
            TableScores(lookup(table), retrieval, np.array(rows, np.float32), np.array(columns, np.float32))
            for table, retrieval, rows, columns in self.shown
        ]

    def ordered(self, order: str) -> list[ScoredTable]:
        """The tables by decreasing `retrieval`, `max` or `mean`; equal ones in the pool's order."""
        return sorted(self.tables, key=lambda table: -getattr(table, order))


def score_pool(answerer: TableAnswerer, question: Question, pool: Sequence[Hit]) -> PoolScores:
    """Scores every table of the pool, and the first gold table even if it is not in the pool."""
    tables = [(answerer.table(hit.id), hit.score) for hit in pool]
    answers = gold_tables(question)
    if answers and answers[0] not in {hit.id for hit in pool}:
        tables.append((answerer.table(answers[0]), 0.0))
    found = answerer.rank(question.text, tables)
    pooled = [scores for scores in found[: len(pool)] if scores.filled.any()]
    shown = sorted(pooled, key=lambda scores: -scores.score())[:SHOWN]
    gold = next((scores for scores in found if answers and scores.table.id == answers[0]), None)
    return PoolScores(
        question.id,
        tuple(_scored(answerer, scores) for scores in pooled),
        () if gold is None else tuple(ranked_cells(gold)[:GOLD_CELLS]),
        tuple((scores.table.id, scores.retrieval, _short(scores.rows), _short(scores.columns)) for scores in shown),
    )


def _scored(answerer: TableAnswerer, scores: TableScores) -> ScoredTable:
    table, (row, column) = scores.table, scores.best
    return ScoredTable(
        table.id,
        scores.retrieval,
        scores.score(),
        scores.score("mean"),
        bound(table, scores.columns),
        cell_id(table.id, row, column),
        table.rows[row][column],
        answerer.tokens(table),
    )


def _short(values: np.ndarray) -> tuple[float, ...]:
    """Rounds to six digits, enough for display."""
    return tuple(round(float(value), 6) for value in values)


def ranked_cells(scores: TableScores) -> list[tuple[str, float]]:
    """The non-empty cells with their scores, best first."""
    cells = scores.cells
    places = np.argwhere(scores.filled)
    order = np.argsort(-cells[scores.filled], kind="stable")
    return [
        (cell_id(scores.table.id, int(row), int(column)), float(cells[row, column])) for row, column in places[order]
    ]


def open_scoring(
    index: Path, models: Sequence[Path]
) -> Callable[[Sequence[tuple[Question, Sequence[Hit]]]], list[str]]:
    """The work on questions with their pools: a line of scores for each."""
    answerer = TableAnswerer.open(index, *models)
    return lambda pairs: [score_pool(answerer, question, pool).line() for question, pool in pairs]


def read_scores(path: Path) -> Iterator[PoolScores]:
    with path.open(encoding="utf-8") as file:
        yield from map(PoolScores.from_line, file)


# --- Derived runs -----------------------------------------------------------------------------


def table_run(scored: Iterable[PoolScores], order: str) -> Iterator[Hit]:
    """The run of tables by `retrieval`, `max` or `mean`."""
    for pool in scored:
        for rank, table in enumerate(pool.ordered(order), start=1):
            yield Hit(pool.id, table.id, rank, getattr(table, order))


def with_others(runs: Mapping[str, Sequence[Hit]], pools: Mapping[str, Sequence[Hit]]) -> Iterator[Hit]:
    """The runs, each followed by the tables of its pool that were not scored, in the pool's order."""
    for query, hits in runs.items():
        yield from hits
        known, last = {hit.id for hit in hits}, hits[-1].score
        others = [hit for hit in pools.get(query, ()) if hit.id not in known]
        for number, hit in enumerate(others, start=1):
            yield Hit(query, hit.id, len(hits) + number, last / (1 + number))


def answer_run(scored: Iterable[PoolScores], tables: Mapping[str, Sequence[Hit]]) -> Iterator[Hit]:
    """The best cell of each table of a run, with the table's score: the answers to a question, best first."""
    for pool in scored:
        best = {table.id: table.cell for table in pool.tables}
        hits = (hit for hit in tables.get(pool.id, ()) if hit.id in best)  # a table without any text has no best cell
        for rank, hit in enumerate(hits, start=1):
            yield Hit(pool.id, best[hit.id], rank, hit.score)


def asked_cells(
    pool: PoolScores,
    question: Question,
    weights: np.ndarray | None,
    without: Container[str] = (),
    per_term: bool = True,
) -> Asked:
    """The first answers to a question as a `TableAnswerer` with these weights gives them, and which are right, with the
    tables `without` left out of the pool. `per_term`: see `Cells`."""
    tables = [table for table in pool.tables if table.id not in without][:POOL]
    cells, retrieval = (np.array([getattr(table, name) for table in tables]) for name in ("max", "retrieval"))
    best = float(retrieval.max(initial=0.0))
    worth = cells if weights is None else score_fusion.features_of(cells, retrieval, best) @ weights
    order = np.argsort(-worth, kind="stable")[:ANSWERS]
    asked = Cells(question.text, cells[order].tolist(), retrieval[order].tolist(), best, per_term)
    return asked, [tables[i].cell in question.evidence for i in order]


def gold_run(scored: Iterable[PoolScores]) -> Iterator[Hit]:
    """The cells of the gold table, best first: question answering with a given table."""
    for pool in scored:
        for rank, (cell, score) in enumerate(pool.gold, start=1):
            yield Hit(pool.id, cell, rank, score)


def by_cells(tables: Sequence[ScoredTable], of: str) -> np.ndarray:
    """The values that order a pool's tables, float [tables]: best cells (`of` "max") or upper bounds ("bound")."""
    return np.array([getattr(table, of) for table in tables])


def pruning_curve(
    scored: Iterable[PoolScores],
    limits: Sequence[int],
    top: int = KEPT_TOP,
    worth: Callable[[Sequence[ScoredTable], str], np.ndarray] = by_cells,
) -> dict[str, list[dict]]:
    """The loss and the savings of scoring less, as points {"limit", "same", "cost"}. `same`: share of questions whose
    first `top` tables by `worth` stay the same; `cost`: share of the tokens that are still read.

    `pool`: score only the first tables of the pool; `reach`: columns of all tables, rows of only the most promising
    ones; `exact`: rows as long as a table may still enter the top, which loses nothing."""
    pools = [
        _Pool(pool.tables, worth(pool.tables, "max"), worth(pool.tables, "bound")) for pool in scored if pool.tables
    ]
    if not pools:
        return {}
    whole = sum(pool.cost(range(len(pool.tables)), range(len(pool.tables))) for pool in pools)
    tops = [pool.first(range(len(pool.tables)), top) for pool in pools]

    def point(limit: int | None, read: list[tuple[Sequence[int], Sequence[int]]]) -> dict:
        """One point; `read` has (tables whose columns are read, tables whose rows are read) for each pool."""
        same = [pool.first(rows, top) == best for pool, (_, rows), best in zip(pools, read, tops)]
        cost = sum(pool.cost(columns, rows) for pool, (columns, rows) in zip(pools, read))
        return {"limit": limit, "same": float(np.mean(same)), "cost": cost / whole}

    everything = [range(len(pool.tables)) for pool in pools]
    return {
        "pool": [point(limit, [(some[:limit], some[:limit]) for some in everything]) for limit in limits],
        "reach": [
            point(limit, [(some, pool.promising[:limit]) for some, pool in zip(everything, pools)]) for limit in limits
        ],
        "exact": [point(None, [(some, pool.possible(top)) for some, pool in zip(everything, pools)])],
    }


@dataclasses.dataclass(frozen=True)
class _Pool:
    """A pool's tables by their places: their values and the upper bounds of these."""

    tables: Sequence[ScoredTable]
    values: np.ndarray
    bounds: np.ndarray

    @functools.cached_property
    def promising(self) -> list[int]:
        return np.argsort(-self.bounds, kind="stable").tolist()

    def first(self, some: Iterable[int], top: int) -> list[int]:
        return sorted(some, key=lambda i: (-self.values[i], i))[:top]

    def cost(self, columns: Iterable[int], rows: Iterable[int]) -> int:
        """Tokens read for the columns and the rows of these tables."""
        return sum(self.tables[i].tokens[1] for i in columns) + sum(self.tables[i].tokens[0] for i in rows)

    def possible(self, top: int) -> list[int]:
        """The tables whose rows are read, most promising first, until no other can enter the top."""
        best: list[float] = []
        for read, i in enumerate(self.promising):
            if read >= top and self.bounds[i] < best[-1]:
                return self.promising[:read]
            best = sorted([*best, self.values[i]], reverse=True)[:top]
        return self.promising
