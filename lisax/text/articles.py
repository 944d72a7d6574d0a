"""The article before a phrase, and the capital at its start."""

from __future__ import annotations

import re

# Vowels that sound like consonants and vice versa, since the article follows the sound: `Utah`, but `unidentified`.
_AN = re.compile(
    r"hour|honest|honou?r|heir|"
    r"(?!eu|ew|one\b|once\b|uni(?!n|mp|ma|de|ss|gn|ll)|unanim|u[fgrst][aeiou]|ubi|uk[reu])[aeiou]|"
    r"8|1[18](?:\d\d)?(?!\d)",
    re.IGNORECASE,
)
# Letters pronounced one by one (`NBA`, `X-ray`), except capitals that form a syllable (`NATO`).
_SPELLED = re.compile(r"(?![B-DF-HJ-NP-TV-Z][AEIOU][B-DF-HJ-NP-TV-Z][A-Z])[A-Z](?![a-z]|['’][A-Z])|[a-z]-")


def article(phrase: str) -> str:
    """`a` or `an`, according to the sound of the first word."""
    word = phrase.split(maxsplit=1)[0].strip("\"'“(")
    an = word[0] in "AEFHILMNORSXaefhilmnorsx" if _SPELLED.match(word) else _AN.match(word)
    return "an" if an else "a"


def capitalised(text: str) -> str:
    """The text with a capital as its first letter."""
    return text[:1].upper() + text[1:]
