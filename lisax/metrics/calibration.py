"""How reliable a verdict's probability is: reliability bins, expected calibration error, Brier score; and the gain of
leaving out the least sure verdicts: the risk-coverage curve.

The confidence of a verdict is the probability of its label. A verdict whose label was overridden by the temporal step
has no probability: it is left out and counted. Of a verdict that abstained, the verifier's own label counts.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from lisax.records import LABELS, Claim, Label, Prediction

BINS = 10
POINTS = 20  # of the risk-coverage curve


def calibration(claims: Mapping[str, Claim], verdicts: Mapping[str, Prediction]) -> dict | None:
    """`expected_error` (ECE), `brier` (sum over labels, 0 to 2), `aurc`, the number of `verdicts` counted, the number
    `overridden`, `bins` and `risk_coverage`.

    `aurc` is the area under the risk-coverage curve: the mean share of wrong verdicts among the k surest, over all k
    (Geifman and El-Yaniv, 2017); lower is better.

    Covers the claims whose verdict has probabilities; None if there is none."""
    counted = [i for i in claims if i in verdicts and _is_confident(verdicts[i])]
    if not counted:
        return None
    rows = reliability({i: claims[i] for i in counted}, verdicts)
    brier = sum(
        (probability - (label == claims[i].label)) ** 2
        for i in counted
        for label, probability in zip(LABELS, verdicts[i].probabilities, strict=True)
    )
    return {
        "expected_error": expected_error(rows),
        "brier": brier / len(counted),
        "aurc": 1 - sum(accuracies := _accuracies(claims, verdicts)) / len(accuracies),
        "verdicts": len(counted),
        "overridden": overridden(verdicts[i] for i in claims if i in verdicts),
        "bins": rows,
        "risk_coverage": risk_coverage(claims, verdicts),
    }


def overridden(verdicts: Iterable[Prediction]) -> int:
    """How many verdicts have another label than their verifier's."""
    return sum(map(_is_overridden, verdicts))


def _is_overridden(verdict: Prediction) -> bool:
    return (verdict.temporal or {}).get("verifier_label", verdict.label) != verdict.label


def _label_of(verdict: Prediction) -> Label:
    """The verifier's label, which a verdict that abstained does not show."""
    return LABELS[verdict.probabilities.index(max(verdict.probabilities))] if verdict.abstained else verdict.label


def _is_confident(verdict: Prediction) -> bool:
    return not _is_overridden(verdict) and not any(map(math.isnan, verdict.probabilities))


def reliability(claims: Mapping[str, Claim], verdicts: Mapping[str, Prediction], bins: int = BINS) -> list[dict]:
    """Equal-width bins of confidence in [low, high), the last including 1: {"low", "high", "count", "confidence",
    "accuracy"}, the latter two being means, or None in an empty bin. Verdicts without probabilities, or overridden, are
    left out."""
    return binned(_confidences(claims, verdicts), bins)


def binned(pairs: Iterable[tuple[float, bool]], bins: int = BINS) -> list[dict]:
    """`reliability` of (confidence, whether it is right) pairs."""
    members: list[list[tuple[float, bool]]] = [[] for _ in range(bins)]
    for confidence, right in pairs:
        members[max(0, min(int(confidence * bins), bins - 1))].append((confidence, right))
    return [
        {
            "low": i / bins,
            "high": (i + 1) / bins,
            "count": len(pairs),
            "confidence": sum(confidence for confidence, _ in pairs) / len(pairs) if pairs else None,
            "accuracy": sum(right for _, right in pairs) / len(pairs) if pairs else None,
        }
        for i, pairs in enumerate(members)
    ]


def risk_coverage(claims: Mapping[str, Claim], verdicts: Mapping[str, Prediction], points: int = POINTS) -> list[dict]:
    """{"coverage", "count", "min_confidence", "accuracy"} of the surest verdicts, at equal steps of coverage up to 1.

    `min_confidence` is the least confidence among the `count` verdicts that are kept. Verdicts without probabilities,
    or overridden, are left out, as in `reliability`."""
    confidences = sorted((confidence for confidence, _ in _confidences(claims, verdicts)), reverse=True)
    accuracies, total = _accuracies(claims, verdicts), len(confidences)
    counts = sorted({-(-total * i // points) for i in range(1, points + 1)}) if total else []
    return [
        {
            "coverage": count / total,
            "count": count,
            "min_confidence": confidences[count - 1],
            "accuracy": accuracies[count - 1],
        }
        for count in counts
    ]


def _accuracies(claims: Mapping[str, Claim], verdicts: Mapping[str, Prediction]) -> list[float]:
    """Accuracy of the k surest verdicts for k from 1. Of equally sure ones, each counts as their mean."""
    groups: dict[float, list[bool]] = {}
    for confidence, right in _confidences(claims, verdicts):
        groups.setdefault(confidence, []).append(right)
    shares = (sum(groups[at]) / len(groups[at]) for at in sorted(groups, reverse=True) for _ in groups[at])
    return [total / k for k, total in enumerate(itertools.accumulate(shares), start=1)]


def _confidences(claims: Mapping[str, Claim], verdicts: Mapping[str, Prediction]) -> Iterator[tuple[float, bool]]:
    """(confidence, whether it is right) of each verdict that has probabilities and was not overridden."""
    for claim_id, claim in claims.items():
        verdict = verdicts.get(claim_id)
        if verdict is not None and _is_confident(verdict):
            label = _label_of(verdict)
            yield verdict.probabilities[LABELS.index(label)], label == claim.label


def expected_error(rows: Sequence[Mapping]) -> float:
    """Mean distance of accuracy from confidence over bins, weighted by their counts; 0 without verdicts."""
    total = sum(row["count"] for row in rows)
    gaps = (row["count"] * abs(row["accuracy"] - row["confidence"]) for row in rows if row["count"])
    return sum(gaps) / max(total, 1)
