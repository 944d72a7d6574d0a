"""Loads a trained evidence pointer as a reader of example records: format, vocabulary and network together."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from lisax.errors import LisaxError
from lisax.formats.examples import Passage
from lisax.formats.pointing import POINT_DOCUMENTS, POINT_SENTENCES, PointerExample
from lisax.metrics.temperature import calibrated
from lisax.records import LABELS, Label
from lisax.weights.checkpoints import resolve_checkpoint
from lisax.weights.model_card import ModelCard

if TYPE_CHECKING:
    from lisax.scoring.pointers import Pointing


class PointerModel:
    """Points to evidence among up to `candidates` candidates of a claim; labels the claim if trained to."""

    def __init__(self, path: str | os.PathLike):
        """Loads a bundle, a checkpoint folder, or a MODEL_DIR (its best checkpoint, else its newest)."""
        from lisax.scoring.pointers import PointerScorer

        folder = resolve_checkpoint(path)
        card = ModelCard.read(folder)
        self.format, self.preset = card.format_among(POINT_DOCUMENTS, POINT_SENTENCES), card.preset
        self.max_tokens, self.candidates, relation = card.needed(
            "text.max_tokens", "text.candidates", "architecture.relation"
        )
        self.labels = relation != "none"  # whether the model labels claims
        self.calibration = card.calibration
        self.vocabulary = card.open_vocabulary()
        self._encode = card.each_encoder(self.format, self.vocabulary)
        self._scorer = PointerScorer.open(folder, texts=self.candidates, max_tokens=self.max_tokens)

    def point(self, examples: Sequence[PointerExample], progress: Callable[[int], None] | None = None) -> Pointing:
        """The best pointers and the label probabilities. A claim without candidates has not enough information."""
        found = self._scorer.point([[text.ids for text in self._encode(example)] for example in examples], progress)
        found.labels[[not example.candidates for example in examples]] = [0, 0, 1] if self.labels else 0
        return found

    # --- One-line interface ----------------------------------------------------------------------

    def rank(self, query: str, texts: Sequence[str]) -> list[tuple[int, float]]:
        """(index, probability) of the texts pointed to, in order. The texts are titles for a pointer to documents,
        sentences for a pointer to evidence."""
        found = self.point([self._example(query, texts)])
        pairs = zip(found.pointers[0], found.shares[0])
        return [(int(place), float(share)) for place, share in pairs if place >= 0]

    def verify(self, claim: str, evidence: Sequence[str] = ()) -> dict[Label, float]:
        """Label probabilities given candidate sentences, some of which the model points to; calibrated where a temperature
        was fitted."""
        if not self.labels:
            raise LisaxError("this model points to documents; verifying needs one that points to evidence")
        shares = self.point([self._example(claim, evidence)]).labels[0]
        if evidence:
            shares = calibrated(shares, self.calibration)
        return dict(zip(LABELS, map(float, shares), strict=True))

    def _example(self, claim: str, texts: Sequence[str]) -> PointerExample:
        titles = self.format is POINT_DOCUMENTS
        return PointerExample(
            "claim",
            claim,
            tuple(Passage(str(i), text if titles else "", "" if titles else text) for i, text in enumerate(texts)),
        )
