"""Texts that take something back: "The ban was repealed", "It is no longer open"."""

from __future__ import annotations

import re

from lisax.text.stop_words import FUNCTION_WORDS
from lisax.text.words import words

_DONE = (
    r"(?:revoked|repealed|rescinded|annulled|abolished|withdrawn|cancell?ed|superseded|overturned|retracted|reversed"
    r"|discontinued|scrapped)\b"
)
_NO_LONGER = re.compile(r"(?:(?<=\s)|\b)(?:no longer|not any ?more)\b(?! than)\s?", re.IGNORECASE)
_PASSIVE = re.compile(
    rf",?\s(?:(?:has|have|had)\s(?:since\s)?been|is|are|was|were)\s(?:since\s|now\s)?{_DONE}", re.IGNORECASE
)
_ACTIVE = re.compile(
    rf"\b(?:{_DONE}|withdrew\b|(?:revok|repeal|rescind|annul|abolish|withdraw|cancel|supersed|overturn|retract)(?:e?s|l?ing)\b)",
    re.IGNORECASE,
)
# Words before a retraction that place it in the future, and that deny it as well.
_PLANNED = r"(?-i:will)|would|shall|if|unless|plan\w*|propos\w*"
_LATER = re.compile(rf"\b(?:{_PLANNED})\b", re.IGNORECASE)
_NOT_DONE = re.compile(
    rf"\b(?:{_PLANNED}|(?-i:may)|might|could|should|not|never|nor|refus\w*|declin\w*|reject\w*)\b|n't\b", re.IGNORECASE
)
_NARROWER = re.compile(r"\b(?:on|for|to|during|between|after|before|until|under|over) (.*)", re.IGNORECASE)
_OPPOSITES = tuple(
    (frozenset(one.split()), frozenset(other.split()))
    for one, other in (
        ("open opens opened", "closed closes close shut"),
        ("allowed permitted legal lawful free", "ban bans banned prohibited prohibits forbidden illegal barred"),
        ("safe", "dangerous"),
    )
)
_PREFIXES = ("un", "in", "il", "im", "ir", "dis", "non")


def takes_back(text: str, claim: str) -> bool:
    """Whether a text takes back a statement of the claim's side, and no narrower one: neither of "The pool is no longer
    closed" and "The pool is no longer open on Sundays" takes back "The pool is open"."""
    statement = taken_back(text)
    if statement is None:
        return False
    asked, stated = frozenset(words(claim)), frozenset(words(statement))
    if _NO_LONGER.search(text) and (tail := _NARROWER.search(statement)):
        if not frozenset(words(tail[1])) <= asked | FUNCTION_WORDS:
            return False
    opposites = any((a & asked and b & stated) or (b & asked and a & stated) for a, b in _OPPOSITES)
    return not opposites and not any(
        (prefix + word in stated and word in asked) or (prefix + word in asked and word in stated)
        for word in asked | stated
        for prefix in _PREFIXES
    )


def taken_back(text: str) -> str | None:
    """The statement that a text takes back, as far as its words show it; None if it takes nothing back.

    >>> taken_back("Olin is no longer the mayor."), taken_back("In May the ban on boats was repealed.")
    ('Olin is the mayor.', 'In May the ban on boats')
    >>> taken_back("The council revoked its decision of 4 May 2020.")
    'its decision of 4 May 2020.'
    """
    if match := _NO_LONGER.search(text):
        if _LATER.search(text, 0, match.start()):
            return None
        return _NO_LONGER.sub("", text).strip()
    if (active := _ACTIVE.search(text)) is None or _NOT_DONE.search(text, 0, active.start()):
        return None
    if (passive := _PASSIVE.search(text)) and (before := text[: passive.start()].strip()):
        return before
    return text[active.end() :].strip() or None
