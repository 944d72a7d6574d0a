"""Rules on lasting states, `was mayor from 1956 to 1964`, and on repeated events, `in 1974, 1976 and 1979`.

A claim may name a day within, an end or the length. It is refuted only by a sentence that has no other words than the
claim's (`was deputy mayor`), and that gives both ends, or the number of times.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Sequence

from lisax.records import Label
from lisax.temporal import lexicon
from lisax.temporal.alignment import Aligned, Side, aligned
from lisax.temporal.calendar import EARLIEST, LATEST, Interval, Length
from lisax.temporal.described import Placed
from lisax.temporal.events import Event, analysed
from lisax.temporal.expressions import Comparison, Dates, Duration, Expression, Occasions, Reading, TemporalRelation
from lisax.temporal.lexicon import WordKind, stem
from lisax.temporal.ruling import Ruling, TemporalFact, are_of_one
from lisax.temporal.sentences import BEING
from lisax.text.tokens import tokens

DAYS = {"years": 365.2425, "months": 30.437, "days": 1.0}
_NUMBERED = re.compile(r"\d+(?:st|nd|rd|th)")  # the 44th president is president
NEARLY = 0.1  # of a unit: from February 2014 to December 2016 is not three years
ROUNDED = 0.15  # by how much a length may be rounded: ten years for nine


@dataclasses.dataclass(frozen=True, slots=True)
class Extent:
    """`begin`: days of which one is the first, `end`: days of which one is the last; None if that is unknown."""

    begin: Interval | None
    end: Interval | None

    @property
    def whole(self) -> Interval:
        return Interval(self.begin.first if self.begin else EARLIEST, self.end.last if self.end else LATEST)

    @property
    def middle(self) -> Interval | None:
        """The days on which it surely lasts."""
        if self.begin is None or self.end is None or self.begin.last > self.end.first:
            return None
        return Interval(self.begin.last, self.end.first)


def rule_lasting(side: Side, event: Event, evidence: Sequence[Placed]) -> Ruling | None:
    """`was mayor in 1970`, `was mayor until 1964`, `was mayor for eight years`, `won in 1976`."""
    found = aligned(side, evidence, Expression, certain=False)
    if not are_of_one(found):
        return None
    stretches = [
        (match, stretch) for match in found if match.event.certain for stretch in _stretches(match.event, side)
    ]
    answers = [_answer(event, stretch) for _, stretch in stretches]
    for (match, stretch), answer in zip(stretches, answers):
        if answer and not match.left and _says_the_same(side, match):
            alone = len(stretches) == 1 or not isinstance(event.date, Duration)
            return _ruling(side, event, True, match, stretch) if alone else None
    # Refuted by one sentence that gives both ends, or all dates; no other sentence may date it.
    match = found[0] if len(found) == 1 else None
    if (
        match is not None
        and answers
        and all(answer is False for answer in answers)
        and not match.left
        and match.adds <= lexicon.COUNTING
        and _is_complete(match.event)
        and not _may_go_on(side, match)
        and not any(_dates_it_too(side, match, passage) for passage in evidence)
        and (len(stretches) == 1 or not isinstance(event.date, Duration))
    ):
        return _ruling(
            side, event, False, match, functools.reduce(Interval.hull, map(_whole, (s for _, s in stretches)))
        )
    return None


def _may_go_on(side: Side, match: Aligned) -> bool:
    """`from 1956 to 1964 and later`, `was first mayor from 1956 to 1964`."""
    sentence = analysed(match.passage.text)
    after = [token.word for token in sentence.tokens if token.start >= match.event.date.end]
    return not lexicon.GOING_ON.isdisjoint(after[:3]) or not lexicon.ORDINALS.intersection(sentence.words) <= {
        *side.sentence.words
    }


def _dates_it_too(side: Side, match: Aligned, passage: Placed) -> bool:
    """Whether a sentence has a further date of the claim's event (`In 1978 she became mayor again`)."""
    sentence = analysed(passage.text)
    if passage.id == match.passage.id:
        begin = sentence.tokens[match.event.at].start
    else:
        claimed = side.sentence.content() - {stem(word) for word in side.predicate.words.split()}
        rest = claimed - {stem(token.word) for token in tokens(passage.title)}
        if not rest <= sentence.content():
            return False
        begin = 0
    own = match.event.date if passage.id == match.passage.id else None
    return any(
        isinstance(other, Dates) and other.start >= begin and not (own and own.start <= other.start < own.end)
        for _, _, other in sentence.expressions
    )


def _is_complete(event: Event) -> bool:
    """Whether nothing is left out: both ends, `three times`, or a list of stretches."""
    if not isinstance(event.date, Occasions):
        return event.date.reading is Reading.RANGE or event.date.relation is not TemporalRelation.IN
    return event.date.complete or all(date.reading is Reading.RANGE for date in event.date.dates)


def _stretches(event: Event, side: Side) -> list[Extent | Interval]:
    """The extents of a state, or the days of something that happened several times."""
    if isinstance(event.date, Occasions):
        return [_extent(each, side) or each.date.possibly for each in event.singly()]
    extent = _extent(event, side) if isinstance(event.date, Dates) else None
    return [] if extent is None else [extent]


def _answer(event: Event, stretch: Extent | Interval) -> bool | None:
    if isinstance(event.date, Duration):
        return _lasts(event.date, stretch) if isinstance(stretch, Extent) else None
    if isinstance(stretch, Extent):
        return _holds(event, stretch)
    surely, possibly = event.date.surely, event.date.possibly
    if surely is not None and surely.contains(stretch):
        return True
    return None if possibly.meets(stretch) else False


