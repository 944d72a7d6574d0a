"""The grammar of date expressions: `parse(text)` returns them with their meanings.

Periods (`periods.py`) with a preposition, dates relative to another, lengths and ages. Expressions that depend on today
(`last year`) are not recognised.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator

from lisax.records import LisaxError
from lisax.temporal.calendar import Length
from lisax.temporal.expressions import Age, Dates, Duration, Expression, Offset, Reading, TemporalRelation
from lisax.temporal.periods import AROUND, Periods, about
from lisax.text.numbers import cardinal
from lisax.text.tokens import tokens

RELATIONS = {
    ("in",): TemporalRelation.IN,
    ("on",): TemporalRelation.IN,
    ("during",): TemporalRelation.IN,
    ("within",): TemporalRelation.IN,
    ("throughout",): TemporalRelation.IN,
    ("as", "of"): TemporalRelation.IN,
    ("before",): TemporalRelation.BEFORE,
    ("prior", "to"): TemporalRelation.BEFORE,
    ("earlier", "than"): TemporalRelation.BEFORE,
    ("older", "than"): TemporalRelation.BEFORE,
    ("after",): TemporalRelation.AFTER,
    ("following",): TemporalRelation.AFTER,
    ("later", "than"): TemporalRelation.AFTER,
    ("younger", "than"): TemporalRelation.AFTER,
    ("since",): TemporalRelation.SINCE,
    ("from",): TemporalRelation.SINCE,
    ("until",): TemporalRelation.UNTIL,
    ("till",): TemporalRelation.UNTIL,
    ("by",): TemporalRelation.UNTIL,
}
NOT = {
    TemporalRelation.BEFORE: TemporalRelation.SINCE,
    TemporalRelation.AFTER: TemporalRelation.UNTIL,
}  # `no later than` includes the period
UNITS = {
    "day": Length(days=1),
    "week": Length(days=7),
    "fortnight": Length(days=14),
    "month": Length(months=1),
    "year": Length(years=1),
    "decade": Length(years=10),
    "century": Length(years=100),
    "millennium": Length(years=1000),
}
PLURALS = {"centuries": "century", "millennia": "millennium", "millenniums": "millennium"}
HALVES = {"year": Length(months=6), "decade": Length(years=5), "century": Length(years=50)}
MORE = {("more", "than"), ("over",), ("at", "least")}
LESS = {("less", "than"), ("fewer", "than"), ("under",), ("within",), ("at", "most"), ("up", "to")}
SIDES = {
    words: relation
    for words, relation in RELATIONS.items()
    if relation in (TemporalRelation.BEFORE, TemporalRelation.AFTER) and words[0] not in ("older", "younger")
}
AGES = (("at", "the", "age", "of"), ("at", "age"), ("aged",))
ADVERBS = {"just", "only", "exactly"}
NEARLY = AROUND | {"nearly", "almost", "some"}


@functools.lru_cache(maxsize=1 << 16)
def parse(text: str) -> tuple[Expression, ...]:
    """The date expressions of a text in order, none inside another."""
    return tuple(_Grammar(tokens(text)).expressions())


class _Grammar(Periods):
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

    def any_of(self, options, at: int):
        """The longest of the word tuples that occurs at `at`."""
        standing = (option for option in options if tuple(self.words[at : at + len(option)]) == option)
        return max(standing, key=len, default=None)

    def made(self, kind: type, at: int, end: int, *values) -> tuple[Expression, int]:
        return kind(self.tokens[at].start, self.tokens[end - 1].end, *values), end

    # --- Whole expressions ------------------------------------------------------------------

    def related(self, at: int) -> tuple[Expression, int] | None:
        """A preposition and a period: `before 2008`, `between 1990 and 1995`, `no later than June 2001`."""
        if (spread := self.between(at)) is not None:
            period, reading, end = spread
            return self.made(Dates, at, end, TemporalRelation.IN, period, reading)
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
            relation = TemporalRelation.IN
        elif option == ("from",) and self.word(end) in ("onwards", "onward", "on"):
            end += 1
        elif option == ("from",):
            relation = TemporalRelation.IN  # `dates from 1510`, `a book from 1990`: no end is given
        return self.made(Dates, at, end, relation, period, reading)

    def bare(self, at: int) -> tuple[Expression, int] | None:
        """A period without a preposition; a single year only where it can be nothing else."""
        if (found := self.period(at, preposition=False)) is None:
            return None
        period, reading, end = found
        return self.made(Dates, at, end, TemporalRelation.IN, period, reading)

    def offset(self, at: int) -> tuple[Expression, int] | None:
        """`4 years before 2005`, `more than a decade after 1990`; an `Offset` if no date follows."""
        within = self.words[at : at + 2] in (["in", "the"], ["during", "the"])  # `in the 4 years before 2005`
        begin = at + 2 * within
        roughly = self.word(begin) in NEARLY
        begin += roughly or self.word(begin) in ADVERBS
        more, less = self.any_of(MORE, begin), self.any_of(LESS, begin)
        begin += len(more or less or ())
        if (found := self.length(begin)) is None:
            return None
        length, end = found
        option = self.any_of(SIDES, end)
        if option is None:
            if self.word(begin - 1) == "within" and self.word(end) == "of" and (anchor := self.period(end + 1)):
                period, _, end = anchor
                around = period.shifted(-length).to(period.shifted(length))
                return self.made(Dates, at, end, TemporalRelation.IN, around, Reading.OFFSET)
            return None
        length = -length if SIDES[option] is TemporalRelation.BEFORE else length
        end += len(option)
        if (anchor := self.period(end)) is None:
            return self.made(Offset, at, end, length, bool(more or less or within or roughly))
        period, _, end = anchor
        moved, past = period.shifted(length), SIDES[option] is TemporalRelation.AFTER
        moved = about(moved) if roughly else moved
        if less or within:
            between = period.to(moved) if past else moved.to(period)
            return self.made(Dates, at, end, TemporalRelation.IN, between, Reading.OFFSET)
        relation = TemporalRelation.IN
        if more:
            relation = TemporalRelation.AFTER if past else TemporalRelation.BEFORE
            if self.word(begin - 1) == "least":
                relation = TemporalRelation.SINCE if past else TemporalRelation.UNTIL
        return self.made(Dates, at, end, relation, moved, Reading.OFFSET)

    def age(self, at: int) -> tuple[Expression, int] | None:
        option = self.any_of(AGES, at)
        if option is None or (found := cardinal(self.words, at + len(option))) is None or found[0] > 150:
            return None
        return self.made(Age, at, found[1], found[0])

    def duration(self, at: int) -> tuple[Expression, int] | None:
        if self.word(at) in ("a", "an", "one") or (found := self.length(at)) is None:
            return None
        return self.made(Duration, at, found[1], found[0])

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
        if self.words[end : end + 3] == ["and", "a", "half"] and name in HALVES:
            return _sum(total, HALVES[name]), end + 3
        if self.word(end) in ("and", ",") and (more := self.length(end + 1)):
            return _sum(total, more[0]), more[1]
        return total, end


def _valid(rule: Callable, at: int):
    """The result of a rule; None where the calendar has no such day or a range ends before it begins."""
    try:
        return rule(at)
    except LisaxError:
        return None


def _sum(one: Length, other: Length) -> Length:
    return Length(one.years + other.years, one.months + other.months, one.days + other.days)


def _singular(word: str) -> str:
    return PLURALS.get(word) or (word[:-1] if word.endswith("s") else word)
