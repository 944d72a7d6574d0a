"""Marks the words that evidence shares with a claim."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

from markupsafe import Markup, escape

from lisax.records import Table
from lisax.text.words import content_stems, stemmer, word_spans, words

ROWS = 6  # rows to show of an evidence table: those that share most words with the claim
_NUMBER = re.compile(r"(?<!\d)\d++(?:[.,]\d++)+")


@dataclasses.dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a table as evidence: (number from 1, cells with matching words marked) of those shown, of `total`."""

    header: Sequence[str]
    shown: list[tuple[int, list[Markup]]]
    total: int


class Matching:
    """Marks the words that texts share with a claim, by their stems; function words are not marked, nor is a part of a
    number, such as the 000 of 12,000."""

    def __init__(self, claim: str):
        self._numbers = set(_NUMBER.findall(claim))
        self._stems = content_stems(claim)

    def marked(self, text: str) -> Markup:
        """The text as escaped HTML, matching words within `mark`."""
        spans: list[tuple[int, int]] = []
        others = bytearray(len(text))  # 1 within another number
        for found in _NUMBER.finditer(text):
            others[found.start() : found.end()] = bytes([found[0] not in self._numbers]) * len(found[0])
        for word, start, end in word_spans(text):
            if stemmer()(word) in self._stems and not others[start]:
                between = text[spans[-1][1] : start] if spans else None
                adjoins = between is not None and (not between.strip() or between in (",", "."))
                spans[-1:] = [(spans[-1][0], end)] if adjoins else [*spans[-1:], (start, end)]
        made, at = [], 0
        for start, end in spans:
            made += [escape(text[at:start]), Markup("<mark>%s</mark>") % text[start:end]]
            at = end
        return Markup("").join([*made, escape(text[at:])])

    def rows(self, table: Table) -> Rows:
        """The `ROWS` rows of a table that share most words with the claim, in the table's order."""
        counts = [sum(stemmer()(word) in self._stems for word in words(" ".join(row))) for row in table.rows]
        best = sorted(sorted(range(len(counts)), key=lambda i: -counts[i])[:ROWS])
        shown = [(i + 1, [self.marked(cell) for cell in table.rows[i]]) for i in best]
        return Rows(table.header, shown, len(table.rows))
