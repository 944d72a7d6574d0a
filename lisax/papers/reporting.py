"""Shared by all reports: facts about the run, baselines, training curves, and the files written at the end."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import json
import platform
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from lisax.files.writing import write_json
from lisax.metrics import calibration
from lisax.metrics.claim_words import claim_words_verdicts
from lisax.metrics.fever import confusion, evaluate, majority_verdicts
from lisax.metrics.significance import Scores, paired_bootstrap
from lisax.papers.base import TRAIN, Pipeline
from lisax.records import Claim, Prediction
from lisax.report.render import write_report
from lisax.report.report import Report, ResultTable
from lisax.report.text_table import text_table, text_tables
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


def write_early(out: Path, figures: Mapping[str, Any], table: ResultTable) -> str:
    """Writes the figures of a run that stopped before its end to `metrics.json`, unless that has a whole run's; returns
    the table for a terminal."""
    file, text = out / "metrics.json", text_table(table)
    if file.exists() and not json.loads(file.read_text(encoding="utf-8")).keys() <= figures.keys():
        return text
    write_json(file, figures)
    return f"{text}\n\n{file}"


def facts(run: Pipeline) -> dict[str, Any]:
    """Facts about a run: `seed`, `seconds` of its stages, `versions`."""
    return {
        "seed": run.recipe.seed,
        "versions": versions(),
        "seconds": {stage: round(seconds, 1) for stage, seconds in run.runner.seconds.items()},
    }


def baselines(run: Pipeline, claims: Mapping[str, Claim]) -> dict[str, dict]:
    """Figures of two labellers that read no evidence: one takes the most frequent label, one the words of a claim."""
    train = run.labelled_claims(TRAIN).values()
    return {
        "majority": evaluate(claims, majority_verdicts(train, claims)),
        "claim_words": evaluate(claims, claim_words_verdicts(train, claims)),
    }


def report(
    run: Pipeline, figures: Mapping[str, Any], title: str, *counts: str, models: Iterable[str] = (), **parts: Any
) -> Report:
    """Returns a report with the parts of every run's: its data with their `counts`, the training curves of `models` (by
    default of all trained ones), and its facts. `parts` are the other fields."""
    return Report(
        title,
        " · ".join([str(run.data.folder), figures["reported_split"], *counts]),
        curves=training_curves(run, models or run.recipe.train),
        facts={name: figures[name] for name in ("seed", "pool", "seconds", "versions") if name in figures},
        **parts,
    )


def on_claims(claims: Mapping[str, Claim], verdicts: Mapping[str, Prediction]) -> dict[str, Any]:
    """The parts of a report about labels and confidences of `verdicts`, as fields of `Report`."""
    judged = {i: claims[i] for i in claims if i in verdicts}
    return {
        "confusion": confusion(judged, verdicts) if judged else (),
        "reliability": calibration.reliability(judged, verdicts) if judged else (),
        "risk_coverage": calibration.risk_coverage(judged, verdicts),
        "overridden": calibration.overridden(verdicts.values()),
    }


def training_curves(run: Pipeline, models: Iterable[str]) -> dict[str, list[dict]]:
    """The lines of `train_log.jsonl` of each model that was trained."""
    return {
        model: read_train_log(run.model_dir(model))
        for model in models
        if (run.model_dir(model) / "train_log.jsonl").exists()
    }


CALIBRATION = (
    ("expected error before", "before", "expected_error"),
    ("after", "after", "expected_error"),
    ("Brier score before", "before", "brier"),
    ("after", "after", "brier"),
)
DIFFERENCE = (("difference", "difference"), ("from", "low"), ("to", "high"), ("p, %", "p_value"))


def calibration_table(found: Mapping[str, Mapping[str, Any]], names: Mapping[str, str]) -> ResultTable:
    """A table of `calibrating.figures` by variant, with the variants' `names`."""
    return ResultTable.of(
        "Calibration",
        CALIBRATION,
        {names[variant]: of_variant for variant, of_variant in found.items()},
        "A temperature is fitted on held-out claims; the errors are on the reported ones, in percent. The expected error "
        "is the mean distance of accuracy from confidence.",
    )


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
    """A table of `differences` per measure; `name(measure, variant)` is the report's name of a variant."""
    return [
        ResultTable.of(
            f"{MEASURES[measure]} against {name(measure, of['against'])}",
            DIFFERENCE,
            {name(measure, variant): one for variant, one in of["variants"].items()},
            "The difference with its 95 % interval and its p-value by the paired bootstrap, all in percent: how far it "
            "would move with other claims of the same kind. Other seeds of training are not part of it.",
        )
        for measure, of in found.items()
    ]


def versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "platform": platform.platform()}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
