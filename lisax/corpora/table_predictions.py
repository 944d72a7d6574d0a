"""Verdicts over tables as JSON Lines: a FEVER submission whose evidence is table ids, best first.

    {"id", "predicted_label", "predicted_evidence": ["table", ...], "label_probabilities"?: {label: probability},
     "evidence_scores"?: [...], "sufficiency"?: number, "abstained"?: true}

`sufficiency` is the probability that one of the tables decides the claim, see `lisax.metrics.tables`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from typing import NamedTuple

from lisax.corpora.fever import known_probabilities, predicted_verdict
from lisax.corpora.reading import Row, Watch, read_records, told
from lisax.records import Prediction


class TablePrediction(NamedTuple):
    """A verdict whose evidence is the tables that the system read, and its sufficiency, if any."""

    verdict: Prediction
    sufficiency: float | None = None


def prediction_row(found: TablePrediction) -> dict:
    """A verdict as a line of a predictions file, without the claim's id."""
    verdict, sufficiency = found
    row: dict = {"predicted_label": str(verdict.label), "predicted_evidence": list(verdict.evidence)}
    row |= known_probabilities(verdict)
    if verdict.evidence_scores:
        row["evidence_scores"] = list(verdict.evidence_scores)
    if verdict.abstained:
        row["abstained"] = True
    return row if sufficiency is None else row | {"sufficiency": sufficiency}


def read_predictions(path: str | os.PathLike, watch: Watch | None = None) -> Iterator[TablePrediction]:
    """The verdicts in a file from any system; missing probabilities are NaN."""
    return told(lambda w: read_records(path, parse_prediction, w, unique="verdict.claim_id"), watch)


def parse_prediction(row: Row) -> TablePrediction:
    claim_id, _ = row.id()
    given = row.get("predicted_evidence", list)  # [table, null] in a `Verdict.to_dict`
    evidence = row.ids(
        "predicted_evidence", [one[0] if isinstance(one, list) and one[1:] == [None] else one for one in given]
    )
    sufficiency = row.get("sufficiency", (int, float), None)
    if sufficiency is not None and not math.isfinite(sufficiency):
        raise row.error("sufficiency", f"expected a finite number, found {sufficiency}")
    verdict = predicted_verdict(row, claim_id, evidence, row.get("evidence_scores", list, []))
    return TablePrediction(verdict, None if sufficiency is None else float(sufficiency))
