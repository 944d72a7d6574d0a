"""Words, numbers and marks of a text, with their positions."""

from __future__ import annotations

import dataclasses
import functools
import re

from lisax.text.scripts import marks

TOKEN = re.compile(
    r"""
    \d{1,3}(?:,\d{3})+(?!\d) | \d+\.\d+(?:\.\d+)? | \d{4}-\d{2}-\d{2}(?!\d) | \d{1,2}/\d{1,2}/\d{4}(?!\d)
  | \d+\s?['’]?s\b | ['’]\d0s\b | \d+(?:st|nd|rd|th)\b | \d+
  | (?:[^\W\d_]\.){2,} | [^\W\d_]+(?:['’](?!s\b)[^\W\d_]+)* | ['’]s\b
  | -{2,} | [^\w\s]""",
    re.VERBOSE,
)


@functools.cache
def _with_marks() -> re.Pattern:
    """TOKEN whose words keep the marks within them: vowel signs of Hindi, accents that are not composed."""
    word = rf"[^\W\d_](?:[^\W\d_]|[{marks()}])*+"
    return re.compile(TOKEN.pattern.replace(r"[^\W\d_]+", word), re.VERBOSE)


@dataclasses.dataclass(frozen=True, slots=True)
class Token:
    """`word` is folded: lower case, without the dots of an abbreviation."""

    word: str
    start: int
    end: int
    capital: bool = False

    @property
    def is_word(self) -> bool:
        return self.word[0].isalpha()


def tokens(text: str) -> list[Token]:
    """The tokens of a text. A hyphen next to a letter (`mid-1990s`, `twenty-first`) is not a token."""
    found = []
    for match in (TOKEN if text.isascii() else _with_marks()).finditer(text):
        written, start, end = match.group(), match.start(), match.end()
        if written in "-‐‑" and (text[start - 1 : start].isalpha() or text[end : end + 1].isalpha()):
            continue
        word = written.casefold().replace("’", "'").replace(" ", "")
        if word.endswith(".") and len(word) > 1:
            word = word.replace(".", "")
        found.append(Token(word, start, end, written[0].isupper()))
    return found
