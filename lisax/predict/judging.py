"""Judges verdicts again after a verifier: by a choice of two labels, a minimum confidence, other documents, and dates."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from lisax.errors import LisaxError
from lisax.predict.disagreement import with_disagreement
from lisax.predict.index import Index
from lisax.predict.table_verifier import TableVerifier, tell_dropped_rows
from lisax.predict.verdicts import Verdict
from lisax.predict.verifier import Verifier, passages_of
from lisax.records import Claim, Hit, Label
from lisax.sampling.examples import Lookup
from lisax.temporal import judge

VERIFIED_AT_A_TIME = 512  # claims whose inputs are batched together, and after which a file of verdicts resumes


def verifying(
    verifier: Verifier,
    run: Mapping[str, Sequence[Hit | str]],
    index: Index,
    *,
    temporal: bool = False,
    min_confidence: float | None = None,
) -> Callable[[Sequence[Claim]], list[Verdict]]:
    """The work on a group of claims: their verdicts from a run of already ranked units. `min_confidence`: see `abstain`;
    `temporal`: the rules of dates come last (`judge_dates`)."""
    reported = False

    def verdicts_of(claims: Sequence[Claim]) -> list[Verdict]:
        nonlocal reported
        evidence = [index.evidence(run.get(claim.id, ()), verifier.depth, claim.text) for claim in claims]
        verdicts = verifier.verify_many(claims, evidence)
        if min_confidence is not None:
            verdicts = abstain(verdicts, min_confidence)
        found = list(judge_dates(verdicts, index.lookup) if temporal else verdicts)
        if isinstance(verifier, TableVerifier) and not reported:
            reported = tell_dropped_rows(verifier.model, f"the tables of {len(claims):,} claims")
        return found

    return verdicts_of


def judged(
    verifier: Verifier,
    verdicts: Iterable[Verdict],
    *,
    two_way: bool = False,
    min_confidence: float | None = None,
    temporal: bool = False,
    lookup: Lookup | None = None,
) -> Iterator[Verdict]:
    """A verifier's verdicts after the steps that were asked for, in this order: `choose`, `abstain`,
    `with_disagreement`, which needs not be asked for, and `judge_dates`."""
    if two_way:
        verdicts = choose(verdicts)
    if min_confidence is not None:
        verdicts = abstain(verdicts, min_confidence)
    verdicts = with_disagreement(verifier, verdicts)
    return judge_dates(verdicts, lookup) if temporal else verdicts


def choose(verdicts: Iterable[Verdict]) -> Iterator[Verdict]:
    """Labels verdicts SUPPORTS or REFUTES, whichever is likelier; their probabilities are those of the two, which add
    up to 1. A verdict without both, such as one without evidence, is left as it is."""
    for verdict in verdicts:
        shares = {label: verdict.probabilities.get(label, 0.0) for label in (Label.SUPPORTS, Label.REFUTES)}
        if min(shares.values()) > 0:
            total = sum(shares.values())
            label = max(shares, key=shares.get)
            verdict = dataclasses.replace(
                verdict, label=label, probabilities={label: share / total for label, share in shares.items()}
            )
        yield verdict


def abstain(verdicts: Iterable[Verdict], min_confidence: float) -> Iterator[Verdict]:
    """Labels verdicts NOT ENOUGH INFO, with `abstained` set, whose label has a probability below `min_confidence`.

    The probabilities remain the verifier's. A verdict without probabilities is left as it is."""
    check_confidence(min_confidence)
    for verdict in verdicts:
        share = verdict.probabilities.get(verdict.label)
        if share is not None and share < min_confidence:
            reason = (
                f"{verdict.label} has a probability of {share:.3f}, below the minimum confidence {min_confidence:g}"
            )
            verdict = dataclasses.replace(
                verdict,
                label=Label.NOT_ENOUGH_INFO,
                reason="; ".join(filter(None, (verdict.reason, reason))),
                abstained=True,
            )
        yield verdict


def check_confidence(value: float | None) -> None:
    """Raises LisaxError unless `value` is None or a probability."""
    if value is not None and not 0 <= value <= 1:
        raise LisaxError(f"expected a minimum confidence from 0 to 1, found {value:g}")


def judge_dates(verdicts: Iterable[Verdict], lookup: Lookup | None = None) -> Iterator[Verdict]:
    """Applies the temporal rules after a verifier (DeSePtion, section 5.2): they override its label where the dates of
    claim and evidence decide.

    `Verdict.ruling` then holds the ruling and the verifier's own label, and `reason` its sentence; the probabilities
    remain the verifier's. A verdict that was withheld (`abstain`) and that dates decide is withheld no more. `lookup`
    finds the first sentences of pages, which define `the film` and `the band`."""
    for verdict in verdicts:
        passages = passages_of(verdict.evidence)
        ruling = judge(verdict.claim, passages, lookup)
        if ruling is not None:
            row = ruling.row() | {"verifier_label": str(verdict.likeliest)}
            verdict = dataclasses.replace(
                verdict, label=ruling.label, reason=ruling.reason, ruling=row, abstained=False
            )
        yield verdict
