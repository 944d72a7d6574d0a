"""How reliable a verdict's probability is: reliability bins, expected calibration error, Brier score.

The confidence of a verdict is the probability of its label. A verdict whose label was overridden by the temporal step
has no probability: it is left out and counted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from lisax.records import LABELS, Claim, Prediction

BINS = 10


def calibration(claims: Mapping[str, Claim], verdicts: Mapping[str, Prediction], bins: int = BINS) -> dict | None:
    """`expected_error` (ECE), `brier` (sum over labels, 0 to 2), the number of `verdicts` counted, the number
    `overridden`, and `bins`.

    Covers the claims whose verdict has probabilities; None if there is none.
    """
    counted = [i for i in claims if i in verdicts and _is_confident(verdicts[i])]
    if not counted:
        return None
    rows = reliability({i: claims[i] for i in counted}, verdicts, bins)
    brier = sum(
        (probability - (label == claims[i].label)) ** 2
        for i in counted
        for label, probability in zip(LABELS, verdicts[i].probabilities, strict=True)
    )
    return {
        "expected_error": expected_error(rows),
        "brier": brier / len(counted),
        "verdicts": len(counted),
        "overridden": overridden(verdicts[i] for i in claims if i in verdicts),
        "bins": rows,
    }


def overridden(verdicts: Iterable[Prediction]) -> int:
    """How many verdicts have another label than their verifier's."""
    return sum(map(_is_overridden, verdicts))


def _is_overridden(verdict: Prediction) -> bool:
    return (verdict.temporal or {}).get("verifier_label", verdict.label) != verdict.label


def _is_confident(verdict: Prediction) -> bool:
    return not _is_overridden(verdict) and not any(map(math.isnan, verdict.probabilities))


def reliability(claims: Mapping[str, Claim], verdicts: Mapping[str, Prediction], bins: int = BINS) -> list[dict]:
    """Equal-width bins of confidence in [low, high), the last including 1: {"low", "high", "count", "confidence",
    "accuracy"}, the latter two being means, or None in an empty bin. Verdicts without probabilities, or overridden, are
    left out."""
    members: list[list[tuple[float, bool]]] = [[] for _ in range(bins)]
    for claim_id, claim in claims.items():
        verdict = verdicts.get(claim_id)
        if verdict is None or not _is_confident(verdict):
            continue
        confidence = verdict.probabilities[LABELS.index(verdict.label)]
        members[max(0, min(int(confidence * bins), bins - 1))].append((confidence, verdict.label == claim.label))
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


def expected_error(rows: Sequence[Mapping]) -> float:
    """Mean distance of accuracy from confidence over bins, weighted by their counts; 0 without verdicts."""
    total = sum(row["count"] for row in rows)
    gaps = (row["count"] * abs(row["accuracy"] - row["confidence"]) for row in rows if row["count"])
    return sum(gaps) / max(total, 1)
