"""The meaning of a date expression: the days that are surely meant, and the days that may be meant.

`in the early 1990s` surely means 1990 to 1993, and no day outside the 1990s; between the two nothing can be decided.
For exact expressions both are the same.
"""

from __future__ import annotations

import dataclasses
import enum

from lisax.temporal.calendar import EARLIEST, LATEST, Interval, Length, civil, year_interval

OLDEST = 150  # the longest life


@dataclasses.dataclass(frozen=True, slots=True)
class Period:
    """`core`: days meant in every reading, None if there are none; `outer`: days meant in some reading; `ends`: the
    written form of a range's begin and end (`from 1990 to May 1995`: a year and a month)."""

    core: Interval | None
    outer: Interval
    ends: tuple[Interval, Interval] | None = dataclasses.field(default=None, compare=False)

    @classmethod
    def exact(cls, interval: Interval) -> Period:
        return cls(interval, interval)

    @property
    def is_exact(self) -> bool:
        return self.core == self.outer

    def shifted(self, length: Length) -> Period:
        """The period moved by a length; if the length is in years, any day of the resulting year may be meant."""
        outer = self.outer.shifted(length)
        if not length.months and not length.days:
            outer = year_interval(civil(outer.first)[0], civil(outer.last)[0])
        return Period(self.core and self.core.shifted(length), outer)

    def to(self, end: Period) -> Period:
        """From this period to the other, both included. Raises `LisaxError` if the other ends before this begins."""
        core = Interval(self.core.first, end.core.last) if self.core and end.core else None
        return Period(core, Interval(self.outer.first, end.outer.last), (self.outer, end.outer))


class TemporalRelation(enum.StrEnum):
    """The relation of an event to a period."""

    IN = "in"
    BEFORE = "before"
    AFTER = "after"
    SINCE = "since"
    UNTIL = "until"


class Reading(enum.StrEnum):
    """The grammar rule that produced the period."""

    DAY = "day"
    MONTH = "month"
    YEAR = "year"
    DECADE = "decade"
    CENTURY = "century"
    PART = "part"  # early, the second half of
    RANGE = "range"
    OFFSET = "offset"  # 4 years before 2005


@dataclasses.dataclass(frozen=True, slots=True)
class Expression:
    """Characters `start` to `end` of a text that express time."""

    start: int
    end: int


@dataclasses.dataclass(frozen=True, slots=True)
class Dates(Expression):
    """Days: `relation` to `period`; `reading` is how the period was written."""

    relation: TemporalRelation
    period: Period
    reading: Reading

    @property
    def surely(self) -> Interval | None:
        """Days that fulfil the expression in every reading."""
        core, outer = self.period.core, self.period.outer
        match self.relation:
            case TemporalRelation.IN:
                return core
            case TemporalRelation.BEFORE | TemporalRelation.UNTIL:
                return Interval(EARLIEST, outer.first - 1)
            case TemporalRelation.AFTER:
                return Interval(outer.last + 1, LATEST)
        return Interval(core.first if core else outer.last, LATEST)

    @property
    def possibly(self) -> Interval:
        """Days that fulfil it in some reading; all others contradict it."""
        core, outer = self.period.core, self.period.outer
        match self.relation:
            case TemporalRelation.IN:
                return outer
            case TemporalRelation.BEFORE:
                return Interval(EARLIEST, core.first - 1 if core else outer.last)
            case TemporalRelation.UNTIL:
                return Interval(EARLIEST, outer.last)
            case TemporalRelation.AFTER:
                return Interval(core.last + 1 if core else outer.first, LATEST)
        return Interval(outer.first, LATEST)


@dataclasses.dataclass(frozen=True, slots=True)
class Occasions(Expression):
    """Several dates of one event, `in 1974, 1976 and 1979`; `complete`: the text excludes others (`three times`)."""

    dates: tuple[Dates, ...]
    complete: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Offset(Expression):
    """A length before (negative) or after something that is not a date: `two decades after the war`. `compared`: more
    or less than that."""

    length: Length
    compared: bool = False


class Comparison(enum.StrEnum):
    """How a length is compared with the written one."""

    EQUAL = "equal"
    MORE = "more"  # `over ten years`, `at least`
    LESS = "less"


@dataclasses.dataclass(frozen=True, slots=True)
class Duration(Expression):
    """`for ten years`, `six months`, `more than a decade`."""

    length: Length
    comparison: Comparison = Comparison.EQUAL


@dataclasses.dataclass(frozen=True, slots=True)
class Age(Expression):
    """Years from `youngest` to `oldest`: `at the age of 30`, `aged 30`, `in her seventies`, `before he turned
    thirty`."""

    youngest: int
    oldest: int
