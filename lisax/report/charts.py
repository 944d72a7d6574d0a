"""Geometry of the charts, in the units of an SVG view box; `templates/charts.html` draws them.

Pure functions from numbers to positions. Points that are not finite are left out.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

WIDTH, HEIGHT = 440, 260
LEFT, RIGHT, TOP, BOTTOM = 44, 12, 12, 40  # margins: tick labels left, axis name below
MAX_POINTS = 300  # per curve; longer ones are thinned
MARKED_POINTS = 30  # curves with at most this many points show each of them


@dataclasses.dataclass(frozen=True, slots=True)
class Point:
    x: float
    y: float
    text: str


@dataclasses.dataclass(frozen=True, slots=True)
class Series:
    """`style` counts from 0 and picks colour, dash and marker."""

    name: str
    points: tuple[Point, ...]
    style: int

    @property
    def path(self) -> str:
        return " ".join(f"{'L' if i else 'M'}{point.x:.1f},{point.y:.1f}" for i, point in enumerate(self.points))

    @property
    def markers(self) -> tuple[Point, ...]:
        return self.points if len(self.points) <= MARKED_POINTS else ()


@dataclasses.dataclass(frozen=True, slots=True)
class Tick:
    position: float
    text: str


@dataclasses.dataclass(frozen=True, slots=True)
class Chart:
    """A line chart. `description` is its text alternative."""

    x_name: str
    y_name: str
    description: str
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    series: tuple[Series, ...]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    top: int = TOP
    bottom: int = HEIGHT - BOTTOM


@dataclasses.dataclass(frozen=True, slots=True)
class Scale:
    """Maps [low, high] onto positions [start, end], by logarithm if asked."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    def __call__(self, value: float) -> float:
        low, high, value = (math.log(v) if self.logarithmic else v for v in (self.low, self.high, value))
        share = (value - low) / (high - low) if high > low else 0.5
        return self.start + share * (self.end - self.start)


def round_ticks(low: float, high: float, count: int = 5) -> list[float]:
    """About `count` values 1, 2 or 5 times a power of ten apart that lie in [low, high]."""
    if not high > low:
        return [low]
    raw = (high - low) / count
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [round(i * step, 12) for i in range(first, math.floor(high / step + 1e-9) + 1)]


def number(value: float) -> str:
    """A number for a label: 1,200 or 0.25, without superfluous digits."""
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:.3g}"


def lines(
    curves: Mapping[str, Iterable[tuple[float, float]]],
    x_name: str,
    y_name: str,
    description: str,
    *,
    log_x: bool = False,
    x_values: Sequence[float] | None = None,
    y_range: tuple[float, float] | None = None,
    as_percent: bool = False,
) -> Chart | None:
    """A chart of named curves of (x, y); None if no point is left. `x_values` sets the ticks of the x axis.

    `log_x` needs positive x. `y_range` is widened to contain the data; the default is the data's range."""
    clean = {
        name: thin(sorted((float(x), float(y)) for x, y in points if math.isfinite(x) and math.isfinite(y)))
        for name, points in curves.items()
    }
    clean = {name: points for name, points in clean.items() if points}
    if not clean:
        return None
    xs = [x for points in clean.values() for x, _ in points]
    ys = [y for points in clean.values() for _, y in points] + list(y_range or ())
    low, high = min(ys), max(ys)
    if not high > low:
        low, high = low - 0.5, high + 0.5
    x_scale = Scale(min(xs), max(xs), LEFT + 6, WIDTH - RIGHT - 6, log_x)
    y_scale = Scale(low, high, HEIGHT - BOTTOM, TOP)
    show = (lambda y: f"{100 * y:.1f} %") if as_percent else (lambda y: f"{y:.4g}")
    tick = (lambda y: f"{100 * y:g}") if as_percent else number
    return Chart(
        x_name,
        y_name,
        description,
        tuple(Tick(x_scale(x), number(x)) for x in (x_values or round_ticks(min(xs), max(xs)))),
        tuple(Tick(y_scale(y), tick(round(y, 10))) for y in round_ticks(low, high)),
        tuple(
            Series(
                name,
                tuple(Point(x_scale(x), y_scale(y), f"{name}: {x_name} {number(x)}, {show(y)}") for x, y in points),
                style,
            )
            for style, (name, points) in enumerate(clean.items())
        ),
    )


