"""Figures of verification over tables: retrieval, accuracy by gold rank, and "is the gold table here at all?".

- *Hits at k*: the share of claims with a gold table that have one among the first k of the run. With one gold table per
  claim this equals both recall and success of trec_eval.
- *Gold rank*: the best rank of a gold table in the run; beyond `DEPTH`, or not in it, it is `missing`.
- *Sufficiency*: a model's confidence that a table that decides the claim is among those it read; higher is surer. The
  precision-recall curve is over its thresholds; the area under it is average precision, the sum of (R_n - R_{n-1}) P_n
  over decreasing thresholds, as in scikit-learn (no interpolation). Scikit-learn itself takes two to four times the
  time for the same figure, is 46 MiB, and takes two seconds to import.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from lisax.errors import DataError, LisaxError
from lisax.metrics import fever, ranking
from lisax.records import Claim, Hit, Label, Prediction

CUTOFFS = (1, 3, 5, 10)
DEPTH = 10
MISSING = "missing"
NOWHERE = 1 << 30  # the rank of a table that was not found
# Groups of gold ranks, by their last rank.
RANK_GROUPS = {"1": 1, "2-3": 3, "4-5": 5, "6-10": DEPTH}

Claims = Mapping[str, Claim]
Run = Mapping[str, Sequence[Hit]]


# --- Retrieval and accuracy -----------------------------------------------------------------


def hits(claims: Claims, run: Run, cutoffs: Sequence[int] = CUTOFFS) -> dict:
    """`hits@k`, `mrr` and the number of `claims` counted (those with a gold table), and the same `by_kind`."""

    def figures(members: Sequence[Claim]) -> dict:
        found = ranking.complete_recall(members, run, cutoffs)
        mrr = ranking.trec_measures(ranking.qrels_of(members), run, cutoffs)["mrr"]
        return {**{f"hits@{k}": share for k, share in found.items()}, "mrr": mrr, "claims": len(members)}

    judged = [claim for claim in claims.values() if claim.gold_ids]
    if not judged:
        raise DataError("there is nothing to find: no claim has a gold table")
    return figures(judged) | {"by_kind": {kind: figures(members) for kind, members in _kinds(judged).items()}}


def hits_among_equals(claims: Claims, run: Run, cutoffs: Sequence[int] = CUTOFFS) -> dict[str, dict[str, float]]:
    """`hits@k` with the gold table placed `last` and `first` among the tables of equal score in the run.

    A wide gap means that the order of equal scores matters, which no strategy intends. Tables beyond the run's end are
    unknown, so at its depth both are the same."""
    places: list[tuple[int, int]] = []
    for claim in claims.values():
        if not claim.gold_ids:
            continue
        ranked = run.get(claim.id, ())
        own = max((hit.score for hit in ranked if hit.id in claim.gold_ids), default=None)
        better = sum(own is not None and hit.score > own for hit in ranked)
        equal = sum(own is not None and hit.score == own for hit in ranked)
        places.append((better + equal, better + 1) if equal else (NOWHERE, NOWHERE))
    if not places:
        raise DataError("there is nothing to find: no claim has a gold table")
    return {
        name: {f"hits@{k}": sum(place[i] <= k for place in places) / len(places) for k in cutoffs}
        for i, name in enumerate(("last", "first"))
    }


def gold_rank(claim: Claim, ranked: Sequence[str]) -> str:
    """The group of the claim's gold rank: a key of `RANK_GROUPS` or `MISSING`."""
    gold = set(claim.gold_ids)
    rank = next((rank for rank, table in enumerate(ranked, start=1) if table in gold), DEPTH + 1)
    return next((name for name, last in RANK_GROUPS.items() if rank <= last), MISSING)


def accuracy(claims: Iterable[Claim], verdicts: Mapping[str, Prediction]) -> dict:
    """`accuracy` (None without a claim) and the number of `claims`."""
    right = [verdicts[claim.id].label == claim.label for claim in claims]
    return {"accuracy": sum(right) / len(right) if right else None, "claims": len(right)}


