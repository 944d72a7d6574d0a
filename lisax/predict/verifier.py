"""Labels claims from their evidence: a verifier for each kind of model. `judging` has the steps after it."""

from __future__ import annotations

import dataclasses
import itertools
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import numpy as np

from lisax.devices.batching import windows
from lisax.errors import LisaxError
from lisax.formats.examples import Example, Passage
from lisax.formats.format import POINTERS, RELEVANCE, VERDICT
from lisax.formats.labelling import CLAIM_ONLY, LABEL_POINTWISE
from lisax.formats.number_facts import number_facts
from lisax.formats.tables import TABLE_FUSION, TABLES
from lisax.metrics.temperature import Calibration, calibrated
from lisax.predict.index import Reads
from lisax.predict.model import Model
from lisax.predict.opening import open_model
from lisax.predict.prompt_model import PromptModel, text_of
from lisax.predict.ranker import as_evidence, pointer_example
from lisax.predict.verdicts import Evidence, Verdict
from lisax.records import LABELS, Claim, Label, Table
from lisax.sampling.examples import LIST_LENGTH
from lisax.weights.model_folder import ModelFolder
from lisax.weights.public_models import Job, Use

CLAIMS_AT_A_TIME = 256  # claims per batch of a pointer
AGGREGATE = "any"  # how a pointwise labeller's labels of single sentences are combined, by default
PROMPTS_AT_A_TIME = 32  # claims per call of a published checker
SURE = 0.9  # a probability, uncalibrated, from which a sentence that is read on its own is nearly enough
LEADS = 0.2  # one of SUPPORTS or REFUTES, above which such a sentence may move to the front


class Verifier(Protocol):
    """Labels claims: SUPPORTS, REFUTES or NOT ENOUGH INFO.

    To write your own verifier, subclass `Verifier` and implement `verify`; `verify_many` then calls it in a loop.

    >>> from lisax import Verifier, example_model
    >>> verifier = Verifier.open(example_model())
    >>> verdict = verifier.verify("Vova Brugard lived in Torimoor .", ["Vova Brugard lived in Torimoor ."])
    >>> sorted(map(str, verdict.probabilities))
    ['NOT ENOUGH INFO', 'REFUTES', 'SUPPORTS']
    """

    reads: Reads = "sentences"
    depth: int = LIST_LENGTH  # units of evidence read per claim
    calibration: Calibration | None = None  # of its probabilities; None: they are the model's own

    def verify(self, claim: str | Claim, evidence: Sequence[Evidence | Table | str] = ()) -> Verdict:
        """The verdict on a claim from its first `depth` units of evidence, best first."""
        return next(self.verify_many([claim], [as_evidence(evidence)]))

    def verify_many(self, claims: Sequence[str | Claim], evidence: Sequence[Sequence[Evidence]]) -> Iterator[Verdict]:
        """`verify` for each claim with its own evidence, in order."""
        for claim, found in zip(claims, evidence, strict=True):
            yield self.verify(claim, found)

    @staticmethod
    def open(
        path: str | os.PathLike | ModelFolder,
        *,
        aggregate: str | None = None,
        threshold: float | None = None,
        evidence: int | None = None,
        use: Use | None = None,
    ) -> Verifier:
        """Loads the verifier in a bundle, a checkpoint, or a MODEL_DIR (its best checkpoint, else its newest); or a
        published one, `hf:OWNER/NAME@REVISION` or a Hugging Face folder: `use` has its settings if `lisax models list`
        does not (`weights.public_models.given_use`).

        `aggregate`: how a pointwise labeller's labels of single sentences are combined, see `AGGREGATES` (default:
        `any`). `threshold`: table fusion labels claims with at most this sufficiency NOT ENOUGH INFO (default: the
        value chosen in training). `evidence`: how many units are read per claim (default: as in training).

        Raises DataError if there is no model at `path`, and LisaxError if it cannot label claims."""
        return verifier_of(open_model(path, use), path, aggregate=aggregate, threshold=threshold, evidence=evidence)


