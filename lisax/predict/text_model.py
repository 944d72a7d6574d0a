"""Loads a trained checkpoint or bundle as a scorer of example records: format, vocabulary and network together."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence

import numpy as np

from lisax.errors import DataError, LisaxError
from lisax.files.places import fetched, is_remote, place
from lisax.formats.examples import Example, Passage
from lisax.formats.format import RELEVANCE, VERDICT
from lisax.formats.labelling import LABEL_POINTWISE
from lisax.formats.tables import TABLES
from lisax.formats.vocabulary import Vocabulary
from lisax.metrics.temperature import calibrated
from lisax.records import LABELS, Label
from lisax.scoring.backends import ScoresLabels, T5Scoring, softmax
from lisax.weights.checkpoints import resolve_checkpoint
from lisax.weights.model_card import ModelCard


class TextModel:
    """Scores examples of one format. `dropped_rows`: how many table rows did not fit into the inputs of the
    last call."""

    def __init__(self, scorer_of: Callable[[list[int], int], ScoresLabels], vocabulary: Vocabulary, card: ModelCard):
        """`scorer_of(pieces, max_tokens)` builds the scorer for the format's label words."""
        self.card, self.format, self.preset = card, card.format, card.preset
        self.calibration, self.columns, self.sentences = card.calibration, card.get("columns"), card.get("sentences")
        (self.max_tokens,) = card.needed("text.max_tokens")
        if not self.format.has_label_words:
            raise card.error("text.family", f"a model of the format '{self.format}', which does not answer in words")
        # Tables read per claim; 0 for other formats.
        (self.tables,) = card.needed("text.tables") if self.format is TABLES else (0,)
        if self.format is TABLES and not self.tables:
            raise card.error("text.tables", "it reads no tables")
        self.vocabulary, self.dropped_rows = vocabulary, 0
        words = self.format.words(self.preset)
        self._scorer = scorer_of([vocabulary.piece_id(word) for word in words], self.max_tokens)

    @classmethod
    def open(cls, path: str | os.PathLike, *, backend: str | None = None) -> TextModel:
        """Loads a bundle, a checkpoint folder, or a MODEL_DIR (its best checkpoint, else its newest). `backend`: which
        library computes, see `text_scoring.backend_for`."""
        folder = fetched(resolve_checkpoint(path)) if is_remote(path) else place(path)
        if not folder.is_dir():
            raise DataError("no such checkpoint or bundle", path=folder)
        folder = resolve_checkpoint(folder)
        card = ModelCard.read(folder)
        return cls(T5Scoring.open(folder, backend=backend).labels, card.open_vocabulary(), card)

    def probabilities(self, examples: Sequence[Example], progress: Callable[[int], None] | None = None) -> np.ndarray:
        """Softmax over the target words, float32 [len(examples), words].

        Ranking: (relevant, not relevant). Labelling: in the order of `LABELS`. Operations: in the order of `Operation`.
        """
        texts = [
            self.format.encode(example, preset=self.preset, max_tokens=self.max_tokens, count_tokens=self._count)
            for example in examples
        ]
        self.dropped_rows = sum(text.dropped_rows for text in texts)
        return self.token_probabilities(self.vocabulary.encode_inputs([text.inputs for text in texts]), progress)

    def token_probabilities(
        self, tokens: Sequence[Sequence[int]], progress: Callable[[int], None] | None = None
    ) -> np.ndarray:
        """`probabilities` of inputs that are already encoded, with their special tokens."""
        return softmax(self._scorer.logits(tokens, progress))

    @functools.cached_property
    def _count(self) -> Callable[[str], int]:
        return self.vocabulary.count

    # --- One-line interface ----------------------------------------------------------------------

    def rank(self, query: str, texts: Sequence[str], entities: Sequence[str] = ()) -> list[tuple[int, float]]:
        """(index, probability of relevance) of each text, best first."""
        if self.format.answer is not RELEVANCE:
            raise LisaxError(f"this model labels ('{self.format}'); ranking needs a ranker")
        examples = [
            Example(str(i), query, (Passage(str(i), "", text),), tuple(entities)) for i, text in enumerate(texts)
        ]
        scores = self.probabilities(examples)[:, 0]
        return [(int(i), float(scores[i])) for i in np.argsort(-scores, kind="stable")]

    def verify(self, claim: str, evidence: Sequence[str] = ()) -> dict[Label, float]:
        """Probability of each label given evidence sentences, best first; calibrated where a temperature was fitted."""
        if self.format.answer is not VERDICT:
            chooses = "ranks" if self.format.answer is RELEVANCE else "chooses operations"
            raise LisaxError(f"this model {chooses} ('{self.format}'); verifying needs a labeller")
        passages = tuple(Passage(str(i), "", text) for i, text in enumerate(evidence))
        if self.format is LABEL_POINTWISE and len(passages) != 1:
            raise LisaxError(f"a pointwise labeller takes one sentence at a time, found {len(passages)}")
        shares = calibrated(self.probabilities([Example("claim", claim, passages)])[0], self.calibration)
        return dict(zip(LABELS, map(float, shares), strict=True))
