"""The periods of the date grammar: days, months, years, decades, centuries, parts of them, and ranges.

Ambiguous numbers (`6/1/2007`) are not dates.
"""

from __future__ import annotations

from collections.abc import Collection

from lisax.temporal import calendar
from lisax.temporal.calendar import Interval, Length, civil, year_interval
from lisax.temporal.expressions import Period, Reading
from lisax.text.dates import MONTH_NUMBERS, numeric_date
from lisax.text.numbers import DECADES, cardinal, is_number, ordinal, spoken_year
from lisax.text.tokens import Token

ERAS = {"bc": -1, "bce": -1, "ad": 1, "ce": 1}
AROUND = {"around", "about", "circa", "c", "ca", "approximately", "roughly"}
ROUGHLY = Length(years=5)  # how far `around 1990` may be off
SEASON = Length(months=3)
PARTS = {
    "early": (0.0, 0.4),
    "beginning": (0.0, 0.4),
    "start": (0.0, 0.4),
    "mid": (0.3, 0.7),
    "middle": (0.3, 0.7),
    "late": (0.6, 1.0),
    "end": (0.6, 1.0),
}
FRACTIONS = {"half": 2, "third": 3, "quarter": 4, "decade": 10}
FEASTS = {
    ("new", "year", "'s", "day"): (1, 1),
    ("valentine", "'s", "day"): (2, 14),
    ("halloween",): (10, 31),
    ("christmas", "eve"): (12, 24),
    ("christmas", "day"): (12, 25),
    ("boxing", "day"): (12, 26),
    ("new", "year", "'s", "eve"): (12, 31),
}
SEASONS = {"spring", "summer", "autumn", "fall", "winter"}
DASHES = {"-", "--", "---", "–", "—", "−", "‐", "‑"}
# After these a bare number is a year.
BEFORE_YEARS = set(
    "in during since from until till before after by to than following of on year born died and through around circa "
    "about c ca within throughout early mid late see".split()
)
POSSESSIVES = {"his", "her", "its", "their"}
ENDINGS = set(
    "death retirement resignation abdication dismissal dissolution closure deposition removal assassination".split()
)
DETERMINERS = {"a", "an", "the", "his", "her", "its", "their", "'s"}
# Before these a number is a count: `in 1500 people`.
COUNTED = set(
    "people inhabitants residents metres meters km kilometres kilometers miles feet pages minutes hours days "
    "weeks months years seats dollars pounds euros men women votes lives deaths copies points goals games "
    "employees workers m ft million percent %".split()
)

Found = tuple[Period, Reading, int]  # with the position after it


