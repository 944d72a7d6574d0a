"""Words of a PDF page, and lines of them. Coordinates are points from the page's upper left corner."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import statistics
from collections.abc import Iterable, Sequence

from lisax.documents.raised import raised


@dataclasses.dataclass(slots=True)
class Word:
    text: str
    x0: float
    y0: float
    x1: float
    y1: float
    baseline: float
    size: float
    bold: bool

    @property
    def middle(self) -> float:
        return (self.y0 + self.y1) / 2


@dataclasses.dataclass(slots=True)
class Rule:
    x0: float
    y0: float
    x1: float
    y1: float


@dataclasses.dataclass
class Page:
    number: int
    width: float
    height: float
    words: list[Word]
    rules: list[Rule]
    pictured: float = 0.0  # the share of the page that its pictures cover
    undrawn: int = 0  # annotations whose text is not drawn

    @functools.cached_property
    def lines(self) -> list[Line]:
        return lines_of(self.words)


@dataclasses.dataclass(slots=True)
class Line:
    """Words on one baseline, from left to right. `pieces`: the words between wide gaps."""

    words: list[Word]

    @property
    def text(self) -> str:
        return text_of(self.words)

    @property
    def x0(self) -> float:
        return self.words[0].x0

    @property
    def x1(self) -> float:
        return max(word.x1 for word in self.words)

    @property
    def baseline(self) -> float:
        return max(self.words[:3], key=lambda word: word.size).baseline

    @property
    def size(self) -> float:
        return statistics.median(word.size for word in self.words)

    @property
    def bold(self) -> bool:
        return sum(len(word.text) for word in self.words if word.bold) > 0.8 * sum(
            len(word.text) for word in self.words
        )

    def pieces(self) -> list[list[Word]]:
        found = [[self.words[0]]]
        for before, word in itertools.pairwise(self.words):
            if word.x0 - before.x1 > 0.85 * max(before.size, word.size):
                found.append([])
            found[-1].append(word)
        return found


def lines_of(words: Iterable[Word]) -> list[Line]:
    """Lines from top to bottom: words whose baselines differ by less than a third of their size, and small raised marks
    with the word that they follow."""
    found: list[list[Word]] = []
    for word in sorted(words, key=lambda word: (word.baseline, word.x0)):
        if found and abs(found[-1][0].baseline - word.baseline) <= 0.35 * min(word.size, found[-1][0].size):
            found[-1].append(word)
            continue
        if len(found) > 1 and _are_marks(found[-2], found[-1]):
            found[-2:] = [found[-1] + found[-2]]
        found.append([word])
    if len(found) > 1 and _are_marks(found[-2], found[-1]):
        found[-2:] = [found[-1] + found[-2]]
    return [Line(sorted(line, key=lambda word: word.x0)) for line in found]


def _are_marks(marks: Sequence[Word], line: Sequence[Word]) -> bool:
    """Whether all words of `marks` are raised marks: small, short, just above the line, each next to a word of it."""
    size = line[0].size
    return line[0].baseline - marks[0].baseline < 0.8 * size and all(
        len(mark.text) <= 3
        and mark.size < 0.86 * size
        and any(-1 < mark.x0 - word.x1 < 0.3 * size or -1 < word.x0 - mark.x1 < 0.3 * size for word in line)
        for mark in marks
    )


def text_of(words: Sequence[Word]) -> str:
    """The words of a line; a small raised one is a power or the mark of a footnote. It is next to the word that it is
    raised above: a bullet may be larger and lower than all words of its line."""
    text = ""
    base, right = words[0], words[0].x0
    for word in words:
        if (
            word.size < 0.86 * base.size
            and word.baseline < base.baseline - 0.1 * base.size
            and len(word.text) <= 3
            and word.x0 - right < 0.3 * base.size
        ):
            text += raised(word.text, text[-12:])
        else:
            text += (" " if text and word.x0 - right > 0.12 * word.size else "") + word.text
            base = word
        right = word.x1
    return text
