"""ROUGE-1 between a verbalizer's input and a text: it filters training pairs and chooses hypotheses.

The numbers are rouge-score's F-measure of `rouge1` without stemming on folded texts (a test holds them equal). Here it
costs a twentieth, because the input is counted once for its ten hypotheses, and nothing heavy is imported.
"""

from __future__ import annotations

import re
from collections import Counter

from lisax.formats.triples import Triples
from lisax.text.folding import fold

_WORD = re.compile(r"[a-z0-9]+")


class Overlap:
    """ROUGE-1 of texts against one reference."""

    def __init__(self, reference: str):
        self._counts = Counter(_WORD.findall(fold(reference)))
        self._total = self._counts.total()

    @classmethod
    def with_cells(cls, triples: Triples) -> Overlap:
        """Compares with the title and the values, each once, as the released code does."""
        return cls(
            " ".join(dict.fromkeys(fold(text) for text in (triples.title, *(value for _, value in triples.pairs))))
        )

    def rouge1(self, text: str) -> float:
        """The harmonic mean of unigram precision and recall, 0 to 1."""
        counts = Counter(_WORD.findall(fold(text)))
        common = (self._counts & counts).total()
        return 2 * common / (self._total + counts.total()) if common else 0.0