class Periods:
    """Methods take a token position, and return the expression there with the position after it, or None."""

    def __init__(self, found: list[Token]):
        self.tokens = found
        self.words = [token.word for token in found]

    def word(self, at: int) -> str:
        return self.words[at] if 0 <= at < len(self.words) else ""

    def period(self, at: int, preposition: bool = True) -> Found | None:
        """Any period of days, possibly approximate, possibly a range."""
        roughly = self.word(at) in AROUND
        at += roughly
        at += roughly and self.word(at) == "."
        if not roughly and (shared := self._of_one_year(at, (*DASHES, "to", "until", "till", "through"))) is not None:
            return shared
        if (found := self.simple(at, preposition or roughly)) is None:
            return None
        period, reading, end = found
        if self.word(end) in DASHES or self.word(end) in ("to", "until", "till", "through"):
            if (last := self._range_end(period, end)) is not None:
                return (about(last[0]), *last[1:]) if roughly else last
        return about(period) if roughly else period, reading, end

    def _range_end(self, begin: Period, dash: int) -> Found | None:
        """The end of a range, `to 1995` or `–95`."""
        if (
            self.word(dash) in DASHES
            and len(short := self.word(dash + 1)) == 2
            and short.isdecimal()
            and begin == _year(civil(begin.outer.first)[0])
        ):
            year = civil(begin.outer.first)[0]
            last = year - year % 100 + int(short)
            if last > year > 999:
                return begin.to(_year(last)), Reading.RANGE, dash + 2
        begins = dash + 1
        if self.word(begins) in POSSESSIVES and self.word(begins + 1) in ENDINGS:  # `until his death in 1713`
            begins += 2 + (self.word(begins + 2) in ("in", "on"))
        if (end := self.simple(begins)) is None or end[0].outer.last < begin.outer.first:
            return None
        return begin.to(end[0]), Reading.RANGE, end[2]

    def _of_one_year(self, at: int, joints: Collection[str]) -> Found | None:
        """`3–5 May 1644`, `3 May to 27 September 1926`, `June to August 1990`: the year is written once."""
        month, day, end = MONTH_NUMBERS.get(self.word(at), 0), None, at
        if month:
            end += 1 + (self.word(at + 1) == ".")
            day = self._day_of_month(end)
            end = day[1] if day else end
        elif (day := self._day_of_month(at)) is not None:
            end = day[1] + (self.word(day[1]) == "of")
            month = MONTH_NUMBERS.get(self.word(end), 0)
            end += bool(month)
        if end == at or self.word(end) not in joints:
            return None
        if (last := self.day(end + 1) if day else self.month(end + 1)) is None:
            return None
        year, last_month, _ = civil(last[0].outer.first)
        month = month or last_month
        first = calendar.day_interval(year, month, day[0]) if day else calendar.month_interval(year, month)
        return Period.exact(first).to(last[0]), Reading.RANGE, last[2]

    def between(self, at: int) -> Found | None:
        if self.word(at) == "between" and (shared := self._of_one_year(at + 1, ("and", "to"))) is not None:
            return shared
        if self.word(at) != "between" or (first := self.simple(at + 1)) is None:
            return None
        if self.word(first[2]) not in ("and", "to") or (last := self.simple(first[2] + 1)) is None:
            return None
        return first[0].to(last[0]), Reading.RANGE, last[2]

    def simple(self, at: int, preposition: bool = True) -> Found | None:
        """One day, month, year, decade or century, or a part of one."""
        skipped = at
        while skipped < at + 3 and self.word(skipped) in ("the", "years", "period"):  # at most `the years the`
            skipped += 1
        for begin in dict.fromkeys((at, skipped)):
            for rule in (self.part, self.day, self.month, self.century, self.decade):
                if (found := rule(begin)) is not None:
                    return found
        return self.year(at, preposition)

    def part(self, at: int) -> Found | None:
        """`early 1990s`, `the end of June 2001`, `first half of the 20th century`, `summer of 1990`."""
        name, number, end = self.word(at), ordinal(self.words, at), at + 1
        if name == "last":
            number = (-1, at + 1)
        if name in PARTS or name in SEASONS:
            end += self.word(end) == "of"
        elif number is not None and self.word(number[1]) in FRACTIONS and self.word(number[1] + 1) == "of":
            end = number[1] + 2
        else:
            return None
        end += self.word(end) == "the"
        if (whole := self.month(end) or self.century(end) or self.decade(end) or self.year(end, True)) is None:
            return None
        period, reading, after = whole
        if name in SEASONS:
            outer = period.outer  # a winter belongs to two years
            if name == "winter":
                outer = outer.shifted(-SEASON).hull(outer.shifted(SEASON))
            return Period(None, outer), Reading.PART, after
        if name in PARTS:
            return Period(period.core and _part(period.core, *PARTS[name]), period.outer), Reading.PART, after
        count = FRACTIONS[self.word(number[1])]
        index = count if number[0] == -1 else number[0]
        if not 1 <= index <= count:
            return None
        if reading is Reading.CENTURY and period.outer.first > 0:
            if count == 10:
                return *_decade_of(period, index), after
            return _century_part(period, index - 1, count), Reading.PART, after
        if count == 10 and reading is not Reading.CENTURY:
            return None
        core = period.core and _part(period.core, (index - 1) / count, index / count)
        return Period(core, core or period.outer), Reading.PART, after

    def day(self, at: int) -> Found | None:
        """`June 1, 2007`, `1st of June 2007`, `2007-06-01`."""
        if numeric := numeric_date(self.word(at)):
            return Period.exact(calendar.day_interval(*numeric)), Reading.DAY, at + 1
        if (feast := self._feast(at) or self._end_day(at)) is not None:
            return feast
        if month := MONTH_NUMBERS.get(self.word(at)):
            end = at + 1 + (self.word(at + 1) == ".")
            end += self.word(end) == "the"
            day = self._day_of_month(end)
        else:
            day = self._day_of_month(at)
            end = at if day is None else day[1]
            end += self.word(end) == "of"
            month = MONTH_NUMBERS.get(self.word(end), 0)
            end += 1 + (self.word(end + 1) == ".")
        if day is None or not month:
            return None
        end = max(day[1], end)
        end += self.word(end) in (",", "of", "in")
        if (year := self._year_number(end)) is None:
            return None
        return Period.exact(calendar.day_interval(year[0], month, day[0])), Reading.DAY, year[1]

    def _feast(self, at: int) -> Found | None:
        """`Christmas Day 1890`, `New Year's Eve, 1999`."""
        for words, (month, day) in FEASTS.items():
            end = at + len(words)
            if tuple(self.words[at:end]) == words:
                end += self.word(end) in (",", "of", "in")
                if (year := self._year_number(end)) is not None:
                    return Period.exact(calendar.day_interval(year[0], month, day)), Reading.DAY, year[1]
        return None

    def _end_day(self, at: int) -> Found | None:
        """`the last day of 1850`, `the first day of June 1990`."""
        if self.word(at) not in ("first", "last") or self.words[at + 1 : at + 3] != ["day", "of"]:
            return None
        if (whole := self.month(at + 3) or self.year(at + 3, True)) is None:
            return None
        day = whole[0].outer.first if self.word(at) == "first" else whole[0].outer.last
        return Period.exact(Interval(day, day)), Reading.DAY, whole[2]

    def _day_of_month(self, at: int) -> tuple[int, int] | None:
        found = ordinal(self.words, at) or ((int(self.words[at]), at + 1) if is_number(self.word(at)) else None)
        return found if found and 1 <= found[0] <= 31 else None

    def month(self, at: int) -> Found | None:
        """`June 2007`, `June of 2007`."""
        if not (month := MONTH_NUMBERS.get(self.word(at))):
            return None
        end = at + 1 + (self.word(at + 1) == ".")
        end += self.word(end) in (",", "of", "in")
        if (year := self._year_number(end)) is None:
            return None
        return Period.exact(calendar.month_interval(year[0], month)), Reading.MONTH, year[1]

    def century(self, at: int) -> Found | None:
        """`19th century`, `fifth century BC`, `third millennium`; `1700s` counts as both century and decade."""
        number = ordinal(self.words, at)
        if number is not None and self.word(number[1]) in ("century", "millennium"):
            end, years = number[1] + 1, 100 if self.word(number[1]) == "century" else 1000
            sign, end = self._era(end)
            if number[0] < 1 or (sign or 1) * number[0] * years > 3000:
                return None
            return _century(number[0], sign or 1, years), Reading.CENTURY, end
        name = self.word(at).replace("'", "")
        if len(name) == 5 and name.endswith("00s") and name[:4].isdecimal() and 1000 <= int(name[:4]) < 2000:
            first = int(name[:4])
            return Period(year_interval(first, first + 9), year_interval(first, first + 99)), Reading.CENTURY, at + 1
        return None

    def decade(self, at: int) -> Found | None:
        """`1990s`, `'90s`, `eighties`, `eighties of the nineteenth century`, `nineteen-nineties`."""
        name = self.word(at).replace("'", "")
        if name.endswith("0s") and is_number(name[:-1]):
            first = int(name[:-1])
            if (era := ERAS.get(self.word(at + 1))) is not None:
                return self._decade_of_era(first, era, at + 2)
            if len(name) == 3:
                first += 1900
            return (_decade(first), Reading.DECADE, at + 1) if 1000 <= first < 2200 else None
        if name in DECADES:
            end = at + 1
            century = 20
            if self.word(end) == "of":
                if (found := self.century(end + 1 + (self.word(end + 1) == "the"))) and found[0].outer.first > 0:
                    century, end = civil(found[0].outer.last)[0] // 100, found[2]
            return _decade(100 * (century - 1) + DECADES[name]), Reading.DECADE, end
        hundreds = cardinal(self.words, at)
        if hundreds and 10 <= hundreds[0] <= 20 and self.word(hundreds[1]) in DECADES and not self.word(at).isdecimal():
            return _decade(100 * hundreds[0] + DECADES[self.word(hundreds[1])]), Reading.DECADE, hundreds[1] + 1
        return None

    def _decade_of_era(self, first: int, era: int, end: int) -> Found | None:
        """`the 60s BC`; `the 200s BC` may be a century."""
        if first < 10:
            return None
        decade, century = (year_interval(*sorted((era * first, era * (first + more)))) for more in (9, 99))
        return Period(decade, decade if first % 100 else century), Reading.DECADE, end

    def year(self, at: int, preposition: bool) -> Found | None:
        """`2005`, `44 BC`, `AD 476`, `the year 476`, `nineteen eighty-four`; `a 2005 film` without a preposition."""
        begin = at + (self.word(at) == "the" and self.word(at + 1) == "year")
        named = self.word(begin) == "year"
        begin += named
        if (found := self._year_number(begin)) is None:
            return None
        year, end = found
        dated = self.word(begin) in ERAS or self.word(end - 1) in ERAS
        if not dated and not named:
            if not 1000 <= year < 2200 or self.word(end) in COUNTED:
                return None
            if not preposition and not self._stands_as_year(begin, end):
                return None
        return _year(year), Reading.YEAR, end

    def _stands_as_year(self, at: int, end: int) -> bool:
        """Whether a number without a preposition is a year: `(1990)`, `a 1990 film`, `born 1990`, `1990–95`."""
        before, after = self.word(at - 1), self.word(end)
        if not self.word(at).isdecimal():
            return False
        if before in BEFORE_YEARS or self.word(at - 2) + before == "c.":
            return True
        if before == ":":
            return after in (",", "and", "&")
        if before in DETERMINERS:
            return after[:1].isalpha() and not self.tokens[end].word.isdecimal()
        if before == "(":
            return after in (")", ",", ";") or after in DASHES
        ends_range = after in DASHES and self.word(end + 1).isdecimal() and len(self.word(end + 1)) in (2, 4)
        return ends_range or (before == "," and at >= 2 and after in (",", ")"))

    def _year_number(self, at: int) -> tuple[int, int] | None:
        """(year, position after it) of a number that may be a year."""
        era = ERAS.get(self.word(at), 0) if self.word(at) in ("ad", "ce") else 0
        begin = at + bool(era)
        if self.word(begin).isdecimal() and len(self.word(begin)) <= 4:
            year, end = int(self.word(begin)), begin + 1
        elif (spoken := spoken_year(self.words, begin)) is not None:
            year, end = spoken
        else:
            return None
        sign, end = self._era(end)
        if year == 0 or (not era and not sign and year < 100 and at == begin and len(self.word(begin)) < 3):
            return None
        return year * (sign or 1), end

    def _era(self, at: int) -> tuple[int, int]:
        return (ERAS[self.word(at)], at + 1) if self.word(at) in ERAS else (0, at)


