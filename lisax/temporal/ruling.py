"""A ruling of the temporal step, and the days on which the evidence agrees."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from lisax.records import Label
from lisax.temporal.alignment import Aligned, same_name_as
from lisax.temporal.calendar import Interval
from lisax.temporal.expressions import TemporalRelation


@dataclasses.dataclass(frozen=True, slots=True)
class Ruling:
    """A decision with the rules, words and days it is based on: all that is needed to check it."""

    label: Label
    rules: tuple[str, ...]  # in the order applied: `("offset", "before")`
    predicate: str  # in the claim
    words: str  # the claim's date
    days: Interval  # days that fulfil it
    facts: tuple[TemporalFact, ...]  # in the evidence
    shared: tuple[str, ...]  # stems that claim and evidence share

    @property
    def reason(self) -> str:
        found = " and ".join(f"'{fact.predicate} … {fact.words}' ({fact.days})" for fact in self.facts)
        one = "s" if len(self.facts) == 1 else ""
        return (
            f"the evidence's {found} {'fit' if self.label is Label.SUPPORTS else 'contradict'}{one} "
            f"the claim's '{self.predicate} … {self.words}' ({self.days})"
        )

    def denied(self) -> Ruling:
        """The ruling on the claim that denies this one."""
        label = Label.REFUTES if self.label is Label.SUPPORTS else Label.SUPPORTS
        return dataclasses.replace(self, label=label, rules=("not", *self.rules), predicate=f"not {self.predicate}")

    def row(self) -> dict[str, Any]:
        """The ruling as JSON for predictions files; days as `Interval.iso`."""
        return {
            "label": str(self.label),
            "rules": list(self.rules),
            "reason": self.reason,
            "claim": {"predicate": self.predicate, "words": self.words, "days": self.days.iso()},
            "evidence": [fact.row() for fact in self.facts],
            "shared": list(self.shared),
        }


@dataclasses.dataclass(frozen=True, slots=True)
class TemporalFact:
    """A dated event of the evidence; `days` are those on which all sentences about it agree."""

    id: str
    predicate: str
    words: str
    days: Interval

    @classmethod
    def of(cls, match: Aligned, days: Interval) -> TemporalFact:
        return cls(match.passage.id, match.event.predicate.words, match.event.text, days)

    def row(self) -> dict[str, Any]:
        return {"id": self.id, "predicate": self.predicate, "words": self.words, "days": self.days.iso()}


def agreed(found: Sequence[Aligned]) -> Interval | None:
    """The days of an event on which all evidence agrees; None if it disagrees, or is about namesakes."""
    if not found or len({match.event.date.relation for match in found}) > 1:
        return None
    if not are_of_one(found):
        return None
    days: Interval | None = _days(found[0])
    for match in found[1:]:
        days = days and days.intersection(_days(match))
    return days


def are_of_one(found: Sequence[Aligned]) -> bool:
    """Whether no two pages among those of the sentences have the same name."""
    titles = {match.passage.title for match in found}
    return len({same_name_as(title) for title in titles}) == len(titles)


def _days(match: Aligned) -> Interval:
    date = match.event.date
    return date.period.outer if date.relation is TemporalRelation.SINCE else date.possibly
