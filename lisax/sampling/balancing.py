"""Examples with equal numbers per label: those of any builder (`with_equal_labels`), and pairs of a claim and a
sentence (`balanced`; DeSePtion, section 5.2 and appendix B.1).

Claims that are true or false are paired with their gold sentences. NOT ENOUGH INFO claims have none, so their sentences
are drawn from the candidates "to maintain a balanced dataset": 54,431, 54,592 and 54,501 pairs. The paper does not
specify which pairs of the more frequent labels are left out; here they are drawn at random.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from lisax.formats.examples import Example
from lisax.records import LABELS, Claim, Label
from lisax.sampling import negatives
from lisax.sampling.examples import Lookup, Ranked, pointwise


def balanced(
    claims: Sequence[Claim],
    ranked: Ranked,
    lookup: Lookup,
    *,
    seed: int,
    window: negatives.Window,
    skipped: Counter | None = None,
) -> list[Example]:
    """One example per pair, in the order of the claims: each label that occurs has the rarest label's number.

    NOT ENOUGH INFO claims draw from the `window` of their candidates in turn, so that their numbers of examples differ
    by at most one."""
    skipped = Counter() if skipped is None else skipped
    decided = [claim for claim in claims if claim.label in (Label.SUPPORTS, Label.REFUTES)]
    found = list(pointwise(decided, {}, lookup, skipped=skipped)) + list(
        _drawn(claims, ranked, lookup, seed, window, skipped)
    )
    by_label = {label: [i for i, example in enumerate(found) if example.label is label] for label in LABELS}
    count = min((len(places) for places in by_label.values() if places), default=0)
    kept: set[int] = set()
    for label, places in by_label.items():
        if label is Label.NOT_ENOUGH_INFO:
            kept.update(places[:count])  # they are in round-robin order
        elif places:
            kept.update(_some(places, count, seed, label))
    place = {claim.id: number for number, claim in enumerate(claims)}
    return sorted((found[i] for i in sorted(kept)), key=lambda example: place[example.claim_id])


def with_equal_labels(examples: Iterable[Example], *, seed: int) -> list[Example]:
    """The examples in their order without those, drawn at random, that the more frequent labels have more of than the
    rarest."""
    found = list(examples)
    by_label = {label: [i for i, example in enumerate(found) if example.label is label] for label in LABELS}
    count = min((len(places) for places in by_label.values() if places), default=0)
    kept: set[int] = set()
    for label, places in by_label.items():
        if places:
            kept.update(_some(places, count, seed, label))
    return [found[i] for i in sorted(kept)]


def _some(places: Sequence[int], count: int, seed: int, label: Label) -> list[int]:
    chosen = negatives.generator(seed, "", f"balance {label}").choice(len(places), count, replace=False)
    return [places[i] for i in chosen]


def _drawn(
    claims: Iterable[Claim], ranked: Ranked, lookup: Lookup, seed: int, window: negatives.Window, skipped: Counter
) -> Iterator[Example]:
    """Candidates of NOT ENOUGH INFO claims, drawn at random: one per claim, then a second one per claim, and so on."""
    drawn: list[tuple[Claim, list[str]]] = []
    for claim in claims:
        if claim.label is Label.NOT_ENOUGH_INFO:
            readable = [unit for unit in ranked.get(claim.id, ()) if lookup(unit) is not None]
            units = negatives.pool(readable, claim.gold_ids, window, 1)
            if units and not negatives.pool(readable, claim.gold_ids, window, 0):
                skipped[negatives.MOVED] += 1
            rng = negatives.generator(seed, claim.id, "balanced")
            drawn.append((claim, [units[i] for i in rng.permutation(len(units))]))
    for turn in range(max((len(units) for _, units in drawn), default=0)):
        for claim, units in drawn:
            if turn < len(units):
                yield Example(claim.id, claim.text, (lookup(units[turn]),), label=claim.label)
