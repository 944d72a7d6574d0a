"""Fits the temperature of a labeller on the verdicts that it gave on labelled claims, and stores it with the model."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from lisax.corpora import fever, table_predictions
from lisax.errors import LisaxError
from lisax.formats.tables import TABLE_FUSION
from lisax.metrics import temperature
from lisax.metrics.calibration import calibration as reliability_figures
from lisax.metrics.temperature import Calibration
from lisax.predict.table_verifier import TableVerifier
from lisax.predict.verifier import Labeller, Verifier
from lisax.progress import say
from lisax.records import LABELS, Claim, Label, Prediction
from lisax.weights.checkpoints import add_fitted
from lisax.weights.model_folder import ModelFolder
from lisax.weights.pretrained import is_named

UNREAD = (0.0, 0.0, 1.0)  # the probabilities of a claim without evidence, which no model gave


def uncalibrated(verifier: Verifier) -> Verifier:
    """The verifier, whose probabilities are from now on those of the model."""
    verifier.calibration = None
    return verifier


def labels_of(verifier: Verifier) -> Sequence[Label]:
    """The labels that a verifier's temperature is of: table fusion separates true from false, and its threshold the
    rest."""
    fusion = isinstance(verifier, TableVerifier) and verifier.model.format is TABLE_FUSION
    return LABELS[:2] if fusion else LABELS


def fit(
    verifier: Verifier,
    claims: Mapping[str, Claim],
    verdicts: Mapping[str, Prediction],
    biases: tuple[float, ...] = (),
) -> Calibration:
    """The temperature for an `uncalibrated` verifier, from its verdicts on labelled claims, with biases that are given.

    Claims without evidence are left out. Raises LisaxError if no claim is left."""
    labels = labels_of(verifier)
    rows = [
        (verdicts[i].probabilities[: len(labels)], labels.index(claim.label))
        for i, claim in claims.items()
        if claim.label in labels and i in verdicts and _is_read(verdicts[i])
    ]
    shares = np.array([share for share, _ in rows]).reshape(-1, len(labels))
    aggregate = verifier.aggregate if isinstance(verifier, Labeller) and verifier.pointwise else None
    total = shares.sum(1, keepdims=True)
    return temperature.fit(shares / total, np.array([label for _, label in rows]), aggregate, biases)


def _is_read(verdict: Prediction) -> bool:
    unknown = any(map(math.isnan, verdict.probabilities))
    return not unknown and (bool(verdict.evidence) or verdict.probabilities != UNREAD)


def recalibrated(
    verdicts: Mapping[str, Prediction], calibration: Calibration, labels: Sequence[Label] = LABELS
) -> dict[str, Prediction]:
    """Verdicts of an `uncalibrated` labeller with the probabilities that its temperature, of `labels`, makes of
    them."""
    return {i: _changed(verdict, calibration.apply, len(labels)) for i, verdict in verdicts.items()}


def before(
    verdicts: Mapping[str, Prediction], calibration: Calibration, labels: Sequence[Label] = LABELS
) -> dict[str, Prediction]:
    """Verdicts of a calibrated labeller with the probabilities that it would have given without its temperature."""
    return {i: _changed(verdict, calibration.undo, len(labels)) for i, verdict in verdicts.items()}


def _changed(verdict: Prediction, change: Callable[[np.ndarray], np.ndarray], labels: int) -> Prediction:
    """The verdict with other shares of its first `labels` among themselves."""
    if not _is_read(verdict):
        return verdict
    shares = np.array(verdict.probabilities)
    if total := shares[:labels].sum():
        shares[:labels] = change(shares[:labels] / total) * total
    return dataclasses.replace(verdict, probabilities=tuple(shares.tolist()))


def figures(
    calibration: Calibration,
    claims: Mapping[str, Claim],
    plain: Mapping[str, Prediction],
    made: Mapping[str, Prediction],
) -> dict:
    """{"temperature", "claims", "before", "after"}: the temperature, how many claims it was fitted on, and the expected
    calibration error and Brier score of verdicts on `claims` without it (`plain`) and with it (`made`)."""
    errors = {}
    for name, verdicts in (("before", plain), ("after", made)):
        found = reliability_figures(claims, verdicts)
        errors[name] = found and {key: found[key] for key in ("expected_error", "brier")}
    return {"temperature": calibration.temperature, "claims": calibration.claims, **errors}


def calibrate_file(model: Path, verifier: Verifier, asked: Iterable[Claim], predictions: Path) -> Calibration:
    """Fits the temperature of `model` on the predictions that its `uncalibrated` verifier wrote on the claims `asked`,
    and stores it with the model, whose biases stay."""
    claims, known = labelled_claims(asked), ModelFolder.find(model).card.calibration
    if verifier.reads == "tables":
        verdicts = {found.verdict.claim_id: found.verdict for found in table_predictions.read_predictions(predictions)}
    else:
        verdicts = {verdict.claim_id: verdict for verdict in fever.read_predictions(predictions)}
    calibration = fit(verifier, claims, verdicts, known.biases if known else ())
    path = add_fitted(model, {"calibration": dataclasses.asdict(calibration)})
    labels = labels_of(verifier)
    found = figures(calibration, claims, verdicts, recalibrated(verdicts, calibration, labels))
    say(
        f"{path}: temperature {calibration.temperature:.3f}, fitted on {calibration.claims:,} claims; expected calibration "
        f"error on these {found['before']['expected_error']:.3f} before, {found['after']['expected_error']:.3f} after"
    )
    return calibration


def labelled_claims(asked: Iterable[Claim], path: Path | str = "the claims") -> dict[str, Claim]:
    """The labelled claims by id; raises LisaxError, which names their file `path`, if there are none."""
    claims = {claim.id: claim for claim in asked if claim.label is not None}
    if not claims:
        raise LisaxError(f"{path}: a temperature is fitted on labelled claims, and these have no labels")
    return claims


def check_calibratable(model: Path, asked: Iterable[Claim], claims_file: Path) -> None:
    """Raises LisaxError for claims without labels, and for a model by name, whose files are a shared cache."""
    if is_named(model):
        raise LisaxError(
            f"{model} is a model by name, whose files are not changed: export it to a folder and give that"
        )
    labelled_claims(asked, claims_file)
