"""Reads and writes numbers in words: `three hundred fifty`, `twenty-first`, `nineteen eighty-four`; and `21st`."""

from __future__ import annotations

from collections.abc import Sequence

ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen"
).split()
TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
FIRST_ORDINALS = (
    "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
    "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth"
).split()
UNITS = {word: number for number, word in enumerate(ONES)}
TENS_OF = {word: 10 * number for number, word in enumerate(TENS, start=2)}
ORDINALS = {word: number for number, word in enumerate(FIRST_ORDINALS)} | {
    word[:-1] + "ieth": number for word, number in TENS_OF.items()
}
DECADES = {word[:-1] + "ies": number for word, number in TENS_OF.items()} | {"ninties": 90}  # a common misspelling


def is_number(word: str) -> bool:
    """Whether a word is a number in digits, and short enough not to be a code."""
    return word.isdecimal() and len(word) < 10


def cardinal(words: Sequence[str], at: int) -> tuple[int, int] | None:
    """(number, position after it) of the cardinal that begins at `words[at]`, below 100,000; digits too."""
    if at < len(words) and is_number(words[at]):
        return int(words[at]), at + 1
    total = 0
    found = below_hundred(words, at)
    if found is None:
        return None
    number, at = found
    for word, value in (("thousand", 1000), ("hundred", 100)):
        if at < len(words) and words[at] == word and number:
            total, at = total + number * value, at + 1
            after = at + (at < len(words) and words[at] == "and")
            found = below_hundred(words, after)
            if found is None:
                return total, at
            number, at = found
    return total + number, at


def below_hundred(words: Sequence[str], at: int) -> tuple[int, int] | None:
    """(number, position after it) of the cardinal in words that begins at `words[at]`, below a hundred."""
    if at >= len(words):
        return None
    if words[at] in UNITS:
        return UNITS[words[at]], at + 1
    if words[at] not in TENS_OF:
        return None
    tens, at = TENS_OF[words[at]], at + 1
    if at < len(words) and 0 < UNITS.get(words[at], 0) < 10:
        return tens + UNITS[words[at]], at + 1
    return tens, at


def ordinal(words: Sequence[str], at: int) -> tuple[int, int] | None:
    """(number, position after it) of `19th`, `nineteenth`, `twenty first`."""
    if at >= len(words):
        return None
    if is_number(words[at][:-2]) and words[at][-2:] in ("st", "nd", "rd", "th"):
        return int(words[at][:-2]), at + 1
    if words[at] in TENS_OF and at + 1 < len(words) and 0 < ORDINALS.get(words[at + 1], 0) < 10:
        return TENS_OF[words[at]] + ORDINALS[words[at + 1]], at + 2
    return (ORDINALS[words[at]], at + 1) if words[at] in ORDINALS else None


def spoken_year(words: Sequence[str], at: int) -> tuple[int, int] | None:
    """(year, position after it) of a year in words: `nineteen eighty-four`, `twenty ten`, `two thousand and five`."""
    if at < len(words) and words[at].isdecimal():
        return None
    found = cardinal(words, at)
    return found if found is not None and 1000 <= found[0] < 2200 else year_in_halves(words, at)


def year_in_halves(words: Sequence[str], at: int) -> tuple[int, int] | None:
    """(year, position after it) of `nineteen eighty-four`."""
    first = below_hundred(words, at)
    second = below_hundred(words, first[1]) if first and 10 <= first[0] <= 21 else None
    return (100 * first[0] + second[0], second[1]) if second and second[0] >= 10 else None


def number_words(number: int) -> str:
    """A number below 100,000 in words, which `cardinal` can read."""
    if number >= 1000:
        return number_words(number // 1000) + " thousand" + (f" {number_words(number % 1000)}" if number % 1000 else "")
    if number >= 100:
        return f"{ONES[number // 100]} hundred" + (f" {number_words(number % 100)}" if number % 100 else "")
    if number < 20:
        return ONES[number]
    return TENS[number // 10 - 2] + (f"-{ONES[number % 10]}" if number % 10 else "")


def ordinal_words(number: int) -> str:
    """An ordinal below a hundred in words: `twenty-first`."""
    # num2words produces the same words, takes over twenty times as long, and adds two packages.
    if number < 20:
        return FIRST_ORDINALS[number]
    tens = TENS[number // 10 - 2]
    return f"{tens}-{FIRST_ORDINALS[number % 10]}" if number % 10 else tens[:-1] + "ieth"


def ordinal_digits(number: int) -> str:
    """An ordinal in digits: `21st`."""
    return f"{number}{'th' if 10 < number % 100 < 20 else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"
