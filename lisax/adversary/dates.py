"""Surface forms of dates: found in claims and sentences, and paraphrased into words of equal, wider or other meaning.

For building claims; `lisax.temporal` reads the dates of any claim for a verdict. A year BC is negative, and there is no
year 0: no form crosses the eras.
"""

from __future__ import annotations

import dataclasses
import datetime
import random
import re

from lisax.text.dates import MONTHS
from lisax.text.numbers import TENS_OF, ordinal_digits, ordinal_words

# Later years would be in a future without any evidence.
LAST_YEAR = 2030
_MONTH = "|".join(MONTHS)
_YEAR = r"(?P<year>1\d{3}|20\d\d|\d{1,4} (?=BC))(?!s\b|'s|[–/-]\d|,\d)(?P<bc> ?BCE?\b)?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"


def _pattern(text: str) -> re.Pattern:
    return re.compile(text.replace("MONTH", f"(?P<month>{_MONTH})").replace("DAY", _DAY).replace("YEAR", _YEAR))


# The most exact ones first.
_FORMS = tuple(
    map(
        _pattern,
        (r"\bMONTH DAY ?,? YEAR", r"\bDAY(?: of)? MONTH ?,? YEAR", r"\bMONTH(?: of|,)? YEAR", r"(?<![\w,.–-])YEAR"),
    )
)
_ORDINALS = [ordinal_words(number) for number in range(1, 22)]
# Looser dates on pages: a year in a range (`1984–89`), a decade, a century.
_LOOSE = re.compile(r"(?<![\d,.])(?P<year>1\d{3}|20\d\d)(?:(?P<decade>'?s)|[–/-](?P<to>\d\d)(?!\d))?(?!\d)")
_CENTURY = re.compile(rf"\b(?:(\d\d?)(?:st|nd|rd|th)|({'|'.join(_ORDINALS)}))[ -]century\b(?! BC)", re.IGNORECASE)
_DECADES = {number: word[:-1] + "ies" for word, number in TENS_OF.items()}


Span = tuple[tuple[int, int, int], tuple[int, int, int]]  # a first and a last day


