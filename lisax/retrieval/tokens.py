"""Text to words, and words to the terms of an index.

Words are runs of letters and digits; one-letter words stay (`Malcolm X`), `U.S.` is `us`, a possessive
`'s` goes, case and accents are folded. Terms are the words that are not stop words, English-stemmed.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable

WORD = re.compile(r"(?:[^\W\d_]\.){2,}|[^\W_]+(?:['’][^\W_]+)*")

# Lucene's English stop words, which BM25 with an English analyser leaves out.
STOP_WORDS = frozenset(
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these "
    "they this to was will with".split()
)

# Raw words are cached with their term numbers; real text has endless rare words, so the cache is bounded.
CACHED_WORDS = 1 << 20


def fold(word: str) -> str:
    """One match of `WORD` without case, accents, dots of an acronym, possessive `'s`."""
    word = word.casefold()
    if not word.isascii():
        decomposed = unicodedata.normalize("NFKD", word.replace("’", "'"))
        word = "".join(c for c in decomposed if not unicodedata.combining(c)).casefold()
    if word.endswith("'s"):
        word = word[:-2]
    return word.replace(".", "") if "." in word else word


def words(text: str) -> list[str]:
    """Folded words of a text in order."""
    return [fold(word) for word in WORD.findall(unicodedata.normalize("NFC", text))]


def word_spans(text: str) -> list[tuple[str, int, int]]:
    """(folded word, start, end) of an NFC text, in order; `text[start:end]` is the word as written."""
    return [(fold(match.group()), match.start(), match.end()) for match in WORD.finditer(text)]


class Terms:
    """Text to term numbers through a function that numbers stems, with a bounded cache of raw words.

    `number` takes a stem and gives its number, or -1 for a stem to leave out.
    """

    def __init__(self, number: Callable[[str], int]):
        import Stemmer

        # PyStemmer's own cache only grows slower lookups: raw words are cached here.
        self._stem = Stemmer.Stemmer("english", 0).stemWord
        self._number = number
        self._cache: dict[str, int] = {}

    def _look_up(self, word: str) -> int:
        if len(self._cache) >= CACHED_WORDS:
            self._cache.clear()
        folded = fold(word)
        number = -1 if not folded or folded in STOP_WORDS else self._number(self._stem(folded))
        self._cache[word] = number
        return number

    def __call__(self, text: str) -> list[int]:
        """Term numbers of a text in order, with repetitions."""
        cache = self._cache
        numbers = []
        for word in WORD.findall(text if text.isascii() else unicodedata.normalize("NFC", text)):
            number = cache.get(word)
            if number is None:
                number = self._look_up(word)
            if number >= 0:
                numbers.append(number)
        return numbers


def stems(texts: Iterable[str]) -> list[list[str]]:
    """The terms of texts as strings: what an index stores, for reading and for tests."""
    vocabulary: dict[str, int] = {}
    terms = Terms(lambda stem: vocabulary.setdefault(stem, len(vocabulary)))
    numbered = [terms(text) for text in texts]
    names = list(vocabulary)
    return [[names[number] for number in numbers] for numbers in numbered]
