"""The FEVER score and related figures, equal to those of the task's official scorer to the last digit.

Only the first five predicted sentences of a claim count, for every figure that uses evidence:

- *FEVER score*: the label is right and, for SUPPORTS and REFUTES, some gold set is completely among the five.
- *Label accuracy*: the label is right.
- *Evidence precision*: the share of the five that are in any gold set; 1 if nothing was predicted. A sentence predicted
  twice counts twice.
- *Evidence recall*: 1 if some gold set is completely among the five, else 0; 1 if there is no gold set at all (although
  such a claim can never count for the FEVER score).
- Precision and recall are means over claims (macro), without NOT ENOUGH INFO claims. Without any other claim precision
  is 1 and recall 0. F1 is the harmonic mean of the two means; when both are 0 the official scorer divides by zero, and
  F1 here is 0.
"""

from __future__ import annotations

import enum
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from lisax.errors import DataError
from lisax.metrics.calibration import calibration
from lisax.records import LABELS, Claim, Label, Prediction

MAX_EVIDENCE = 5

Claims = Mapping[str, Claim]
Verdicts = Mapping[str, Prediction]


class Outcome(enum.StrEnum):
    """The outcome of a claim. A NOT ENOUGH INFO claim needs no evidence: only its label is right or wrong."""

    CORRECT = "correct"
    EVIDENCE_MISSING = "right label, evidence missing"
    WRONG_WITH_EVIDENCE = "wrong label, evidence found"
    WRONG_WITHOUT_EVIDENCE = "wrong label, evidence missing"
    WRONG_LABEL = "wrong label, none was needed"


def found(claim: Claim, evidence: Sequence[str]) -> bool:
    """Whether some gold set of the claim is completely among the first five units of `evidence`."""
    kept = set(evidence[:MAX_EVIDENCE])
    return any(kept.issuperset(members) for members in claim.evidence_sets)


def outcome(claim: Claim, verdict: Prediction) -> Outcome:
    """The kind of success or error; exactly `CORRECT` counts for the FEVER score."""
    right = verdict.label == claim.label
    if claim.label is Label.NOT_ENOUGH_INFO:
        return Outcome.CORRECT if right else Outcome.WRONG_LABEL
    if found(claim, verdict.evidence):
        return Outcome.CORRECT if right else Outcome.WRONG_WITH_EVIDENCE
    return Outcome.EVIDENCE_MISSING if right else Outcome.WRONG_WITHOUT_EVIDENCE


def fever_score(claims: Claims, verdicts: Verdicts) -> dict[str, float]:
    """`fever_score`, `label_accuracy`, `evidence_precision`, `evidence_recall`, `evidence_f1`; fractions.

    Each claim must have one verdict and each verdict a claim. Summed in the order of `claims`, one at a time, so that
    the last digit is that of a scorer that reads the same file."""
    check_pairs(claims, verdicts)
    strict = right = precision = recall = 0.0
    verifiable = 0
    for claim_id, claim in claims.items():
        verdict = verdicts[claim_id]
        right += verdict.label == claim.label
        strict += outcome(claim, verdict) is Outcome.CORRECT
        if claim.label is not Label.NOT_ENOUGH_INFO:
            verifiable += 1
            precision += _precision(claim, verdict.evidence[:MAX_EVIDENCE])
            recall += not claim.evidence_sets or found(claim, verdict.evidence)
    precision = precision / verifiable if verifiable else 1.0
    recall = recall / verifiable if verifiable else 0.0
    return {
        "fever_score": strict / len(claims),
        "label_accuracy": right / len(claims),
        "evidence_precision": precision,
        "evidence_recall": recall,
        "evidence_f1": 2.0 * precision * recall / (precision + recall) if precision + recall else 0.0,
    }


def claim_scores(claims: Claims, verdicts: Verdicts) -> dict[str, dict[str, float]]:
    """`fever_score` and `label_accuracy` of each claim by id, 1 or 0, whose means are those of `fever_score`."""
    check_pairs(claims, verdicts)
    return {
        "fever_score": {i: float(outcome(claim, verdicts[i]) is Outcome.CORRECT) for i, claim in claims.items()},
        "label_accuracy": {i: float(verdicts[i].label == claim.label) for i, claim in claims.items()},
    }


def _precision(claim: Claim, evidence: Sequence[str]) -> float:
    gold = set(claim.gold_ids)
    return sum(unit in gold for unit in evidence) / len(evidence) if evidence else 1.0


def oracle_score(claims: Claims, evidence: Mapping[str, Sequence[str]]) -> float:
    """The FEVER score that perfect labels would reach with this selection: its upper bound.

    `evidence` maps claim ids to units, best first; a claim without an entry has none. NOT ENOUGH INFO claims count as
    right."""
    gold = {
        claim_id: Prediction(claim_id, _labelled(claim), (math.nan,) * 3, tuple(evidence.get(claim_id, ())))
        for claim_id, claim in claims.items()
    }
    return fever_score(claims, gold)["fever_score"]


