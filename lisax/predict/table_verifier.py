"""Labels claims from whole tables: a labeller of tables, of each or of several at once, or table fusion."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from lisax.errors import LisaxError
from lisax.formats.table_facts import facts
from lisax.formats.tables import TABLE_FUSION, TableExample
from lisax.metrics import tables as figures
from lisax.metrics.temperature import Calibration, calibrated
from lisax.models import table_truth
from lisax.predict.index import Index, Reads
from lisax.predict.model import Model
from lisax.predict.prompt_model import PromptModel
from lisax.predict.verdicts import Evidence, Verdict
from lisax.predict.verifier import NOTHING, Verifier, any_decides, id_of, text_of_claim, verdict_of
from lisax.progress import say
from lisax.records import Claim, is_row
from lisax.weights.model_card import ModelCard
from lisax.weights.model_folder import ModelFolder


class TableDecision(NamedTuple):
    """`threshold`: claims with at most this sufficiency have not enough information. `in_data`: whether the run's own
    data has such claims, so that its verdicts use the threshold by default; otherwise it applies only on request.
    `precision`: the share of validation claims at or below the threshold that indeed no table decides; None if unknown.
    """

    threshold: float
    in_data: bool
    precision: float | None = None

    @classmethod
    def of(cls, card: ModelCard) -> TableDecision | None:
        """The threshold chosen on validation data; None if the run chose none."""
        if card.get("decision") is None:
            return None
        return cls(*card.needed("decision.threshold", "decision.in_data"), card["decision"].get("precision"))


def sufficiency(model: Model, examples: Sequence[TableExample], probabilities: np.ndarray) -> np.ndarray:
    """How certain it is that one of a claim's tables decides it: float [claims] from [claims, k, classes], more is
    surer.

    These are the paper's two estimators; the joint one is undefined for a claim with a single table."""
    counts = np.array([len(example.tables) for example in examples], int)
    present = np.arange(probabilities.shape[1]) < counts[:, None]
    if model.card.needed("architecture.objective") == ["ternary"]:
        return figures.ternary_sufficiency(probabilities[..., 0], present)
    return -figures.joint_entropy(table_truth.relevance(probabilities), present)


ONE_BY_ONE = 3  # tables that a labeller of one table reads, one after the other


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

    def verify_many(self, claims, evidence):
        claims, evidence = list(claims), [found[: self.depth] for found in evidence]
        examples = [_table_example(claim, read) for claim, read in zip(claims, evidence, strict=True)]
        if self.model.pairs:
            evidence = [_with_facts(claim, read) for claim, read in zip(claims, evidence, strict=True)]
        if self.model.format is TABLE_FUSION:
            probabilities = self.model.probabilities(examples).probabilities
            shares, sure, relevance = judged(
                probabilities, sufficiency(self.model, examples, probabilities), self.decision, self.calibration
            )
        else:
            shares = calibrated(table_shares(self.model, examples), self.calibration)
            sure, relevance = None, None
        yield from table_verdicts(claims, evidence, shares, sure, relevance, self.decision)


class WholeTables:
    """Reads whole tables next to a labeller of text (ours): where a table's row leads a verdict, the verifier of tables
    reads its table for the claim, and the verdict's probabilities are the mean of both. The row then has the facts that
    were computed."""

    def __init__(self, verifier: TableVerifier, index: Index):
        self.verifier, self.index = verifier, index
        if verifier.columns is not None:
            self.index = index.keeping(verifier.columns)

    def read(self, verdicts: Iterable[Verdict]) -> Iterator[Verdict]:
        """The verdicts of a labeller of text, in order."""
        verdicts = list(verdicts)
        tables = [self._table_of(verdict) for verdict in verdicts]
        led = [i for i, table in enumerate(tables) if table is not None]
        read = iter(self.verifier.verify_many([verdicts[i].claim for i in led], [[tables[i]] for i in led]))
        return (verdict if table is None else _mean(verdict, next(read)) for verdict, table in zip(verdicts, tables))

    def _table_of(self, verdict: Verdict) -> Evidence | None:
        if not verdict.evidence or not is_row(unit := verdict.evidence[0].unit):
            return None
        return next(iter(self.index.evidence([unit.rpartition("#r")[0]], claim=verdict.claim)), None)


def _mean(verdict: Verdict, of_table: Verdict) -> Verdict:
    """The verdict of a labeller of text, and that of its leading row's table, as one."""
    shares = {label: (share + of_table.probabilities[label]) / 2 for label, share in verdict.probabilities.items()}
    first = dataclasses.replace(verdict.evidence[0], computed=of_table.evidence[0].computed)
    return dataclasses.replace(
        verdict,
        label=max(shares, key=shares.get),
        probabilities=shares,
        evidence=(first, *verdict.evidence[1:]),
        decided_by=first.unit,
    )


def table_shares(model: Model, examples: Sequence[TableExample]) -> np.ndarray:
    """The shares of the labels of claims with their tables, float64 [claims, 3]. A pair scorer of one table reads each
    on its own; then any table can decide (`any_decides`), and without tables there is not enough information."""
    if not model.pairs or model.depth > 1:
        return model.probabilities(examples).astype(np.float64)
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
    return made


def _table_example(claim: str | Claim, read: Sequence[Evidence]) -> TableExample:
    if any(one.table is None for one in read):
        raise LisaxError(
            f"this model reads tables, and '{read[0].unit}' is none: search an index of `lisax index cells`"
        )
    return TableExample(id_of(claim), text_of_claim(claim), tuple(one.table for one in read))


def _with_facts(claim: str | Claim, read: Sequence[Evidence]) -> list[Evidence]:
    """The tables, with the facts that a pair scorer reads of each."""
    return [dataclasses.replace(one, computed=tuple(facts(text_of_claim(claim), one.table))) for one in read]


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
