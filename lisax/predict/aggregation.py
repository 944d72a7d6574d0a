"""CLTR's aggregation head, as in its released code: chooses the operation that answers a question over a table, and
applies it to the cells.

The cells are those of the best cell's column, in the rows whose probability reaches a threshold, without rows of
totals. Where the operation is NONE, or no cell fits it, the best cell is the answer, as without the head.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from lisax.errors import LisaxError
from lisax.formats.parts import TABLE_OPERATION, OperationExample
from lisax.formats.table_records import totals
from lisax.predict.model import Model
from lisax.predict.table_answers import TableScores
from lisax.records import Operation, cell_id
from lisax.text import units
from lisax.text.quantities import Kind, Quantity, column, comparable

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


DECIMALS = 12  # kept of a value that does not terminate


@dataclasses.dataclass(frozen=True, slots=True)
class Aggregate:
    """The result of an operation on cells. `cells`: ids of the cells used; `left_out`: how many others hold no
    number; `unit`: that of the cells, if they are measures, money or percentages."""

    operation: Operation
    value: Decimal
    cells: tuple[str, ...]
    left_out: int = 0
    unit: str = ""

    @property
    def text(self) -> str:
        """The value in digits, without trailing zeros, with its unit."""
        text = f"{self.value:f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
        text = "0" if text == "-0" else text
        return f"{text} {self.unit}" if self.unit else text


def aggregate(operation: Operation, cells: Mapping[str, str]) -> Aggregate | None:
    """Applies `operation` to cells of a column (id -> text); None if no cell fits it.

    A count counts all cells, whatever their text. The other operations use the cells that hold one number, or one
    quantity with a unit if all can be compared (`2 km` and `900 m` are 2.9 km, `€5` and `$7` have no sum); without any
    there is no aggregate. A value that does not terminate is rounded to `DECIMALS` decimals, half to even; everything
    else is exact. The order of the cells changes only the unit of a sum. Raises LisaxError for the operation NONE.
    """
    if operation is Operation.NONE:
        raise LisaxError("the operation 'none' makes nothing of cells: they are the answer themselves")
    if operation is Operation.COUNT:
        return Aggregate(operation, Decimal(len(cells)), tuple(cells)) if cells else None
    read = {cell: one for cell, one in zip(cells, column(list(cells.values()))) if one is not None and _is_number(one)}
    if not comparable(list(read.values())):
        read = {cell: one for cell, one in read.items() if one.kind is Kind.PLAIN and not one.noun}
    if not read:
        return None
    first = next(iter(read.values()))
    unit = units.find(first.written) if first.unit else None
    values = [one.value if unit is None else unit.back(one.value) for one in read.values()]
    value = {
        Operation.MAX: max,
        Operation.MIN: min,
        Operation.SUM: sum,
        Operation.AVERAGE: lambda values: sum(values) / len(values),
    }[operation](values)
    return Aggregate(operation, _decimal(value), tuple(read), len(cells) - len(read), "" if unit is None else unit.word)


def _is_number(one: Quantity) -> bool:
    return one.exact and one.kind is not Kind.ORDINAL


def _decimal(value: Fraction) -> Decimal:
    """A fraction as a decimal, exact if it terminates: a denominator of the primes 2 and 5 divides the power of ten that
    its number of bits gives."""
    rest = value.denominator
    places = rest.bit_length()
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    digits = len(str(abs(value.numerator) // value.denominator)) + (places if rest == 1 else DECIMALS) + 2 * DECIMALS
    context = Context(prec=digits, rounding=ROUND_HALF_EVEN, Emax=MAX_EMAX, Emin=MIN_EMIN)
    found = context.divide(Decimal(value.numerator), Decimal(value.denominator))
    return found if rest == 1 else found.quantize(Decimal(1).scaleb(-DECIMALS), context=context)
