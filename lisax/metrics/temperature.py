"""Temperature scaling (Guo et al., 2017): calibrates label probabilities by one number, fitted on held-out claims.

A temperature above 1 makes probabilities less certain, one below 1 more. It is monotone: no label changes. Biases of the
labels (Alexandari et al., 2020) change labels too: they are for claims whose labels are shared out otherwise than those
of the training.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from lisax.errors import LisaxError

LOWEST, HIGHEST = 0.05, 20.0  # the range in which a temperature is searched
# A probability below this counts as this much: a softmax in float32 can return 0, whose logarithm is infinite.
LEAST_SHARE = 1e-12


@dataclasses.dataclass(frozen=True, slots=True)
class Calibration:
    """The temperature fitted for a labeller on held-out claims; the field `calibration` of its `model.json`.

    `claims`: how many it was fitted on. `aggregate`: of a pointwise labeller, how the labels of single sentences were
    combined; another aggregate's probabilities are left as they are. `biases`: by label, the summand of the logarithm of
    its calibrated probability; may be empty."""

    temperature: float
    claims: int = 0
    aggregate: str | None = None
    biases: tuple[float, ...] = ()

    def apply(self, shares: np.ndarray) -> np.ndarray:
        """Calibrated probabilities, float64, of probabilities [..., labels]. NaN stays; only biases change labels."""
        return _powers(np.log(np.maximum(shares, LEAST_SHARE, dtype=float)), 1 / self.temperature, self.biases)

    def undo(self, shares: np.ndarray) -> np.ndarray:
        """The probabilities [..., labels] that `apply` made these of."""
        logs = np.log(np.maximum(shares, np.finfo(float).tiny, dtype=float))
        return _powers(logs - np.array(self.biases or 0.0), self.temperature)


def calibrated(shares: np.ndarray, calibration: Calibration | None) -> np.ndarray:
    """Probabilities [..., labels] as they were calibrated; unchanged without a calibration."""
    return shares if calibration is None else calibration.apply(shares)


def fit(
    shares: np.ndarray, labels: np.ndarray, aggregate: str | None = None, biases: tuple[float, ...] = ()
) -> Calibration:
    """The temperature with the lowest negative log-likelihood of `labels` [claims], class indices, under probabilities
    [claims, labels], with biases that are given; between `LOWEST` and `HIGHEST`.

    Raises LisaxError without claims."""
    shares, labels = np.asarray(shares, float), np.asarray(labels, int)
    if not len(shares):
        raise LisaxError("a temperature cannot be fitted: there are no labelled claims with probabilities")
    logs = np.log(np.maximum(shares, LEAST_SHARE))
    of_labels = np.take_along_axis(logs, labels[:, None], 1)[:, 0]
    # The negative log-likelihood is convex in the inverse temperature: its slope, the expected log-probability less the
    # label's, grows with it. So bisection on the slope's sign finds the minimum to the last bit.
    low, high = 1 / HIGHEST, 1 / LOWEST
    while low < (middle := (low + high) / 2) < high:
        slope = ((_powers(logs, middle, biases) * logs).sum(1) - of_labels).sum()
        low, high = (low, middle) if slope > 0 else (middle, high)
    return Calibration(float(np.clip(1 / middle, LOWEST, HIGHEST)), len(shares), aggregate, tuple(biases))


def _powers(logs: np.ndarray, exponent: float, biases: tuple[float, ...] = ()) -> np.ndarray:
    """Probabilities, given as logarithms, raised to a power, weighted by label and normalised over the last axis."""
    logs = logs * exponent + np.array(biases or 0.0)
    powers = np.exp(logs - logs.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)
