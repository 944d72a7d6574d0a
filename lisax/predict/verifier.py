"""Labels claims from their evidence: a verifier for each kind of model. `judging` has the steps after it."""

from __future__ import annotations

import dataclasses
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

import numpy as np

from lisax.errors import LisaxError
from lisax.formats.examples import Example, Passage
from lisax.formats.format import POINTERS, RELEVANCE, VERDICT
from lisax.formats.labelling import CLAIM_ONLY, LABEL_POINTWISE
from lisax.formats.number_facts import number_facts
from lisax.formats.table_facts import facts
from lisax.formats.tables import TABLE_FUSION, TABLES, TableExample
from lisax.metrics.temperature import Calibration, calibrated
from lisax.models import table_truth
from lisax.predict.index import Reads
from lisax.predict.model import Model
from lisax.predict.opening import open_model
from lisax.predict.prompt_model import PromptModel, text_of
from lisax.predict.ranker import as_evidence, pointer_example
from lisax.predict.table_decision import TableDecision, sufficiency
from lisax.predict.verdicts import Evidence, Verdict
from lisax.progress import say
from lisax.records import LABELS, Claim, Label, Table
from lisax.sampling.examples import LIST_LENGTH
from lisax.weights.model_folder import ModelFolder
from lisax.weights.public_models import Job, Use

CLAIMS_AT_A_TIME = 256  # claims per batch of a pointer
ONE_BY_ONE = 3  # tables that a labeller of one table reads, one after the other
AGGREGATE = "any"  # how a pointwise labeller's labels of single sentences are combined, by default
PROMPTS_AT_A_TIME = 32  # claims per call of a published checker

Progress = Callable[[int], None]