def evaluate(
    claims: Claims,
    verdicts: Mapping[str, Prediction],
    run: Run | None = None,
    sufficiency: Mapping[str, float] | None = None,
) -> dict:
    """All figures of a system's verdicts under stable names, as `lisax score tables --json` prints them.

    Gold ranks are those of `run`, or without it those of each verdict's evidence. If the `sufficiency` of every claim
    is given, the figures under `sufficiency` compare it with whether the claim `is_decided` by the verdict's evidence.
    """
    fever.check_pairs(claims, verdicts)
    ranked = {i: verdict.evidence for i, verdict in verdicts.items()}
    if run is not None:
        ranked = {i: ranking.ordered_ids(run.get(i, ())) for i in claims}
    groups: dict[str, list[Claim]] = {name: [] for name in (*RANK_GROUPS, MISSING)}
    for i, claim in claims.items():
        if claim.gold_ids:
            groups[gold_rank(claim, ranked[i])].append(claim)
    matrix = fever.confusion(claims, verdicts)
    figures = accuracy(claims.values(), verdicts) | {
        "majority": max(Counter(claim.label for claim in claims.values()).values()) / len(claims),
        "by_kind": {kind: accuracy(members, verdicts) for kind, members in _kinds(claims.values()).items()},
        "by_gold_rank": {name: accuracy(members, verdicts) for name, members in groups.items()},
        "by_label": fever.by_label(matrix),
        "confusion": {str(gold): dict(zip(map(str, fever.LABELS), row)) for gold, row in zip(fever.LABELS, matrix)},
    }
    if sufficiency is not None:
        decided = [
            is_decided(claim.label, not set(claim.gold_ids).isdisjoint(verdicts[i].evidence))
            for i, claim in claims.items()
        ]
        figures["sufficiency"] = sufficiency_figures([sufficiency[i] for i in claims], decided)
    return figures


def _kinds(claims: Iterable[Claim]) -> dict[str, list[Claim]]:
    """Claims by kind, without claims of no kind."""
    kinds: dict[str, list[Claim]] = defaultdict(list)
    for claim in claims:
        if claim.kind is not None:
            kinds[claim.kind].append(claim)
    return dict(sorted(kinds.items()))


# --- Sufficiency ----------------------------------------------------------------------------


def is_decided(label: Label | None, gold_is_read: bool) -> bool:
    """Whether a table that was read decides a claim: a gold one does, unless the label is NOT ENOUGH INFO."""
    return gold_is_read and label is not Label.NOT_ENOUGH_INFO


def ternary_sufficiency(irrelevant: np.ndarray, present: np.ndarray) -> np.ndarray:
    """From p(irrelevant) of each table, float [claims, k]: the maximum of 1 - p, float [claims].

    `present` bool [claims, k] marks the existing tables; a claim without any has 0."""
    return np.where(present, 1.0 - np.asarray(irrelevant, np.float64), 0.0).max(axis=1, initial=0.0)


def joint_entropy(tables: np.ndarray, present: np.ndarray) -> np.ndarray:
    """From p(s), the probability that each table decides, float [claims, k]: its entropy in nats, float [claims].

    Sufficiency is its negative. `present` bool [claims, k] marks the existing tables. With fewer than two tables the
    entropy of p(s) means nothing (a single table has all of it, whatever it contains): such a claim gets the maximum,
    log k."""
    shares = np.asarray(tables, np.float64)
    totals, compared = shares.sum(axis=1, keepdims=True), present.sum(axis=1, keepdims=True) > 1
    shares = np.where(compared, shares / np.where(totals > 0, totals, 1.0), 1.0 / shares.shape[1])
    return -(shares * np.log(np.where(shares > 0, shares, 1.0))).sum(axis=1)


class Curve(NamedTuple):
    """Float64 arrays over decreasing thresholds; scores at or above a threshold count as positive."""

    thresholds: np.ndarray
    precision: np.ndarray
    recall: np.ndarray


