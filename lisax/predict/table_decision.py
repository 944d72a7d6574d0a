"""The decision of a table fusion model for NOT ENOUGH INFO."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lisax.formats.tables import TableExample
from lisax.metrics import tables as figures
from lisax.models import table_truth
from lisax.predict.model import Model
from lisax.weights.model_card import ModelCard


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
