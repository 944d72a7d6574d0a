"""Finds the words of a text in any script, for indexes and for spotting names.

Words are runs of letters, marks and digits. One-letter words are kept (`Malcolm X`), `U.S.` becomes `us`, a possessive
`'s` is removed, and case and accents are folded.

Chinese, Japanese, Thai, Lao, Khmer and Burmese have no blanks between words, and Korean words hide their ending. A run
of these scripts becomes overlapping pairs of characters (of Thai and Lao, triples), as search engines do: `塔恩是城市`
becomes `塔恩 恩是 是城 城市`. Dictionaries split an unknown name differently in each context, and pairs do not.
"""

# The characters of a word are those of Unicode's default word boundaries (UAX #29). The boundaries themselves are not
# used: ICU takes 42 MB, and they would change the words of 6% of English sentences (`U.S.`, `3.5`, `example.com`).

from __future__ import annotations

import functools
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence

from lisax.text.folding import fold_word
from lisax.text.scripts import INVISIBLE, PAIRED, TRIPLED, WITHIN, marks
from lisax.text.stop_words import FUNCTION_WORDS

WORD = re.compile(r"(?:[^\W\d_]\.){2,}|[^\W_]+(?:['’][^\W_]+)*")
# A run that WORD does not suffice for, from its first letter of another script, mark, or sign within a word.
_LATIN = r"\x00-\xac\xae-\xb1\xb4-\xb6\xb8\xba\xbb\xbf-\u024f\u1e00-\u1eff"
_SIGNS = r"\u2000-\u200a\u2010-\u2017\u2019\u201a\u201c-\u2027\u202f-\u205f\u20a0-\u20bf\u2100-\u2134\u2190-\u25ff"
_OTHER = re.compile(rf"[^{_LATIN}{_SIGNS}]\S*+")
_EMOJI = "[\U0001f300-\U0001f64f\U0001f680-\U0001faff]|[\u2600-\u27bf](?=\ufe0f)"
_SUPERSCRIPT = "²³¹⁰⁴-⁹"


@functools.cache
def _all_words() -> re.Pattern:
    """WORD with the marks, joiners and apostrophes of all scripts, emoji, and units in one character (`㎏`)."""
    inside = rf"(?:[^\W_]|[{marks()}{INVISIBLE}{WITHIN}])*+"
    joins = r"['’‘‛＇׳´]|(?<=[א-ת])[\"״](?=[א-ת])|(?<=[lL])·(?=[lL])"
    tail = "(?:[\ufe0f\U0001f3fb-\U0001f3ff]|\u200d[\u2600-\u27bf\U0001f300-\U0001faff])*+"
    return re.compile(
        rf"(?:[^\W\d_]\.){{2,}}|[^\W_]{inside}(?:(?:{joins})[^\W_]{inside})*+"
        rf"|[\U0001f1e6-\U0001f1ff]{{2}}|[\u3380-\u33df]|(?:{_EMOJI}){tail}"
    )


@functools.cache
def _pieces() -> re.Pattern:
    """The parts of a word: a run without blanks, a superscript, a fraction, or all between them."""
    extend = rf"[{marks()}{INVISIBLE}]"
    paired, tripled = (rf"(?:[{script}]{extend}*+)++" for script in (PAIRED, TRIPLED))
    return re.compile(rf"(?P<paired>{paired})|(?P<tripled>{tripled})|[^{PAIRED}{TRIPLED}]++")


@functools.cache
def _characters() -> re.Pattern:
    """A character with its marks; in Khmer and Burmese a stacked consonant belongs to it."""
    extend = rf"[{marks()}{INVISIBLE}]"
    return re.compile(rf"[^{marks()}](?:[\u17d2\u1039].|{extend})*+", re.DOTALL)


# A superscript or a fraction after a number (`10³`, `2½`), and a footnote mark after a word (`town²`, not `km²`).
_RAISED = re.compile(rf"(?<=\d)(?<![{_SUPERSCRIPT}])(?=[{_SUPERSCRIPT}¼-¾⅐-⅞])|(?<=[^\W\d_]{{4}})(?=[{_SUPERSCRIPT}])")
_HAS_PARTS = re.compile(rf"[{PAIRED}{TRIPLED}{_SUPERSCRIPT}¼-¾⅐-⅞]")


def _runs(text: str) -> Iterator[tuple[int, int, bool]]:
    """(start, end, whether WORD suffices) of the runs of a text; they begin and end at white space."""
    done = 0
    for match in _OTHER.finditer(text):
        start = match.start()
        while start > done and not text[start - 1].isspace():
            start -= 1
        yield done, start, True
        yield start, match.end(), False
        done = match.end()
    yield done, len(text), True


def _spans(text: str, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """(start, end) of each word of a run that WORD does not suffice for."""
    for match in _all_words().finditer(text, begin, end):
        if not _HAS_PARTS.search(match[0]):
            yield match.span()
            continue
        for piece in _pieces().finditer(match[0]):
            start, end = match.start() + piece.start(), match.start() + piece.end()
            if size := 2 if piece["paired"] else 3 if piece["tripled"] else 0:
                starts = [start + character.start() for character in _characters().finditer(piece[0])]
                for number in range(max(1, len(starts) - size + 1)):
                    yield starts[number], starts[number + size] if number + size < len(starts) else end
                continue
            for raised in _RAISED.finditer(piece[0]):
                at = match.start() + piece.start() + raised.start()
                yield start, at
                start = at
            if text[start:end].strip("'’"):
                yield start, end


def written_words(text: str) -> list[str]:
    """The words of an NFC text as written, in order. Those of scripts without blanks overlap."""
    if text.isascii():
        return WORD.findall(text)
    found: list[str] = []
    for start, end, plain in _runs(text):
        found += WORD.findall(text, start, end) if plain else [text[a:b] for a, b in _spans(text, start, end)]
    return found


def words(text: str) -> list[str]:
    """Folded words of a text in order."""
    written = written_words(text if text.isascii() else unicodedata.normalize("NFC", text))
    return [word for word in map(fold_word, written) if word]


def word_spans(text: str) -> list[tuple[str, int, int]]:
    """(folded word, start, end) of an NFC text, in order; `text[start:end]` is the word as written. Words of scripts
    without blanks overlap."""
    found = []
    for begin, stop, plain in [(0, len(text), True)] if text.isascii() else _runs(text):
        spans = (match.span() for match in WORD.finditer(text, begin, stop)) if plain else _spans(text, begin, stop)
        found += [(word, start, end) for start, end in spans if (word := fold_word(text[start:end]))]
    return found


def shared_words(query: str, texts: Sequence[str]) -> list[float]:
    """The words that each text shares with the query, each counted as one over the number of texts that have it: a word
    of all texts distinguishes none of them."""
    asked = set(words(query))
    found = [asked.intersection(words(text)) for text in texts]
    counts = Counter(word for shared in found for word in shared)
    # The order of a set differs from run to run; `fsum` does not depend on it, so that equal texts stay equal.
    return [math.fsum(1 / counts[word] for word in shared) for shared in found]


@functools.cache
def stemmer():
    """PyStemmer's English stemmer (Snowball) as a function of one folded word."""
    import Stemmer  # imported here: most verbs never stem

    # PyStemmer's own cache only slows lookups down, so it is switched off; callers cache repeated words.
    return Stemmer.Stemmer("english", 0).stemWord


def content_stems(text: str) -> set[str]:
    """The English stems of a text's words other than function words."""
    return {stemmer()(word) for word in words(text) if word not in FUNCTION_WORDS}