def verifier_of(
    model: Model | PromptModel,
    source: str | os.PathLike = "this model",
    *,
    aggregate: str | None = None,
    threshold: float | None = None,
    evidence: int | None = None,
) -> Verifier:
    """Wraps a loaded model in the verifier that its format requires. Raises LisaxError if it cannot label claims."""
    if evidence is not None and evidence < 1:
        raise LisaxError(f"expected at least one unit of evidence, found {evidence}")
    if threshold is not None and (isinstance(model, PromptModel) or model.format is not TABLE_FUSION):
        raise LisaxError(
            f"{source} is not table fusion, and no other model has a threshold of sufficiency: leave it out"
        )
    if aggregate is not None and model.format is not LABEL_POINTWISE:
        raise LisaxError(
            f"{source} labels no single sentences, whose labels the aggregate '{aggregate}' would combine: leave it out"
        )
    if isinstance(model, PromptModel) and model.use.job is not Job.TABLES:
        if model.use.job is not Job.VERIFY:
            raise LisaxError(f"{source} does not check claims: its job is to {model.use.job}")
        return PromptVerifier(model, LIST_LENGTH if evidence is None else evidence)
    if model.format.answer is POINTERS:
        if evidence is not None:
            raise LisaxError(f"{source} points to its evidence itself: leave the number of units out")
        return PointerVerifier(model)
    if model.format in (TABLES, TABLE_FUSION):
        from lisax.predict.table_verifier import TableDecision, TableVerifier  # which is a Verifier

        decision = TableDecision.of(model.card) if model.format is TABLE_FUSION else None
        if threshold is not None:
            decision = TableDecision(threshold, True)
        return TableVerifier(model, decision, evidence)
    if model.format.answer is not VERDICT:
        does = "ranks" if model.format.answer is RELEVANCE else "chooses operations"
        raise LisaxError(f"{source} {does} ('{model.format}'); a labeller is wanted here")
    return Labeller(model, aggregate or AGGREGATE, evidence)


# --- Labellers of sentences -----------------------------------------------------------------


def any_decides(shares: np.ndarray, relevance: np.ndarray) -> np.ndarray:
    """NOT ENOUGH INFO only if no sentence has information (the product over sentences); otherwise the most certain
    sentence decides. Unlike under a maximum, one irrelevant sentence does not outvote a deciding one. Sentences are
    weighted by the ranker's relevance."""
    decided = shares[:, :2] * relevance[:, None]
    return np.append(decided.max(axis=0), (1 - relevance * (1 - shares[:, 2])).prod())


# Combine label probabilities [sentences, labels] and relevance [sentences] into the claim's: `sum` and `max` are
# LisT5's; `first` (only the best sentence) and `any` are ours.
AGGREGATES = {
    "sum": lambda shares, relevance: shares.sum(axis=0),
    "max": lambda shares, relevance: shares.max(axis=0),
    "first": lambda shares, relevance: shares[0],
    "any": any_decides,
}


