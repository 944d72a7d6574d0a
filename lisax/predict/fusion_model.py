"""Loads a trained table fusion model as a scorer of example records: format, vocabulary and network together."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lisax.formats.tables import TABLE_FUSION, TableExample, view
from lisax.metrics import tables as figures
from lisax.metrics.temperature import calibrated
from lisax.models import table_truth
from lisax.records import Label, Table
from lisax.weights.checkpoints import resolve_checkpoint
from lisax.weights.model_card import ModelCard

if TYPE_CHECKING:
    from lisax.scoring.fusion import Scores


class TableDecision(NamedTuple):
    """When a table fusion model says NOT ENOUGH INFO.

    `threshold`: claims with at most this sufficiency have not enough information. `in_data`: whether the run's own data
    has such claims, so that its verdicts use the threshold by default; otherwise it applies only on request.
    `precision`: the share of validation claims at or below the threshold that indeed no table decides; None if unknown.
    """

    threshold: float
    in_data: bool
    precision: float | None = None

    @classmethod
    def of(cls, card: ModelCard) -> TableDecision | None:
        if card.get("decision") is None:
            return None
        return cls(*card.needed("decision.threshold", "decision.in_data"), card["decision"].get("precision"))


class FusionModel:
    """Scores claims with up to `tables` of their tables.

    `decision`: the sufficiency threshold chosen on validation data, None if the run chose none. `dropped_rows`: how
    many table rows did not fit into the inputs of the last call."""

    format = TABLE_FUSION

    def __init__(self, path: str | os.PathLike):
        """Loads a bundle, a checkpoint folder, or a MODEL_DIR (its best checkpoint, else its newest)."""
        from lisax.scoring.fusion import FusionScorer

        folder = resolve_checkpoint(path)
        card = ModelCard.read(folder)
        card.format_among(TABLE_FUSION)
        self.max_tokens, self.tables, self.objective = card.needed(
            "text.max_tokens", "text.tables", "architecture.objective"
        )
        if not self.tables:
            raise card.error("text.tables", "it reads no tables")
        self.preset, self.decision, self.vocabulary = card.preset, TableDecision.of(card), card.open_vocabulary()
        self.card, self.calibration, self.columns, self.dropped_rows = card, card.calibration, card.get("columns"), 0
        self._encode = card.each_encoder(TABLE_FUSION, self.vocabulary)
        self._scorer = FusionScorer.open(folder, texts=self.tables, max_tokens=self.max_tokens)

    def scores(self, examples: Sequence[TableExample], progress: Callable[[int], None] | None = None) -> Scores:
        """Probabilities of (table, truth) pairs or of classes, and attention; see `fusion_scoring.Scores`."""
        texts = list(map(self._encode, examples))
        self.dropped_rows = sum(text.dropped_rows for claim in texts for text in claim)
        return self._scorer.scores([[text.ids for text in claim] for claim in texts], progress)

    def sufficiency(self, examples: Sequence[TableExample], probabilities: np.ndarray) -> np.ndarray:
        """How surely one of a claim's tables decides it: float [claims] from [claims, k, classes], higher is surer.

        These are the paper's two estimators; the joint one is undefined for a claim with a single table."""
        counts = np.array([len(example.tables) for example in examples], int)
        present = np.arange(probabilities.shape[1]) < counts[:, None]
        if self.objective == "ternary":
            return figures.ternary_sufficiency(probabilities[..., 0], present)
        return -figures.joint_entropy(table_truth.relevance(probabilities), present)

    # --- One-line interface ----------------------------------------------------------------------

    def verify(self, claim: str, tables: Sequence[Table], columns: int | None = None) -> dict[Label, float]:
        """The probabilities that the claim is true and false, given up to k tables, best first. `columns`: how many
        columns of each table are read (None: all). Calibrated where a temperature was fitted. For each table's own
        probabilities see `table_truth.relevance`."""
        example = TableExample(
            "claim", claim, tuple(view(table, range(len(table.header))[:columns]) for table in tables)
        )
        truth = table_truth.truth(self.scores([example]).probabilities)[0]
        if tables:
            truth = calibrated(truth, self.calibration)
        return {Label.SUPPORTS: float(truth[0]), Label.REFUTES: float(truth[1])}
