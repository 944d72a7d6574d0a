"""Names the numbers that a claim compares by the things that they belong to (ours).

No claim is parsed: the first thing's words are those before `than` or, if it is missing, before the word that compares,
the second's are those after it. In a sentence, each of two numbers has the words of its clause, or those between it and
the next or the last number, whichever gives the numbers different things.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from typing import NamedTuple

from lisax.text.stop_words import FUNCTION_WORDS
from lisax.text.words import stemmer, word_spans

LONGEST = 3  # words of a name
_BORDER = re.compile(r"[;,:.]\s|\b(?:and|while|whereas|but|against)\b", re.IGNORECASE)
_VAGUE = frozenset("one ones other others two both three".split())

Places = tuple[int, int, int]  # number of the sentence, start and end there


class Hit(NamedTuple):
    """A word of a thing in a sentence, or in its title, where `start` is -1. `side` 0 is the first thing, `word` the word's
    index in its name."""

    start: int
    side: int
    word: int


class Named(NamedTuple):
    """The names of the things of two numbers, "" for a number without one; `turned`: the claim names them the other way
    round."""

    one: str
    other: str
    turned: bool


class Compared:
    """The two things of a claim, and their words in sentences with titles."""

    def __init__(self, claim: str, comparing: Container[str], texts: Sequence[str], titles: Sequence[str] = ()):
        self._names, self._texts = ([], []), texts
        words = [(word, stemmer()(word), claim[start:end]) for word, start, end in word_spans(claim)]
        plain = [word for word, _, _ in words]
        border = next((i for i, word in enumerate(plain) if word == "than"), None)
        if border is None:
            border = next((i for i, word in enumerate(plain) if word in comparing), len(plain))
        sides = words[:border], words[border + 1 :]
        for names, mine, others in zip(self._names, sides, reversed(sides)):
            shared = {stem for _, stem, _ in others}
            names += (
                (stem, written)
                for word, stem, written in mine
                if not (word in comparing or word in FUNCTION_WORDS or word in _VAGUE or stem in shared)
            )
        places = {stem: (side, i) for side, names in enumerate(self._names) for i, (stem, _) in enumerate(names)}
        self._hits = [list(_hits(text, places)) for text in texts]
        for hits, title in zip(self._hits, titles):
            hits += (hit._replace(start=-1) for hit in _hits(title, places))

    def names(self, one: Places, other: Places) -> Named | None:
        """The names of the things that two numbers, the first before the second, belong to; None if neither has one."""
        for parts in self._layouts(one, other):
            words = [[{hit.word for hit in hits if hit.side == side} for side in (0, 1)] for hits in parts]
            (first, second), (third, fourth) = words
            sided = len(first) - len(second) - len(third) + len(fourth)
            if sided > 0 and first and fourth:
                return Named(self._name(0, first), self._name(1, fourth), False)
            if sided < 0 and second and third:
                return Named(self._name(1, second), self._name(0, third), True)
        for parts in self._layouts(one, other):
            sides = [{hit.side for hit in hits} for hits in parts]
            if sorted(map(len, sides)) == [0, 1]:
                number = 0 if sides[0] else 1
                (side,) = sides[number]
                name = self._name(side, {hit.word for hit in parts[number]})
                return Named(name if number == 0 else "", name if number else "", side != number)
        return None

    def _name(self, side: int, words: set[int]) -> str:
        return " ".join(self._names[side][i][1] for i in sorted(words)[:LONGEST])

    def _layouts(self, one: Places, other: Places) -> Iterator[tuple[list[Hit], list[Hit]]]:
        """The words that may belong to each of two numbers."""
        if one[0] != other[0]:
            yield self._hits[one[0]], self._hits[other[0]]
            return
        hits = [hit for hit in self._hits[one[0]] if hit.start >= 0]
        if border := _BORDER.search(self._texts[one[0]], one[2], other[1]):
            yield (
                [hit for hit in hits if hit.start < border.start()],
                [hit for hit in hits if hit.start >= border.end()],
            )
        between = [hit for hit in hits if one[1] < hit.start < other[1]]
        yield between, [hit for hit in hits if hit.start > other[1]]
        yield [hit for hit in hits if hit.start < one[1]], between


def _hits(text: str, places: dict[str, tuple[int, int]]) -> Iterator[Hit]:
    for word, start, _ in word_spans(text):
        if (place := places.get(stemmer()(word))) is not None:
            yield Hit(start, *place)
