"""Days, intervals of days, and lengths of time: the normal form of every date.

Days are numbered in the proleptic Gregorian calendar; 1 January of year 1 is day 1. Years are written as historians do:
44 BC is -44, and there is no year 0.
"""

from __future__ import annotations

import dataclasses
import datetime
from calendar import monthrange

from lisax.errors import LisaxError
from lisax.text.dates import MONTHS

DAYS_OF_400_YEARS = 146_097  # after which the calendar repeats itself
EARLIEST, LATEST = -(10**7), 10**7  # open ends, some 27,000 years away


@dataclasses.dataclass(frozen=True, slots=True)
class Length:
    """A length of time in calendar units; `days` includes weeks."""

    years: int = 0
    months: int = 0
    days: int = 0

    def __neg__(self) -> Length:
        return Length(-self.years, -self.months, -self.days)

    def __str__(self) -> str:
        parts = ((self.years, "year"), (self.months, "month"), (self.days, "day"))
        return " ".join(f"{count} {unit}{'' if count == 1 else 's'}" for count, unit in parts if count) or "0 days"


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class Interval:
    """Days `first` to `last`, both included; open ends are `EARLIEST` and `LATEST`."""

    first: int
    last: int

    def __post_init__(self):
        if self.first > self.last:
            raise LisaxError(f"an interval ends on day {self.last}, before its first day {self.first}")

    def contains(self, other: Interval) -> bool:
        return self.first <= other.first and other.last <= self.last

    def meets(self, other: Interval) -> bool:
        """Whether the two intervals share a day."""
        return self.first <= other.last and other.first <= self.last

    def intersection(self, other: Interval) -> Interval | None:
        first, last = max(self.first, other.first), min(self.last, other.last)
        return Interval(first, last) if first <= last else None

    def hull(self, other: Interval) -> Interval:
        return Interval(min(self.first, other.first), max(self.last, other.last))

    def shifted(self, length: Length) -> Interval:
        """The interval moved by calendar units: a year remains a year, a month a month, a day a day."""
        first = _moved(self.first, length)
        if self.first == self.last:
            return Interval(first, first)
        return Interval(first, _moved(self.last + 1, length) - 1)

    def part(self, begin: float, end: float) -> Interval:
        """The days between two fractions of the interval."""
        days = self.last - self.first + 1
        first = self.first + round(days * begin)
        return Interval(first, max(first, self.first + round(days * end) - 1))

    def iso(self) -> list[str | None]:
        """Both ends as `2008-06-01`, or `-0044-03-15` for 15 March 44 BC; None for an open end."""
        dates = ((day, *civil(day)) for day in (self.first, self.last))
        return [
            None if number in (EARLIEST, LATEST) else f"{'-' if year < 0 else ''}{abs(year):04}-{month:02}-{day:02}"
            for number, year, month, day in dates
        ]

    def __str__(self) -> str:
        """The readable form, which `grammar.parse` can read: `2001`, `June 2001`, `1 June 2001`, `44 BC`."""
        if self.last == LATEST:
            return "any time" if self.first == EARLIEST else f"{_day(self.first)} or later"
        if self.first == EARLIEST:
            return f"{_day(self.last)} or earlier"
        first, last = civil(self.first), civil(self.last)
        if first == last:
            return _day(self.first)
        if first[1:] == (1, 1) and last[1:] == (12, 31):
            return _year(first[0]) if first[0] == last[0] else f"from {_year(first[0])} to {_year(last[0])}"
        if first[:2] == last[:2] and first[2] == 1 and last[2] == days_of_month(*last[:2]):
            return f"{MONTHS[first[1] - 1]} {_year(first[0])}"
        return f"from {_day(self.first)} to {_day(self.last)}"


def _astronomical(year: int) -> int:
    if year == 0:
        raise LisaxError("there is no year 0: 1 BC (-1) is followed by AD 1")
    return year if year > 0 else year + 1


def _historical(astronomical: int) -> int:
    return astronomical if astronomical > 0 else astronomical - 1


def _within(year: int) -> tuple[int, int]:
    """(periods of 400 years since year 1, the year 1 to 400 within them)."""
    periods, year = divmod(_astronomical(year) - 1, 400)
    return periods, year + 1


def days_of_month(year: int, month: int) -> int:
    return monthrange(_within(year)[1], month)[1]


def day_number(year: int, month: int = 1, day: int = 1) -> int:
    """The number of a day. Raises `LisaxError` if the calendar has no such day."""
    periods, within = _within(year)
    try:
        return periods * DAYS_OF_400_YEARS + datetime.date(within, month, day).toordinal()
    except ValueError:
        raise LisaxError(f"the calendar has no day {day} of month {month} in the year {year}") from None


def civil(number: int) -> tuple[int, int, int]:
    """(year, month, day) of a day's number."""
    periods, day = divmod(number - 1, DAYS_OF_400_YEARS)
    date = datetime.date.fromordinal(day + 1)
    return _historical(400 * periods + date.year), date.month, date.day


def year_interval(first: int, last: int | None = None) -> Interval:
    """All days of a year, or of the years `first` to `last`."""
    return Interval(day_number(first), day_number(first if last is None else last, 12, 31))


def month_interval(year: int, month: int) -> Interval:
    return Interval(day_number(year, month), day_number(year, month, days_of_month(year, month)))


def day_interval(year: int, month: int, day: int) -> Interval:
    number = day_number(year, month, day)
    return Interval(number, number)


def _moved(number: int, length: Length) -> int:
    """A day moved by years and months (clipped to the month's last day), then by days; open ends stay."""
    if number <= EARLIEST or number >= LATEST:
        return number
    year, month, day = civil(number)
    months = 12 * (_astronomical(year) + length.years) + month - 1 + length.months
    year, month = _historical(months // 12), months % 12 + 1
    return day_number(year, month, min(day, days_of_month(year, month))) + length.days


def _year(year: int) -> str:
    if year < 0:
        return f"{-year} BC"
    return f"{year}" if 1000 <= year < 2200 else f"AD {year}"


def _day(number: int) -> str:
    year, month, day = civil(number)
    return f"{day} {MONTHS[month - 1]} {_year(year)}"
