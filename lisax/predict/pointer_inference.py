"""From what an evidence pointer says of claims to verdicts: for the pipeline and for `lisax verify`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from lisax.papers.stages import counting
from lisax.predict.pointer_model import PointerModel
from lisax.records import LABELS, Claim, LisaxError, Verdict
from lisax.sampling import pointer_examples
from lisax.sampling.examples import Lookup, Ranked

CLAIMS_AT_A_TIME = 256


def verify(model: PointerModel, claims: Iterable[Claim], ranked: Ranked, lookup: Lookup) -> Iterator[Verdict]:
    """A verdict for each claim from its candidate sentences: the label that is likeliest on average over the steps, and
    what was pointed to, with its probability."""
    if not model.labels:
        raise LisaxError("this model points to documents; verify needs one that points to evidence")
    examples = list(pointer_examples.as_used(claims, ranked, lookup, lambda claim: (), model.candidates))
    with counting(len(examples), "claims") as advance:
        for start in range(0, len(examples), CLAIMS_AT_A_TIME):
            group = examples[start : start + CLAIMS_AT_A_TIME]
            for example, pointers, shares, labels in zip(group, *model.point(group, advance)):
                there = [
                    (example.candidates[place].id, float(share)) for place, share in zip(pointers, shares) if place >= 0
                ]
                yield Verdict(
                    example.claim_id,
                    LABELS[int(np.argmax(labels))],
                    tuple(map(float, labels)),
                    tuple(unit for unit, _ in there),
                    tuple(share for _, share in there),
                )
