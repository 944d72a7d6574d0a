"""Example records of the evidence pointer: a claim with its candidates, and which of them are evidence, in order.

Candidates are pages, represented by their titles, or the sentences of the pages pointed to. Gold pointers are the units
of the claim's evidence sets, smallest set first, without duplicates.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from lisax.formats.examples import Passage
from lisax.formats.pointing import PointerExample
from lisax.records import (
    Claim,
    Label,
    split_sentence_id,
)
from lisax.sampling.examples import Lookup, Ranked, first_found

EvidenceSets = Callable[[Claim], Sequence[Sequence[str]]]

NO_CANDIDATES = "a claim without candidates"
NO_EVIDENCE = "a claim of whose evidence nothing is in the corpus"


# --- Builders --------------------------------------------------------------------------------


def sentence_sets(claim: Claim) -> list[tuple[str, ...]]:
    """The claim's evidence sets, smallest first."""
    return sorted(claim.evidence_sets, key=len)


def page_sets(claim: Claim) -> list[tuple[str, ...]]:
    """The sets of pages of the claim's evidence sets, smallest first, without duplicates."""
    sets = (tuple(dict.fromkeys(split_sentence_id(unit)[0] for unit in units)) for units in claim.evidence_sets)
    return sorted(dict.fromkeys(sets), key=len)


def as_used(
    claims: Iterable[Claim], ranked: Ranked, lookup: Lookup, sets: EvidenceSets, k: int
) -> Iterator[PointerExample]:
    """Every claim with its first `k` candidates, as the model sees it in use."""
    return (_example(claim, first_found(ranked.get(claim.id, ()), lookup, k), sets) for claim in claims)


def training(
    claims: Iterable[Claim],
    ranked: Ranked,
    lookup: Lookup,
    sets: EvidenceSets,
    k: int,
    *,
    steps: int,
    skipped: Counter | None = None,
) -> Iterator[PointerExample]:
    """Labelled claims with `k` candidates that include the smallest evidence set; units of it that were not retrieved
    replace the last candidates. Sets of more than `steps` units cannot be pointed to and are ignored.

    True or false claims without evidence in the corpus give no example, nor do claims without candidates."""
    skipped = Counter() if skipped is None else skipped
    for claim in claims:
        if claim.label is None:
            continue
        found = first_found(ranked.get(claim.id, ()), lookup, k)
        whole = next((units for units in sets(claim) if len(units) <= min(steps, k) and all(map(lookup, units))), ())
        if claim.label is Label.NOT_ENOUGH_INFO:
            whole = ()
        elif not whole:
            skipped[NO_EVIDENCE] += 1
            continue
        there = {candidate.id for candidate in found}
        missing = [lookup(unit) for unit in whole if unit not in there]
        while len(found) + len(missing) > k:  # the last candidate outside the set makes room
            found.pop(max(i for i, candidate in enumerate(found) if candidate.id not in whole))
        if found or missing:
            yield _example(claim, [*found, *missing], sets)
        else:
            skipped[NO_CANDIDATES] += 1


def _example(claim: Claim, candidates: Sequence[Passage], sets: EvidenceSets) -> PointerExample:
    places = {candidate.id: place for place, candidate in enumerate(candidates)}
    # Units cited for a NOT ENOUGH INFO claim are not evidence.
    known = sets(claim) if claim.label in (Label.SUPPORTS, Label.REFUTES) else ()
    whole = tuple(tuple(places[unit] for unit in units) for units in known if all(unit in places for unit in units))
    return PointerExample(claim.id, claim.text, tuple(candidates), claim.label, whole)
