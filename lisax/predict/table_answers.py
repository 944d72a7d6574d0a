"""Answers questions from table cells (CLTR, section 3.2).

Rows and columns of the pooled tables get a probability each; cells, the new order of the tables and the answers follow
from the two.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import itertools
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from lisax.errors import DataError, LisaxError
from lisax.formats.budget import squeeze
from lisax.formats.parts import TABLE_PARTS, PartExample, PartKind
from lisax.predict import answer_confidence, score_fusion
from lisax.predict.answer_confidence import AnswerConfidence, Cells
from lisax.predict.dense_search import DenseSearch
from lisax.predict.model import Model
from lisax.predict.opening import open_model
from lisax.predict.table_index import TableIndex
from lisax.records import Table
from lisax.retrieval.bm25 import Bm25Index
from lisax.retrieval.cluster_records import ClusterRecords
from lisax.retrieval.dense import weight_of
from lisax.retrieval.elastic import ElasticIndex
from lisax.retrieval.fusion import WEIGHT
from lisax.retrieval.table_store import TableStore
from lisax.retrieval.table_text import POOL
from lisax.sampling.part_examples import parts_of
from lisax.text.words import stemmer, words

TABLES_KEPT = 4096


@dataclasses.dataclass(slots=True)
class _Part:
    number: int  # index of the row or column in its table
    example: PartExample  # without a question
    tokens: np.ndarray  # of the whole input without a question
    key: bytes
    cut: dict[int, np.ndarray]  # room -> the tokens that fit it


class PartScorer:
    """Scores rows and columns with one model, each distinct one once. Results are cached by table id: use one scorer for
    one collection.

    An input is the claim's slot, the question, then the part. Vocabulary pieces do not cross spaces, so the tokens of a
    part are the same for every question and are cached. This is verified with every question, by encoding one of its
    inputs as in training. Pair scorers read the question and the part as two texts."""

    def __init__(self, model: Model):
        if model.format is not TABLE_PARTS:
            raise LisaxError(f"this model's format is '{model.format}'; rows and columns need one of '{TABLE_PARTS}'")
        self.model = model
        self._known: collections.OrderedDict[tuple[str, PartKind], list[_Part]] = collections.OrderedDict()
        self._slot = len(model.vocabulary.encode(model.preset.claim_slot))

    @staticmethod
    def of(model: Model) -> PartScorer:
        """The scorer of a model of either kind."""
        return PairPartScorer(model) if model.pairs else PartScorer(model)

    def scores(self, question: str, kind: PartKind, tables: Sequence[Table]) -> list[np.ndarray]:
        """Each table's row or column probabilities, float32 [rows] or [columns]; 0 for parts without text."""
        parts = [self._parts(table, kind) for table in tables]
        distinct = {part.key: part for members in parts for part in members}
        tokens = self._inputs(question, list(distinct.values()))
        found = dict(zip(distinct, self.model.token_probabilities(tokens)[:, 0]))
        made = []
        for table, members in zip(tables, parts):
            values = np.zeros(len(table.rows) if kind is PartKind.ROW else len(table.header), np.float32)
            for part in members:
                values[part.number] = found[part.key]
            made.append(values)
        return made

    def tokens(self, kind: PartKind, table: Table) -> int:
        """The approximate number of tokens that the model reads to score a table's parts of one kind."""
        return sum(min(len(part.tokens), self.model.max_tokens) for part in self._parts(table, kind))

    def _parts(self, table: Table, kind: PartKind) -> list[_Part]:
        key = table.id, kind
        if key in self._known:
            self._known.move_to_end(key)
            return self._known[key]
        examples = [example for example in parts_of("", "", table) if example.kind is kind]
        texts = [self._text(example) for example in examples]
        made = []
        for example, ids in zip(examples, self.model.vocabulary.encode_batch(texts)):
            tokens = np.array(ids, np.int32)
            made.append(_Part(int(example.unit_id.rpartition(kind[0])[2]), example, tokens, tokens.tobytes(), {}))
        self._known[key] = made
        while len(self._known) > TABLES_KEPT:
            self._known.popitem(last=False)
        return made

    def _text(self, example: PartExample, question: str = "", max_tokens: int | None = None) -> str:
        asked = dataclasses.replace(example, claim=question)
        preset, count = self.model.preset, self.model.vocabulary.count
        return TABLE_PARTS.encode(asked, preset=preset, max_tokens=max_tokens, count_tokens=count).inputs

    def _inputs(self, question: str, parts: Sequence[_Part]) -> list[np.ndarray]:
        asked = np.array(self.model.vocabulary.encode(" ".join(question.split())), np.int32)
        slot, end = self._slot, np.array(self.model.vocabulary.encode_input(""), np.int32)
        made = []
        for part in parts:
            tokens = self._fitting(part, self.model.max_tokens - len(asked))
            if tokens is None:
                made.append(self._plainly(question, part))
            else:
                made.append(np.concatenate((tokens[:slot], asked, tokens[slot:], end)))
        if parts and not np.array_equal(made[0], self._plainly(question, parts[0])):
            return [self._plainly(question, part) for part in parts]
        return made

    def _fitting(self, part: _Part, room: int) -> np.ndarray | None:
        """The tokens without a question that fit `room` with EOS; None if the question must be cut too."""
        if len(part.tokens) < room:
            return part.tokens
        if room not in part.cut:
            try:
                text = self._text(part.example, max_tokens=room)
            except LisaxError:
                return None
            part.cut[room] = np.array(self.model.vocabulary.encode(text), np.int32)
        return part.cut[room]

    def _plainly(self, question: str, part: _Part) -> np.ndarray:
        text = self._text(part.example, question, self.model.max_tokens)
        return np.array(self.model.vocabulary.encode_input(text), np.int32)