class Labeller(Verifier):
    """LisT5's labellers: listwise (all sentences in one input), pointwise (one input per sentence, then `aggregate`),
    and the baseline that reads only the claim.

    `depth`: the sentences of a verdict's evidence; None: five. A listwise labeller reads them all at once; one whose
    checkpoint gives a smaller number of training `sentences` (`Recipe.list_sentences`) reads the first, the first two
    and so on to that number, and gives the mean of its label probabilities. If its checkpoint has `leading`
    (`Recipe.leading`), it reads that many sentences on their own before, until one of them is SURE to support or to refute
    the claim. The surest moves to the front if it has more than LEADS. If the first is then SURE of a label, only the
    longest list is read with it, where a correction would be."""

    def __init__(self, model: Model, aggregate: str = AGGREGATE, depth: int | None = None):
        if aggregate not in AGGREGATES:
            raise LisaxError(f"expected an aggregate of {', '.join(AGGREGATES)}; found '{aggregate}'")
        self.model, self.aggregate, self.depth = model, aggregate, depth or LIST_LENGTH
        self.pointwise = model.format is LABEL_POINTWISE
        self.sentences = None if self.pointwise or depth else model.sentences
        self.leading = 0 if self.sentences is None else model.leading
        # A temperature fitted for one way of combining sentences does not hold for another.
        fitted = model.calibration
        self.calibration = None if self.pointwise and fitted and fitted.aggregate != aggregate else fitted
        self._known: dict[tuple, np.ndarray] = {}  # by `_read`: sentences that were last read on their own

    def verify_many(self, claims, evidence):
        verdicts = self._of_each if self.pointwise else self._of_lists
        most = max(self.depth, self.leading)
        return verdicts(list(claims), [list(found[:most]) for found in evidence])

    def _of_each(self, claims: list[str | Claim], evidence: list[list[Evidence]]) -> Iterator[Verdict]:
        inputs = [[_example(claim, [one]) for one in read] for claim, read in zip(claims, evidence, strict=True)]
        scores = self._scores(inputs)
        for claim, read, shares in zip(claims, evidence, scores):
            if not read:
                yield verdict_of(claim, np.array([0.0, 0.0, 1.0]), (), reason=NOTHING)
                continue
            # A ranker's scores are probabilities. BM25 scores above 1 count as certain, as do missing scores.
            relevance = np.clip([1.0 if one.score is None else one.score for one in read], 0, 1)
            total = AGGREGATES[self.aggregate](shares, relevance)
            decided_by = read[int(np.argmax(shares[:, int(np.argmax(total))] * relevance))].unit
            yield self._verdict(claim, read, total, decided_by)

    def _of_lists(self, claims: list[str | Claim], evidence: list[list[Evidence]]) -> Iterator[Verdict]:
        alone = [np.zeros((0, len(LABELS)))] * len(claims)
        if self.leading:
            evidence, alone = self._led(claims, evidence)
        inputs = [self._lists(claim, read) for claim, read in zip(claims, evidence, strict=True)]
        lists = self._scores([rows[-1:] if one.max(initial=0) >= SURE else rows for rows, one in zip(inputs, alone)])
        for claim, read, single, listed in zip(claims, evidence, alone, lists):
            decided_by = read[0].unit if len(single) else None
            yield self._verdict(claim, read, np.concatenate([single, listed]).mean(axis=0), decided_by)

    def _verdict(self, claim: str | Claim, read: list[Evidence], total: np.ndarray, decided_by: str | None) -> Verdict:
        total = calibrated(total / total.sum(), self.calibration)
        made = verdict_of(claim, total, self._with_facts(claim, read))
        together = None if self.pointwise else tuple(one.unit for one in read[: self._together])
        return dataclasses.replace(made, decided_by=decided_by, read=together)

    @property
    def _together(self) -> int | None:
        """How many units, of those in front, a listwise labeller reads together; None: all."""
        return 0 if self.model.format is CLAIM_ONLY else self.sentences

    def _led(
        self, claims: list[str | Claim], evidence: list[list[Evidence]]
    ) -> tuple[list[list[Evidence]], list[np.ndarray]]:
        """Each claim's units with the leading one in front, and that one's label probabilities [1, labels]; [0, labels]
        of a claim without units. Units after a SURE one are not read."""
        leads, alone = [0] * len(claims), [np.zeros((0, len(LABELS)))] * len(claims)
        known: dict[tuple, np.ndarray] = {}
        unread = list(range(len(claims)))
        for place in range(self.leading):
            unread = [i for i in unread if place < len(evidence[i])]
            inputs = [_example(claims[i], [evidence[i][place]]) for i in unread]
            (scores,) = self._scores([inputs])
            known |= zip(map(_read, inputs), scores)
            for i, shares in zip(unread, scores):
                if not place or shares[:2].max() > max(alone[i][0, :2].max(), LEADS):
                    leads[i], alone[i] = place, shares[None]
            unread = [i for i in unread if alone[i][0, :2].max() < SURE]
        self._known = known
        orders = ([lead, *range(lead), *range(lead + 1, len(read))] for lead, read in zip(leads, evidence))
        return [[read[i] for i in order[: self.depth] if read] for order, read in zip(orders, evidence)], alone

    def singly(self, claims: Sequence[str | Claim], evidence: Sequence[Sequence[Evidence]]) -> list[np.ndarray]:
        """The probabilities of each claim's units, each read on its own, float64 [units, labels]."""
        inputs = [[_example(claim, [one]) for one in read] for claim, read in zip(claims, evidence, strict=True)]
        known = self._known
        unread = [[one for one in rows if _read(one) not in known] for rows in inputs]
        new = zip(map(_read, itertools.chain(*unread)), itertools.chain(*self._scores(unread)))
        known = known | dict(new)
        shares = (np.array([known[_read(one)] for one in rows]).reshape(-1, len(LABELS)) for rows in inputs)
        return [calibrated(of_claim, self.calibration) for of_claim in shares]

    def _scores(self, inputs: Sequence[Sequence[Example]]) -> list[np.ndarray]:
        """The label probabilities of each claim's inputs, float64 [inputs, labels]."""
        examples = [example for rows in inputs for example in rows]
        scores = self.model.probabilities(examples) if examples else np.zeros((0, len(LABELS)))
        return np.split(np.asarray(scores, float), np.cumsum([len(rows) for rows in inputs], dtype=int)[:-1])

    def _lists(self, claim: str | Claim, read: Sequence[Evidence]) -> list[Example]:
        """The inputs of a listwise labeller, besides those of single sentences."""
        if self.sentences is None or not read:
            return [_example(claim, read)]
        return [_example(claim, read[:n]) for n in range(1 + bool(self.leading), min(self.sentences, len(read)) + 1)]

    def _with_facts(self, claim: str | Claim, read: Sequence[Evidence]) -> list[Evidence]:
        """The units, each with the facts that a pair scorer reads with it; those of a list are with its first unit."""
        read = list(read)
        if self.model.pairs and self.model.format is not CLAIM_ONLY:
            lists = [[one] for one in read] if self.pointwise else [read[: self.sentences]] if read else []
            for i, some in enumerate(lists):
                facts = number_facts(text_of_claim(claim), [one.text for one in some], [one.source for one in some])
                read[i] = dataclasses.replace(read[i], computed=tuple(facts))
        return read


