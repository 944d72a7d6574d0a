"""Case, accents and punctuation of a verbalizer's folded output, taken from its input.

Where the words of the title or of a value are in the output, they are written as there; then single words of them; then
equal numbers (`3,800` for `3800.0`), where the input writes them in one way only. Missing punctuation is put back if no
other value has the same words (`C`, `C++`), but never to a number: `5` is not `-5`. Names of values (headers,
relations) are common words, and stay small.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from lisax.faithful.facts import NUMBER
from lisax.formats.budget import squeeze
from lisax.formats.triples import Triples
from lisax.text.folding import RUN, fold
from lisax.text.stop_words import FUNCTION_WORDS

# These after a full stop begin a sentence; another word may follow an abbreviation.
_SENTENCE = re.compile(r"(?<=[.!?] )(?:the|an?|this|these|it|its|s?he|his|her|they|their|there)\b")


class Restorer:
    """Restores the texts of one input."""

    def __init__(self, triples: Triples):
        surfaces = dict.fromkeys([triples.title, *(value for _, value in triples.pairs)])
        self._phrases: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for surface in surfaces:
            if RUN.search(surface):
                self._phrases[tuple(RUN.findall(fold(surface)))].append(surface)
        self._longest = max(map(len, self._phrases), default=0)
        self._words: dict[str, str] = {}
        for run in (run for surface in surfaces for run in RUN.findall(surface)):
            self._words.setdefault(fold(run), run)
        written: dict[str, set[str]] = defaultdict(set)
        for text in (*surfaces, *(name for name, _ in triples.pairs)):
            for number in NUMBER.findall(text):
                written[_value(number)].add(number)
        self._numbers = {value: next(iter(ways)) for value, ways in written.items() if len(ways) == 1}

    def restore(self, text: str) -> str:
        """`text` with the input's way of writing, its sentences beginning with capitals."""
        parts, end = [], 0
        for start, stop, surface in self._replacements(text):
            parts += [text[end:start], surface]
            end = stop
        text = squeeze("".join([*parts, text[end:]]))
        text = NUMBER.sub(lambda match: self._numbers.get(_value(match[0]), match[0]), text)
        text = _SENTENCE.sub(lambda match: match[0].capitalize(), text)
        return text[:1].upper() + text[1:]

    def _replacements(self, text: str) -> Iterator[tuple[int, int, str]]:
        """(start, end, text), from left to right, the longest phrase first."""
        runs = list(RUN.finditer(text))
        words = [fold(run[0]) for run in runs]
        at = 0
        while at < len(runs):
            lengths = range(min(self._longest, len(runs) - at), 0, -1)
            length = next((n for n in lengths if tuple(words[at : at + n]) in self._phrases), 0)
            phrase = tuple(words[at : at + length])
            found = None
            if length > 1 or (length and words[at] not in FUNCTION_WORDS):
                found = _fitted(text, runs[at].start(), runs[at + length - 1].end(), self._phrases[phrase])
            if found is None:
                length, word = 1, self._words.get(words[at])
                if word and words[at] not in FUNCTION_WORDS:
                    found = runs[at].start(), runs[at].end(), word
            if found is not None:
                yield found
            at += length


def _fitted(text: str, start: int, end: int, surfaces: list[str]) -> tuple[int, int, str] | None:
    """The place of a phrase with the punctuation around it, and its surface there: the longest that is there as a
    whole, else the only one, without commas and blanks around it, which would part a date in the text."""
    places = []
    for surface in surfaces:
        runs = list(RUN.finditer(surface))
        first, last = runs[0].start(), runs[-1].end()
        before, core, after = fold(surface[:first]), fold(surface[first:last]), fold(surface[last:])
        ahead, behind = text[:start].endswith(before), text.startswith(after, end)
        whole = ahead and behind and text[start:end] == core
        places.append((whole, len(surface), start - len(before) * ahead, end + len(after) * behind, surface))
    whole, _, start, end, surface = max(places, key=lambda place: place[:2])
    same = (
        len(surfaces) == 1
        and any(map(str.isalpha, surface))
        and NUMBER.findall(text[start:end]) == NUMBER.findall(fold(surface))
    )
    return (start, end, surface if whole else surface.strip(" ,;:")) if whole or same else None


def _value(number: str) -> str:
    """`3,800` and `3800.0` as `3800`; a number with several points stays."""
    plain = number.replace(",", "")
    return re.sub(r"\.?0+$", "", plain) if plain.count(".") == 1 else plain
