"""Dates of edges: an attribute that a knowledge graph states of the entity of its page.

An edge as a line (`birth year, 1884`) or as the rule's sentence (`Ada Brook: the birth year is 1884.`) has no verb, and
a year without a preposition. Texts with several attributes are skipped: those of a row may describe something other
than the page (`the pupil is Ida Moe; the born is 1884`).
"""

from __future__ import annotations

import dataclasses
import re

from lisax.temporal.expressions import Dates, TemporalRelation
from lisax.temporal.grammar import parse
from lisax.temporal.lexicon import WordKind

NAMES = {
    name: kind
    for kind, names in {
        WordKind.BIRTH: "birth born",
        WordKind.DEATH: "death died",
        WordKind.FOUNDING: "founding foundation founded formation formed inception establishment established incorporated",
        WordKind.END: "dissolution dissolved disbanded abolished",
        WordKind.RELEASE: "release released publication published premiere premiered",
        WordKind.ASCENT: "ascent climbed",
        WordKind.BUILDING: "construction built",
    }.items()
    for name in names.split()
}
# `birth year`, `date of birth`, `first ascent`, `was released`
BESIDE = frozenset("year date time day of first".split())
STATED = re.compile(r"(?:.+: )?(?:the )?(?P<name>[A-Za-z ]{4,30}?)(?: is |, |: )(?P<value>[^:;|]+?)\.?")


@dataclasses.dataclass(frozen=True, slots=True)
class StatedAttribute:
    """An attribute and its date; `date` has its position in the text."""

    name: str
    kind: WordKind
    date: Dates


def stated(text: str) -> StatedAttribute | None:
    """The one dated attribute that a text states, or None."""
    found = STATED.fullmatch(text.strip())
    if found is None:
        return None
    named = [word for word in found["name"].lower().split() if word not in BESIDE]
    kind = NAMES.get(named[0]) if len(named) == 1 else None
    begin = text.index(found["value"], found.start("value"))
    date = kind and _date(found["value"])
    if date is None:
        return None
    return StatedAttribute(named[0], kind, dataclasses.replace(date, start=begin, end=begin + len(found["value"])))


def _date(value: str) -> Dates | None:
    """The date, if the whole value is one."""
    for before in ("", "in "):  # a bare year is recognised only after a preposition
        said = parse(before + value)
        if (
            len(said) == 1
            and isinstance(said[0], Dates)
            and said[0].relation is TemporalRelation.IN
            and (said[0].start, said[0].end) == (0, len(before + value))
        ):
            return said[0]
    return None
