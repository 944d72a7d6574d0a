"""Scores how often attacked claims break systems, from files."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from lisax.adversary.attack import kind_name
from lisax.adversary.decisions import reviewed
from lisax.corpora.fever import read_predictions
from lisax.metrics import fever, potency
from lisax.metrics.scoring import naming, read_gold


def score_potency(gold_file: Path, predictions_files: Sequence[Path], decisions: Path | None = None) -> dict:
    """Potency by kind, as in FEVER 2.0, from one submission per system."""
    claims = {i: dataclasses.replace(claim, kind=kind_name(claim.kind)) for i, claim in read_gold(gold_file).items()}
    with naming(gold_file):
        fever.check_gold(claims)
    systems = {}
    for path in predictions_files:
        verdicts = {verdict.claim_id: verdict for verdict in read_predictions(path)}
        with naming(path):
            fever.check_pairs(claims, verdicts)
        systems[path.stem if path.stem not in systems else str(path)] = verdicts
    return {"potency": potency.potency(claims, systems, reviewed(gold_file, decisions))}
