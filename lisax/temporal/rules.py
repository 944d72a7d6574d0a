"""The temporal step (DeSePtion, section 5.2): does the evidence's date fit the claim's?

`judge` finds what the claim dates, the same event in the evidence, and compares the two dates. It rules only where
every reading of the dates and all evidence agree; otherwise the verifier's label stands.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from lisax.records import Label
from lisax.temporal.alignment import Aligned, Passage, Side, aligned, same_name_as
from lisax.temporal.calendar import Interval, civil
from lisax.temporal.events import Event, Predicate, Sentence, analysed
from lisax.temporal.expressions import Age, Dates, Reading, Relation
from lisax.temporal.lexicon import ORDINALS, UNCERTAIN, Kind

COMPOSED = (Reading.OFFSET, Reading.RANGE, Reading.PART, Reading.DECADE, Reading.CENTURY)


@dataclasses.dataclass(frozen=True, slots=True)
class Ruling:
    """What was decided, by which rules, on which words and days: all that a person needs to check it."""

    label: Label
    rules: tuple[str, ...]  # in the order applied: `("offset", "before")`
    claim_words: str
    claim_days: Interval
    evidence: str  # id of the sentence
    evidence_words: str
    evidence_days: Interval
    predicates: tuple[str, str]  # the claim's and the evidence's
    shared: tuple[str, ...]  # stems

    @property
    def reason(self) -> str:
        verb = "lies in" if self.label is Label.SUPPORTS else "lies outside"
        return (f"'{self.predicates[1]} … {self.evidence_words}' ({self.evidence_days}) {verb} "
                f"'{self.predicates[0]} … {self.claim_words}' ({self.claim_days})")

    def row(self) -> dict[str, Any]:
        """The ruling as JSON, as predictions carry it; days as `Interval.iso`."""
        return {"label": str(self.label), "rules": list(self.rules), "reason": self.reason,
                "claim": {"words": self.claim_words, "predicate": self.predicates[0], "days": self.claim_days.iso()},
                "evidence": {"id": self.evidence, "words": self.evidence_words, "predicate": self.predicates[1],
                             "days": self.evidence_days.iso()}, "shared": list(self.shared)}


def judge(claim: str, evidence: Sequence[Passage]) -> Ruling | None:
    """The label that the dates give a claim, or None where they give none.

    `evidence`: sentences with id, title and text, best first. A claim is refuted if one of its dates is; it is
    supported if all of them are and the sentence that has the date has every other word of the claim.
    """
    sentence = analysed(claim)
    if not sentence.expressions or _uncertain(sentence):
        return None
    events = sentence.events()
    rulings = [ruling for event in events if (ruling := _rule(sentence, event, evidence)) is not None]
    refuting = [ruling for ruling in rulings if ruling.label is Label.REFUTES]
    if refuting:
        return refuting[0]
    # Every expression of time must have been ruled on for the claim to hold.
    return rulings[0] if rulings and len(rulings) == len(sentence.expressions) else None


def _uncertain(sentence: Sentence) -> bool:
    return any(word in UNCERTAIN and not (sentence.tokens[at].capital and at) for at, word in enumerate(sentence.words))


def _rule(sentence: Sentence, event: Event, evidence: Sequence[Passage]) -> Ruling | None:
    side = Side(sentence, event.predicate, event.subject)
    found = [match for match in aligned(side, evidence) if isinstance(match.event.date, Dates)]
    if isinstance(event.date, Age):
        return _rule_age(side, event, found, evidence)
    days = _agreed(found)
    if days is None:
        return None
    begins = bool(ORDINALS.intersection(sentence.words)) or bool(side.predicate.kinds)
    fits = _fits(event.date, days, _relation(found), begins)
    return _ruling(fits, found, event, event.date.possibly, days, _rules_of(event.date))


def _agreed(found: Sequence[Aligned]) -> Interval | None:
    """The days that all the evidence leaves for the event; None where it disagrees, or speaks of namesakes."""
    if not found or len({_relation([match]) for match in found}) > 1:
        return None
    titles = {match.passage.title for match in found}
    if len({same_name_as(title) for title in titles}) < len(titles):
        return None
    days: Interval | None = _days(found[0].event.date)
    for match in found[1:]:
        days = days and days.intersection(_days(match.event.date))
    return days


def _days(date: Dates) -> Interval:
    return date.period.outer if date.relation is Relation.SINCE else date.possibly


def _relation(found: Sequence[Aligned]) -> Relation:
    return found[0].event.date.relation


def _fits(claimed: Dates, days: Interval, relation: Relation, begins: bool) -> bool | None:
    """Whether days of the evidence fulfil the claim: True, False, or None where that is open.

    Of what holds `since` a date only the beginning is known: it refutes what the claim puts earlier, and more only where
    the claim is about the beginning.
    """
    surely, possibly = claimed.surely, claimed.possibly
    if surely is not None and surely.contains(days):
        return True
    if possibly.meets(days):
        return None
    if relation is Relation.SINCE and not begins and possibly.last > days.last:
        return None
    return False


def _rules_of(date: Dates) -> tuple[str, ...]:
    return (*([str(date.reading)] if date.reading in COMPOSED else []), str(date.relation))


def _rule_age(side: Side, event: Event, found: Sequence[Aligned], evidence: Sequence[Passage]) -> Ruling | None:
    """`died at the age of 79`: the years between the birth and the event."""
    born = aligned(Side(side.sentence, Predicate("born", "born", frozenset({Kind.BIRTH})), side.subject), evidence)
    birth, days = _agreed([match for match in born if isinstance(match.event.date, Dates)]), _agreed(found)
    if birth is None or days is None or max(*birth_to(days, birth)) < 0:
        return None
    youngest, oldest = birth_to(days, birth)
    years = event.date.years
    fits = True if youngest == oldest == years else None if youngest <= years <= oldest else False
    return _ruling(fits, found, event, Interval(birth.first, days.last), days, ("age",))


def birth_to(days: Interval, birth: Interval) -> tuple[int, int]:
    """The least and the greatest age in whole years on days, of who was born on one of the days of `birth`."""
    return _age(birth.last, days.first), _age(birth.first, days.last)


def _age(born: int, day: int) -> int:
    (year, *birthday), (now, *today) = civil(born), civil(day)
    return now - year - (today < birthday) - (year < 0 < now)


def _ruling(fits: bool | None, found: Sequence[Aligned], event: Event, claimed: Interval, days: Interval,
            rules: tuple[str, ...]) -> Ruling | None:
    """Supported only if a sentence has all of the claim's words, refuted only if one has enough of them."""
    if fits is None:
        return None
    match = next((match for match in found if (not match.left if fits else match.refutes)), None)
    if match is None:
        return None
    return Ruling(Label.SUPPORTS if fits else Label.REFUTES, rules, event.text, claimed, match.passage.id, match.event.text,
                  days, (event.predicate.words, match.event.predicate.words), tuple(sorted(match.shared)))
