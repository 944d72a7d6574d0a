"""Denied claims: of `was not born in 1902` the dates judge `was born in 1902`, and the ruling is turned around."""

from __future__ import annotations

import itertools
import re

from lisax.temporal import lexicon
from lisax.temporal.expressions import (
    Duration,
)
from lisax.temporal.grammar import parse
from lisax.temporal.lexicon import is_verb
from lisax.text.tokens import tokens

DENIED = re.compile(r"\b(was|were|is|are|has|had|have|did)(?:n['’]t\b|\s+(?:not|never)\b)(?:\s+(\w+))?")
NEVER = re.compile(r"\bnever (?=\w)")
ONLY = re.compile(r"(?<!\bthe )(?<!\bnot )\bonly (?=\w)")
# `not yet born`, `did not retire until 1990` and `has not lived here since 1990` deny less than the rest of the claim.
WEAKER = frozenset("only just yet until till since even merely all both long far exactly because due".split())


def affirmed(claim: str) -> str | None:
    """The claim without its one denial; None if it denies nothing, or not the whole of its one statement."""
    found = DENIED.findall(claim) or NEVER.findall(claim)
    dates = parse(claim)  # with commas of their own
    said = tokens(claim)
    words = [token.word for token in said if not any(date.start <= token.start < date.end for date in dates)]
    beside = [after for word, after in itertools.pairwise(words) if word == "and"]
    if (
        len(found) != 1
        or any(isinstance(date, Duration) for date in dates)
        or not WEAKER.isdisjoint(token.word for token in said)
        or not (lexicon.CLAUSE_ENDS - {"and"}).isdisjoint(words)
        or any(is_verb(word) or word in lexicon.AUXILIARIES for word in beside)
    ):
        return None
    return DENIED.sub(_without, claim) if DENIED.search(claim) else NEVER.sub("", claim)


def unrestricted(claim: str) -> str | None:
    """The claim without its one `only`, which is true if the claim is; None for another claim."""
    return ONLY.sub("", claim) if len(ONLY.findall(claim)) == 1 else None


def _without(denied: re.Match) -> str:
    auxiliary, verb = denied[1], denied[2]
    if verb is None or verb.lower() in lexicon.UNCERTAIN:
        return auxiliary
    return _past(verb.lower()) if auxiliary.lower() == "did" else f"{auxiliary} {verb}"


def _past(verb: str) -> str:
    irregular = next((past for past, base in lexicon.IRREGULAR.items() if base == verb), None)
    return irregular or verb + ("d" if verb.endswith("e") else "ed")
