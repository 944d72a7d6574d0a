"""Raised text within a line, in HTML and PDF: a power, the end of an ordinal, or the mark of a footnote."""

from __future__ import annotations

import re

_POWERS = str.maketrans("0123456789+-−n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻ⁿ")
_POWER = re.compile(r"[+\-−]?[0-9n]{1,3}")
_RAISED = re.compile(r"(?:st|nd|rd|th|e|er|re|ère|ème|º|ª|tm|sm|®)\.?", re.IGNORECASE)  # `19<sup>th</sup>`
_BASE = re.compile(r"(?:^|[^\w.,])(?:[a-z]{1,3}|\d{1,2})$|\)$", re.IGNORECASE)  # a text that a power may follow


def raised(text: str, before: str, is_link: bool = False) -> str:
    """A raised text as it is read within a line, after the text `before`: `10` and `3` are `10³`; a mark of a footnote
    is nothing.

    A number after a word or a long number marks a footnote; after a unit, a bracket or a short number it is a power."""
    if not text or is_link or text[0] in "[(*†‡§¶#":
        return ""
    if _RAISED.fullmatch(text):
        return text
    if _POWER.fullmatch(text) and _BASE.search(before):
        return text.translate(_POWERS)
    return "" if len(text) <= 3 or text.replace(",", "").isdecimal() else text