class Verifier(Protocol):
    """Labels claims: SUPPORTS, REFUTES or NOT ENOUGH INFO.

    To write your own verifier, subclass `Verifier` and implement `verify`; `verify_many` then calls it in a loop.

    >>> from lisax import Verifier
    >>> verifier = Verifier.open(VERIFIER)
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

    def verify_many(
        self,
        claims: Sequence[str | Claim],
        evidence: Sequence[Sequence[Evidence]],
        *,
        progress: Progress | None = None,
    ) -> Iterator[Verdict]:
        """`verify` for each claim with its own evidence, in order. `progress` is called with the number of finished
        `inputs`."""
        for claim, found in zip(claims, evidence, strict=True):
            yield self.verify(claim, found)
            if progress is not None:
                progress(1)

    def inputs(self, evidence: Sequence[Evidence]) -> int:
        """The number of model inputs for a claim with this evidence."""
        return 1

    @staticmethod
    def open(
        path: str | os.PathLike | ModelFolder,
        *,
        aggregate: str = AGGREGATE,
        threshold: float | None = None,
        evidence: int | None = None,
        use: Use | None = None,
    ) -> Verifier:
        """Loads the verifier in a bundle, a checkpoint, or a MODEL_DIR (its best checkpoint, else its newest); or a
        published one, `hf:OWNER/NAME@REVISION` or a Hugging Face folder: `use` has its settings if `lisax models list`
        does not (`weights.public_models.given_use`).

        `aggregate`: how a pointwise labeller's labels of single sentences are combined, see `AGGREGATES`. `threshold`:
        table fusion labels claims with at most this sufficiency NOT ENOUGH INFO (default: the value chosen in
        training). `evidence`: how many units are read per claim (default: as in training).

        Raises DataError if there is no model at `path`, and LisaxError if it cannot label claims."""
        return verifier_of(open_model(path, use), path, aggregate=aggregate, threshold=threshold, evidence=evidence)


def verifier_of(
    model: Model | PromptModel,
    source: str | os.PathLike = "this model",
    *,
    aggregate: str = AGGREGATE,
    threshold: float | None = None,
    evidence: int | None = None,
) -> Verifier:
    """Wraps a loaded model in the verifier that its format requires. Raises LisaxError if it cannot label claims."""
    if evidence is not None and evidence < 1:
        raise LisaxError(f"expected at least one unit of evidence, found {evidence}")
    if isinstance(model, PromptModel) and model.use.job is not Job.TABLES:
        if model.use.job is not Job.VERIFY:
            raise LisaxError(f"{source} does not check claims: its job is to {model.use.job}")
        return PromptVerifier(model, LIST_LENGTH if evidence is None else evidence)
    if model.format.answer is POINTERS:
        if evidence is not None:
            raise LisaxError(f"{source} points to its evidence itself: leave the number of units out")
        return PointerVerifier(model)
    if model.format in (TABLES, TABLE_FUSION):
        decision = TableDecision.of(model.card) if model.format is TABLE_FUSION else None
        if threshold is not None:
            decision = TableDecision(threshold, True)
        return TableVerifier(model, decision, evidence)
    if model.format.answer is not VERDICT:
        does = "ranks" if model.format.answer is RELEVANCE else "chooses operations"
        raise LisaxError(f"{source} {does} ('{model.format}'); a labeller is wanted here")
    return Labeller(model, aggregate, evidence)


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
    (`Recipe.leading`), the first sentence that decides the claim on its own, for which NOT ENOUGH INFO is not the
    likeliest label, moves to the front before."""

    def __init__(self, model: Model, aggregate: str = AGGREGATE, depth: int | None = None):
        if aggregate not in AGGREGATES:
            raise LisaxError(f"expected an aggregate of {', '.join(AGGREGATES)}; found '{aggregate}'")
        self.model, self.aggregate, self.depth = model, aggregate, depth or LIST_LENGTH
        self.pointwise = model.format is LABEL_POINTWISE
        self.sentences = None if self.pointwise or depth else model.sentences
        self.leading = self.sentences is not None and model.leading
        # A temperature fitted for one way of combining sentences does not hold for another.
        fitted = model.calibration
        self.calibration = None if self.pointwise and fitted and fitted.aggregate != aggregate else fitted
        self._known: dict[tuple, np.ndarray] = {}  # by `_read`: sentences that were last read on their own

    def inputs(self, evidence):
        read = evidence[: self.depth]
        alone = len(read) if self.pointwise or self.leading else 0
        return alone + len(self._lists("", read))

    def verify_many(self, claims, evidence, *, progress=None):
        claims, evidence = list(claims), [list(found[: self.depth]) for found in evidence]
        alone = [np.zeros((0, len(LABELS)))] * len(claims)
        if self.pointwise:
            alone = self._scores(
                [_singles(claim, read) for claim, read in zip(claims, evidence, strict=True)], progress
            )
        elif self.leading:
            evidence, alone = self._led(claims, evidence, progress)
        lists = self._scores([self._lists(claim, read) for claim, read in zip(claims, evidence, strict=True)], progress)
        for claim, read, single, listed in zip(claims, evidence, alone, lists):
            decided_by = None
            if self.pointwise and not read:
                # Without evidence a pointwise model has no input: NOT ENOUGH INFO.
                total = np.array([0.0, 0.0, 1.0])
            elif self.pointwise:
                # A ranker's scores are probabilities. BM25 scores above 1 count as certain, as do missing scores.
                relevance = np.clip([1.0 if one.score is None else one.score for one in read], 0, 1)
                total = AGGREGATES[self.aggregate](single, relevance)
                decided_by = read[int(np.argmax(single[:, int(np.argmax(total))] * relevance))].unit
            else:
                total = np.concatenate([single, listed]).mean(axis=0)
                decided_by = read[0].unit if len(single) else None
            total = total / total.sum()
            if read or not self.pointwise:
                total = calibrated(total, self.calibration)
            reason = NOTHING if self.pointwise and not read else ""
            verdict = verdict_of(claim, total, self._with_facts(claim, read), reason=reason)
            yield dataclasses.replace(verdict, decided_by=decided_by)

    def _led(
        self, claims: list[str | Claim], evidence: list[list[Evidence]], progress: Progress | None
    ) -> tuple[list[list[Evidence]], list[np.ndarray]]:
        """Each claim's units with the leading one in front, and that one's label probabilities [1, labels]; [0, labels]
        of a claim without units. Units after it are not read."""
        leads, alone = [0] * len(claims), [np.zeros((0, len(LABELS)))] * len(claims)
        known: dict[tuple, np.ndarray] = {}
        unread, left = list(range(len(claims))), sum(map(len, evidence))
        for place in range(self.depth):
            unread = [i for i in unread if place < len(evidence[i])]
            inputs = [_example(claims[i], [evidence[i][place]]) for i in unread]
            (scores,) = self._scores([inputs], progress)
            known |= zip(map(_read, inputs), scores)
            left -= len(inputs)
            decided = scores.argmax(axis=1) < 2
            for i, shares, decides in zip(unread, scores, decided):
                if decides or not place:
                    leads[i], alone[i] = place, shares[None]
            unread = [i for i, decides in zip(unread, decided) if not decides]
        self._known = known
        if progress is not None:
            progress(left)
        orders = ([lead, *range(lead), *range(lead + 1, len(read))] for lead, read in zip(leads, evidence))
        return [[read[i] for i in order if read] for order, read in zip(orders, evidence)], alone

    def singly(self, claims: Sequence[str | Claim], evidence: Sequence[Sequence[Evidence]]) -> list[np.ndarray]:
        """The probabilities of each claim's units, each read on its own, float64 [units, labels]."""
        inputs = [_singles(claim, read) for claim, read in zip(claims, evidence, strict=True)]
        known = self._known
        unread = [[one for one in rows if _read(one) not in known] for rows in inputs]
        new = zip(map(_read, itertools.chain(*unread)), itertools.chain(*self._scores(unread)))
        known = known | dict(new)
        shares = (np.array([known[_read(one)] for one in rows]).reshape(-1, len(LABELS)) for rows in inputs)
        return [calibrated(of_claim, self.calibration) for of_claim in shares]

    def _scores(self, inputs: Sequence[Sequence[Example]], progress: Progress | None = None) -> list[np.ndarray]:
        """The label probabilities of each claim's inputs, float64 [inputs, labels]."""
        examples = [example for rows in inputs for example in rows]
        scores = self.model.probabilities(examples, progress) if examples else np.zeros((0, len(LABELS)))
        return np.split(np.asarray(scores, float), np.cumsum([len(rows) for rows in inputs], dtype=int)[:-1])

    def _lists(self, claim: str | Claim, read: Sequence[Evidence]) -> list[Example]:
        """The inputs besides those of single sentences."""
        if self.pointwise:
            return []
        if self.sentences is None or not read:
            return [_example(claim, read)]
        return [_example(claim, read[:n]) for n in range(1 + self.leading, min(self.sentences, len(read)) + 1)]

    def _with_facts(self, claim: str | Claim, read: Sequence[Evidence]) -> list[Evidence]:
        """The units, each with the facts that a pair scorer reads with it; those of a list are with its first unit."""
        read = list(read)
        if self.model.pairs and self.model.format is not CLAIM_ONLY:
            lists = [[one] for one in read] if self.pointwise else [read[: self.sentences]] if read else []
            for i, some in enumerate(lists):
                facts = number_facts(_text(claim), [one.text for one in some])
                read[i] = dataclasses.replace(read[i], computed=tuple(facts))
        return read


