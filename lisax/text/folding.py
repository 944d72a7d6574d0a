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

from lisax.text.scripts import INVISIBLE

# Letters that Unicode does not decompose, and punctuation that few vocabularies have.
_LETTERS = {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ß": "ss", "ı": "i"}
_SINGLE = _LETTERS | {"–": "-", "—": "-", "−": "-", "⁄": "/", "‘": "'", "’": "'", "“": '"', "”": '"', "…": "..."}
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


# How a reader types letters that Unicode does not decompose, and letters of one sound that are typed alike.
_TYPED = str.maketrans(
    _LETTERS
    | {"ħ": "h", "ŧ": "t", "ŋ": "n", "ĸ": "k", "ɓ": "b", "ɗ": "d", "ƙ": "k"}
    # Latin letters used as marks, and all apostrophes.
    | dict.fromkeys("ʻʹʺ·", "")
    | dict.fromkeys("’‘‛ʼ＇׳´", "'")
    # Arabic, Persian and Urdu: the stretching line, forms of alef, yeh, kaf and heh.
    | {"ـ": "", "ٱ": "ا", "ى": "ي", "ی": "ي", "ے": "ي", "ک": "ك", "ة": "ه", "ہ": "ه", "ۃ": "ه", "ھ": "ه"}
    | dict.fromkeys('"״՛՜՞', "")
    # Emoji: variants of form and skin.
    | dict.fromkeys(map(chr, (0xFE0E, 0xFE0F, *range(0x1F3FB, 0x1F400))), "")
)
_INVISIBLE = re.compile(f"[{INVISIBLE}]")
# Canonical combining classes that are not accents: Kana's voicing, virama, vowels and tones of other scripts.
_PARTS_OF_LETTERS = frozenset((8, 9, 84, 91, 103, 107, 118, 122, 129, 130, 132))
# Devanagari writes a nasal before a consonant as a letter or a dot.
_NASAL = re.compile("[ङञणनम]्(?=[क-ह])|ँ")


def fold_word(word: str) -> str:
    """One word of `words.written_words` without case, accents, dots of an acronym, and possessive `'s`, in the letters
    that a reader types: `Łódź` becomes `lodz`, `٩٠٠` becomes `900`."""
    word = word.casefold() if word.isascii() else _fold_letters(word)
    if word.endswith("'s"):
        word = word[:-2]
    return word.replace(".", "") if "." in word else word


def _fold_letters(word: str) -> str:
    decomposed = unicodedata.normalize("NFKD", _INVISIBLE.sub("", word).translate(_TYPED).casefold())
    kept = (c for c in decomposed if not (kind := unicodedata.combining(c)) or kind in _PARTS_OF_LETTERS or _is_tone(c))
    word = unicodedata.normalize("NFC", "".join(kept).casefold()).translate(_TYPED)
    if word.isascii():
        return word
    word = _NASAL.sub("ं", word)
    return "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in word)


def _is_tone(character: str) -> bool:
    """Whether a mark of the class of the dot below (nukta) is a tone, as in Burmese."""
    return unicodedata.combining(character) == 7 and character > "\u1000"