def multi_evidence(claims: Claims, verdicts: Verdicts) -> dict[str, float | None]:
    """Figures on claims that need two sentences or more: none of their gold sets is smaller.

    `label_accuracy` and `fever_score` cover all of them; `found_label_accuracy` those with a completely selected set
    (the LisT5 paper's 78.02 %, its footnote 4). None if there is no such claim."""
    check_pairs(claims, verdicts)
    needed = [
        (claim, verdicts[i])
        for i, claim in claims.items()
        if claim.evidence_sets and min(map(len, claim.evidence_sets)) >= 2
    ]
    complete = [pair for pair in needed if found(pair[0], pair[1].evidence)]
    return {
        "claims": len(needed),
        "label_accuracy": _share(v.label == c.label for c, v in needed),
        "fever_score": _share(outcome(c, v) is Outcome.CORRECT for c, v in needed),
        "found_claims": len(complete),
        "found_label_accuracy": _share(v.label == c.label for c, v in complete),
    }


def _share(values: Iterable[bool]) -> float | None:
    values = list(values)
    return sum(values) / len(values) if values else None


def confusion(claims: Claims, verdicts: Verdicts) -> tuple[tuple[int, ...], ...]:
    """Counts by gold label (rows) and predicted label (columns), both in the order of `LABELS`."""
    check_pairs(claims, verdicts)
    counts = Counter((_labelled(claim), verdicts[claim_id].label) for claim_id, claim in claims.items())
    return tuple(tuple(counts[gold, predicted] for predicted in LABELS) for gold in LABELS)


def by_label(matrix: Sequence[Sequence[int]]) -> dict[str, dict[str, float | None]]:
    """Precision, recall and F1 of each label, from a confusion matrix; None for empty counts."""
    figures = {}
    for i, label in enumerate(LABELS):
        predicted, gold = sum(row[i] for row in matrix), sum(matrix[i])
        figures[str(label)] = {
            "precision": matrix[i][i] / predicted if predicted else None,
            "recall": matrix[i][i] / gold if gold else None,
            "f1": 2 * matrix[i][i] / (predicted + gold) if predicted + gold else None,
        }
    return figures


def majority_verdicts(training: Iterable[Claim], claims: Claims) -> dict[str, Prediction]:
    """The baseline that always predicts the most frequent label of `training`, of equals the first of `LABELS`, with
    label shares as probabilities. Without evidence SUPPORTS and REFUTES score nothing."""
    counts = Counter(claim.label for claim in training if claim.label is not None)
    if not counts:
        raise DataError("a majority label needs claims that have labels, found none")
    label = max(LABELS, key=lambda label: counts[label])
    shares = tuple(counts[label] / counts.total() for label in LABELS)
    return {claim_id: Prediction(claim_id, label, shares, ()) for claim_id in claims}


def evaluate(claims: Claims, verdicts: Verdicts) -> dict:
    """All of the above under stable names, as `lisax score fever --json` prints them.

    The five official figures come first. If no verdict has probabilities, `calibration` is None."""
    figures = fever_score(claims, verdicts)
    matrix = confusion(claims, verdicts)
    majority = fever_score(claims, majority_verdicts(claims.values(), claims))
    outcomes = Counter(outcome(claim, verdicts[claim_id]) for claim_id, claim in claims.items())
    return figures | {
        "claims": len(claims),
        "oracle_fever_score": oracle_score(claims, {i: verdict.evidence for i, verdict in verdicts.items()}),
        "multi_evidence": multi_evidence(claims, verdicts),
        "majority": {name: majority[name] for name in ("fever_score", "label_accuracy")},
        "by_label": by_label(matrix),
        "confusion": {str(gold): dict(zip(map(str, LABELS), row)) for gold, row in zip(LABELS, matrix)},
        "outcomes": {str(kind): outcomes[kind] for kind in Outcome},
        "calibration": calibration(claims, verdicts),
    }


def check_pairs(claims: Claims, verdicts: Verdicts) -> None:
    """Raises the errors of `check_gold`, and errors for a claim without a verdict and a verdict without a claim."""
    check_gold(claims)
    _none_left(claims.keys() - verdicts.keys(), "claim", "without a prediction")
    _none_left(verdicts.keys() - claims.keys(), "prediction", "for a claim that is not among the gold claims")


def check_gold(claims: Claims) -> None:
    """Raises an error for an empty evaluation and for a claim without a label."""
    if not claims:
        raise DataError("there are no claims to evaluate")
    for claim in claims.values():
        _labelled(claim)


def _none_left(ids: set[str], what: str, trouble: str) -> None:
    if ids:
        raise DataError(f"{len(ids)} {what}{'s' if len(ids) > 1 else ''} {trouble}, for example '{min(ids)}'")


def _labelled(claim: Claim) -> Label:
    if claim.label is None:
        raise DataError(f"claim '{claim.id}' has no label: a blind test cannot be evaluated here")
    return claim.label
