"""Heatmaps of tables by the probabilities of a row and column scorer, for the page and for reports.

One sequential scale of a single hue, whose steps differ in luminance, so that they can be distinguished without seeing
colours. Text on every step has a contrast of at least 4.5 (WCAG AA). No script is needed: three radio buttons switch
between rows, columns and cells by CSS, and colours are classes, so that a page may forbid inline styles.
"""

from __future__ import annotations

import base64
import dataclasses
import functools
import hashlib
import math
import os
import re
from collections.abc import Sequence
from typing import Protocol

import jinja2
import numpy as np
from markupsafe import Markup

from lisax.errors import LisaxError
from lisax.files.writing import atomic_write
from lisax.records import Table
from lisax.report.render import TEMPLATES, environment

STEPS = 20
VIEWS = ("cells", "rows", "columns")
# From 0 to the greatest score; the dark scheme runs the other way, from the dark background of the page.
LIGHT_SCALE, DARK_SCALE = ("#ffffff", "#08306b"), ("#1c1f26", "#b5dcff")
MOST_ROWS, MOST_COLUMNS = 100, 20  # largest part shown: the rows and columns that score highest, in table order


class HeatmapScores(Protocol):
    """`rows` [rows], `columns` [columns] and `cells` [rows, columns] are probabilities of relevance; `best` is the (row,
    column) of the cell that answers."""

    table: Table
    rows: np.ndarray
    columns: np.ndarray
    cells: np.ndarray
    best: tuple[int, int]


@dataclasses.dataclass(frozen=True, slots=True)
class Tops:
    """The score with the darkest colour in each view; several tables share them, which makes them comparable."""

    cells: float
    rows: float
    columns: float

    @classmethod
    def of(cls, answers: Sequence[HeatmapScores]) -> Tops:
        return cls(
            *(
                max((float(np.max(getattr(scores, view), initial=0.0)) for scores in answers), default=0.0)
                for view in VIEWS
            )
        )


def heatmap(scores: HeatmapScores, name: str = "table", tops: Tops | None = None) -> Markup:
    """The heatmap as escaped HTML without its style (see `style`).

    `name` is the prefix of its element ids: the cell in row i and column j is `{name}-r{i}c{j}`. It may have letters,
    digits and hyphens only. Larger tables than `MOST_ROWS` and `MOST_COLUMNS` are shown in part, with a note."""
    if not re.fullmatch(r"[a-z][a-z0-9-]*", name):
        raise LisaxError(f"a heatmap's name is made of a-z, 0-9 and hyphens, found {name!r:.80}")
    table = scores.table
    shape = (len(table.rows), len(table.header))
    if scores.rows.shape != shape[:1] or scores.columns.shape != shape[1:] or scores.cells.shape != shape:
        raise LisaxError(
            f"table '{table.id}' has {shape[0]} rows and {shape[1]} columns, its scores are of "
            f"{scores.rows.shape}, {scores.columns.shape} and {scores.cells.shape}"
        )
    tops = tops or Tops.of([scores])
    best = best_cell(scores)
    return Markup(
        _environment()
        .get_template("heatmap.html")
        .module.heatmap(
            name=name,
            table=table,
            tops=tops,
            views=VIEWS,
            steps=STEPS,
            rows=_kept(scores.rows, MOST_ROWS, None if best is None else best[0]),
            columns=_kept(scores.columns, MOST_COLUMNS, None if best is None else best[1]),
            best=best,
            row_scores=scores.rows.tolist(),
            column_scores=scores.columns.tolist(),
            cell_scores=scores.cells.tolist(),
        )
    )


_FILE = re.compile(r"\.(csv|tsv|tab|html?|xlsx?|json)$", re.IGNORECASE)


def name_of(table: Table) -> str:
    """The name of a table for readers: its caption or title or, if these are only the name of a file, the names of its
    first columns."""
    for name in (table.caption, table.title):
        if re.search(r"[^\W\d_]{2}", name) and not _FILE.search(name):
            return name
    columns = [name for name in table.header if name.strip()]
    return ", ".join(columns[:4]) + (", …" if len(columns) > 4 else "") if columns else table.title or table.id


