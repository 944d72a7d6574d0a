"""Claims labelled by their evidence: one verifier for each kind of model, and the temporal rules after any of them."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np

from lisax import temporal
from lisax.formats.examples import Example, Passage
from lisax.formats.format import POINTERS, RELEVANCE, VERDICT
from lisax.formats.labelling import LABEL_POINTWISE
from lisax.formats.tables import TABLE_FUSION, TABLES, TableExample
from lisax.models import table_truth
from lisax.predict.fusion_model import FusionModel, TableDecision
from lisax.predict.index import Index, Reads
from lisax.predict.opening import open_model
from lisax.predict.pointer_model import PointerModel
from lisax.predict.ranker import as_evidence, pointer_example
from lisax.predict.text_model import TextModel
from lisax.predict.verdicts import Evidence, Verdict
from lisax.progress import counting, say
from lisax.records import LABELS, Claim, Hit, Label, LisaxError
from lisax.sampling.examples import LIST_LENGTH, Lookup

CLAIMS_AT_A_TIME = 256  # claims that a pointer reads at a time

Progress = Callable[[int], None]


class Verifier(Protocol):
    """Labels claims: SUPPORTS, REFUTES or NOT ENOUGH INFO.

    For a verifier of your own, subclass `Verifier` and write `verify`; `verify_many` is then a loop over it.

    >>> from lisax import Verifier
    >>> verifier = Verifier.open(VERIFIER)
    >>> verdict = verifier.verify("Vova Brugard lived in Torimoor .", ["Vova Brugard lived in Torimoor ."])
    >>> sorted(map(str, verdict.probabilities))
    ['NOT ENOUGH INFO', 'REFUTES', 'SUPPORTS']
    """

    reads: Reads = "sentences"
    depth: int = LIST_LENGTH  # units of evidence that are read for a claim

    def verify(self, claim: str | Claim, evidence: Sequence[Evidence | str] = ()) -> Verdict:
        """The verdict on a claim from its first `depth` units of evidence, best first."""
        return next(self.verify_many([claim], [as_evidence(evidence)]))

    def verify_many(
        self,
        claims: Sequence[str | Claim],
        evidence: Sequence[Sequence[Evidence]],
        *,
        progress: Progress | None = None,
    ) -> Iterator[Verdict]:
        """`verify` of each claim with its own evidence, in order; `progress` is told of `inputs` that are done."""
        for claim, found in zip(claims, evidence, strict=True):
            yield self.verify(claim, found)
            if progress is not None:
                progress(1)

    def inputs(self, evidence: Sequence[Evidence]) -> int:
        """How many inputs the model reads for a claim with this evidence."""
        return 1

    @staticmethod
    def open(
        path: str | os.PathLike,
        *,
        aggregate: str = "any",
        threshold: float | None = None,
        evidence: int | None = None,
    ) -> Verifier:
        """The verifier in a bundle, a checkpoint, or a MODEL_DIR (its best checkpoint, else its newest).

        `aggregate`: how a pointwise labeller's labels of single sentences become one, see `AGGREGATES`. `threshold`:
        table fusion has NOT ENOUGH INFO of claims whose sufficiency is at most this (default: the one that training
        chose). `evidence`: how many units are read for a claim (default: as many as in training)."""
        return verifier_of(open_model(path), path, aggregate=aggregate, threshold=threshold, evidence=evidence)


def verifier_of(
    model: TextModel | PointerModel | FusionModel,
    source: str | os.PathLike = "this model",
    *,
    aggregate: str = "any",
    threshold: float | None = None,
    evidence: int | None = None,
) -> Verifier:
    """An open model as the verifier that its format makes it; LisaxError where it labels nothing."""
    if evidence is not None and evidence < 1:
        raise LisaxError(f"expected at least one unit of evidence, found {evidence}")
    if model.format.answer is POINTERS:
        if evidence is not None:
            raise LisaxError(f"{source} points to its evidence itself: leave the number of units out")
        return PointerVerifier(model)
    if model.format in (TABLES, TABLE_FUSION):
        decision = model.decision if model.format is TABLE_FUSION else None
        if threshold is not None:
            decision = TableDecision(threshold, True)
        return TableVerifier(model, decision, evidence)
    if model.format.answer is not VERDICT:
        does = "ranks" if model.format.answer is RELEVANCE else "chooses operations"
        raise LisaxError(f"{source} {does} ('{model.format}'); a labeller is wanted here")
    return Labeller(model, aggregate, LIST_LENGTH if evidence is None else evidence)


# --- Labellers of sentences -----------------------------------------------------------------


def any_decides(shares: np.ndarray, relevance: np.ndarray) -> np.ndarray:
    """There is no information only if no sentence has any: the product over sentences; otherwise the most certain
    sentence decides. Unlike under a maximum, one irrelevant sentence does not outvote the one that matters. A
    sentence decides as far as the ranker finds it relevant."""
    decided = shares[:, :2] * relevance[:, None]
    return np.append(decided.max(axis=0), (1 - relevance * (1 - shares[:, 2])).prod())


# From label probabilities [sentences, labels] and relevance [sentences] to the claim's: LisT5's two ways, and ours: the
# best sentence alone, and any.
AGGREGATES = {
    "sum": lambda shares, relevance: shares.sum(axis=0),
    "max": lambda shares, relevance: shares.max(axis=0),
    "first": lambda shares, relevance: shares[0],
    "any": any_decides,
}


class Labeller(Verifier):
    """LisT5's labellers: listwise (all sentences in one input), pointwise (one input a sentence, then `aggregate`), and
    the baseline that reads the claim alone."""

    def __init__(self, model: TextModel, aggregate: str = "any", depth: int = LIST_LENGTH):
        if aggregate not in AGGREGATES:
            raise LisaxError(f"expected an aggregate of {', '.join(AGGREGATES)}; found '{aggregate}'")
        self.model, self.aggregate, self.depth = model, aggregate, depth
        self.pointwise = model.format is LABEL_POINTWISE

    def inputs(self, evidence):
        return len(evidence[: self.depth]) if self.pointwise else 1

    def verify_many(self, claims, evidence, *, progress=None):
        claims, evidence = list(claims), [found[: self.depth] for found in evidence]
        inputs = [_sentence_examples(claim, read, self.pointwise) for claim, read in zip(claims, evidence, strict=True)]
        scores = self.model.probabilities([example for rows in inputs for example in rows], progress)
        start = 0
        for claim, read, rows in zip(claims, evidence, inputs):
            shares = scores[start : start + len(rows)]
            start += len(rows)
            if not len(shares):
                # A pointwise model has nothing to read where nothing was found: there is no information.
                total = np.array([0.0, 0.0, 1.0])
            elif self.pointwise:
                # A ranker's scores are probabilities; BM25's, above 1, count as certain, as does what none has scored.
                relevance = np.clip([1.0 if one.score is None else one.score for one in read], 0, 1)
                total = AGGREGATES[self.aggregate](shares, relevance)
            else:
                total = shares[0]
            yield verdict_of(claim, total / total.sum(), read, reason="" if len(shares) else NOTHING)


def _sentence_examples(claim: str | Claim, read: Sequence[Evidence], pointwise: bool) -> list[Example]:
    passages = [Passage(one.unit, one.source, one.text) for one in read]
    if pointwise:
        return [Example(_id(claim), _text(claim), (passage,)) for passage in passages]
    return [Example(_id(claim), _text(claim), tuple(passages))]


# --- Evidence pointers ----------------------------------------------------------------------


class PointerVerifier(Verifier):
    """DeSePtion's evidence pointer: it points to some of a claim's candidates, which are the verdict's evidence with
    the probabilities of the pointers, and its label is the likeliest on average over the steps."""

    def __init__(self, model: PointerModel):
        if not model.labels:
            raise LisaxError("this model points to documents; verify needs one that points to evidence")
        self.model, self.depth = model, model.candidates

    def verify_many(self, claims, evidence, *, progress=None):
        pairs = list(zip(claims, evidence, strict=True))
        for start in range(0, len(pairs), CLAIMS_AT_A_TIME):
            group = [(claim, found[: self.depth]) for claim, found in pairs[start : start + CLAIMS_AT_A_TIME]]
            examples = [pointer_example(_text(claim), found, _id(claim)) for claim, found in group]
            for (claim, found), places, shares, labels in zip(group, *self.model.point(examples, progress)):
                pointed = [
                    dataclasses.replace(found[place], score=float(share))
                    for place, share in zip(places, shares)
                    if place >= 0
                ]
                yield verdict_of(claim, labels, pointed, reason="" if found else NOTHING)


# --- Models of tables -----------------------------------------------------------------------


class TableVerifier(Verifier):
    """Table fusion, and the text-to-text labeller that reads tables as one text.

    `decision`: the sufficiency at which table fusion says NOT ENOUGH INFO; None: never of a claim that has a table."""

    reads: Reads = "tables"

    def __init__(self, model: FusionModel | TextModel, decision: TableDecision | None = None, depth: int | None = None):
        if depth is not None and depth > model.tables:
            raise LisaxError(f"this model reads at most {model.tables} tables, found {depth}")
        self.model, self.decision, self.depth = model, decision, depth or model.tables

    def verify_many(self, claims, evidence, *, progress=None):
        claims, evidence = list(claims), [found[: self.depth] for found in evidence]
        examples = [_table_example(claim, read) for claim, read in zip(claims, evidence, strict=True)]
        if self.model.format is TABLE_FUSION:
            probabilities = self.model.scores(examples, progress).probabilities
            shares, sufficiency, relevance = judged(
                probabilities, self.model.sufficiency(examples, probabilities), self.decision
            )
        else:
            shares, sufficiency, relevance = self.model.probabilities(examples, progress).astype(np.float64), None, None
        yield from table_verdicts(claims, evidence, shares, sufficiency, relevance, self.decision)


def _table_example(claim: str | Claim, read: Sequence[Evidence]) -> TableExample:
    if any(one.table is None for one in read):
        raise LisaxError(
            f"this model reads tables, and '{read[0].unit}' is none: search an index of `lisax index cells`"
        )
    return TableExample(_id(claim), _text(claim), tuple(one.table for one in read))


def judged(
    probabilities: np.ndarray, sufficiency: np.ndarray | None, decision: TableDecision | None
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
    """(shares of the three labels [claims, 3], sufficiency, relevance [claims, k]) of probabilities [claims, k, classes].

    With a decision a claim at or below its threshold has not enough information, otherwise it is true or false. The
    probability of the former is how often that was right on dev; where this is not known the claim's shares are NaN."""
    shares = np.zeros((len(probabilities), 3))
    shares[:, :2] = table_truth.truth(probabilities)
    # Nothing was retrieved, or nothing that suffices.
    undecided = shares.sum(1) == 0
    if decision is not None:
        below = ~undecided & (sufficiency <= decision.threshold)
        precision = np.nan if decision.precision is None else decision.precision
        shares[below, :2] *= 1 - precision
        shares[below, 2] = precision
    shares[undecided] = 0.0, 0.0, 1.0
    return shares, sufficiency, table_truth.relevance(probabilities)


