"""The temporal step (DeSePtion, section 5.2): does the evidence's date fit the claim's?

`judge` finds the event that the claim dates and the same event in the evidence, and compares the two dates. It rules
only if every reading of the dates and all evidence agree; otherwise the verifier's label is kept.
"""

from __future__ import annotations

from collections.abc import Sequence

from lisax.records import Label
from lisax.temporal.alignment import Aligned, Side, aligned
from lisax.temporal.calendar import Interval
from lisax.temporal.described import Lookup, Placed, TitledText, placed
from lisax.temporal.events import Event, EventSentence, analysed
from lisax.temporal.expressions import Age, Dates, Reading, TemporalRelation
from lisax.temporal.lexicon import ONCE, ORDINALS, WordKind
from lisax.temporal.ruling import Ruling, TemporalFact, agreed
from lisax.temporal.two_events import rule_age, rule_life, rule_order

COMPOSED = (Reading.OFFSET, Reading.RANGE, Reading.PART, Reading.DECADE, Reading.CENTURY)


def judge(claim: str, evidence: Sequence[TitledText], lookup: Lookup | None = None) -> Ruling | None:
    """The label that the dates give a claim, with its reasons; None if they decide nothing.

    `evidence`: sentences with id, title and text, best first. `lookup` finds the first sentences of pages, which say
    what `the film` and `the band` are, where the evidence lacks them. A claim is refuted if one of its dates is; it is
    supported if all of them are, and the sentence with the date has every other word of the claim.
    """
    sentence = analysed(claim)
    if any(map(sentence.is_uncertain, range(len(sentence.words)))):
        return None
    events, found = sentence.events(), placed(evidence, lookup)
    if not events:
        return rule_order(sentence, found)
    rulings = [ruling for event in events if (ruling := _rule(sentence, event, found)) is not None]
    refuting = [ruling for ruling in rulings if ruling.label is Label.REFUTES]
    if refuting:
        return refuting[0]
    # A claim holds only if there is a ruling on each of its time expressions.
    return rulings[0] if rulings and len(rulings) == len(sentence.expressions) else None


def _rule(sentence: EventSentence, event: Event, evidence: Sequence[Placed]) -> Ruling | None:
    side = Side(sentence, event.predicate, event.subject, event.said, event.first)
    if WordKind.LIFE in side.predicate.kinds:
        return rule_life(side, event, evidence)
    found = aligned(side, evidence)
    if isinstance(event.date, Age):
        return rule_age(side, event, found, evidence)
    days = agreed(found)
    if days is None:
        return None
    fits = _fits(event, days, found[0].event.date.relation, side)
    # Supported only by a sentence with all of the claim's words; refuted only by one with enough of them.
    match = next((match for match in found if (not match.left if fits else match.refutes)), None)
    if fits is None or match is None or (not fits and _may_be_another(match, event.date.possibly, days)):
        return None
    reading = [str(event.date.reading)] if event.date.reading in COMPOSED else []
    return Ruling(
        Label.SUPPORTS if fits else Label.REFUTES,
        (*reading, str(event.date.relation)),
        event.predicate.words,
        event.text,
        event.date.possibly,
        (TemporalFact.of(match, days),),
        tuple(sorted(match.shared)),
    )


def _may_be_another(match: Aligned, claimed: Interval, days: Interval) -> bool:
    """Whether the claim may be about another showing, ascent or edition than the evidence."""
    apart = max(claimed.first - days.last, days.first - claimed.last)
    return match.near >= apart or (match.first and claimed.last >= days.first)


def _fits(event: Event, days: Interval, relation: TemporalRelation, side: Side) -> bool | None:
    """Whether days of the evidence fulfil the claim's date: True, False, or None if that is open."""
    date: Dates = event.date
    surely, possibly, known = date.surely, date.possibly, bool(side.predicate.kinds)
    # `from 1945 to 1978` and `until 1978` claim that the event lasted until that end.
    first = event.text.lower().split()[0]
    extent = (
        first in ("until", "till", "throughout")
        or (date.relation is TemporalRelation.SINCE and first in ("since", "from"))
        or (date.reading is Reading.RANGE and first != "between")
    )
    if surely is not None and surely.contains(days):
        return None if extent and not side.predicate.kinds & ONCE and days != surely else True
    if possibly.meets(days):
        return None
    if (
        relation is TemporalRelation.SINCE
        and not known
        and not ORDINALS.intersection(side.sentence.words)
        and possibly.last > days.last
    ):
        return None  # only its beginning is known, and it may also hold later
    return False