class PairPartScorer(PartScorer):
    """Scores parts with a pair scorer."""

    def _text(self, example: PartExample, question: str = "", max_tokens: int | None = None) -> str:
        return TABLE_PARTS.pair(example, preset=self.model.preset).second

    def _inputs(self, question: str, parts: Sequence[_Part]) -> list[np.ndarray]:
        encode, asked = self.model.vocabulary.encode_pair, squeeze(question)
        texts = (self._text(part.example) for part in parts)
        return [np.array(encode(asked, text, self.model.max_tokens).ids, np.int32) for text in texts]


REDUCTIONS = ("max", "mean")
VECTORS = "vectors"  # `retrieval` of a model whose tables are found by BM25 and vectors
ROWS_AT_A_TIME = 256  # rows scored between two rounds of dropping hopeless tables
ROUNDING = 1e-6  # rounding error allowed where bounds are compared


@dataclasses.dataclass(frozen=True)
class TableScores:
    """Probabilities of relevance of a table's rows and columns, float32 [rows] and [columns]; 0 for empty ones.

    `retrieval` is the table's score in the pool, BM25's or that of BM25 and vectors. `relevance` is the probability
    that combines it with the best cell; None if tables are ordered only by their cells. `confidence` is the probability
    that the best cell answers the question; None if none was fitted (`answer_confidence`). `named`, bool [rows, columns]:
    the cells that the question names, see `best`."""

    table: Table
    retrieval: float
    rows: np.ndarray
    columns: np.ndarray
    relevance: float | None = None
    confidence: float | None = None
    named: np.ndarray | None = None

    @functools.cached_property
    def filled(self) -> np.ndarray:
        """True for cells that are not empty, bool [rows, columns]."""
        filled = [[bool(cell.strip()) for cell in row] for row in self.table.rows]
        return np.array(filled, bool).reshape(len(self.table.rows), len(self.table.header))

    @property
    def cells(self) -> np.ndarray:
        """P(row) * P(column), float32 [rows, columns]; 0 for an empty cell."""
        return np.where(self.filled, self.rows[:, None] * self.columns, np.float32(0))

    def score(self, reduce: str = "max") -> float:
        """The table's score: that of its best cell, or the mean over non-empty cells; 0 for an empty table."""
        if reduce not in REDUCTIONS:
            raise LisaxError(f"cells are reduced by {' or '.join(REDUCTIONS)}, found '{reduce}'")
        if not self.filled.any():
            return 0.0
        return float(self.cells.max() if reduce == "max" else self.cells[self.filled].mean())

    @property
    def value(self) -> float:
        """The sort key of tables: `relevance` if there is one, else the best cell's score."""
        return self.score() if self.relevance is None else self.relevance

    @property
    def probability(self) -> float:
        """The probability of the best cell: `confidence` if it was fitted, else the cell's score."""
        return self.score() if self.confidence is None else self.confidence

    @property
    def best(self) -> tuple[int, int]:
        """(row, column) of the best cell; the first in reading order among equals. If the question names it, as that of
        the keeper of Sedge Point names Sedge Point, the best of its row that the question does not name (ours)."""
        row, column = map(int, np.unravel_index(int(self.cells.argmax()), self.cells.shape))
        if self.named is not None and self.named[row, column]:
            others = np.where(self.named[row], np.float32(0), self.cells[row])
            column = int(others.argmax()) if others.max() > 0 else column
        return row, column


