"""Removes case and accents from text, in two ways.

`fold` is for texts that models read and write: it keeps every punctuation mark, writes `½` as `1/2` and spells letters
that Unicode does not decompose (`ø`, `ß`) in ASCII, because few vocabularies have them. `fold_word` is for the words of
an index: it keeps such letters, drops the dots of an acronym and a possessive `'s`, and folds case by Unicode's full
rules.
"""

from __future__ import annotations

import functools
import re
import unicodedata

# Letters that Unicode does not decompose, and punctuation that few vocabularies have.
_SINGLE = {
    "ø": "o",
    "ł": "l",
    "đ": "d",
    "ð": "d",
    "þ": "th",
    "æ": "ae",
    "œ": "oe",
    "ß": "ss",
    "ı": "i",
    "–": "-",
    "—": "-",
    "−": "-",
    "⁄": "/",
    "‘": "'",
    "’": "'",
    "“": '"',
    "”": '"',
    "…": "...",
}
RUN = re.compile(r"[^\W_]+")  # letters and digits
_AFTER_DIGIT = re.compile(r"(?<=\d)(?=[²³¹¼-¾⁰-₉⅐-⅟])")


def fold(text: str) -> str:
    """`Ana María Beldaña` becomes `ana maria beldana`, `2½` becomes `2 1/2`; letters of other scripts stay, in lower
    case."""
    return text.lower() if text.isascii() else "".join(map(_folded, _AFTER_DIGIT.sub(" ", text.lower())))


@functools.lru_cache(maxsize=4096)
def _folded(character: str) -> str:
    if character in _SINGLE:
        return _SINGLE[character]
    parts = unicodedata.normalize("NFKD", character)
    if parts[0].isascii() and parts[0].isalnum():
        return "".join("/" if part == "⁄" else part for part in parts if not unicodedata.combining(part)).lower()
    # A separate mark, left by lower() or by text that is not composed.
    if unicodedata.category(character) == "Mn" and "COMBINING" in unicodedata.name(character, ""):
        return ""
    plain = character.upper().lower()  # the upper case of the micro sign is that of mu, of a final sigma that of sigma
    return plain if len(plain) == 1 else character


def fold_word(word: str) -> str:
    """One match of `words.WORD` without case, accents, dots of an acronym, and possessive `'s`."""
    word = word.casefold()
    if not word.isascii():
        decomposed = unicodedata.normalize("NFKD", word.replace("’", "'"))
        word = "".join(c for c in decomposed if not unicodedata.combining(c)).casefold()
    if word.endswith("'s"):
        word = word[:-2]
    return word.replace(".", "") if "." in word else word