def _read(example: Example) -> tuple:
    """The texts of an example."""
    return example.claim, example.sentences


def _example(claim: str | Claim, read: Sequence[Evidence]) -> Example:
    return Example(id_of(claim), text_of_claim(claim), tuple(passages_of(read)))


def attributed(verifier: Verifier, verdicts: Iterable[Verdict]) -> list[Verdict]:
    """The verdicts with `decided_by`. Of a labeller that read several sentences as one input, which does not show it,
    it is the sentence from which it gives the verdict's label most probably when it reads nothing else."""
    verdicts = list(verdicts)
    if not isinstance(verifier, Labeller):
        return verdicts
    unknown = [
        one
        for one in verdicts
        if one.decided_by is None and one.label is not Label.NOT_ENOUGH_INFO and len(one.evidence) > 1
    ]
    read = [one.evidence[: verifier.sentences] for one in unknown]
    shares = verifier.singly([one.claim for one in unknown], read)
    found = {
        id(one): units[int(np.argmax(of_units[:, LABELS.index(one.label)]))].unit
        for one, units, of_units in zip(unknown, read, shares)
    }
    return [dataclasses.replace(one, decided_by=found.get(id(one), one.decided_by)) for one in verdicts]


def passages_of(read: Sequence[Evidence]) -> list[Passage]:
    return [Passage(one.unit, one.source, one.text) for one in read]


class PromptVerifier(Verifier):
    """A published checker. It reads the evidence as one text, and its verdicts have the labels that it has."""

    def __init__(self, model: PromptModel, depth: int = LIST_LENGTH):
        self.model, self.depth = model, depth

    def verify_many(self, claims, evidence):
        pairs = ((claim, found[: self.depth]) for claim, found in zip(claims, evidence, strict=True))
        for group in windows(pairs, PROMPTS_AT_A_TIME):
            read = [(text_of_claim(claim), text_of(passages_of(found))) for claim, found in group if found]
            shares = iter(self.model.shares(*zip(*read)) if read else ())
            for claim, found in group:
                if found:
                    yield verdict_of(claim, next(shares), found, labels=self.model.use.labels)
                else:
                    yield verdict_of(claim, np.array([0.0, 0.0, 1.0]), (), reason=NOTHING)


# --- Evidence pointers ----------------------------------------------------------------------


class PointerVerifier(Verifier):
    """DeSePtion's evidence pointer. The candidates that it points to are the verdict's evidence, with the probabilities
    of the pointers; its label is the likeliest on average over the steps."""

    def __init__(self, model: Model):
        if model.card.needed("architecture.relation") == ["none"]:
            raise LisaxError("this model points to documents; verify needs one that points to evidence")
        self.model, self.depth, self.calibration = model, model.depth, model.calibration

    def verify_many(self, claims, evidence):
        pairs = ((claim, found[: self.depth]) for claim, found in zip(claims, evidence, strict=True))
        for group in windows(pairs, CLAIMS_AT_A_TIME):
            examples = [pointer_example(text_of_claim(claim), found, id_of(claim)) for claim, found in group]
            for (claim, found), places, shares, labels in zip(group, *self.model.probabilities(examples)):
                pointed = [
                    dataclasses.replace(found[place], score=float(share))
                    for place, share in zip(places, shares)
                    if place >= 0
                ]
                if found:
                    labels = calibrated(labels, self.calibration)
                yield verdict_of(claim, labels, pointed, reason="" if found else NOTHING)


# --- Any verifier ---------------------------------------------------------------------------

NOTHING = "no evidence was found for it"


def verdict_of(
    claim: str | Claim,
    shares: np.ndarray,
    evidence: Sequence[Evidence],
    *,
    reason: str = "",
    reads: Reads = "sentences",
    labels: Sequence[Label] = LABELS,
) -> Verdict:
    """The verdict from shares [labels], of the verifier's labels; NaN means NOT ENOUGH INFO of unknown probability."""
    unknown = bool(np.isnan(shares).any())
    return Verdict(
        text_of_claim(claim),
        Label.NOT_ENOUGH_INFO if unknown else labels[int(np.argmax(shares))],
        {} if unknown else dict(zip(labels, map(float, shares), strict=True)),
        tuple(evidence),
        reason,
        None if isinstance(claim, str) else claim.id if claim.original_id is None else claim.original_id,
        reads=reads,
    )


def text_of_claim(claim: str | Claim) -> str:
    return claim if isinstance(claim, str) else claim.text


def id_of(claim: str | Claim) -> str:
    return "claim" if isinstance(claim, str) else claim.id
