"""Words that a hyphen breaks at the end of a line. A compound (`well-known`) keeps its hyphen if the document has it
elsewhere; whether another hyphen belongs to the word cannot be seen."""

from __future__ import annotations

import re
from collections.abc import Iterable, Set

_AT_END = re.compile(r"[-\u00ad]\r?\n")
_BROKEN = re.compile(r"(?<!\w)(\w++)([-\u00ad])\n(?=([a-z\u00df-\u024f]\w*+))")
_JOINING = {"and", "or", "und", "oder"}  # after the first part of `pre- and postwar`
_WHOLE = re.compile(r"(?<!\w)(?:(\w++)(?:-(?=(\w++)))?)")


def is_broken(text: str) -> bool:
    """Whether a line of the text ends in a hyphen."""
    return _AT_END.search(text) is not None


def whole_words(texts: Iterable[str]) -> set[str]:
    """The words in lower case, and each two that a hyphen joins."""
    pairs = (match.groups() for text in texts for match in _WHOLE.finditer(text.lower()))
    return {word for first, second in pairs for word in (first, second and f"{first}-{second}") if word}


def joined(text: str, known: Set[str], *, always: bool) -> str:
    """Joins the words that are broken over two lines of a text. `known`: words of the document, of which one shows
    how; if none does, the hyphen is left out if `always`, and the word stays as it is otherwise."""

    def join(match: re.Match) -> str:
        first, mark, rest = match.groups()
        if mark == "-" and f"{first}-{rest}".lower() in known:
            return f"{first}-"
        if mark != "-" or f"{first}{rest}".lower() in known:
            return first
        return first if always and rest not in _JOINING else match[0]

    return _BROKEN.sub(join, text)