def about(period: Period) -> Period:
    """The period, widened by the possible error of `around`."""
    return Period(period.core, period.outer.shifted(-ROUGHLY).hull(period.outer.shifted(ROUGHLY)))


def _year(year: int) -> Period:
    return Period.exact(year_interval(year))


def _decade(first: int) -> Period:
    return Period.exact(year_interval(first, first + 9))


def _century(number: int, sign: int, years: int = 100) -> Period:
    """The century counted from 1901 or from 1900: only the years in both readings are surely in the 20th century."""
    first, last = years * (number - 1) + 1, years * number
    if sign < 0:
        return Period.exact(year_interval(-last, -first))
    return Period(year_interval(first, last - 1), year_interval(max(first - 1, 1), last))


def _part(interval: Interval, begin: float, end: float) -> Interval:
    """The days between two fractions of an interval: whole years of a decade or a century, and whole months of a year
    if its fractions are."""
    (first, *opening), (last, *closing) = civil(interval.first), civil(interval.last)
    years = last - first + 1
    if opening == [1, 1] and closing == [12, 31] and years >= 9 and first * last > 0:
        return year_interval(first + round(years * begin), first + round(years * end) - 1)
    before, months = 12 * begin, 12 * end
    if opening == [1, 1] and closing == [12, 31] and first == last and before.is_integer() and months.is_integer():
        return calendar.month_interval(first, int(before) + 1).hull(calendar.month_interval(first, int(months)))
    return interval.part(begin, end)


def _decade_of(century: Period, index: int) -> tuple[Period, Reading]:
    first = civil(century.core.first)[0] + 10 * (index - 1)
    return Period(year_interval(first, first + 8), year_interval(max(first - 1, 1), first + 9)), Reading.DECADE


def _century_part(century: Period, index: int, count: int) -> Period:
    start, years = civil(century.core.first)[0], civil(century.outer.last)[0]
    size = years - start + 1
    first, last = start + round(index * size / count), start + round((index + 1) * size / count) - 1
    return Period(year_interval(first, last - 1), year_interval(max(first - 1, 1), last))