def thin(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """At most `MAX_POINTS` of the points, evenly spaced, including the first and the last."""
    if len(points) <= MAX_POINTS:
        return points
    step = (len(points) - 1) / (MAX_POINTS - 1)
    return [points[round(i * step)] for i in range(MAX_POINTS)]


def recall_chart(curves: Mapping[str, Mapping[int, float]]) -> Chart | None:
    """Recall at k, by k on a logarithmic axis."""
    ks = sorted({int(k) for curve in curves.values() for k in curve if int(k) >= 1})
    return lines(
        {
            name: [(int(k), value) for k, value in curve.items() if int(k) >= 1 and value is not None]
            for name, curve in curves.items()
        },
        "k",
        "recall at k, %",
        "Recall by the number k of units looked at, one curve for each ranking.",
        log_x=True,
        x_values=_spread(ks),
        y_range=(1, 1),
        as_percent=True,
    )


def _spread(ks: list[int]) -> list[int]:
    """The values whose labels do not overlap on a logarithmic axis."""
    if not ks:
        return ks
    gap = math.log(max(ks[-1] / ks[0], 2)) / 14
    kept = [ks[-1]]
    for k in reversed(ks[:-1]):
        if math.log(kept[-1] / k) >= gap:
            kept.append(k)
    return kept[::-1]


@dataclasses.dataclass(frozen=True, slots=True)
class Bar:
    """A bin of the reliability diagram: `height` is its accuracy, `mark` its mean confidence."""

    x: float
    y: float
    width: float
    height: float
    mark_x: float
    mark_y: float
    text: str
    share: float


def reliability_bars(bins: Sequence[Mapping[str, float]]) -> tuple[Bar, ...]:
    """Bars over the unit square of `lines`' frame. `share`: the bin's share of all verdicts, 0 to 1."""
    x_scale, y_scale = unit_scales()
    total = sum(row["count"] for row in bins) or 1
    bars = []
    for row in bins:
        if row["count"]:
            left, right, top = x_scale(row["low"]), x_scale(row["high"]), y_scale(row["accuracy"])
            bars.append(
                Bar(
                    left + 1,
                    top,
                    right - left - 2,
                    y_scale(0) - top,
                    x_scale(row["confidence"]),
                    y_scale(row["accuracy"]),
                    f"confidence {100 * row['low']:.0f} to {100 * row['high']:.0f} %: "
                    f"{row['count']:,} claims, {100 * row['accuracy']:.1f} % right",
                    row["count"] / total,
                )
            )
    return tuple(bars)


def unit_scales() -> tuple[Scale, Scale]:
    return Scale(0, 1, LEFT + 6, WIDTH - RIGHT - 6), Scale(0, 1, HEIGHT - BOTTOM, TOP)


def unit_frame(x_name: str, y_name: str, description: str) -> Chart:
    """An empty frame from 0 to 100 % on both axes, with the diagonal as its only line."""
    fifths = [i / 5 for i in range(6)]
    frame = lines(
        {"as confident as right": [(0, 0), (1, 1)]}, x_name, y_name, description, x_values=fifths, as_percent=True
    )
    return dataclasses.replace(
        frame, x_ticks=tuple(Tick(tick.position, f"{100 * share:g}") for tick, share in zip(frame.x_ticks, fifths))
    )


def risk_coverage_chart(rows: Sequence[Mapping[str, float]]) -> Chart | None:
    """Accuracy by coverage of `metrics.calibration.risk_coverage`; None without verdicts."""
    if not rows:
        return None
    fewest, all_ = rows[0], rows[-1]
    return lines(
        {"accuracy": [(100 * row["coverage"], row["accuracy"]) for row in rows]},
        "surest claims kept, %",
        "of the claims kept, %",
        f"Accuracy by share of claims kept, the least sure left out first: {100 * fewest['accuracy']:.1f} % right among "
        f"the surest {fewest['count']:,} claims, {100 * all_['accuracy']:.1f} % among all {all_['count']:,}.",
        y_range=(1, 1),
        as_percent=True,
    )


# --- Training curves ------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, slots=True)
class Stage:
    """The charts of a stage's training, and one sentence about it."""

    name: str
    loss: Chart | None
    figures: Chart | None
    summary: str


def stage(name: str, rows: Sequence[Mapping[str, Any]]) -> Stage | None:
    """Charts of a `train_log.jsonl`: loss, and every dev metric between 0 and 1.

    The task's name is omitted from metrics that are unique without it. None if nothing was logged."""
    losses: dict[str, list[tuple[float, float]]] = {"training": [], "dev": []}
    figures: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        dev = row.get("kind") == "dev"
        for key, value in row.items():
            if key in ("step", "kind") or isinstance(value, bool) or not isinstance(value, (int, float)):
                continue
            if key.rsplit("/", 1)[-1] == "loss":
                losses["dev" if dev else "training"].append((row["step"], value))
            elif dev:
                figures.setdefault(key, []).append((row["step"], value))
    figures = {key: points for key, points in figures.items() if all(0 <= y <= 1 for _, y in points)}
    short = {key: key.rsplit("/", 1)[-1] for key in figures}
    if len(set(short.values())) < len(short):
        short = dict(zip(figures, figures))
    figures = {short[key].replace("_", " "): points for key, points in figures.items()}
    loss = lines(losses, "step", "loss", f"Loss by step in {name}.", y_range=(0, 0))
    shown = lines(
        figures, "step", "dev figures, %", f"Figures on dev claims by step in {name}.", y_range=(1, 1), as_percent=True
    )
    if loss is None and shown is None:
        return None
    return Stage(name, loss, shown, _summary(losses["training"], figures))


def _summary(losses: list[tuple[float, float]], figures: dict[str, list[tuple[float, float]]]) -> str:
    parts = []
    if losses:
        parts.append(f"Loss {losses[0][1]:.3g} → {losses[-1][1]:.3g} over {number(losses[-1][0])} steps")
    for name, points in list(figures.items())[:1]:
        step, value = max(points, key=lambda point: point[1])
        parts.append(f"best dev {name} {100 * value:.1f} % at step {number(step)}")
    return "; ".join(parts) + "." if parts else ""