def table_verdicts(
    claims: Sequence[str | Claim],
    evidence: Sequence[Sequence[Evidence]],
    shares: np.ndarray,
    sufficiency: np.ndarray | None = None,
    relevance: np.ndarray | None = None,
    decision: TableDecision | None = None,
) -> Iterator[Verdict]:
    """Verdicts of label shares [claims, 3] in the order of `LABELS`, NaN where nothing is known but that there is not
    enough information; their evidence is the tables that were read, scored by `relevance` [claims, k]."""
    for i, (claim, read) in enumerate(zip(claims, evidence, strict=True)):
        if relevance is not None:
            read = [dataclasses.replace(one, score=float(share)) for one, share in zip(read, relevance[i])]
        sure = None if sufficiency is None else float(sufficiency[i])
        reason = NOTHING if relevance is not None and not read else ""
        if read and decision is not None and sure is not None and sure <= decision.threshold:
            reason = f"the tables decide it less surely ({sure:.3g}) than the threshold of {decision.threshold:.3g}"
            if not decision.in_data:
                reason += ", which was chosen on held-out claims and not learned from examples"
        verdict = verdict_of(claim, shares[i], read, reason=reason, reads="tables")
        yield dataclasses.replace(verdict, sufficiency=sure)


def tell_dropped_rows(model: FusionModel | TextModel, of: str) -> None:
    """Says how many rows the last call's inputs had no room for, where there are any."""
    if model.dropped_rows:
        say(f"  {model.dropped_rows:,} rows of {of} had no room in {model.max_tokens} tokens")