def _singles(claim: str | Claim, read: Sequence[Evidence]) -> list[Example]:
    return [_example(claim, [one]) for one in read]


def _read(example: Example) -> tuple:
    """The texts of an example."""
    return example.claim, example.sentences


def _example(claim: str | Claim, read: Sequence[Evidence]) -> Example:
    return Example(_id(claim), _text(claim), tuple(passages_of(read)))


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

    def verify_many(self, claims, evidence, *, progress=None):
        pairs = list(zip(claims, evidence, strict=True))
        for start in range(0, len(pairs), PROMPTS_AT_A_TIME):
            group = [(claim, found[: self.depth]) for claim, found in pairs[start : start + PROMPTS_AT_A_TIME]]
            read = [(_text(claim), text_of(passages_of(found))) for claim, found in group if found]
            shares = iter(self.model.shares(*zip(*read)) if read else ())
            for claim, found in group:
                if found:
                    yield verdict_of(claim, next(shares), found, labels=self.model.use.labels)
                else:
                    yield verdict_of(claim, np.array([0.0, 0.0, 1.0]), (), reason=NOTHING)
            if progress is not None:
                progress(len(group))


# --- Evidence pointers ----------------------------------------------------------------------


class PointerVerifier(Verifier):
    """DeSePtion's evidence pointer. The candidates that it points to are the verdict's evidence, with the probabilities
    of the pointers; its label is the likeliest on average over the steps."""

    def __init__(self, model: Model):
        if model.card.needed("architecture.relation") == ["none"]:
            raise LisaxError("this model points to documents; verify needs one that points to evidence")
        self.model, self.depth, self.calibration = model, model.depth, model.calibration

    def verify_many(self, claims, evidence, *, progress=None):
        pairs = list(zip(claims, evidence, strict=True))
        for start in range(0, len(pairs), CLAIMS_AT_A_TIME):
            group = [(claim, found[: self.depth]) for claim, found in pairs[start : start + CLAIMS_AT_A_TIME]]
            examples = [pointer_example(_text(claim), found, _id(claim)) for claim, found in group]
            for (claim, found), places, shares, labels in zip(group, *self.model.probabilities(examples, progress)):
                pointed = [
                    dataclasses.replace(found[place], score=float(share))
                    for place, share in zip(places, shares)
                    if place >= 0
                ]
                if found:
                    labels = calibrated(labels, self.calibration)
                yield verdict_of(claim, labels, pointed, reason="" if found else NOTHING)


