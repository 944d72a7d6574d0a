"""Dates as they are written in English: months, dates within a text, and texts that are one date.

`lisax.temporal` defines the meaning of a date for an event, `lisax.adversary.dates` how else it can be written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

MONTHS = tuple("January February March April May June July August September October November December".split())

# 1 to 12, by a month's name and short forms, in lower case.
MONTH_NUMBERS = {
    short: number for number, name in enumerate(map(str.lower, MONTHS), start=1) for short in (name, name[:3])
} | {"sept": 9}

Date = tuple[int, int, int]  # year, month, day; 0 if missing
YEAR = r"(?:1[0-9]|20)[0-9]{2}"  # of our era, from 1000 on: an expression

_MONTH = rf"(?:{'|'.join(sorted(MONTH_NUMBERS, key=len, reverse=True))})\b\.?"
_DAY = r"(?<!\d)\d{1,2}(?:st|nd|rd|th)?"
_YEAR = r"\d{4}(?!\d)"
# `2024-06-30`, `30.6.2024` (never month first), and `30/6/2024` or `6/30/2024`.
_NUMERIC = (
    r"(?<![\d./-])(?:(?P<y1>\d{4})-(?P<m1>\d{1,2})-(?P<d1>\d{1,2})|(?P<d5>\d{1,2})\.(?P<m5>\d{1,2})\.(?P<y5>\d{4})"
    r"|(?P<a6>\d{1,2})/(?P<b6>\d{1,2})/(?P<y6>\d{4}))(?![\d/-]|\.\d)"
)
_DATES = re.compile(
    rf"{_NUMERIC}|(?P<d2>{_DAY})\s(?:of\s)?(?P<m2>{_MONTH}),?\s(?P<y2>{_YEAR})"
    rf"|\b(?P<m3>{_MONTH})\s(?P<d3>{_DAY}),?\s(?P<y3>{_YEAR})"
    rf"|\b(?P<m4>{_MONTH}),?\s(?:of\s)?(?P<y4>{_YEAR})"
)
_WITHOUT_YEAR = re.compile(rf"(?P<d1>{_DAY})\s(?P<m1>{_MONTH})|(?P<m2>{_MONTH})\s(?P<d2>{_DAY})")


def in_words(year: int, month: int, day: int = 0) -> str:
    """`1 May 2023`, which `find_dates` reads; without a day `May 2023`."""
    return f"{day or ''} {MONTHS[month - 1]} {year}".lstrip()


def find_dates(text: str) -> Iterator[tuple[Date, int, int]]:
    """(date, start, end) of every date with at least month and year in a lower-case text, from left to right."""
    for match in _DATES.finditer(text):
        if date := _date_of(match):
            yield date, match.start(), match.end()


def numeric_date(text: str) -> Date | None:
    """The date of a text that is one in numbers; None also if day and month could be swapped (`6/1/2007`)."""
    match = re.fullmatch(_NUMERIC, text)
    return match and _date_of(match)


def _date_of(match: re.Match) -> Date | None:
    found = {name[0]: value for name, value in match.groupdict().items() if value is not None}
    if "a" in found:
        day, month = int(found["a"]), int(found["b"])
        if day <= 12 and month <= 12 and day != month:
            return None
        day, month = max(day, month), min(day, month)
    else:
        month = int(found["m"]) if found["m"].isdigit() else MONTH_NUMBERS[found["m"].rstrip(".")]
        day = int(re.match(r"\d+", found["d"])[0]) if "d" in found else 0
    return (int(found.get("y", 0)), month, day) if 1 <= month <= 12 and day <= 31 else None


def whole_date(text: str) -> tuple[int | None, int, int | None] | None:
    """(year, month, day) of a lower-case text that is a date; year or day may be missing (None)."""
    match = _DATES.fullmatch(text) or _WITHOUT_YEAR.fullmatch(text)
    if match is None or (date := _date_of(match)) is None:
        return None
    year, month, day = date
    return year or None, month, day or None
