"""The grammar of date expressions: `parse(text)` returns them with their meanings.

Periods (`periods.py`) with a preposition, dates relative to another, lengths and ages. Expressions that depend on today
(`last year`) are not recognised.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator

from lisax.errors import LisaxError
from lisax.temporal.calendar import Length
from lisax.temporal.expressions import (
    OLDEST,
    Age,
    Comparison,
    Dates,
    Duration,
    Expression,
    Offset,
    Reading,
    TemporalRelation,
)
from lisax.temporal.periods import AROUND, Periods, about
from lisax.text.numbers import DECADES, cardinal, is_number, ordinal
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
AGES = (
    ("at", "the", "age", "of"),
    ("at", "age"),
    ("aged",),
    *(
        (side, *words)
        for side in ("before", "after")
        for words in (("the", "age", "of"), ("turning",), ("reaching",), ("he", "turned"), ("she", "turned"))
    ),
)
LIVED_TO = (("to", "the", "age", "of"), ("to", "be"))
LIST_ENDS = frozenset("and in at for with as on by to against under alongside when where while".split())
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
                    while (also := self.also(expression, at)) is not None:
                        expression, at = also
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

    def also(self, before: Expression, at: int) -> tuple[Expression, int] | None:
        """A further year of a list, `, 1976 and 1979`, unless it counts something (`in 1990, 1500 houses`)."""
        if not isinstance(before, Dates) or (before.relation, before.reading) != (TemporalRelation.IN, Reading.YEAR):
            return None
        begin = at + (self.word(at) == ",")
        begin += self.word(begin) in ("and", "&")
        again = self.word(begin) == "again"
        begin += again
        with_in = begin > at and self.word(begin) == "in"
        begin += with_in
        is_year = self.word(begin).isdecimal() and len(self.word(begin)) == 4
        if begin == at or not is_year or (found := self.year(begin, True)) is None:
            return None
        following = self.word(found[2])
        if (following[:1].isalnum() and following not in LIST_ENDS) or (
            with_in and not again and following in (",", "and")
        ):
            return None  # `in 1984, 200 people`, `in 1984, and in 1990, he won`
        return self.made(Dates, begin, found[2], TemporalRelation.IN, *found[:2])

    def bare(self, at: int) -> tuple[Expression, int] | None:
        """A period without a preposition; a single year only if it can be nothing else."""
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
        """`aged 30`, `lived to be 90`, `before he turned thirty`, `in her seventies`, `over eighty when he died`."""
        if self.word(at) == "in" and self.word(at + 1) in ("his", "her", "their"):
            word = self.word(at + 2)
            first = (
                int(word[:-1]) if len(word) == 3 and word.endswith("0s") and is_number(word[:-1]) else DECADES.get(word)
            )
            return first and self.made(Age, at, at + 3, first, first + 9)
        if self.word(at) in ("before", "after") and self.word(at + 1) in ("his", "her", "their"):
            birthday = ordinal(self.words, at + 2)
            if birthday is None or self.word(birthday[1]) != "birthday":
                return None
            return self.made(
                Age,
                at,
                birthday[1] + 1,
                *((0, birthday[0] - 1) if self.word(at) == "before" else (birthday[0], OLDEST)),
            )
        if self.word(at - 1) == "was" and (found := cardinal(self.words, at)) is not None:
            end = found[1] + 2 * (self.words[found[1] : found[1] + 2] == ["years", "old"])
            return self.made(Age, at, end, found[0], found[0]) if self.word(end) == "when" else None
        option = self.any_of(AGES if self.word(at - 1) != "lived" else LIVED_TO, at)
        compared = self.any_of(MORE, at) or self.any_of(LESS, at)
        if (words := option or compared) is None or (found := cardinal(self.words, at + len(words))) is None:
            return None
        number, end = found
        if number > OLDEST:
            return None
        if option is None:  # `over eighty when he died`, `less than 30 years old when`
            end += 2 * (self.words[end : end + 2] == ["years", "old"])
            if self.word(end) != "when":
                return None
            sign = 1 if compared in MORE else -1
            number += {("at", "least"): 0, ("at", "most"): 1}.get(compared, sign > 0)
        else:
            sign = {"before": -1, "after": 1}.get(option[0], 0)
        return self.made(Age, at, end, number if sign >= 0 else 0, (number - 1, number, OLDEST)[sign + 1])

    def duration(self, at: int) -> tuple[Expression, int] | None:
        more, less = self.any_of(MORE, at), self.any_of(LESS, at)
        begin = at + len(more or less or ())
        is_one = self.word(begin) in ("a", "an", "one") or self.word(begin) == "half"
        if (is_one and begin == at and self.word(at - 1) not in ("for", "lasted")) or (
            (found := self.length(begin)) is None
        ):
            return None
        comparison = Comparison.MORE if more else Comparison.LESS if less else Comparison.EQUAL
        return self.made(Duration, at, found[1], found[0], comparison)

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
        word = self.word(end)
        name = PLURALS.get(word) or word.removesuffix("s")
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
    """The result of a rule; None if the calendar has no such day or a range ends before it begins."""
    try:
        return rule(at)
    except LisaxError:
        return None


def _sum(one: Length, other: Length) -> Length:
    return Length(one.years + other.years, one.months + other.months, one.days + other.days)