def named_cells(question: str, table: Table) -> np.ndarray | None:
    """Marks the cells of a table that have no other words than the question, bool [rows, columns]. Returns None if the
    question offers alternatives, such as `A or B`, of which one answers it."""
    asked = words(question)
    if "or" in asked:
        return None
    asked = set(map(stemmer(), asked))
    named = [[asked.issuperset(map(stemmer(), words(cell))) for cell in row] for row in table.rows]
    return np.array(named, bool).reshape(len(table.rows), len(table.header))


class TableAnswerer:
    """Retrieves tables for a question from an index folder and scores them with a row model and a column model (usually
    the same).

    `weights`: how to combine best cells with the search's scores, if the run of the row model fitted them
    (`score_fusion.py`). `confidence`: the probability that a best cell is right, if the run fitted it
    (`answer_confidence.py`)."""

    def __init__(
        self,
        index: Bm25Index | ElasticIndex | DenseSearch,
        store: TableStore | ClusterRecords[Table],
        rows: PartScorer,
        columns: PartScorer | None = None,
    ):
        self.index, self.store = index, store
        self._rows, self._columns = rows, columns or rows
        try:
            self.weights = score_fusion.weights_of(rows.model.card)
        except (TypeError, ValueError) as error:
            raise DataError(f"model.json of the model of rows: {error}") from None
        card = rows.model.card
        self.confidence = None if card.content.get("answers") is None else AnswerConfidence.of(card, "answers")
        self._table = functools.lru_cache(TABLES_KEPT)(store.get)

    @classmethod
    def open(
        cls,
        index: str | os.PathLike | TableIndex,
        bundle: str | os.PathLike,
        column_bundle: str | os.PathLike | None = None,
    ) -> TableAnswerer:
        """Opens the answerer. `index` is a folder that `lisax index tables` built, or open; a bundle holds a model of the format
        `table_parts`, and may also be a MODEL_DIR. Tables are found as when the weights of the model of rows were
        fitted: by BM25, or by BM25 and vectors, which the index must have."""
        columns = None if column_bundle is None else open_model(column_bundle)
        index = index if isinstance(index, TableIndex) else TableIndex(index)
        return cls.of(index, open_model(bundle), columns)

    @classmethod
    def of(cls, index: TableIndex, rows: Model, columns: Model | None = None) -> TableAnswerer:
        """`open` with models and an index that are open already."""
        by_vectors = rows.card.content.get("retrieval") == VECTORS
        search = search_by_vectors(index) if by_vectors else index.words
        return cls(search, index.store, PartScorer.of(rows), None if columns is None else PartScorer.of(columns))

    def search(self, question: str, pool: int = POOL) -> list[tuple[str, float]]:
        """Up to `pool` (table id, score) pairs, best first."""
        return self.index.search([question], pool)[0]

    def table(self, table_id: str) -> Table:
        table = self._table(table_id)
        if table is None:
            raise LisaxError(f"the index finds a table '{table_id}' that it does not hold")
        return table

    def answer(self, question: str, pool: int = 20, keep: int = 5) -> list[TableScores]:
        """The `keep` best of `pool` tables, best first; equal ones in BM25's order. Tables are compared by their best
        cell, or by best cell and BM25 if there are `weights`. The best cell of a table that is returned is none that
        the question names.

        All columns are scored first, then rows only where a table's columns leave it a chance; the scores equal those of
        `rank`.
        """
        pooled, wanted = self.pool(question, pool), keep
        if self.confidence is not None:
            keep = max(keep, 2)  # an answer's probability depends on the next one
        fused = self.weights is not None

        def worth(cells: Sequence[float], places: Sequence[int]) -> list[float]:
            """The sort keys of the tables."""
            return self._relevance(cells, places, pooled) if fused else list(cells)

        columns = self._columns.scores(question, PartKind.COLUMN, [table for table, _ in pooled])
        highest = [bound(table, scores) for (table, _), scores in zip(pooled, columns)]
        bounds = np.array(worth(highest, range(len(pooled)))) if pooled else np.zeros(0)
        waiting = np.argsort(-bounds, kind="stable").tolist()
        best: list[tuple[float, int, TableScores]] = []
        while waiting:
            if len(best) >= keep:
                waiting = [i for i in waiting if bounds[i] + ROUNDING >= best[keep - 1][0]]
            some, waiting = _first_rows(waiting, [table for table, _ in pooled], ROWS_AT_A_TIME)
            of_rows = self._rows.scores(question, PartKind.ROW, [pooled[i][0] for i in some])
            found = [TableScores(*pooled[i], rows, columns[i]) for i, rows in zip(some, of_rows)]
            values = worth([scores.score() for scores in found], some)
            best += (
                (value, i, dataclasses.replace(scores, relevance=value) if fused else scores)
                for value, i, scores in zip(values, some, found)
            )
            best.sort(key=lambda one: (-one[0], one[1]))
        found = [scores for _, _, scores in best[:keep]]
        if self.confidence is not None and found:
            found = self._with_confidence(question, found, max(score for _, score in pooled))
        return [dataclasses.replace(one, named=named_cells(question, one.table)) for one in found[:wanted]]

    def _with_confidence(self, question: str, found: list[TableScores], best_retrieval: float) -> list[TableScores]:
        per_term = not isinstance(self.index, DenseSearch)
        scores, retrieval = ([read(one) for one in found] for read in (TableScores.score, lambda one: one.retrieval))
        cells = Cells(question, scores, retrieval, best_retrieval, per_term)
        sure = self.confidence.probabilities(answer_confidence.features(cells))
        return [dataclasses.replace(one, confidence=float(share)) for one, share in zip(found, sure)]

    def tokens(self, table: Table) -> tuple[int, int]:
        """The approximate numbers of tokens that the models read to score a table's rows and its columns."""
        return self._rows.tokens(PartKind.ROW, table), self._columns.tokens(PartKind.COLUMN, table)

    def rank(self, question: str, pool: Sequence[tuple[Table, float]]) -> list[TableScores]:
        """Scores every row and column of (table, score in the pool) pairs, in their order."""
        tables = [table for table, _ in pool]
        columns = self._columns.scores(question, PartKind.COLUMN, tables)
        rows = self._rows.scores(question, PartKind.ROW, tables)
        found = [TableScores(*pair, *scores) for pair, *scores in zip(pool, rows, columns)]
        if self.weights is None or not found:
            return found
        relevance = self._relevance([scores.score() for scores in found], range(len(pool)), pool)
        return [dataclasses.replace(scores, relevance=value) for scores, value in zip(found, relevance)]

    def _relevance(
        self, cells: Sequence[float], places: Sequence[int], pool: Sequence[tuple[Table, float]]
    ) -> list[float]:
        """The relevance of the tables at these places of a pool, from their best cells and their scores in the pool."""
        retrieval = np.array([score for _, score in pool])
        features = score_fusion.features_of(np.array(cells), retrieval[list(places)], retrieval.max())
        return score_fusion.probability(features, self.weights).tolist()

    def pool(self, question: str, pool: int = POOL) -> list[tuple[Table, float]]:
        """The tables that are found, except those whose cells are all empty: they hold no answer."""
        hits = self.search(question, pool)
        self.store.prepare(table for table, _ in hits)
        found = [(self.table(table), score) for table, score in hits]
        return [(table, score) for table, score in found if any(map(str.strip, itertools.chain(*table.rows)))]


def search_by_vectors(index: Path | TableIndex) -> DenseSearch:
    """The search of an index of tables by BM25 and vectors, which take part even if BM25 without them was found to be
    best."""
    index = index if isinstance(index, TableIndex) else TableIndex(index)
    fitted = None if index.folder is None else weight_of(index.folder, "tables")
    if (search := index.by_vectors(fitted or WEIGHT)) is None:
        place = index.folder or f"URL/{index.words.name}"
        raise DataError(
            "the model was trained for tables that BM25 and vectors find together, and this index has no vectors: make "
            f"them by `lisax index vectors {place} --retriever minilm`",
            path=place,
        )
    return search


def bound(table: Table, columns: np.ndarray) -> float:
    """An upper bound of the table's score, whatever its rows."""
    return TableScores(table, 0.0, np.ones(len(table.rows), np.float32), columns).score()


def _first_rows(waiting: list[int], tables: Sequence[Table], rows: int) -> tuple[list[int], list[int]]:
    """Splits off the first tables that have about `rows` rows together; returns them and the rest."""
    taken = 0
    for number, i in enumerate(waiting, start=1):
        taken += len(tables[i].rows)
        if taken >= rows:
            return waiting[:number], waiting[number:]
    return waiting, []