def precision_recall(scores: Sequence[float], positives: Sequence[bool]) -> Curve:
    """The curve over all distinct scores. Raises DataError without any positive, or if a score is not a number."""
    thresholds, right, called = _at_thresholds(scores, positives)
    return Curve(thresholds, right / called, right / right[-1])


def average_precision(curve: Curve) -> float:
    """The area under a curve, see the module's docstring."""
    return float(np.sum(np.diff(curve.recall, prepend=0.0) * curve.precision))


class Threshold(NamedTuple):
    """`value`: scores at or above it count as positive. `reached`: the measure at this threshold."""

    value: float
    reached: float


def choose_threshold(scores: Sequence[float], positives: Sequence[bool], measure: str = "f1") -> Threshold:
    """The score that, as a threshold, has the greatest F1 of the positives (`f1`) or `accuracy`.

    Ties: the highest, with the fewest positives. Where calling nothing positive is best, the next number above all
    scores. For "no table here decides this" as the positive class, pass negated sufficiencies."""
    thresholds, right, called = _at_thresholds(scores, positives)
    thresholds = np.append(np.nextafter(thresholds[0], np.inf), thresholds)
    right, called = np.append(0, right), np.append(0, called)
    if measure == "f1":
        values = 2 * right / (called + right[-1])
    elif measure == "accuracy":
        values = (right + (len(scores) - called) - (right[-1] - right)) / len(scores)
    else:
        raise LisaxError(f"a threshold is chosen by 'f1' or 'accuracy', found {measure!r}")
    best = int(np.argmax(values))
    return Threshold(float(thresholds[best]), float(values[best]))


def at_threshold(scores: Sequence[float], positives: Sequence[bool], threshold: float) -> dict[str, float | None]:
    """`precision`, `recall`, `f1` and `accuracy` if scores from `threshold` on are positive; None for 0 of 0."""
    called, positives = np.asarray(scores, np.float64) >= threshold, np.asarray(positives, bool)
    right, claimed, there = int((called & positives).sum()), int(called.sum()), int(positives.sum())
    return {
        "precision": right / claimed if claimed else None,
        "recall": right / there if there else None,
        "f1": 2 * right / (claimed + there) if claimed + there else None,
        "accuracy": float((called == positives).mean()) if len(called) else None,
    }


def most_frequent(positives: Sequence[bool]) -> dict[str, float]:
    """The baseline of the most frequent class: its `accuracy`, and the `precision` of calling all positive."""
    share = sum(positives) / len(positives)
    return {"accuracy": max(share, 1 - share), "precision": share}


def sufficiency_figures(scores: Sequence[float], found: Sequence[bool]) -> dict:
    """Figures of both classes, `found` and `missing`: `average_precision` and the `best_f1` of any threshold (None if
    all claims are of one class), the baseline `most_frequent`, and the number of `claims`."""
    scores, found = np.asarray(scores, np.float64), np.asarray(found, bool)
    figures: dict = {"claims": len(found)}
    for name, values, positives in (("found", scores, found), ("missing", -scores, ~found)):
        both = positives.any() and not positives.all()
        figures[name] = {
            "average_precision": average_precision(precision_recall(values, positives)) if both else None,
            "best_f1": choose_threshold(values, positives).reached if both else None,
            "most_frequent": most_frequent(positives.tolist()) if len(positives) else None,
        }
    return figures


def _at_thresholds(scores: Sequence[float], positives: Sequence[bool]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Distinct scores, decreasing, and for each of them the numbers of true positives and of positives."""
    scores, positives = np.asarray(scores, np.float64), np.asarray(positives, bool)
    if scores.shape != positives.shape or scores.ndim != 1:
        raise LisaxError(f"expected a score and a class for each claim, found {scores.shape} and {positives.shape}")
    if np.isnan(scores).any():
        raise DataError("a score is not a number (NaN)")
    if not positives.any():
        raise DataError("there is no positive example: precision and recall are undefined")
    order = np.argsort(-scores, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(scores[order])), len(scores) - 1)
    return scores[order][ends], np.cumsum(positives[order])[ends], ends + 1
