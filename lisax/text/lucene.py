"""The words and terms of Lucene's EnglishAnalyzer, which Pyserini's indexes have; see `docs/lucene.md`.

Words end at Unicode's default word boundaries (UAX #29), with Lucene's exceptions: a Han or Hiragana character is a word,
a run of Thai, Lao, Khmer or Burmese is a word, an emoji is a word, and a word ends after 255 characters. Terms are words
without possessive `'s`, in lower case, except stop words, stemmed by Porter's algorithm with the changes of its author's
page. PyStemmer's `porter` lacks these changes and gives other stems of `possibly` and `geology`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator

import numpy as np

from lisax.text.stop_words import INDEX_STOP_WORDS

NAME = "lucene"
LONGEST = 255  # characters of a word
# Words of ASCII text. Runs of underscores without letters match as well, so that the time stays linear.
_ASCII = re.compile(
    r"(_*+[A-Za-z0-9]++(?:(?:_++|(?<=[A-Za-z])[:.'](?=[A-Za-z])|(?<=[0-9])[,;.'](?=[0-9]))[A-Za-z0-9]++)*+_*+)|_++"
)
# Extended_Pictographic as it was in Unicode 12.1, Lucene's: later versions took characters such as the star away.
_PICTOGRAPH = (
    r"\p{Extended_Pictographic}\u2388\u2600-\u2605\u2607-\u2612\u2614-\u2685\u2690-\u2705\u2708-\u2712\u2763-\u2767"
    r"\U0001f000-\U0001f0ff\U0001f10d-\U0001f10f\U0001f12f\U0001f16c-\U0001f171\U0001f1ad-\U0001f1e5"
    r"\U0001f249-\U0001f53d\U0001f546-\U0001f64f\U0001f680-\U0001f6ff\U0001f774-\U0001f77f\U0001f7d5-\U0001f7ff"
    r"\U0001f80c-\U0001f80f\U0001f848-\U0001f84f\U0001f85a-\U0001f85f\U0001f888-\U0001f88f\U0001f8ae-\U0001f93a"
    r"\U0001f93c-\U0001f945\U0001f947-\U0001fffd"
)


@functools.cache
def _unicode():
    """`_ASCII` for text of any script."""
    import regex  # which knows Unicode's properties, and the standard library does not

    characters = {
        "letter": r"\p{WB=ALetter}\p{WB=HL}", "hebrew": r"\p{WB=HL}", "number": r"\p{WB=Numeric}\uff10-\uff19",
        "katakana": r"\p{WB=Katakana}", "joiner": r"\p{WB=ExtendNumLet}", "single": "'", "double": '"',
        "in_word": r"\p{WB=MidLetter}:\p{WB=MidNumLet}'", "in_number": r"\p{WB=MidNum}\p{WB=MidNumLet}'",
        "ideograph": r"\p{Script=Han}\p{Script=Hiragana}", "complex": r"\p{LB=SA}", "flag": r"\p{RI}",
        "emoji": _PICTOGRAPH,
    }  # fmt: skip
    marks = r"[\p{WB=Extend}\p{WB=Format}\p{WB=ZWJ}]*+"
    marked = {name: rf"(?:[{of_kind}]{marks})" for name, of_kind in characters.items()}
    katakana = "{katakana}(?:{joiner}*+{katakana})*+"
    letters = "{letter}(?:(?:{joiner}*+|{in_word}){letter})*+"
    numbers = "{number}(?:(?:{joiner}*+|{in_number}){number})*+"
    core = f"(?:{katakana}|(?:{letters}|{numbers}|(?<={{hebrew}})(?:{{double}}{{hebrew}}|{{single}}))++)"
    word = (
        f"({{joiner}}*+{core}(?:{{joiner}}++{core})*+{{joiner}}*+|{{ideograph}}|{{complex}}++|{{flag}}{{flag}}"
        "|[0-9#*]\ufe0f?+\u20e3|{emoji}(?:(?<=\u200d){emoji})*+)|{joiner}++"
    )
    return regex.compile(word.format_map(marked))


def words(text: str) -> list[str]:
    """The words of a text as written, in order."""
    if text.isascii():
        found = list(filter(None, _ASCII.findall(text)))
    else:  # no word has a blank within
        parts = text.split(" ")
        found = [word for part in parts for word in (_ASCII if part.isascii() else _unicode()).findall(part) if word]
    if max(map(len, found), default=0) <= LONGEST:
        return found
    return [piece for word in found for piece in _pieces(word)]


def _pieces(word: str) -> Iterator[str]:
    """A word as words of up to `LONGEST` characters."""
    start = 0
    while match := _unicode().search(word, start, start + LONGEST):
        if match[1]:
            yield match[1]
        start = match.end()


def term(word: str) -> str:
    """The term of a word of `words`; empty for a stop word."""
    if len(word) >= 2 and word[-1] in "sS" and word[-2] in "'’＇":
        word = word[:-2]
    # Java lowers each character separately: a sigma never becomes final, and a dotted I loses its dot.
    word = word.lower() if word.isascii() else "".join(character.lower()[0] for character in word)
    return "" if word in INDEX_STOP_WORDS else _stem()(word, to_lowercase=False)


@functools.cache
def _stem() -> Callable[..., str]:
    from nltk.stem.porter import PorterStemmer

    return PorterStemmer(PorterStemmer.MARTIN_EXTENSIONS).stem


def kept_lengths(lengths: np.ndarray) -> np.ndarray:
    """Lengths of documents as Lucene keeps them in a byte: exact up to 40 terms; of longer documents the first four bits
    of the length less 24. Takes and returns int64 [documents]."""
    above = np.maximum(lengths - 24, 0)
    cut = np.maximum(np.frexp(above)[1] - 4, 0)
    return lengths - above + (above >> cut << cut)
