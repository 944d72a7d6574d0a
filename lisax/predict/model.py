"""A trained model in use: format, vocabulary and network together."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from lisax.formats.format import POINTERS, TABLE_CLASSES
from lisax.formats.vocabulary import Vocabulary
from lisax.models.architectures import PairConfig
from lisax.scoring.backends import LabelWords, Scorer, T5Scoring, open_pairs
from lisax.weights.model_card import ModelCard
from lisax.weights.model_folder import ModelFolder


class Model:
    """Scores example records of one format.

    `depth`: the number of tables or candidates that it reads of a claim; 0 for formats of one text. `pairs`: whether it
    reads two texts, an encoder's segments. `dropped_rows`: the number of table rows that did not fit into the inputs of
    the last call."""

    def __init__(self, scorer: Scorer, vocabulary: Vocabulary, card: ModelCard):
        self._scorer, self.vocabulary, self.card = scorer, vocabulary, card
        self.format, self.preset, self.calibration = card.format, card.preset, card.calibration
        self.columns, self.sentences, self.dropped_rows = card.get("columns"), card.get("sentences"), 0
        self.leading = card.get("leading", 0)
        self.pairs = is_pair_scorer(card)
        (self.max_tokens,) = card.needed("text.max_tokens")
        self.depth = depth_of(card)
        if self.format.each:
            self._encode = card.each_encoder(self.format, vocabulary)

    @classmethod
    def of_words(cls, scorer_of: Callable[[list[int], int], Any], vocabulary: Vocabulary, card: ModelCard) -> Model:
        """A model that answers in label words. `scorer_of(pieces, max_tokens)` returns their scorer."""
        if not card.format.has_label_words:
            raise card.error("text.family", f"a model of the format '{card.format}', which does not answer in words")
        (max_tokens,) = card.needed("text.max_tokens")
        pieces = [vocabulary.piece_id(word) for word in card.format.words(card.preset)]
        return cls(LabelWords(scorer_of(pieces, max_tokens)), vocabulary, card)

    @classmethod
    def open(cls, model: str | os.PathLike | ModelFolder, *, backend: str | None = None) -> Model:
        """Loads a checkpoint or a bundle. `backend`: see `scoring.backends.backend_for`."""
        found = ModelFolder.find(model).here()
        card, vocabulary = found.card, found.card.open_vocabulary()
        (max_tokens,) = card.needed("text.max_tokens")
        if is_pair_scorer(card):
            scorer = open_pairs(found, max_tokens=max_tokens, backend=backend)
            (labels,) = card.needed("text.labels")
            if len(labels) != scorer.model.labels:
                raise card.error("text.labels", f"has {len(labels)} names, the model {scorer.model.labels} classes")
        elif card.format.answer is TABLE_CLASSES:
            from lisax.scoring.claims import FusionScorer

            scorer = FusionScorer.open(found, texts=depth_of(card), max_tokens=max_tokens)
        elif card.format.answer is POINTERS:
            from lisax.scoring.claims import PointerScorer

            scorer = PointerScorer.open(found, texts=depth_of(card), max_tokens=max_tokens)
        else:
            return cls.of_words(T5Scoring.open(found, backend=backend).labels, vocabulary, card)
        return cls(scorer, vocabulary, card)

    def probabilities(self, examples: Sequence[Any]) -> Any:
        """Float32 [examples, labels]: ranking (relevant, not relevant), labelling in the order of `LABELS`, operations
        in the order of `Operation`. Of table fusion `scoring.claims.Scores`, of pointers `scoring.claims.Pointing`.
        Labels of the examples are not read."""
        if self.format.each:
            each = list(map(self._encode, examples))
            self.dropped_rows = sum(text.dropped_rows for texts in each for text in texts)
            return self.token_probabilities([[text.ids for text in texts] for texts in each])
        if self.pairs:
            pairs = (self.format.pair(example, preset=self.preset) for example in examples)
            return self.token_probabilities([self.vocabulary.encode_pair(*pair, self.max_tokens).ids for pair in pairs])
        texts = [
            self.format.encode(
                example, preset=self.preset, max_tokens=self.max_tokens, count_tokens=self.vocabulary.count
            )
            for example in examples
        ]
        self.dropped_rows = sum(text.dropped_rows for text in texts)
        return self.token_probabilities(self.vocabulary.encode_inputs([text.inputs for text in texts]))

    def token_probabilities(self, tokens: Sequence[Any]) -> Any:
        """`probabilities` of inputs that are already encoded, with their special tokens."""
        return self._scorer.probabilities(tokens)


def is_pair_scorer(card: ModelCard) -> bool:
    return (card.get("architecture") or {}).get("kind") == PairConfig.kind


def depth_of(card: ModelCard) -> int:
    """The number of tables or candidates that a model reads of a claim; 0 for formats of one text."""
    name = card.format.depth
    if not name:
        return 0
    (depth,) = card.needed(f"text.{name}")
    if not depth:
        raise card.error(f"text.{name}", f"it reads no {name}")
    return depth
