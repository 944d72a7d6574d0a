"""Reads English numbers in words: `two hundred and five`, `one and a half`, `twenty-third`, `half a million`."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

from lisax.text.numbers import ORDINALS, TENS_OF, UNITS, below_hundred, ordinal, year_in_halves

SCALES = {
    "thousand": 10**3,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
    "lakh": 10**5,
    "crore": 10**7,
    "dozen": 12,
}
_SCALE_ORDINALS = {"hundredth": 100, "thousandth": 1000, "millionth": 10**6, "billionth": 10**9}
_PARTS = {
    "half": 2, "halves": 2, "third": 3, "thirds": 3, "quarter": 4, "quarters": 4, "fifth": 5, "fifths": 5, "sixths": 6,
    "sevenths": 7, "eighth": 8, "eighths": 8, "ninths": 9, "tenth": 10, "tenths": 10,
}  # fmt: skip
_MISSPELT = {"fourty": "forty", "ninty": "ninety"}
_ARTICLES = ("a", "an")
_BEGINNINGS = {*UNITS, *TENS_OF, *ORDINALS, *_SCALE_ORDINALS, *SCALES, *_MISSPELT, "hundred", "half", *_ARTICLES}
_WORDS = {*_BEGINNINGS, *_PARTS, "and"}
BEGIN = rf"(?<![\w'-])(?:{'|'.join(sorted(_BEGINNINGS, key=len, reverse=True))})(?![\w'])"
_WORD = re.compile(r"[ \xa0-]?([^\W\d_]{1,14}+)(?!['\w])")
_LONGEST = 16  # words


class Spelled(NamedTuple):
    """A number in words that ends at `end`. `bare`: it is `one` and may be a pronoun."""

    number: Fraction
    end: int
    is_ordinal: bool = False
    bare: bool = False


def spelled(text: str, place: int) -> Spelled | None:
    """The number in words that begins at `place`; None if the words there mean something else."""
    words, ends = _words(text, place)
    found = _part(words) or _cardinal(words, bare_scales=not text[:place].rstrip(" \xa0")[-1:].isalnum())
    if found is None:
        return None
    number, after, is_ordinal = found
    bare = words[:after] == ["one"]
    return Spelled(number, ends[after - 1], is_ordinal, bare)


def _words(text: str, place: int) -> tuple[list[str], list[int]]:
    """The words of numbers from a place on, and their ends."""
    words, ends = [], []
    while len(words) < _LONGEST and (match := _WORD.match(text, place)) is not None:
        word = match[1].lower()
        if word not in _WORDS:
            break
        place = match.end()
        words.append(_MISSPELT.get(word, word))
        ends.append(place)
    return words, ends


def _at(words: list[str], at: int) -> str:
    return words[at] if at < len(words) else ""


_Found = tuple[Fraction, int, bool]  # number, position after it, whether it is an ordinal


def _part(words: list[str]) -> _Found | None:
    """`half`, `half a million`, `a quarter`, `two thirds`."""
    if _at(words, 0) == "half":
        article = _at(words, 1) in _ARTICLES
        scale = SCALES.get(_at(words, 2)) if article else None
        return Fraction(scale or 1, 2), 1 + article + (scale is not None), False
    article = _at(words, 0) in _ARTICLES
    count = 1 if article else UNITS.get(_at(words, 0), 0)
    word = _at(words, 1)
    if count and word in _PARTS and (word.endswith("s") or count == 1):
        return Fraction(count, _PARTS[word]), 2, False
    return None


def _cardinal(words: list[str], bare_scales: bool) -> _Found | None:
    """A number by groups of a thousand, with a part after it; an ordinal ends it."""
    if (year := year_in_halves(words, 0)) is not None:
        return Fraction(year[0]), year[1], False
    total, at, least = Fraction(0), 0, None
    while (group := _group(words, at, bare_scales and at == 0)) is not None:
        number, after, is_ordinal = group
        if is_ordinal:
            return total + number, after, True
        scale = SCALES.get(_at(words, after))
        if scale is None and _at(words, after) in _SCALE_ORDINALS:
            return total + number * _SCALE_ORDINALS[words[after]], after + 1, True
        if scale is None or (least is not None and scale >= least):
            total, at = total + number, after
            break
        total, at, least = total + number * scale, after + 1, scale
        if _at(words, at) == "and" and _group(words, at + 1, False) is not None and not _is_part(words, at + 1):
            at += 1
    if not at:
        return None
    if _at(words, at) == "and" and _is_part(words, at + 1):
        part, after, _ = _part(words[at + 1 :])
        total, at = total + part, at + 1 + after
        while _at(words, at) in SCALES:
            total, at = total * SCALES[words[at]], at + 1
    return total, at, False


def _is_part(words: list[str], at: int) -> bool:
    return _part(words[at : at + 2]) is not None


def _group(words: list[str], at: int, bare_scales: bool) -> tuple[int, int, bool] | None:
    """A number below a thousand, `a` or nothing before a scale, or an ordinal."""
    if (found := ordinal(words, at)) is not None:
        return *found, True
    found = below_hundred(words, at)
    if found is None:
        article = _at(words, at) in _ARTICLES
        scale = _at(words, at + article)
        if not (article or bare_scales) or (scale != "hundred" and scale not in SCALES):
            return None
        found = 1, at + article
    number, at = found
    if not number or _at(words, at) not in ("hundred", "hundredth"):
        return number, at, False
    if words[at] == "hundredth":
        return 100 * number, at + 1, True
    number, at = 100 * number, at + 1
    after = at + (_at(words, at) == "and")
    if (last := ordinal(words, after)) is not None:
        return number + last[0], last[1], True
    if (last := below_hundred(words, after)) is not None and not (after > at and _is_part(words, after)):
        return number + last[0], last[1], False
    return number, at, False
