"""CLTR's aggregation head, as in its released code: chooses the operation that answers a question over a table, and
applies it to the cells.

The cells are those of the best cell's column, in the rows whose probability reaches a threshold, without rows of
totals. Where the operation is NONE, or no cell fits it, the best cell is the answer, as without the head.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np

from lisax.errors import LisaxError
from lisax.formats.parts import TABLE_OPERATION, OperationExample
from lisax.formats.table_records import totals
from lisax.predict.arithmetic import Aggregate, aggregate
from lisax.predict.model import Model
from lisax.predict.table_answers import TableScores
from lisax.records import Operation, cell_id

THRESHOLD = 0.5  # where `true` is as likely as `false`; a run with questions to fit a threshold on uses the fitted one
TRIED = 200


@dataclasses.dataclass(frozen=True, slots=True)
class TableAnswer:
    """One table's answer to a question: `text`, the operation that produced it with its `probability`, and the table's
    best cell."""

    table: str
    cell: str
    text: str
    operation: Operation
    probability: float
    aggregate: Aggregate | None = None

    def row(self) -> dict[str, Any]:
        """The answer as JSON; only an aggregate has `value`, `cells` and `left_out`."""
        row = {
            "table": self.table,
            "cell": self.cell,
            "operation": self.operation,
            "probability": round(self.probability, 6),
        }
        if self.aggregate is None:
            return row
        made = self.aggregate
        return row | {"value": made.text, "cells": list(made.cells), "left_out": made.left_out}


def line(question_id: str, answers: Sequence[TableAnswer]) -> dict[str, Any]:
    """A row of a predictions file, as `lisax score answers` reads it: one answer text per table, best table first."""
    return {
        "id": question_id,
        "answers": [answer.text for answer in answers],
        "tables": [answer.row() for answer in answers],
    }


class Aggregator:
    """Answers questions from scored tables with a model of the format `table_operation`."""

    def __init__(self, model: Model, threshold: float = THRESHOLD):
        if model.format is not TABLE_OPERATION:
            raise LisaxError(f"this model's format is '{model.format}'; operations need one of '{TABLE_OPERATION}'")
        self.model, self.threshold = model, threshold

    @classmethod
    def open(cls, path: str | os.PathLike, threshold: float = THRESHOLD) -> Aggregator:
        return cls(Model.open(path), threshold)

    def answers(self, question: str, tables: Sequence[TableScores]) -> list[TableAnswer]:
        """One answer per table, in the order of `tables`."""
        examples = [OperationExample("", question, scores.table.id, scores.table.header) for scores in tables]
        shares = self.model.probabilities(examples) if examples else ()
        return [self._answer(scores, share) for scores, share in zip(tables, shares, strict=True)]

    def _answer(self, scores: TableScores, share: np.ndarray) -> TableAnswer:
        table, (row, column) = scores.table, scores.best
        operation, made = list(Operation)[int(share.argmax())], None
        if operation is not Operation.NONE:
            rows = chosen_rows(scores.rows, self.threshold)
            summed = totals(table)
            rows = [i for i in rows if i not in summed] or rows
            made = aggregate(operation, {cell_id(table.id, i, column): table.rows[i][column] for i in rows})
        text = table.rows[row][column] if made is None else made.text
        return TableAnswer(table.id, cell_id(table.id, row, column), text, operation, float(share.max()), made)


def chosen_rows(rows: np.ndarray, threshold: float) -> list[int]:
    """Indices of the rows whose probability reaches the threshold."""
    return np.flatnonzero(np.asarray(rows, np.float64) >= threshold).tolist()


def fit_threshold(held: Iterable[tuple[Sequence[float], Collection[int]]]) -> float:
    """The threshold whose chosen rows have the highest mean F1 over the held-out questions.

    `held`: per question, the probabilities of its table's rows and the indices of the right rows. Of equally good
    thresholds the one nearest to `THRESHOLD` is returned; without questions, `THRESHOLD` itself."""
    held = [(np.asarray(rows, np.float64), set(right)) for rows, right in held]
    if not held:
        return THRESHOLD
    tried = np.quantile(np.concatenate([rows for rows, _ in held]), np.linspace(0, 1, TRIED), method="nearest")

    def mean_f1(threshold: float) -> float:
        chosen = [(set(chosen_rows(rows, threshold)), right) for rows, right in held]
        return float(np.mean([2 * len(rows & right) / max(len(rows) + len(right), 1) for rows, right in chosen]))

    return max((THRESHOLD, *map(float, tried)), key=lambda threshold: (mean_f1(threshold), -abs(threshold - THRESHOLD)))