# --- Models of tables -----------------------------------------------------------------------


class TableVerifier(Verifier):
    """Table fusion, a labeller that reads tables as one text, or a pair scorer that reads each on its own
    (`one_by_one`).

    `decision`: the sufficiency at which table fusion returns NOT ENOUGH INFO. None: never for a claim that has a table.
    `columns`: how many it was trained to read of a table; None if its checkpoint does not record it."""

    reads: Reads = "tables"

    def __init__(
        self,
        model: Model | PromptModel,
        decision: TableDecision | None = None,
        depth: int | None = None,
    ):
        singly = model.pairs and model.depth == 1
        if depth is not None and depth > model.depth and not singly:
            raise LisaxError(f"this model reads at most {model.depth} tables, found {depth}")
        self.model, self.decision, self.depth = model, decision, depth or (ONE_BY_ONE if singly else model.depth)
        self.calibration, self.columns = model.calibration, model.columns

    def verify_many(self, claims, evidence, *, progress=None):
        claims, evidence = list(claims), [found[: self.depth] for found in evidence]
        examples = [_table_example(claim, read) for claim, read in zip(claims, evidence, strict=True)]
        if self.model.pairs:
            evidence = [_with_facts(claim, read) for claim, read in zip(claims, evidence, strict=True)]
        if self.model.format is TABLE_FUSION:
            probabilities = self.model.probabilities(examples, progress).probabilities
            shares, sure, relevance = judged(
                probabilities, sufficiency(self.model, examples, probabilities), self.decision, self.calibration
            )
        else:
            shares = calibrated(table_shares(self.model, examples, progress), self.calibration)
            sure, relevance = None, None
        yield from table_verdicts(claims, evidence, shares, sure, relevance, self.decision)


