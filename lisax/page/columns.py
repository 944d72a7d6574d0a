"""The columns of the two tables: (heading, field of the row). The page and the terminal show the same."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from lisax.page.report import SelectionRow, VerdictRow

VERDICT_COLUMNS = (("Label accuracy", "label_accuracy"), ("FEVER score", "fever_score"),
                   ("2+ sentences", "multi_accuracy"), ("Evidence recall", "evidence_recall"))
SELECTION_COLUMNS = (("P@5", "precision"), ("R@5", "recall"), ("F1@5", "f1"), ("MAP@5", "map"))


def known(value: Any) -> bool:
    """Whether there is a figure: not None, not NaN."""
    return value is not None and math.isfinite(value)


def known_columns(columns: Sequence[tuple[str, str]],
                  rows: Sequence[SelectionRow | VerdictRow]) -> list[tuple[str, str]]:
    """Those of the columns that some row has a figure for."""
    return [(head, field) for head, field in columns if any(known(getattr(row, field)) for row in rows)]
