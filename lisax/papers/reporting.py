"""Shared by the reports of all pipelines: facts about the run, its training curves, and the files written at
the end."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import platform
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from lisax.files.writing import write_json
from lisax.metrics.significance import Scores, paired_bootstrap
from lisax.papers.base import Pipeline
from lisax.report.render import write_report
from lisax.report.report import Report, ResultRow, ResultTable
from lisax.report.text_table import text_tables
from lisax.training.train_log import read_train_log

MEASURES = {  # that variants are compared by
    "fever_score": "FEVER score",
    "label_accuracy": "Label accuracy",
    "attacked_fever_score": "FEVER score of attacked claims",
    "recall@5": "R@5",
    "map": "MAP",
    "mrr": "MRR of cells",
    "hit@1": "Hit@1",
    "accuracy": "Accuracy",
    "exact_match": "Exact match",
}
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
    """A table of `calibrating.figures` by variant, with the variants' `names`; none if none was calibrated."""
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


def differences(compared: Mapping[str, tuple[str | None, Mapping[str, Scores]]]) -> dict[str, dict[str, Any]]:
    """{measure: {"against": the variant that the report shows, "variants": {other: `Difference` of its scores from
    those}}}, by the paired bootstrap. `compared` has that variant and the scores of all of them by measure; measures
    with nothing to compare are left out."""
    return {
        measure: {
            "against": shown,
            "variants": {
                variant: dataclasses.asdict(paired_bootstrap(scores[shown], of_variant))
                for variant, of_variant in scores.items()
                if variant != shown and not scores[shown].keys().isdisjoint(of_variant)
            },
        }
        for measure, (shown, scores) in compared.items()
        if shown in scores and len(scores) > 1
    }


def difference_tables(found: Mapping[str, Mapping[str, Any]], name: Callable[[str, str], str]) -> list[ResultTable]:
    """A table of `differences` for each measure; `name(measure, variant)` is the report's name of a variant."""
    return [
        ResultTable(
            f"{MEASURES[measure]} against {name(measure, of['against'])}",
            ("difference", "from", "to", "p, %"),
            tuple(
                ResultRow(name(measure, variant), tuple(one[key] for key in ("difference", "low", "high", "p_value")))
                for variant, one in of["variants"].items()
            ),
            "The difference with its 95 % interval and its p-value by the paired bootstrap, all in percent: how far it "
            "would move with other claims of the same kind. Other seeds of training are not part of it.",
        )
        for measure, of in found.items()
        if of["variants"]
    ]


def versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "platform": platform.platform()}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