def table_shares(model: Model, examples: Sequence[TableExample], progress: Progress | None = None) -> np.ndarray:
    """The shares of the labels of claims with their tables, float64 [claims, 3]. A pair scorer of one table reads each
    on its own; then any table can decide (`any_decides`), and without tables there is not enough information."""
    if not model.pairs or model.depth > 1:
        return model.probabilities(examples, progress).astype(np.float64)
    single = [
        dataclasses.replace(example, tables=(table,), gold=example.gold[i : i + 1])
        for example in examples
        for i, table in enumerate(example.tables)
    ]
    scores, start = model.probabilities(single).astype(np.float64), 0
    made = np.tile([0.0, 0.0, 1.0], (len(examples), 1))
    for i, example in enumerate(examples):
        shares = scores[start : (start := start + len(example.tables))]
        if len(shares):
            total = any_decides(shares, np.ones(len(shares)))
            made[i] = total / total.sum()
    if progress is not None:
        progress(len(examples))
    return made


def _table_example(claim: str | Claim, read: Sequence[Evidence]) -> TableExample:
    if any(one.table is None for one in read):
        raise LisaxError(
            f"this model reads tables, and '{read[0].unit}' is none: search an index of `lisax index cells`"
        )
    return TableExample(_id(claim), _text(claim), tuple(one.table for one in read))


def _with_facts(claim: str | Claim, read: Sequence[Evidence]) -> list[Evidence]:
    """The tables, with the facts that a pair scorer reads of each."""
    return [dataclasses.replace(one, computed=tuple(facts(_text(claim), one.table))) for one in read]


def judged(
    probabilities: np.ndarray,
    sufficiency: np.ndarray | None,
    decision: TableDecision | None,
    calibration: Calibration | None = None,
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
    """Turns probabilities [claims, k, classes] into label shares [claims, 3], sufficiency, and relevance [claims, k].

    With a decision, a claim at or below its threshold has not enough information; any other is true or false. The
    probability of NOT ENOUGH INFO is then its precision on validation data; if this is unknown, the claim's shares are
    NaN. `calibration` is of the shares of true and false."""
    shares = np.zeros((len(probabilities), 3))
    shares[:, :2] = table_truth.truth(probabilities)
    # Nothing was retrieved, or nothing sufficient.
    undecided = shares.sum(1) == 0
    shares[~undecided, :2] = calibrated(shares[~undecided, :2], calibration)
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
    """Verdicts from label shares [claims, 3] in the order of `LABELS`; NaN means NOT ENOUGH INFO of unknown
    probability. Their evidence is the tables that were read, scored by `relevance` [claims, k]."""
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
        best = None if relevance is None or not read else read[int(np.argmax(relevance[i][: len(read)]))].unit
        yield dataclasses.replace(verdict, sufficiency=sure, decided_by=best)


def tell_dropped_rows(model: Model, of: str) -> bool:
    """Logs how many table rows did not fit into the inputs of the last call; returns whether there were any."""
    if model.dropped_rows:
        say(f"  {model.dropped_rows:,} rows of {of} had no room in {model.max_tokens} tokens")
    return bool(model.dropped_rows)


def tell_open(model: Model | ModelFolder, decision: TableDecision | None) -> None:
    """Logs that table fusion will not label claims with tables NOT ENOUGH INFO, and how to change that."""
    if model.format is TABLE_FUSION and decision is None:
        chosen = (
            "none was chosen on dev for this model"
            if (fitted := TableDecision.of(model.card)) is None
            else (f"--threshold={fitted.threshold!r} was chosen on dev, and the page uses it")
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
    labels: Sequence[Label] = LABELS,
) -> Verdict:
    """The verdict from shares [labels], of the verifier's labels; NaN means NOT ENOUGH INFO of unknown probability."""
    unknown = bool(np.isnan(shares).any())
    return Verdict(
        _text(claim),
        Label.NOT_ENOUGH_INFO if unknown else labels[int(np.argmax(shares))],
        {} if unknown else dict(zip(labels, map(float, shares), strict=True)),
        tuple(evidence),
        reason,
        None if isinstance(claim, str) else claim.id if claim.original_id is None else claim.original_id,
        reads=reads,
    )


def _text(claim: str | Claim) -> str:
    return claim if isinstance(claim, str) else claim.text


def _id(claim: str | Claim) -> str:
    return "claim" if isinstance(claim, str) else claim.id
