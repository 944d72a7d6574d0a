"""Turns text into index terms: the stemmed words of a language, or Lucene's."""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Callable, Iterable

from lisax.errors import LisaxError
from lisax.text import lucene
from lisax.text.languages import ENGLISH, term_function
from lisax.text.words import written_words

# Raw words are cached with their term numbers; the cache is bounded, since real text has endless rare words.
CACHED_WORDS = 1 << 20


class Terms:
    """Text to term numbers through a function that numbers stems, with a bounded cache of raw words.

    `number` maps a stem to its number, or to -1 to leave it out. `analyzer`: `lucene.NAME` for Lucene's terms, which are
    of English; None for ours.
    """

    def __init__(self, number: Callable[[str], int], language: str = ENGLISH, analyzer: str | None = None):
        if analyzer is None:
            self._words, self._term = _words, term_function(language)
        elif (analyzer, language) == (lucene.NAME, ENGLISH):
            self._words, self._term = lucene.words, lucene.term
        else:
            raise LisaxError(f"the analyzers are '{lucene.NAME}', of English; found '{analyzer}', of {language}")
        self._number = number
        self._cache: dict[str, int] = {}

    def _look_up(self, word: str) -> int:
        if len(self._cache) >= CACHED_WORDS:
            self._cache.clear()
        term = self._term(word)
        number = self._number(term) if term else -1
        self._cache[word] = number
        return number

    def __call__(self, text: str) -> list[int]:
        """Term numbers of a text in order, with repetitions."""
        cache = self._cache
        numbers = []
        for word in self._words(text):
            number = cache.get(word)
            if number is None:
                number = self._look_up(word)
            if number >= 0:
                numbers.append(number)
        return numbers


def _words(text: str) -> list[str]:
    return written_words(text if text.isascii() else unicodedata.normalize("NFC", text))


def count_terms(text: str) -> int:
    """The number of index terms in a text, whether or not an index has them."""
    return len(_every_term()(text))


@functools.cache
def _every_term() -> Terms:
    return Terms(lambda stem: 0)


def stems(texts: Iterable[str], analyzer: str | None = None) -> list[list[str]]:
    """The terms of texts as strings, as an index stores them; for reading and for tests."""
    vocabulary: dict[str, int] = {}
    terms = Terms(lambda stem: vocabulary.setdefault(stem, len(vocabulary)), analyzer=analyzer)
    numbered = [terms(text) for text in texts]
    names = list(vocabulary)
    return [[names[number] for number in numbers] for numbers in numbered]
