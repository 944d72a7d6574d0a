"""Example records of the evidence pointer: a claim with its candidates, and which of them are evidence in which order.

Candidates are pages, of which the title is read, or the sentences of the pages pointed to. Gold pointers are the units
of the claim's evidence sets, the smallest set first, each unit once.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from lisax.records import (
    LABELS,
    Claim,
    DataError,
    Label,
    get_field,
    read_json_lines,
    split_sentence_id,
    write_json_lines,
)
from lisax.sampling.examples import Lookup, Passage, Ranked, first_passages

EvidenceSets = Callable[[Claim], Sequence[Sequence[str]]]

NO_CANDIDATES = "a claim without candidates"
NO_EVIDENCE = "a claim of whose evidence nothing is in the corpus"


@dataclasses.dataclass(frozen=True, slots=True)
class PointerExample:
    """`sets`: places of candidates, each set complete, in the order in which they are to be pointed to; sets of which a
    part is no candidate are not here."""

    claim_id: str
    claim: str
    candidates: tuple[Passage, ...] = ()
    label: Label | None = None
    sets: tuple[tuple[int, ...], ...] = ()

    @property
    def unit_ids(self) -> list[str]:
        return [candidate.id for candidate in self.candidates]

    @property
    def pointers(self) -> tuple[int, ...]:
        """Places of the gold candidates in the order in which they are to be pointed to."""
        return tuple(dict.fromkeys(place for places in self.sets for place in places))

    def row(self) -> dict:
        """The JSON object of the example."""
        return {
            "claim_id": self.claim_id,
            "claim": self.claim,
            "label": self.label,
            "sets": self.sets,
            "candidates": [dataclasses.asdict(candidate) for candidate in self.candidates],
        }

    @classmethod
    def from_row(cls, row: dict, *, path=None, line: int | None = None) -> PointerExample:
        """The example of a JSON object; DataError names the field at fault."""
        where = {"path": path, "line": line}
        candidates = []
        for i, candidate in enumerate(get_field(row, "candidates", list, **where)):
            if not isinstance(candidate, dict) or not all(
                isinstance(candidate.get(name), str) for name in ("id", "title", "text")
            ):
                raise DataError(
                    f"expected an object with id, title and text, found {json.dumps(candidate)[:80]}",
                    field=f"candidates[{i}]",
                    **where,
                )
            candidates.append(Passage(candidate["id"], candidate["title"], candidate["text"]))
        label = row.get("label")
        if label is not None and label not in list(LABELS):
            raise DataError(
                f"expected null or one of {', '.join(LABELS)}, found {json.dumps(label)}", field="label", **where
            )
        sets = get_field(row, "sets", list, **where)
        for i, places in enumerate(sets):
            if (
                not isinstance(places, list)
                or not places
                or not all(isinstance(place, int) and 0 <= place < len(candidates) for place in places)
            ):
                raise DataError(
                    f"expected places from 0 to {len(candidates) - 1}, found {json.dumps(places)[:80]}",
                    field=f"sets[{i}]",
                    **where,
                )
        return cls(
            get_field(row, "claim_id", str, **where),
            get_field(row, "claim", str, **where),
            tuple(candidates),
            None if label is None else Label(label),
            tuple(map(tuple, sets)),
        )


def write(path: str | os.PathLike, examples: Iterable[PointerExample]) -> int:
    """Writes examples as JSON Lines, atomically; returns their number."""
    return write_json_lines(path, (example.row() for example in examples))


def read(path: str | os.PathLike) -> Iterator[PointerExample]:
    return (PointerExample.from_row(row, path=path, line=line) for line, row in read_json_lines(path))


# --- Builders --------------------------------------------------------------------------------


def sentence_sets(claim: Claim) -> list[tuple[str, ...]]:
    """The claim's evidence sets, the smallest first."""
    return sorted(claim.evidence_sets, key=len)


def page_sets(claim: Claim) -> list[tuple[str, ...]]:
    """The pages of each evidence set, the fewest first, each set of pages once."""
    sets = (tuple(dict.fromkeys(split_sentence_id(unit)[0] for unit in units)) for units in claim.evidence_sets)
    return sorted(dict.fromkeys(sets), key=len)


def as_used(
    claims: Iterable[Claim], ranked: Ranked, lookup: Lookup, sets: EvidenceSets, k: int
) -> Iterator[PointerExample]:
    """Every claim with its first `k` candidates, as the model meets it in use."""
    return (_example(claim, first_passages(ranked.get(claim.id, ()), lookup, k), sets) for claim in claims)


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
    """Labelled claims with `k` candidates, among which is the smallest evidence set: where a part of it was not
    retrieved it takes the last places. Sets of more than `steps` units cannot be pointed to and count as none.

    Claims that are true or false by nothing in the corpus give no example, nor do those without candidates."""
    skipped = Counter() if skipped is None else skipped
    for claim in claims:
        if claim.label is None:
            continue
        found = first_passages(ranked.get(claim.id, ()), lookup, k)
        whole = next((units for units in sets(claim) if len(units) <= min(steps, k) and all(map(lookup, units))), ())
        if claim.label is Label.NOT_ENOUGH_INFO:
            whole = ()
        elif not whole:
            skipped[NO_EVIDENCE] += 1
            continue
        there = {candidate.id for candidate in found}
        missing = [lookup(unit) for unit in whole if unit not in there]
        while len(found) + len(missing) > k:  # the last that is not of the set makes room
            found.pop(max(i for i, candidate in enumerate(found) if candidate.id not in whole))
        if found or missing:
            yield _example(claim, [*found, *missing], sets)
        else:
            skipped[NO_CANDIDATES] += 1


def _example(claim: Claim, candidates: Sequence[Passage], sets: EvidenceSets) -> PointerExample:
    places = {candidate.id: place for place, candidate in enumerate(candidates)}
    # What is said of a claim without enough information is no evidence.
    known = sets(claim) if claim.label in (Label.SUPPORTS, Label.REFUTES) else ()
    whole = tuple(tuple(places[unit] for unit in units) for units in known if all(unit in places for unit in units))
    return PointerExample(claim.id, claim.text, tuple(candidates), claim.label, whole)
