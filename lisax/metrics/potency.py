"""Potency of adversarial claims against systems, as in the FEVER 2.0 shared task and DeSePtion's tables 2 and 3.

- *Potency* of a set against one system is 1 − its FEVER score; against several, the mean over systems.
- *Correct rate* is the share of the reviewed instances that were accepted.
- *Adjusted potency* is potency × correct rate, which is how the published figures are computed (68.51 % × 81.44 % =
  55.79 %). `accepted_potency` is the potency of only the accepted instances.

(The paper's 79.97 % for Niewinski et al. is 78.80 % in the task's own table, which agrees with their 66.83 %.)
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from lisax.errors import DataError
from lisax.metrics.fever import Outcome, check_pairs, outcome
from lisax.records import LABELS, Claim, Prediction

Claims = Mapping[str, Claim]


def breaks(claims: Claims, systems: Sequence[Mapping[str, Prediction]]) -> dict[str, float]:
    """The share of systems per claim that fail on it (by label or, where needed, evidence)."""
    if not systems:
        raise DataError("potency needs the predictions of one system at least")
    for verdicts in systems:
        check_pairs(claims, verdicts)
    return {
        i: sum(outcome(claim, verdicts[i]) is not Outcome.CORRECT for verdicts in systems) / len(systems)
        for i, claim in claims.items()
    }


def potency(
    claims: Claims, systems: Mapping[str, Mapping[str, Prediction]], reviewed: Mapping[str, bool] | None = None
) -> dict:
    """Figures over all claims and `by_kind`, each also by label, and the potency against each system in `by_system`.

    `reviewed`: whether an instance was found correct, by id; if none was reviewed, those figures are None."""
    broken = breaks(claims, list(systems.values()))
    kinds: dict[str, list[str]] = {}
    for i, claim in claims.items():
        kinds.setdefault(claim.kind or "other", []).append(i)
    return _figures(claims, broken, list(claims), reviewed or {}) | {
        "by_kind": {kind: _figures(claims, broken, ids, reviewed or {}) for kind, ids in sorted(kinds.items())},
        "by_system": {name: _mean(breaks(claims, [verdicts]), claims) for name, verdicts in systems.items()},
    }


def _figures(claims: Claims, broken: Mapping[str, float], ids: Sequence[str], reviewed: Mapping[str, bool]) -> dict:
    raw = _mean(broken, ids)
    decided = [i for i in ids if i in reviewed]
    good = [i for i in decided if reviewed[i]]
    rate = len(good) / len(decided) if decided else None
    by_label = {str(label): [i for i in ids if claims[i].label is label] for label in LABELS}
    return {
        "claims": len(ids),
        "potency": raw,
        "reviewed": len(decided),
        "correct_rate": rate,
        "adjusted_potency": None if rate is None else raw * rate,
        "accepted_potency": _mean(broken, good) if good else None,
        "by_label": {
            label: {"claims": len(of), "potency": _mean(broken, of) if of else None} for label, of in by_label.items()
        },
    }


def _mean(broken: Mapping[str, float], ids: Collection[str]) -> float:
    return sum(broken[i] for i in ids) / len(ids)
