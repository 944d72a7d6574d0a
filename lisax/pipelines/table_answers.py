"""Questions answered by cells (CLTR, section 3.2): pooled tables, a probability for each of their rows and columns, and
what follows from the two: cells, the tables' new order, answers.
"""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from lisax.records import LisaxError, Table

REDUCTIONS = ("max", "mean")


@dataclasses.dataclass(frozen=True)
class TableScores:
    """Probabilities of relevance of a table's rows and columns, float32 [rows] and [columns]; 0 for an empty one.

    `retrieval` is the table's score in the pool."""

    table: Table
    retrieval: float
    rows: np.ndarray
    columns: np.ndarray

    @functools.cached_property
    def filled(self) -> np.ndarray:
        """Which cells hold anything, bool [rows, columns]."""
        return filled_cells(self.table)

    @property
    def cells(self) -> np.ndarray:
        """P(row) * P(column), float32 [rows, columns]; 0 for an empty cell."""
        return np.where(self.filled, self.rows[:, None] * self.columns, np.float32(0))

    def score(self, reduce: str = "max") -> float:
        """The table's: that of its best cell, or the mean over cells that hold anything; 0 for an empty table."""
        if reduce not in REDUCTIONS:
            raise LisaxError(f"cells are reduced by {' or '.join(REDUCTIONS)}, found '{reduce}'")
        if not self.filled.any():
            return 0.0
        return float(self.cells.max() if reduce == "max" else self.cells[self.filled].mean())

    @property
    def best(self) -> tuple[int, int]:
        """(row, column) of the best cell, the first of equals in reading order."""
        row, column = np.unravel_index(int(self.cells.argmax()), self.cells.shape)
        return int(row), int(column)


def filled_cells(table: Table) -> np.ndarray:
    return np.array([[bool(cell.strip()) for cell in row] for row in table.rows], bool).reshape(
        len(table.rows), len(table.header))