def tell_open(model: FusionModel | TextModel, decision: TableDecision | None) -> None:
    """Says that table fusion will not write NOT ENOUGH INFO of a claim that has tables, and how it does."""
    if model.format is TABLE_FUSION and decision is None:
        chosen = (
            "none was chosen on dev for this model"
            if model.decision is None
            else (f"--threshold={model.decision.threshold!r} is the one that was chosen on dev, and that the page uses")
        )
        say(f"  without a threshold of sufficiency no claim that has a table is NOT ENOUGH INFO; {chosen}")


# --- Any verifier ---------------------------------------------------------------------------

NOTHING = "no evidence was found for it"


def verdict_of(
    claim: str | Claim,
    shares: np.ndarray,
    evidence: Sequence[Evidence],
    *,
    reason: str = "",
    reads: Reads = "sentences",
) -> Verdict:
    """The verdict of shares [3] in the order of `LABELS`; NaN: not enough information, of unknown probability."""
    unknown = bool(np.isnan(shares).any())
    return Verdict(
        _text(claim),
        Label.NOT_ENOUGH_INFO if unknown else LABELS[int(np.argmax(shares))],
        {} if unknown else dict(zip(LABELS, map(float, shares), strict=True)),
        tuple(evidence),
        reason,
        None if isinstance(claim, str) else claim.id if claim.original_id is None else claim.original_id,
        reads=reads,
    )


