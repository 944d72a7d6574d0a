"""The temporal step (DeSePtion, section 5.2): does the evidence's date fit the claim's?

`judge` finds the event that the claim dates and the same event in the evidence, and compares the two dates. It rules
only if every reading of the dates and all evidence agree; otherwise the verifier's label is kept.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from lisax.records import Label
from lisax.temporal import lexicon
from lisax.temporal.alignment import Aligned, Side, aligned
from lisax.temporal.calendar import Interval
from lisax.temporal.denial import affirmed, unrestricted
from lisax.temporal.described import Lookup, Placed, TitledText, placed
from lisax.temporal.events import Event, EventSentence, analysed
from lisax.temporal.expressions import (
    Age,
    Dates,
    Duration,
    Reading,
    TemporalRelation,
)
from lisax.temporal.lasting import rule_lasting
from lisax.temporal.lexicon import WordKind, stem
from lisax.temporal.ruling import Ruling, TemporalFact, agreed
from lisax.temporal.two_events import DIED, rule_age, rule_life, rule_order

# Bounds on the time that one claim takes, which grows with its dates times those of the evidence.
LONGEST = 2_000  # characters of a text that is read; the longest sentence of FEVER's sample has 759
MOST_DATES = 10  # of a claim
COMPOSED = (Reading.OFFSET, Reading.RANGE, Reading.PART, Reading.DECADE, Reading.CENTURY)


def judge(claim: str, evidence: Sequence[TitledText], lookup: Lookup | None = None) -> Ruling | None:
    """The label that the dates give a claim, with its reasons; None if they decide nothing.

    `evidence`: sentences with id, title and text, best first. `lookup` finds the first sentences of pages, which define
    `the film` and `the band`, if the evidence lacks them. A claim is refuted if one of its dates is; it is supported if
    all of them are, and the sentence with the date has every other word of the claim. Texts of more than `LONGEST`
    characters and claims of more than `MOST_DATES` dates decide nothing.
    """
    if len(claim) > LONGEST:
        return None
    evidence = [passage for passage in evidence if len(passage.text) <= LONGEST]
    if (denied := affirmed(claim)) is not None:
        ruling = judge(denied, evidence, lookup)
        return ruling and ruling.denied()
    if (wider := unrestricted(claim)) is not None:
        ruling = judge(wider, evidence, lookup)
        return ruling if ruling and ruling.label is Label.REFUTES else None
    sentence = analysed(claim)
    if len(sentence.expressions) > MOST_DATES or sentence.is_open:
        return None
    events, found = [single for event in sentence.events() for single in event.singly()], placed(evidence, lookup)
    if not events:
        return rule_order(sentence, found)
    verbs = [set(map(stem, event.predicate.words.split())) for event in events]
    rulings = []
    for at, event in enumerate(events):
        besides = frozenset().union(*(verbs[:at] + verbs[at + 1 :])) - verbs[at]
        if (ruling := _rule(sentence, event, found, besides)) is not None:
            rulings.append(ruling)
    refuting = [ruling for ruling in rulings if ruling.label is Label.REFUTES]
    if refuting:
        return refuting[0]
    # A claim holds only if there is a ruling on each of its time expressions.
    return rulings[0] if rulings and len(rulings) == len(sentence.expressions) else None


def _rule(sentence: EventSentence, event: Event, evidence: Sequence[Placed], besides: frozenset[str]) -> Ruling | None:
    """The ruling on one event of a claim. `besides`: stems of its other events' verbs, which are judged separately."""
    side = Side(sentence, event.predicate, event.subject, event.said, event.first, event.complement, besides)
    if isinstance(event.date, Age):
        if side.predicate.words == "lived":  # `lived to be 90`
            side = dataclasses.replace(side, predicate=DIED)
        return rule_age(side, event, aligned(side, evidence), evidence)
    if WordKind.LIFE in side.predicate.kinds and isinstance(event.date, Dates):
        return rule_life(side, event, evidence)
    if isinstance(event.date, Duration):
        return rule_lasting(side, event, evidence)
    return _rule_day(side, event, aligned(side, evidence)) or rule_lasting(side, event, evidence)


def _rule_day(side: Side, event: Event, found: Sequence[Aligned]) -> Ruling | None:
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
        return None if extent and not side.predicate.kinds & lexicon.ONCE and days != surely else True
    if possibly.meets(days):
        return None
    if (
        relation is TemporalRelation.SINCE
        and not known
        and not lexicon.ORDINALS.intersection(side.sentence.words)
        and possibly.last > days.last
    ):
        return None  # only its beginning is known, and it may also hold later
    return False
