"""The grammar of date expressions: `parse(text)` gives them with what they mean.

Absolute dates, ranges, decades and centuries, parts of them, dates relative to another, durations and ages. What
cannot be placed without knowing today (`last year`) is no date. Numeric dates are read by dateutil, and those that
it reads in two ways (`6/1/2007`) are none.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator

from dateutil import parser as dateutil_parser

from lisax.records import LisaxError
from lisax.temporal import calendar
from lisax.temporal.calendar import Interval, Length
from lisax.temporal.expressions import Age, Dates, Duration, Expression, Offset, Period, Reading, Relation
from lisax.temporal.numbers import DECADES, cardinal, ordinal, spoken_year
from lisax.temporal.tokens import Token, tokens

MONTH_NUMBERS = {name.lower(): number for number, names in enumerate(dateutil_parser.parserinfo.MONTHS, start=1)
                 for name in names}
ERAS = {"bc": -1, "bce": -1, "ad": 1, "ce": 1}
RELATIONS = {("in",): Relation.IN, ("on",): Relation.IN, ("during",): Relation.IN, ("within",): Relation.IN,
             ("throughout",): Relation.IN, ("as", "of"): Relation.IN, ("before",): Relation.BEFORE,
             ("prior", "to"): Relation.BEFORE, ("earlier", "than"): Relation.BEFORE, ("older", "than"): Relation.BEFORE,
             ("after",): Relation.AFTER, ("following",): Relation.AFTER, ("later", "than"): Relation.AFTER,
             ("younger", "than"): Relation.AFTER, ("since",): Relation.SINCE, ("from",): Relation.SINCE,
             ("until",): Relation.UNTIL, ("till",): Relation.UNTIL, ("by",): Relation.UNTIL}
NOT = {Relation.BEFORE: Relation.SINCE, Relation.AFTER: Relation.UNTIL}  # `no later than` counts the period too
AROUND = {"around", "about", "circa", "c", "ca", "approximately", "roughly"}
ROUGHLY = Length(years=5)  # how far `around 1990` may be off
UNITS = {"day": Length(days=1), "week": Length(days=7), "fortnight": Length(days=14), "month": Length(months=1),
         "year": Length(years=1), "decade": Length(years=10), "century": Length(years=100),
         "millennium": Length(years=1000)}
PLURALS = {"centuries": "century", "millennia": "millennium", "millenniums": "millennium"}
HALVES = {"year": Length(months=6), "decade": Length(years=5), "century": Length(years=50)}
PARTS = {"early": (0.0, 0.4), "beginning": (0.0, 0.4), "start": (0.0, 0.4), "mid": (0.3, 0.7), "middle": (0.3, 0.7),
         "late": (0.6, 1.0), "end": (0.6, 1.0)}
FRACTIONS = {"half": 2, "third": 3, "quarter": 4, "decade": 10}
SEASONS = {"spring", "summer", "autumn", "fall", "winter"}
DASHES = {"-", "--", "---", "–", "—", "−", "‐", "‑"}
# A bare number is a year after these.
BEFORE_YEARS = {"in", "during", "since", "from", "until", "till", "before", "after", "by", "to", "than", "following",
                "of", "on", "year", "born", "died", "and", "through", "around", "circa", "about", "c", "ca",
                "within", "throughout", "early", "mid", "late", "see"}
DETERMINERS = {"a", "an", "the", "his", "her", "its", "their", "'s"}
# After these numbers count things: `in 1500 people`.
COUNTED = set("people inhabitants residents metres meters km kilometres kilometers miles feet pages minutes hours days "
              "weeks months years seats dollars pounds euros men women votes lives deaths copies points goals games "
              "employees workers m ft million percent %".split())
MORE, LESS = {("more", "than"), ("over",), ("at", "least")}, {("less", "than"), ("fewer", "than"), ("under",), ("within",),
                                                           ("at", "most"), ("up", "to")}
ADVERBS = {"just", "only", "exactly", "some", "nearly", "almost", "about", "around", "approximately"}

Found = tuple[Period, Reading, int]  # and the position after it


@functools.lru_cache(maxsize=1 << 16)
def parse(text: str) -> tuple[Expression, ...]:
    """The date expressions of a text in order, none inside another."""
    return tuple(_Grammar(tokens(text)).expressions())


class _Grammar:
    """Methods take the position of a token and give what begins there and the position after it, or None."""

    def __init__(self, found: list[Token]):
        self.tokens = found
        self.words = [token.word for token in found]

    def expressions(self) -> Iterator[Expression]:
        at = 0
        while at < len(self.words):
            for rule in (self.offset, self.age, self.related, self.bare, self.duration):
                if (found := _valid(rule, at)) is not None:
                    expression, at = found
                    yield expression
                    break
            else:
                at += 1

    def word(self, at: int) -> str:
        return self.words[at] if 0 <= at < len(self.words) else ""

    def any_of(self, options, at: int):
        """The longest of the word tuples that stands at `at`."""
        return max((option for option in options if tuple(self.words[at:at + len(option)]) == option), key=len, default=None)

    def made(self, kind: type, at: int, end: int, *values) -> tuple[Expression, int]:
        return kind(self.tokens[at].start, self.tokens[end - 1].end, *values), end

    # --- Whole expressions ------------------------------------------------------------------

    def related(self, at: int) -> tuple[Expression, int] | None:
        """A preposition and a period: `before 2008`, `between 1990 and 1995`, `no later than June 2001`."""
        if (spread := self.between(at)) is not None:
            period, reading, end = spread
            return self.made(Dates, at, end, Relation.IN, period, reading)
        begin, negated = at, self.word(at) in ("no", "not")
        begin += negated
        if (option := self.any_of(RELATIONS, begin)) is None:
            return None
        relation, at_period = RELATIONS[option], begin + len(option)
        if negated and relation not in NOT:
            return None
        relation = NOT[relation] if negated else relation
        if (found := self.period(at_period)) is None:
            return None
        period, reading, end = found
        if option == ("from",) and reading is Reading.RANGE:
            relation = Relation.IN
        elif option == ("from",) and self.word(end) in ("onwards", "onward", "on"):
            end += 1
        elif option == ("from",):
            relation = Relation.IN  # `dates from 1510`, `a book from 1990`: no end is said
        return self.made(Dates, at, end, relation, period, reading)

    def bare(self, at: int) -> tuple[Expression, int] | None:
        """A period without a preposition; a year alone only where it can be nothing else."""
        if (found := self.period(at, preposition=False)) is None:
            return None
        period, reading, end = found
        return self.made(Dates, at, end, Relation.IN, period, reading)

    def offset(self, at: int) -> tuple[Expression, int] | None:
        """`4 years before 2005`, `more than a decade after 1990`; before what is no date, an `Offset`."""
        within = self.words[at:at + 2] in (["in", "the"], ["during", "the"])  # `in the 4 years before 2005`
        begin = at + 2 * within
        begin += self.word(begin) in ADVERBS
        more, less = self.any_of(MORE, begin), self.any_of(LESS, begin)
        begin += len(more or less or ())
        if (found := self.length(begin)) is None:
            return None
        length, end = found
        option = self.any_of(((*name,) for name, relation in RELATIONS.items()
                              if relation in (Relation.BEFORE, Relation.AFTER) and name[0] not in ("older", "younger")), end)
        if option is None:
            if less and self.word(begin - 1) == "within" and self.word(end) == "of" and (anchor := self.period(end + 1)):
                period, _, end = anchor
                return self.made(Dates, at, end, Relation.IN, period.shifted(-length).to(period.shifted(length)), Reading.OFFSET)
            return None
        length = -length if RELATIONS[option] is Relation.BEFORE else length
        end += len(option)
        if (anchor := self.period(end)) is None:
            return self.made(Offset, at, end, length)
        period, _, end = anchor
        moved, past = period.shifted(length), RELATIONS[option] is Relation.AFTER
        if less or within:
            between = period.to(moved) if past else moved.to(period)
            return self.made(Dates, at, end, Relation.IN, between, Reading.OFFSET)
        relation = Relation.IN
        if more:
            relation = Relation.AFTER if past else Relation.BEFORE
            if self.word(begin - 1) == "least":
                relation = Relation.SINCE if past else Relation.UNTIL
        return self.made(Dates, at, end, relation, moved, Reading.OFFSET)

    def age(self, at: int) -> tuple[Expression, int] | None:
        option = self.any_of((("at", "the", "age", "of"), ("at", "age"), ("aged",), ("at", "the", "ripe", "age", "of")), at)
        if option is None or (found := cardinal(self.words, at + len(option))) is None or found[0] > 150:
            return None
        return self.made(Age, at, found[1], found[0])

    def duration(self, at: int) -> tuple[Expression, int] | None:
        if self.word(at) in ("a", "an", "one") or (found := self.length(at)) is None:
            return None
        return self.made(Duration, at, found[1], found[0])

    # --- Periods ----------------------------------------------------------------------------

    def period(self, at: int, preposition: bool = True) -> Found | None:
        """Anything with days, possibly roughly, possibly a range."""
        roughly = self.word(at) in AROUND
        at += roughly
        at += roughly and self.word(at) == "."
        if (found := self.simple(at, preposition or roughly)) is None:
            return None
        period, reading, end = found
        if self.word(end) in DASHES or self.word(end) in ("to", "until", "till", "through"):
            if (last := self._range_end(period, end)) is not None:
                return last
        if roughly:
            wider = period.outer.shifted(-ROUGHLY).hull(period.outer.shifted(ROUGHLY))
            return Period(period.core, wider), reading, end
        return period, reading, end

    def _range_end(self, begin: Period, dash: int) -> Found | None:
        """The end of a range, `to 1995` or `–95`."""
        if self.word(dash) in DASHES and len(short := self.word(dash + 1)) == 2 and short.isdecimal() \
                and begin == Period.exact(_years(begin.outer)):
            year = calendar.civil(begin.outer.first)[0]
            last = year - year % 100 + int(short)
            if last > year > 999:
                return begin.to(_year(last)), Reading.RANGE, dash + 2
        if (end := self.simple(dash + 1)) is None or end[0].outer.last < begin.outer.first:
            return None
        return begin.to(end[0]), Reading.RANGE, end[2]

    def between(self, at: int) -> Found | None:
        if self.word(at) != "between" or (first := self.simple(at + 1)) is None or self.word(first[2]) not in ("and", "to"):
            return None
        if (last := self.simple(first[2] + 1)) is None:
            return None
        return first[0].to(last[0]), Reading.RANGE, last[2]

    def simple(self, at: int, preposition: bool = True) -> Found | None:
        """One day, month, year, decade or century, or a part of one."""
        skipped = at
        while self.word(skipped) in ("the", "years", "period"):
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
        if (whole := self._whole(end)) is None:
            return None
        period, reading, after = whole
        if name in SEASONS:
            return Period(None, period.outer), Reading.PART, after
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
        core = period.core and _part(period.core, (index - 1) / count, index / count)
        return Period(core, core or period.outer), Reading.PART, after

    def _whole(self, at: int) -> Found | None:
        return self.month(at) or self.century(at) or self.decade(at) or self.year(at, True)

    def day(self, at: int) -> Found | None:
        """`June 1, 2007`, `1st of June 2007`, `2007-06-01`."""
        if (numeric := _numeric_day(self.word(at))) is not None:
            return Period.exact(numeric), Reading.DAY, at + 1
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

    def _day_of_month(self, at: int) -> tuple[int, int] | None:
        found = ordinal(self.words, at) or ((int(self.words[at]), at + 1) if self.word(at).isdecimal() else None)
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
            return Period(_years_of(first, first + 9), _years_of(first, first + 99)), Reading.CENTURY, at + 1
        return None

    def decade(self, at: int) -> Found | None:
        """`1990s`, `'90s`, `eighties`, `eighties of the nineteenth century`, `nineteen-nineties`."""
        name = self.word(at).replace("'", "")
        if name.endswith("0s") and name[:-1].isdecimal():
            first = int(name[:-1])
            if len(name) == 3:
                first += 1900
            return (_decade(first), Reading.DECADE, at + 1) if 1000 <= first < 2200 else None
        if name in DECADES:
            end = at + 1
            century = 20
            if self.word(end) == "of":
                if (found := self.century(end + 1 + (self.word(end + 1) == "the"))) and found[0].outer.first > 0:
                    century, end = calendar.civil(found[0].outer.last)[0] // 100, found[2]
            return _decade(100 * (century - 1) + DECADES[name]), Reading.DECADE, end
        hundreds = cardinal(self.words, at)
        if hundreds and 10 <= hundreds[0] <= 20 and self.word(hundreds[1]) in DECADES and not self.word(at).isdecimal():
            return _decade(100 * hundreds[0] + DECADES[self.word(hundreds[1])]), Reading.DECADE, hundreds[1] + 1
        return None

    def year(self, at: int, preposition: bool) -> Found | None:
        """`2005`, `44 BC`, `AD 476`, `the year 476`, `nineteen eighty-four`; `a 2005 film` where none precedes."""
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
            if preposition and not self.word(begin).isdecimal() and self.word(end) in COUNTED:
                return None
        return _year(year), Reading.YEAR, end

    def _stands_as_year(self, at: int, end: int) -> bool:
        """Whether a number is a year where no preposition rules it: `(1990)`, `a 1990 film`, `born 1990`, `1990–95`."""
        before, after = self.word(at - 1), self.word(end)
        if not self.word(at).isdecimal():
            return False
        if before in BEFORE_YEARS or self.word(at - 2) + before == "c.":
            return True
        if before in DETERMINERS:
            return after[:1].isalpha() and not self.tokens[end].word.isdecimal()
        if before == "(":
            return after in (")", ",", ";") or after in DASHES
        return after in DASHES and _is_year(self.word(end + 1)) or (before == "," and at >= 2 and after in (",", ")"))

    def _year_number(self, at: int) -> tuple[int, int] | None:
        """(year, position after it) of any number that may be a year."""
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

    # --- Lengths ----------------------------------------------------------------------------

    def length(self, at: int) -> tuple[Length, int] | None:
        """`4 years`, `a decade`, `half a century`, `two years and six months`, `a year and a half`."""
        if self.word(at) == "half" and self.word(at + 1) in ("a", "of"):
            unit = HALVES.get(self.word(at + 2 + (self.word(at + 2) == "a")))
            return (unit, at + 3 + (self.word(at + 2) == "a")) if unit else None
        if self.word(at) in ("a", "an"):
            count, end = 1, at + 1
        elif (found := cardinal(self.words, at)) is not None:
            count, end = found
        else:
            return None
        name = _singular(self.word(end))
        if name not in UNITS or count > 9999:
            return None
        unit, end = UNITS[name], end + 1
        total = Length(count * unit.years, count * unit.months, count * unit.days)
        if self.words[end:end + 3] == ["and", "a", "half"] and name in HALVES:
            return _sum(total, HALVES[name]), end + 3
        if self.word(end) in ("and", ",") and (more := self.length(end + 1)):
            return _sum(total, more[0]), more[1]
        return total, end


def _valid(rule: Callable, at: int):
    """What a rule finds; nothing where the calendar has no such day or a range ends before it begins."""
    try:
        return rule(at)
    except LisaxError:
        return None


def _numeric_day(word: str) -> Interval | None:
    """`2007-06-01`, `13/6/2007`: by dateutil, unless day and month could change places."""
    if len(word) < 8 or not ("-" in word or "/" in word) or not word[0].isdecimal():
        return None
    try:
        days = {dateutil_parser.parse(word, dayfirst=first and "/" in word).date() for first in (False, True)}
    except (ValueError, OverflowError):
        return None
    if len(days) > 1:
        return None
    day = days.pop()
    return calendar.day_interval(day.year, day.month, day.day)


def _sum(one: Length, other: Length) -> Length:
    return Length(one.years + other.years, one.months + other.months, one.days + other.days)


def _singular(word: str) -> str:
    return PLURALS.get(word) or (word[:-1] if word.endswith("s") else word)


def _is_year(word: str) -> bool:
    return word.isdecimal() and len(word) in (2, 4)


def _years_of(first: int, last: int) -> Interval:
    return calendar.year_interval(first, last)


def _years(interval: Interval) -> Interval:
    """The whole year in which an interval begins."""
    return calendar.year_interval(calendar.civil(interval.first)[0])


def _year(year: int) -> Period:
    return Period.exact(calendar.year_interval(year))


def _decade(first: int) -> Period:
    return Period.exact(_years_of(first, first + 9))


def _century(number: int, sign: int, years: int = 100) -> Period:
    """Counted from 1901 or from 1900: only the years between are surely in the 20th century."""
    first, last = years * (number - 1) + 1, years * number
    if sign < 0:
        return Period.exact(_years_of(-last, -first))
    return Period(_years_of(first, last - 1), _years_of(max(first - 1, 1), last))


def _part(interval: Interval, begin: float, end: float) -> Interval:
    """The days between two fractions of an interval; of a decade or a century whole years."""
    (first, *opening), (last, *closing) = calendar.civil(interval.first), calendar.civil(interval.last)
    years = last - first + 1
    if opening == [1, 1] and closing == [12, 31] and years >= 9 and first * last > 0:
        return _years_of(first + round(years * begin), first + round(years * end) - 1)
    return interval.part(begin, end)


def _decade_of(century: Period, index: int) -> tuple[Period, Reading]:
    first = calendar.civil(century.core.first)[0] + 10 * (index - 1)
    return Period(_years_of(first, first + 8), _years_of(max(first - 1, 1), first + 9)), Reading.DECADE


def _century_part(century: Period, index: int, count: int) -> Period:
    start, years = calendar.civil(century.core.first)[0], calendar.civil(century.outer.last)[0]
    size = years - start + 1
    first, last = start + round(index * size / count), start + round((index + 1) * size / count) - 1
    return Period(_years_of(first, last - 1), _years_of(max(first - 1, 1), last))
