"""Shared by the reports of all pipelines: facts about the run, its training curves, and the files written at
the end."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from lisax.papers.base import Pipeline
from lisax.records import write_json
from lisax.report.render import write_report
from lisax.report.report import Report, ResultRow, ResultTable
from lisax.report.text_table import text_tables
from lisax.runtime.train_log import read_train_log

PACKAGES = ("lisax", "jax", "flax", "optax", "orbax-checkpoint", "seqio", "tensorflow", "numpy")


def write(out: Path, figures: Mapping[str, Any], report: Report, *more: Path) -> str:
    """Writes `metrics.json` and `report.html` in `out`.

    Returns the tables for a terminal, followed by the names of these files and of those in `more`."""
    write_json(out / "metrics.json", figures)
    write_report(out / "report.html", report)
    return "\n".join([text_tables(report), "", *map(str, (out / "report.html", *more, out / "metrics.json"))])


def facts(run: Pipeline) -> dict[str, Any]:
    """Facts about a run: `seed`, `seconds` of its stages, `versions`."""
    return {
        "seed": run.recipe.seed,
        "versions": versions(),
        "seconds": {stage: round(seconds, 1) for stage, seconds in run.runner.seconds.items()},
    }


def training_curves(run: Pipeline, models: Iterable[str]) -> dict[str, list[dict]]:
    """The lines of `train_log.jsonl` of each model that was trained."""
    return {
        model: read_train_log(run.model_dir(model))
        for model in models
        if (run.model_dir(model) / "train_log.jsonl").exists()
    }


def calibration_tables(found: Mapping[str, Mapping[str, Any]], names: Mapping[str, str]) -> list[ResultTable]:
    """A table of `calibrating.figures` by variant, with the variants' `names`; none where none was calibrated."""
    rows = tuple(
        ResultRow(
            names[variant],
            tuple(
                row[when] and row[when][measure]
                for measure in ("expected_error", "brier")
                for when in ("before", "after")
            ),
        )
        for variant, row in found.items()
    )
    if not rows:
        return []
    return [
        ResultTable(
            "Calibration",
            ("expected error before", "after", "Brier score before", "after"),
            rows,
            explanation="A temperature is fitted on held-out claims; the errors are on the reported ones, in percent. The "
            "expected error is the mean distance of accuracy from confidence.",
        )
    ]


def versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "platform": platform.platform()}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
