"""Rules on two events of the evidence: their order, a person's age, and whether a person lived at the time."""

from __future__ import annotations

from collections.abc import Sequence

from lisax.records import Label
from lisax.temporal import lexicon
from lisax.temporal.alignment import Aligned, Side, aligned
from lisax.temporal.calendar import EARLIEST, LATEST, Interval, Length, civil
from lisax.temporal.described import Placed
from lisax.temporal.events import OLDER, Event, EventSentence
from lisax.temporal.expressions import (
    OLDEST,
    Age,
    Offset,
    Period,
    Reading,
    TemporalRelation,
)
from lisax.temporal.lexicon import WordKind
from lisax.temporal.ruling import Ruling, TemporalFact, agreed
from lisax.temporal.sentences import Predicate, subject_of

BORN = Predicate("born", "born", frozenset({WordKind.BIRTH}))
DIED = Predicate("died", "die", frozenset({WordKind.DEATH}))
YEAR = Length(years=1)
# The relation (before or after), the claim's two events, and the position after the words that join them.
Sides = tuple[str, Side, Side, int]
TO_SEE = (("lived", "long", "enough", "to", "see"), ("lived", "to", "see"))


def rule_age(side: Side, event: Event, found: Sequence[Aligned], evidence: Sequence[Placed]) -> Ruling | None:
    """`died at the age of 79`: the whole years between the birth and the event."""
    births = aligned(Side(side.sentence, BORN, side.subject), evidence)
    birth, days = agreed(births), agreed(found)
    if birth is None or days is None or days.first < birth.last:
        return None
    youngest, oldest = _age(birth.last, days.first), _age(birth.first, days.last)
    claimed: Age = event.date
    fits = claimed.youngest <= youngest and oldest <= claimed.oldest
    apart = max(claimed.youngest - oldest, youngest - claimed.oldest)
    # A person over eighty may be eighty.
    if not fits and (not side.predicate.kinds & lexicon.ONCE or apart < (2 if claimed.oldest == OLDEST else 1)):
        return None  # or it may happen again: `won an Oscar at the age of 40`
    return _ruling(fits, ("age",), event.predicate.words, event.text, days, [(births[0], birth), (found[0], days)])


def _age(born: int, day: int) -> int:
    (year, *birthday), (now, *today) = civil(born), civil(day)
    return now - year - (today < birthday) - (year < 0 < now)


def rule_life(side: Side, event: Event, evidence: Sequence[Placed]) -> Ruling | None:
    """`lived long enough to see 1950`: born by then, and not dead before. Periods are not judged (`alive since 1950`,
    `alive from 1940 to 1980`)."""
    if (
        event.date.relation is not TemporalRelation.IN
        or event.date.reading is Reading.RANGE
        or event.text.lower().startswith("throughout")
    ):
        return None
    births, deaths = (aligned(Side(side.sentence, known, side.subject), evidence) for known in (BORN, DIED))
    birth, death = agreed(births), agreed(deaths)
    if death is None:
        return None
    core, outer = event.date.period.core, event.date.period.outer
    if death.last < outer.first or (birth is not None and birth.first > outer.last):
        fits = False
    elif core is not None and birth is not None and birth.last <= core.last and death.first >= core.first:
        fits = True
    else:
        return None
    facts = [(deaths[0], death), *([(births[0], birth)] if birth is not None else [])]
    return _ruling(fits, ("life",), event.predicate.words, event.text, outer, facts)


def rule_order(sentence: EventSentence, evidence: Sequence[Placed]) -> Ruling | None:
    """`X was founded before Y`, `X is older than Y`, `X died 4 years after Y was born`, `X lived to see Y founded`."""
    sides = _sides(sentence)
    if sides is None:
        return None
    rule, left, right, at = sides
    if not left.subject.names or not right.subject.names or left.subject.names == right.subject.names:
        return None
    first, second = aligned(left, evidence), aligned(right, evidence)
    days, other = agreed(first), agreed(second)
    if days is None or other is None:
        return None
    offset = next(
        (expression for _, end, expression in sentence.expressions if isinstance(expression, Offset) and end == at),
        None,
    )
    if any(expression is not offset for _, _, expression in sentence.expressions):
        return None  # `five years older than`
    if offset.compared if offset is not None else sentence.words[at - 2] in lexicon.NARROWING:
        return None  # `less than ten years before`, `the year before`
    if offset is not None:
        claimed = Period.exact(other).shifted(offset.length).outer
        contradicted = not claimed.shifted(-YEAR).hull(claimed.shifted(YEAR)).meets(days)
    else:
        claimed = Interval(EARLIEST, other.first - 1) if rule == "before" else Interval(other.last + 1, LATEST)
        contradicted = not claimed.meets(days) and not days.meets(other)
    if not claimed.contains(days) and not contradicted:
        return None
    words = " ".join(sentence.text[sentence.tokens[at - 1].start :].rstrip(" .").split())
    facts = [(first[0], days), (second[0], other)]
    return _ruling(claimed.contains(days), ("order", rule), left.predicate.words, words, claimed, facts)


def _sides(sentence: EventSentence) -> Sides | None:
    """The result of `_two` for the phrase of the claim that joins two events, if any."""
    words = sentence.words
    for phrase in TO_SEE:
        if at := next((at for at in range(1, len(words)) if tuple(words[at : at + len(phrase)]) == phrase), 0):
            return _two(sentence, "after", DIED, at, at + len(phrase))
    joints = [
        at
        for at, word in enumerate(words)
        if at and (word in ("before", "after") or (word in ("older", "younger") and words[at + 1 : at + 2] == ["than"]))
    ]
    if len(joints) != 1:
        return None
    at, word = joints[0], words[joints[0]]
    if word in ("older", "younger"):
        return _two(sentence, "before" if word == "older" else "after", Predicate(word, word, OLDER), at, at + 2)
    found = sentence.predicate_before(at)
    return found and _two(sentence, word, found[0], found[1], at + 1)


def _two(sentence: EventSentence, rule: str, predicate: Predicate, left: int, right: int) -> Sides | None:
    """Both events; the one after position `right` has the other's predicate unless it has its own."""
    own = sentence.predicate_after(right, known=True)
    other = own[0] if own else predicate
    if not predicate.kinds or not other.kinds or (own is None and predicate is DIED):
        return None
    end = next((at for at in range(right, len(sentence.words)) if sentence.is_predicate(at)), len(sentence.words))
    named = sentence.tokens[right:end]
    if own and sentence.words[right : own[1]] in ([], ["the"]):  # `after the founding of Y`
        named = sentence.tokens[own[1] + len(other.words.split()) + 1 :]
    subject = subject_of([token for token in named if token.word[0].isalnum() or token.word == "'s"])
    return rule, Side(sentence, predicate, sentence.subject(left)), Side(sentence, other, subject), right


def _ruling(
    fits: bool,
    rules: tuple[str, ...],
    predicate: str,
    words: str,
    claimed: Interval,
    found: Sequence[tuple[Aligned, Interval]],
) -> Ruling | None:
    """A ruling, if the sentences together have all words of the claim other than time expressions."""
    left = frozenset.intersection(*(match.left for match, _ in found))
    if left - {"live", "long", "enough", "see", "older", "younger", "aliv", "still"}:
        return None
    return Ruling(
        Label.SUPPORTS if fits else Label.REFUTES,
        rules,
        predicate,
        words,
        claimed,
        tuple(TemporalFact.of(match, days) for match, days in found),
        tuple(sorted(frozenset.union(*(match.shared for match, _ in found)))),
    )
