"""The paired bootstrap: is the difference of two systems on the same claims larger than chance?

(Efron & Tibshirani 1993, chapters 13 and 16; Koehn 2004.) A sample draws the number of claims with replacement and
takes the mean difference of the two systems' scores; there are `SAMPLES` samples. The interval holds the middle 95 % of
these differences. The p-value is two-sided: twice the share of samples in which the difference is 0 or has the other
sign, the observed data counted as one sample, so that it is never 0. Both agree on 0: with p below 0.05 the interval
leaves it out.

It estimates how far the figures would move with other claims of the same kind, not with other seeds in training.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

from lisax.errors import LisaxError

SAMPLES = 10_000
CONFIDENCE = 0.95
_AT_ONCE = 1 << 22  # drawn counts in memory

Scores = Mapping[str, float]  # by claim or question


@dataclasses.dataclass(frozen=True)
class Difference:
    """The mean of `second - first` over `claims`, the 95 % interval from `low` to `high`, and its p-value."""

    difference: float
    low: float
    high: float
    p_value: float
    claims: int


def paired_bootstrap(first: Scores, second: Scores, *, samples: int = SAMPLES, seed: int = 0) -> Difference:
    """Compares the scores of two systems, whose means are the figures of a report, on the claims that both have.

    Raises LisaxError if they have none in common.

    >>> first, second = {f"c{i}": i % 2 for i in range(100)}, {f"c{i}": i % 2 or i % 10 == 0 for i in range(100)}
    >>> found = paired_bootstrap(first, second)
    >>> found.difference, round(found.low, 2), round(found.high, 2), found.p_value < 0.01
    (0.1, 0.05, 0.16, True)
    """
    shared = [claim for claim in first if claim in second]
    if not shared:
        raise LisaxError("two systems are compared on the claims that both have, and these have none in common")
    differences = np.array([float(second[claim]) - float(first[claim]) for claim in shared])
    # Which claims are drawn does not matter, only how many of each difference, of which there are few.
    values, counts = np.unique(differences, return_counts=True)
    rng, means = np.random.default_rng(seed), []
    step = max(1, _AT_ONCE // len(values))
    for start in range(0, samples, step):
        drawn = rng.multinomial(len(shared), counts / len(shared), size=min(step, samples - start))
        means.append(drawn @ values / len(shared))
    sampled = np.concatenate(means)
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(sampled, (tail, 1 - tail))
    fewest = min(np.sum(sampled <= 0), np.sum(sampled >= 0))
    p_value = min(1.0, 2 * (int(fewest) + 1) / (samples + 1))
    return Difference(float(differences.mean()), float(low), float(high), p_value, len(shared))
