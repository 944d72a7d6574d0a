"""Texts that take something back: "The ban was repealed", "It is no longer open"."""

from __future__ import annotations

import re

_DONE = (
    r"(?:revoked|repealed|rescinded|annulled|abolished|withdrawn|cancell?ed|superseded|overturned|retracted|reversed"
    r"|discontinued|scrapped)\b"
)
_NO_LONGER = re.compile(r"(?:(?<=\s)|\b)(?:no longer|not any ?more)\b\s?", re.IGNORECASE)
_PASSIVE = re.compile(
    rf",?\s(?:(?:has|have|had)\s(?:since\s)?been|is|are|was|were)\s(?:since\s|now\s)?{_DONE}", re.IGNORECASE
)
_ACTIVE = re.compile(
    rf"\b(?:{_DONE}|withdrew\b|(?:revok|repeal|rescind|annul|abolish|withdraw|cancel|supersed|overturn|retract)(?:e?s|l?ing)\b)",
    re.IGNORECASE,
)


def taken_back(text: str) -> str | None:
    """The statement that a text takes back, as far as its words show it; None if it takes nothing back.

    >>> taken_back("Olin is no longer the mayor."), taken_back("In May the ban on boats was repealed.")
    ('Olin is the mayor.', 'In May the ban on boats')
    >>> taken_back("The council revoked its decision of 4 May 2020.")
    'its decision of 4 May 2020.'
    """
    if _NO_LONGER.search(text):
        return _NO_LONGER.sub("", text).strip()
    if (match := _PASSIVE.search(text)) and (before := text[: match.start()].strip()):
        return before
    if match := _ACTIVE.search(text):
        return text[match.end() :].strip() or None
    return None
