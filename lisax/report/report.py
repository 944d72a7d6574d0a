"""The content of a report; `render.write_report` writes it as one HTML file.

Figures are fractions from 0 to 1; a figure that was not measured is None. Everything is optional: parts without data do
not appear on the page.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from lisax.records import Label


@dataclasses.dataclass(frozen=True, slots=True)
class EvidenceView:
    """A sentence as shown: `score` is the ranker's, `is_gold` whether it is in a gold evidence set."""

    id: str
    title: str
    text: str
    score: float | None = None
    is_gold: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class GridView:
    """A table as shown. `marked`: indices (from 0) of the deciding rows; `score` is the system's for the table."""

    id: str
    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    marked: frozenset[int] = frozenset()
    score: float | None = None
    is_gold: bool = False


# Of the rows that are marked `best`.
WHY_MARKED = (
    "the variant that the report continues with, by the paper or held-out claims; another may have higher figures here"
)


@dataclasses.dataclass(frozen=True, slots=True)
class ResultRow:
    """`values` are fractions, one per column of its table, None if unknown. `published`: a paper's own figures."""

    name: str
    values: tuple[float | None, ...]
    published: bool = False
    best: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class ResultTable:
    """Rows of figures in percent, none longer than `columns`. `published_note` is the heading of the published ones."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[ResultRow, ...]
    explanation: str = ""
    published_note: str = "The paper's own figures: for orientation, not measured here."

    @classmethod
    def of(
        cls,
        name: str,
        columns: Sequence[Sequence[str]],
        found: Mapping[str, Mapping],
        *notes: str,
        best: str | None = None,
        published: Iterable[ResultRow] = (),
    ) -> Self:
        """A row per entry of `found`, then the `published` ones.

        `columns`: each heading, with the path of its figure. `best`: the entry that is marked; `notes`: the fields after
        `rows`."""
        headings, paths = [heading for heading, *_ in columns], [path for _, *path in columns]
        rows = (
            ResultRow(entry, tuple(figure(figures, *path) for path in paths), best=entry == best)
            for entry, figures in found.items()
        )
        return cls(name, tuple(headings), (*rows, *published), *notes)

    def without_empty_columns(self) -> Self:
        rows = [(*row.values, *[None] * (len(self.columns) - len(row.values))) for row in self.rows]
        kept = [i for i in range(len(self.columns)) if any(known(values[i]) for values in rows)]
        return dataclasses.replace(
            self,
            columns=tuple(self.columns[i] for i in kept),
            rows=tuple(
                dataclasses.replace(row, values=tuple(values[i] for i in kept)) for row, values in zip(self.rows, rows)
            ),
        )


@functools.cache
def _published() -> dict[str, tuple[ResultRow, ...]]:
    """The papers' own rows, shown next to ours for orientation."""
    tables: dict[str, tuple[ResultRow, ...]] = {}
    for line in Path(__file__).with_name("published.tsv").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            table, row, *figures = line.split("\t")
            values = tuple(float(figure) if figure else None for figure in figures)
            tables[table] = (*tables.get(table, ()), ResultRow(row, values, published=True))
    return tables


def published(table: str) -> tuple[ResultRow, ...]:
    """The papers' rows of a table, which may end before its last columns. Raises `KeyError` for an unknown table."""
    return _published()[table]


def known(value: Any) -> bool:
    """Whether a figure is available: neither None nor NaN."""
    return value is not None and math.isfinite(value)


def figure(figures: Any, *path: str) -> float | None:
    """The figure under the keys of `path`, each within the one before; None if one is missing."""
    for key in path:
        figures = figures.get(key) if isinstance(figures, Mapping) else None
    return figures


@dataclasses.dataclass(frozen=True, slots=True)
class Heatmap:
    """A grid of fractions, darker for greater ones; `values` [rows][columns]."""

    name: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]
    explanation: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class ClaimView:
    """A claim as shown. `probabilities` follow `records.LABELS`, NaN or empty if there are none.

    `evidence` is ranked, best first; `missing` are gold sentences that were not selected; `outcome` is
    `metrics.fever.outcome`; `kind` is the claim's family, if its source names one. `grids` are tables, best first."""

    id: str
    text: str
    gold: Label | None
    predicted: Label
    probabilities: tuple[float, ...] = ()
    evidence: tuple[EvidenceView, ...] = ()
    missing: tuple[EvidenceView, ...] = ()
    outcome: str = ""
    kind: str | None = None
    grids: tuple[GridView, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Report:
    """The whole report.

    `curves`: stage -> lines of its `train_log.jsonl` ({"step", "kind": "train" | "dev", scalars}). `confusion`: counts
    by gold label (rows) and predicted label (columns), both in the order of `LABELS`. `reliability`: bins {"low",
    "high", "count", "confidence", "accuracy"}, as `metrics.calibration` returns them; `overridden`: how many verdicts
    it leaves out because dates decided them. `risk_coverage`: the points of `metrics.calibration.risk_coverage`.
    `recall_curves`: name -> {k: recall@k}. `line_charts`: title -> `charts.Chart`. `tiles`: the figures at the top by
    name, those of `tiles_of`. `facts`: names -> values (seed, versions, {"stage": seconds})."""

    title: str
    subtitle: str = ""
    notes: Sequence[str] = ()
    curves: Mapping[str, Sequence[Mapping[str, Any]]] = dataclasses.field(default_factory=dict)
    confusion: Sequence[Sequence[int]] = ()
    reliability: Sequence[Mapping[str, float]] = ()
    risk_coverage: Sequence[Mapping[str, float]] = ()
    overridden: int = 0
    recall_curves: Mapping[str, Mapping[int, float]] = dataclasses.field(default_factory=dict)
    claims: Sequence[ClaimView] = ()
    result_tables: Sequence[ResultTable] = ()
    line_charts: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    heatmaps: Sequence[Heatmap] = ()
    tiles: Mapping[str, float | None] = dataclasses.field(default_factory=dict)
    tiles_of: str = ""
    facts: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def filled_tables(self) -> list[ResultTable]:
        """The tables that have rows, without columns that are empty; the same for the page and the terminal."""
        return [table.without_empty_columns() for table in self.result_tables if table.rows]
