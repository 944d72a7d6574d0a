"""The words of a text, for indexes and for spotting names.

Words are runs of letters and digits. One-letter words are kept (`Malcolm X`), `U.S.` becomes `us`, a possessive `'s` is
removed, case and accents are folded.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

from lisax.text.folding import fold_word

WORD = re.compile(r"(?:[^\W\d_]\.){2,}|[^\W_]+(?:['’][^\W_]+)*")


def words(text: str) -> list[str]:
    """Folded words of a text in order."""
    return [fold_word(word) for word in WORD.findall(unicodedata.normalize("NFC", text))]


def word_spans(text: str) -> list[tuple[str, int, int]]:
    """(folded word, start, end) of an NFC text, in order; `text[start:end]` is the word as written."""
    return [(fold_word(match.group()), match.start(), match.end()) for match in WORD.finditer(text)]


def shared_words(query: str, texts: Sequence[str]) -> list[float]:
    """The words that each text shares with the query, each counted as one over the number of texts that have it: a word
    of all texts distinguishes none of them."""
    asked = set(words(query))
    found = [asked.intersection(words(text)) for text in texts]
    counts = Counter(word for shared in found for word in shared)
    return [sum(1 / counts[word] for word in shared) for shared in found]


@functools.cache
def stemmer():
    """PyStemmer's English stemmer (Snowball) as a function of one folded word."""
    import Stemmer  # imported here: most verbs never stem

    # PyStemmer's own cache only slows lookups down, so it is switched off; callers cache repeated words.
    return Stemmer.Stemmer("english", 0).stemWord