@dataclasses.dataclass(frozen=True, slots=True)
class Date:
    """A year (negative: BC), or a month or day. `earliest` and `latest` bound it."""

    year: int
    month: int | None = None
    day: int | None = None

    @property
    def earliest(self) -> tuple[int, int, int]:
        return self.year, self.month or 1, self.day or 1

    @property
    def latest(self) -> tuple[int, int, int]:
        return self.year, self.month or 12, self.day or 31

    def before(self, other: Date) -> bool:
        """Whether all of this date is before `other`."""
        return self.latest < other.earliest

    def within(self, other: Date) -> bool:
        return other.earliest <= self.earliest and self.latest <= other.latest

    def text(self) -> str:
        year = f"{-self.year} BC" if self.year < 0 else str(self.year)
        if self.month is None:
            return year
        return f"{MONTHS[self.month - 1]} {year if self.day is None else f'{self.day}, {year}'}"

    def shifted(self, by: int) -> Date | None:
        """The date `by` days, months or years later, in the unit of its own precision; None beyond the
        supported years."""
        if self.day is not None:
            try:
                moved = datetime.date(self.year, self.month, self.day) + datetime.timedelta(by)
            except (ValueError, OverflowError):
                return None
            date = Date(moved.year, moved.month, moved.day)
        elif self.month is not None:
            months = self.year * 12 + self.month - 1 + by
            date = Date(months // 12, months % 12 + 1)
        else:
            date = Date(self.year + by)
        return date if (date.year < 0) == (self.year < 0) and date.year and date.year <= LAST_YEAR else None

    @property
    def unit(self) -> str:
        return "day" if self.day is not None else "month" if self.month is not None else "year"

    def coarser(self) -> list[Date]:
        """The date itself and the month and year that contain it. There is no arithmetic of days and months BC here."""
        every = [self]
        if self.day is not None:
            every.append(Date(self.year, self.month))
        if self.month is not None:
            every.append(Date(self.year))
        return [date for date in every if self.year > 0 or date.month is None]


@dataclasses.dataclass(frozen=True, slots=True)
class FoundDate:
    """`text[start:end]` is `date`."""

    start: int
    end: int
    date: Date


def find(text: str) -> list[FoundDate]:
    """All dates with a year, from left to right, with the precision in which they are written."""
    taken, found = [False] * len(text), []
    for form in _FORMS:
        for match in form.finditer(text):
            if any(taken[match.start() : match.end()]):
                continue
            parts = match.groupdict()
            year = int(parts["year"])
            month = MONTHS.index(parts["month"]) + 1 if parts.get("month") else None
            date = Date(-year if parts["bc"] else year, month, int(parts["day"]) if parts.get("day") else None)
            if date.year and _is_real(date):
                taken[match.start() : match.end()] = [True] * (match.end() - match.start())
                found.append(FoundDate(match.start(), match.end(), date))
    return sorted(found, key=lambda one: one.start)


def _is_real(date: Date) -> bool:
    if date.day is None:
        return True
    try:
        datetime.date(abs(date.year), date.month, date.day)
    except ValueError:
        return False
    return True


def told(text: str) -> list[Span]:
    """The spans of all dates, including years within ranges, decades and centuries, each as short as it may be
    meant."""
    spans = [(found.date.earliest, found.date.latest) for found in find(text)]
    for match in _LOOSE.finditer(text):
        year = int(match["year"])
        spans.append(_years(year, year + 9 if match["decade"] else year))
        if match["to"]:
            end = year // 100 * 100 + int(match["to"])
            spans.append(_years(end, end))
    for number, word in _CENTURY.findall(text):
        first = 100 * (int(number) - 1 if number else _ORDINALS.index(word.casefold()))
        spans.append(_years(first + 1, first + 99))
    return spans


def _years(first: int, last: int) -> Span:
    return (first, 1, 1), (last, 12, 31)


# --- Variants -------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, slots=True)
class DateVariant:
    """A phrase to replace "in DATE". `holds`: whether it is true of the date; `meaning`: its plain meaning; `span`: the
    days it allows."""

    name: str
    text: str
    holds: bool
    meaning: str
    span: Span

    @property
    def wide(self) -> bool:
        """Whether it is an open bound or a century, which much else may decide, including dates outside it."""
        return self.name in ("before", "after") or _is_century(self.text)

    def takes_in(self, span: Span) -> bool:
        return self.span[0] <= span[0] and span[1] <= self.span[1]


# The seven forms of the paper's generator, all of which occur in its file.
VARIANTS = ("years_before", "years_after", "before", "after", "between", "decade", "verbalised")


def variant(name: str, date: Date, holds: bool, rng: random.Random, reach: int = 10) -> DateVariant | None:
    """A phrase of one of `VARIANTS` that is true of `date`, or is not; None if that form cannot express it.

    `reach`: the greatest distance of the bounds in years, months or days.
    """
    if name in ("decade", "verbalised"):
        return _decade(name, Date(date.year), holds, rng)
    date = rng.choice(date.coarser())
    if name in ("years_before", "years_after"):
        return _arithmetic(name, date, holds, rng, reach)
    away = rng.randint(1, reach)
    if name == "between":
        if holds:
            first, last = date.shifted(-away), date.shifted(rng.randint(1, reach))
        elif rng.random() < 0.5:
            first, last = date.shifted(away), date.shifted(away + rng.randint(2, reach + 1))
        else:
            first, last = date.shifted(-away - rng.randint(2, reach + 1)), date.shifted(-away)
        if first is None or last is None:
            return None
        phrase = f"between {first.text()} and {last.text()}"
        meaning = f"{date.text()} {'lies' if holds else 'does not lie'} {phrase}"
        return DateVariant(name, phrase, holds, meaning, (first.earliest, last.latest))
    bound = date.shifted(away if (name == "before") == holds else -away)
    if bound is None:
        return None
    span = ((-9999, 1, 1), bound.earliest) if name == "before" else (bound.latest, (9999, 12, 31))
    phrase = f"{name} {bound.text()}"
    return DateVariant(name, phrase, holds, f"{date.text()} is {'' if holds else 'not '}{phrase}", span)


def _arithmetic(name: str, date: Date, holds: bool, rng: random.Random, reach: int) -> DateVariant | None:
    count = rng.randint(2, max(2, min(reach, 9)))
    sign = -1 if name == "years_before" else 1
    named = date if holds else date.shifted(rng.choice((-1, 1)) * rng.randint(2, reach + 2))
    anchor = named and named.shifted(-sign * count)
    if anchor is None:
        return None
    phrase = f"{count} {date.unit}s {'before' if sign < 0 else 'after'} {anchor.text()}"
    meaning = f"{phrase} is {named.text()}, " + ("the date itself" if holds else f"not {date.text()}")
    return DateVariant(name, phrase, holds, meaning, (named.earliest, named.latest))


def _decade(name: str, date: Date, holds: bool, rng: random.Random) -> DateVariant | None:
    year = date.year
    if not holds:
        moved = date.shifted(10 * rng.choice((-4, -3, -2, 2, 3, 4)))
        # `The 1900s` may be a century, so it is not surely false of another year of that century.
        if moved is None or (abs(moved.year) % 100 < 10 and abs(moved.year) // 100 == abs(year) // 100):
            return None
        year = moved.year
    phrases = _verbalised(year, date.year) if name == "verbalised" else _digits(year)
    if not phrases:
        return None
    phrase = rng.choice(phrases)
    return DateVariant(name, phrase, holds, f"{date.text()} is {'' if holds else 'not '}{phrase}", _span(phrase, year))


def _is_century(phrase: str) -> bool:
    return "century" in phrase and " of the " not in phrase


def _span(phrase: str, year: int) -> Span:
    """All years that any reader may include in the decade or century of `year` (`_verbalised`)."""
    count = abs(year)
    if _is_century(phrase) or "00s" in phrase:
        first = (count - (year < 0)) // 100 * 100
        last = first + 100
    else:
        first = count // 10 * 10
        last = first + 9 + (" decade of " in phrase)
    return _years(first, last) if year > 0 else _years(-last, -first)


def _digits(year: int) -> list[str]:
    if year < 0:
        return [f"in the {-year // 10 * 10}s BC"] if year <= -10 else []
    return [f"{word} the {year // 10 * 10}s" for word in ("in", "during")]


def _verbalised(year: int, asked: int) -> list[str]:
    """Decades and centuries in words. The 1990s and `the tenth decade of the twentieth century` differ by a year at
    either end: if one of the two years ends in 0, only forms on which all readers agree are used."""
    if year < 0:
        century = (-year - 1) // 100
        known = century < len(_ORDINALS) and (year == asked or century != (-asked - 1) // 100)
        return [f"in the {_ORDINALS[century]} century BC"] if known else []
    century = year // 100
    round_year = not year % 10 or not asked % 10
    phrases = []
    if century < len(_ORDINALS):
        names = (_ORDINALS[century], ordinal_digits(century + 1))
        if (decade := _DECADES.get(year % 100 // 10 * 10)) is not None:
            phrases.append(f"in the {decade} of the {names[0]} century")
        if not round_year:
            phrases += [f"in the {_ORDINALS[year % 100 // 10]} decade of the {name} century" for name in names]
        if (year == asked or century != asked // 100) and year % 100 and asked % 100:
            phrases += [f"in the {name} century" for name in names]
    return phrases or [f"in the decade from {year // 10 * 10} to {year // 10 * 10 + 9}"]