def best_cell(scores: HeatmapScores) -> tuple[int, int] | None:
    """The cell that answers; None if all cells score 0."""
    return scores.best if scores.cells.size and scores.cells.max() > 0 else None


def step(score: float, top: float) -> int:
    """The colour index of a score, from 0 for score 0 to `STEPS` for `top`."""
    share = score / top if top > 0 else 0.0
    return round(STEPS * min(1.0, max(0.0, share))) if math.isfinite(share) else 0


def _kept(scores: np.ndarray, most: int, best: int | None) -> list[int]:
    """All indices, or in ascending order the `most` with the highest scores (including that of the best cell)."""
    if len(scores) <= most:
        return list(range(len(scores)))
    highest = np.argsort(-scores, kind="stable")[:most].tolist()
    if best is not None and best not in highest:
        highest[-1] = best
    return sorted(highest)


# --- Colours --------------------------------------------------------------------------------


def colours(scale: tuple[str, str]) -> list[tuple[str, str]]:
    """(background, text) of each step, as #rrggbb; the text is black or white, whichever has more contrast."""
    low, high = (np.array([int(end[i : i + 2], 16) for i in (1, 3, 5)]) for end in scale)
    made = []
    for i in range(STEPS + 1):
        background = "#" + "".join(f"{round(channel):02x}" for channel in low + (high - low) * i / STEPS)
        made.append((background, max("#000000", "#ffffff", key=lambda text: contrast(text, background))))
    return made


def luminance(colour: str) -> float:
    """WCAG 2's relative luminance of #rrggbb, from 0 to 1."""
    channels = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """WCAG 2's contrast ratio of two colours, from 1 to 21."""
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@functools.cache
def style() -> str:
    """The style sheet of heatmaps, colours included."""

    def variables(scale: tuple[str, str]) -> str:
        return "".join(f"--h{i}:{background};--i{i}:{text};" for i, (background, text) in enumerate(colours(scale)))

    rules = [
        f".heatmap{{{variables(LIGHT_SCALE)}}}",
        f"@media (prefers-color-scheme:dark){{.heatmap{{{variables(DARK_SCALE)}}}}}",
    ]
    for view in VIEWS:
        # The first view needs no :has(), so that it works in browsers without it.
        within = "" if view == VIEWS[0] else f":has([value={view}]:checked)"
        rules += [f".heatmap{within} .{view}-{i}{{background:var(--h{i});color:var(--i{i})}}" for i in range(STEPS + 1)]
    return (TEMPLATES / "heatmap.css").read_text(encoding="utf-8") + "\n".join(rules) + "\n"


# --- A separate file ------------------------------------------------------------------------


def write_page(path: str | os.PathLike, title: str, answers: Sequence[tuple[str, Sequence[HeatmapScores]]]) -> None:
    """Writes one self-contained HTML file: each question with its tables, best first."""
    css = (TEMPLATES / "style.css").read_text(encoding="utf-8") + style()
    html = (
        _environment()
        .get_template("heatmaps.html")
        .render(
            title=title,
            style=Markup(css),
            style_digest=base64.b64encode(hashlib.sha256(css.encode()).digest()).decode(),
            answers=[
                (
                    question,
                    [(scores.table, heatmap(scores, f"q{i}t{j}", Tops.of(tables))) for j, scores in enumerate(tables)],
                )
                for i, (question, tables) in enumerate(answers)
            ],
        )
    )
    with atomic_write(path) as file:
        file.write(html)


@functools.cache
def _environment() -> jinja2.Environment:
    made = environment(TEMPLATES, percent=percent, name=name_of)
    made.globals["step"] = step
    return made


def percent(score: float) -> str:
    """A probability in readable form: 0.374 is 37.4 %."""
    return f"{100 * score:.1f} %"
