"""The two steps of inference, for pipelines and for `lisax rerank` and `lisax verify`: ranking and verdicts."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from lisax import temporal
from lisax.formats.examples import Example
from lisax.formats.labelling import LABEL_POINTWISE
from lisax.formats.ranking import RANK_ENTITIES
from lisax.papers.stages import counting
from lisax.predict.text_model import TextModel
from lisax.records import LABELS, Claim, Hit, Verdict
from lisax.retrieval.runs import strictly_falling
from lisax.runtime.resumable import resumable_lines
from lisax.sampling import examples as sampling

KEPT = sampling.LIST_LENGTH  # L
CLAIMS_AT_A_TIME = 32  # claims scored between two points of resumption


def ranked(
    model: TextModel,
    claims: Sequence[Claim],
    candidates: dict[str, list[str]],
    lookup: sampling.Lookup,
    *,
    depth: int,
    spot: Callable[[str], list[str]],
    progress: Callable[[int], None] | None = None,
) -> Iterator[list[Hit]]:
    """Each claim's first `depth` candidates that have text, by probability of relevance, best first."""
    inputs = [
        list(
            itertools.islice(
                sampling.ranking_inputs(
                    claim,
                    candidates.get(claim.id, ()),
                    lookup,
                    spot(claim.text) if model.format is RANK_ENTITIES else (),
                ),
                depth,
            )
        )
        for claim in claims
    ]
    scores = iter(model.probabilities([example for rows in inputs for example in rows], progress)[:, 0])
    for claim, rows in zip(claims, inputs):
        best = sorted(((float(next(scores)), -i, row.sentences[0].id) for i, row in enumerate(rows)), reverse=True)
        yield [Hit(claim.id, unit, rank, score) for rank, (score, _, unit) in enumerate(best, start=1)]


def rank_to_file(
    model: TextModel,
    claims: Sequence[Claim],
    candidates: dict[str, list[str]],
    lookup: sampling.Lookup,
    out: Path,
    *,
    depth: int,
    spot: Callable[[str], list[str]],
    tag: str,
    progress: Callable[[int], None] | None = None,
    made_from: str = "",
) -> None:
    """Writes the run of the claims' first `depth` candidates by probability of relevance; resumes, if what it
    is `made_from` is the same."""

    def group_lines(group: Sequence[Claim]) -> Iterator[str]:
        for hits in ranked(model, group, candidates, lookup, depth=depth, spot=spot, progress=progress):
            for hit in strictly_falling(hits):
                yield f"{hit.query_id} Q0 {hit.id} {hit.rank} {hit.score:.9g} {tag}"

    groups = [claims[i : i + CLAIMS_AT_A_TIME] for i in range(0, len(claims), CLAIMS_AT_A_TIME)]
    out.parent.mkdir(parents=True, exist_ok=True)
    resumable_lines(out, groups, group_lines, made_from)


def any_decides(shares: np.ndarray, relevance: np.ndarray) -> np.ndarray:
    """There is no information only if no sentence has any: the product over sentences; otherwise the most certain
    sentence decides. Unlike under a maximum, one irrelevant sentence does not outvote the one that matters. A
    sentence decides as far as the ranker finds it relevant."""
    decided = shares[:, :2] * relevance[:, None]
    return np.append(decided.max(axis=0), (1 - relevance * (1 - shares[:, 2])).prod())


# From label probabilities [sentences, labels] and relevance [sentences] to the claim's: LisT5's two ways, and ours: the best sentence alone, and any.
AGGREGATES = {
    "sum": lambda shares, relevance: shares.sum(axis=0),
    "max": lambda shares, relevance: shares.max(axis=0),
    "first": lambda shares, relevance: shares[0],
    "any": any_decides,
}


def verify(
    model: TextModel,
    claims: Iterable[Claim],
    run: dict[str, list[Hit]],
    lookup: sampling.Lookup,
    *,
    aggregate: str = "max",
) -> Iterator[Verdict]:
    """A verdict for each claim from its first five sentences that have text; `aggregate` is for pointwise models."""
    claims = list(claims)
    inputs: list[list[Example]] = []
    selected: dict[str, list[Hit]] = {}
    for claim in claims:
        hits = {hit.id: hit for hit in run.get(claim.id, ())}
        read = sampling.listwise_input(claim, list(hits), lookup)
        selected[claim.id] = [hits[unit] for unit in read.unit_ids]
        if model.format is LABEL_POINTWISE:
            inputs.append(list(sampling.pointwise_inputs(claim, read.unit_ids, lookup)))
        else:
            inputs.append([read])
    with counting(sum(map(len, inputs)), "inputs") as advance:
        scores = model.probabilities([example for rows in inputs for example in rows], advance)
    start = 0
    for claim, rows in zip(claims, inputs):
        shares = scores[start : start + len(rows)]
        start += len(rows)
        if len(shares):
            # A ranker's scores are probabilities; BM25's, above 1, count as certain.
            relevance = np.clip([hit.score for hit in selected[claim.id]], 0, 1)
            total = AGGREGATES[aggregate](shares, relevance) if model.format is LABEL_POINTWISE else shares[0]
            total = total / total.sum()
        else:
            # A pointwise model has nothing to read where nothing was retrieved: there is no information.
            total = np.array([0.0, 0.0, 1.0])
        yield Verdict(
            claim.id,
            LABELS[int(np.argmax(total))],
            tuple(map(float, total)),
            tuple(hit.id for hit in selected[claim.id]),
            tuple(hit.score for hit in selected[claim.id]),
        )


def judge_dates(verdicts: Iterable[Verdict], claims: Mapping[str, Claim], lookup: sampling.Lookup) -> Iterator[Verdict]:
    """The temporal step after a verifier, anybody's: its label gives way where dates of claim and evidence decide.

    `Verdict.temporal` then has the ruling, with the verifier's label beside it; the probabilities stay the verifier's,
    and calibration leaves a verdict out whose label was overridden.
    """
    for verdict in verdicts:
        passages = [passage for unit in verdict.evidence if (passage := lookup(unit))]
        ruling = temporal.judge(claims[verdict.claim_id].text, passages, lookup)
        if ruling is not None:
            row = ruling.row() | {"verifier_label": str(verdict.label)}
            verdict = dataclasses.replace(verdict, label=ruling.label, temporal=row)
        yield verdict