def verify_run(
    verifier: Verifier,
    claims: Iterable[Claim],
    run: Mapping[str, Sequence[Hit | str]],
    index: Index,
    *,
    temporal: bool = False,
) -> Iterator[Verdict]:
    """The verdicts on claims from a run of units that were ranked before, with a line of progress now and then."""
    claims = list(claims)
    evidence = [index.evidence(run.get(claim.id, ()), verifier.depth, claim.text) for claim in claims]
    with counting(sum(map(verifier.inputs, evidence)), "inputs") as advance:
        verdicts = verifier.verify_many(claims, evidence, progress=advance)
        yield from judge_dates(verdicts, index.lookup) if temporal else verdicts


def judge_dates(verdicts: Iterable[Verdict], lookup: Lookup | None = None) -> Iterator[Verdict]:
    """The temporal rules after a verifier (DeSePtion, section 5.2): its label gives way where the dates of claim and
    evidence decide.

    `Verdict.ruling` then has the ruling with the verifier's label beside it, `reason` its sentence; the probabilities
    stay the verifier's. `lookup` finds pages' first sentences, which say what `the film` and `the band` are."""
    for verdict in verdicts:
        passages = [Passage(one.unit, one.source, one.text) for one in verdict.evidence]
        ruling = temporal.judge(verdict.claim, passages, lookup)
        if ruling is not None:
            row = ruling.row() | {"verifier_label": str(verdict.label)}
            verdict = dataclasses.replace(verdict, label=ruling.label, reason=ruling.reason, ruling=row)
        yield verdict


def _text(claim: str | Claim) -> str:
    return claim if isinstance(claim, str) else claim.text


def _id(claim: str | Claim) -> str:
    return "claim" if isinstance(claim, str) else claim.id