def _whole(stretch: Extent | Interval) -> Interval:
    return stretch.whole if isinstance(stretch, Extent) else stretch


def _says_the_same(side: Side, match: Aligned) -> bool:
    """Whether the evidence has the claim's `first`, `last` and `most`, which are not content of an event, and for an
    event of no known kind the same complement (a deputy mayor is not a mayor, and the party's youth wing not the
    party)."""
    ranks = {*lexicon.ORDINALS, "most"}.intersection(side.sentence.words)
    if not ranks <= set(analysed(match.passage.text).words):
        return False
    if match.event.predicate.stem == BEING:  # `was mayor of a town near Osk`
        before = [
            token
            for token in match.event.said
            if token.start < match.event.date.start and not token.capital and not _NUMBERED.fullmatch(token.word)
        ]
        if not {stem(token.word) for token in before} <= side.sentence.content() | lexicon.COUNTING:
            return False
    return (
        bool(side.predicate.kinds)
        or {*side.complement} - lexicon.COUNTING == {*match.event.complement} - lexicon.COUNTING
    )


def _ruling(side: Side, event: Event, fits: bool, match: Aligned, stretch: Extent | Interval) -> Ruling:
    relation = str(event.date.relation) if isinstance(event.date, Dates) else "length"
    days = _whole(stretch)
    claimed = event.date.possibly if isinstance(event.date, Dates) else days
    return Ruling(
        Label.SUPPORTS if fits else Label.REFUTES,
        ("several" if isinstance(match.event.date, Occasions) else "lasting", relation),
        side.predicate.words,
        event.text,
        claimed,
        (TemporalFact(match.passage.id, match.event.predicate.words, match.event.text, days),),
        tuple(sorted(match.shared)),
    )


def _extent(event: Event, side: Side) -> Extent | None:
    """The extent of a state; None for an event on one day within its dates (`was built between 1907 and 1909`)."""
    date, words = event.date, set(event.predicate.words.split())
    kinds = event.predicate.kinds
    if not date.period.is_exact or kinds & lexicon.ONCE:
        return None
    if (kinds & {WordKind.OCCURRENCE} and not side.going_on) or (
        kinds and not kinds & {WordKind.OCCURRENCE, WordKind.RELEASE}
    ):
        return None
    if kinds & {WordKind.RELEASE} and not words & {*lexicon.LASTING, "published"}:
        return None
    first, outer = event.text.lower().split()[0], date.period.outer
    if date.relation is TemporalRelation.IN and date.reading is Reading.RANGE:
        lasts = (
            first != "between"
            or event.predicate.stem in lexicon.CONTINUING
            or event.predicate.stem == BEING
            or side.going_on
        )
        return Extent(*date.period.ends) if lasts and date.period.ends else None
    if date.relation is TemporalRelation.SINCE and first in ("since", "from"):
        return Extent(outer, None)
    if date.relation is TemporalRelation.UNTIL and first in ("until", "till"):
        return Extent(None, outer)
    return None


def _holds(event: Event, extent: Extent) -> bool | None:
    """Whether a state with an extent agrees with the claim: True, False, or None if that is open."""
    claimed: Dates = event.date
    core, outer = claimed.period.core, claimed.period.outer
    begin, end, middle = extent.begin, extent.end, extent.middle
    first = event.text.lower().split()[0]
    if claimed.relation is TemporalRelation.UNTIL and first in ("until", "till"):
        if end is None:
            return None
        return True if core is not None and core.contains(end) else False if outer.first > end.last else None
    if claimed.relation is TemporalRelation.SINCE and first in ("since", "from"):
        if begin is None or (end is not None and first == "since"):
            return None
        return True if core is not None and core.contains(begin) else False if outer.last < begin.first else None
    if claimed.reading is Reading.RANGE and first != "between" and claimed.relation is TemporalRelation.IN:
        if begin is None or end is None or core is None or claimed.period.ends is None:
            return None
        opening, closing = claimed.period.ends
        if opening.contains(begin) and closing.contains(end):
            return True
        return False if opening.last < begin.first or closing.first > end.last else None
    if first == "throughout":
        return True if middle is not None and middle.contains(outer) else None
    surely = claimed.surely
    if surely is not None and (
        any(known is not None and surely.contains(known) for known in (begin, end))
        or (middle is not None and surely.meets(middle))
    ):
        return True
    # A state that lasts since 1995 may also have been before.
    return False if end is not None and not claimed.possibly.meets(extent.whole) else None


def _lasts(claimed: Duration, extent: Extent) -> bool | None:
    """Whether an extent has the claimed length, as exactly as its ends are known."""
    if extent.begin is None or extent.end is None:
        return None
    shortest = max(extent.end.first - extent.begin.last, 0)
    longest = extent.end.last - extent.begin.first + 1
    length = _days(claimed.length)
    unit = next(size for name, size in DAYS.items() if getattr(claimed.length, name) or name == "days")
    unit = 7.0 if unit == 1.0 and claimed.length.days % 7 == 0 else unit
    match claimed.comparison:
        case Comparison.MORE:
            return True if shortest >= length else False if longest <= length else None
        case Comparison.LESS:
            return True if longest <= length else False if shortest >= length else None
    about = abs(length - (shortest + longest) / 2) <= NEARLY * unit
    if about and length - unit - 2 <= shortest and longest <= length + unit + 2:
        return True
    rounded = max(unit, ROUNDED * length)
    return False if longest < length - rounded or shortest > length + rounded else None


def _days(length: Length) -> float:
    return sum(size * getattr(length, name) for name, size in DAYS.items())
