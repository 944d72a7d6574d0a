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
from lisax.sampling.examples import Draws, Lookup, Ranked, pointwise


def balanced(
    claims: Sequence[Claim], ranked: Ranked, lookup: Lookup, draws: Draws = Draws(), skipped: Counter | None = None
) -> list[Example]:
    """One example per pair, in the order of the claims: each label that occurs has the rarest label's number.

    NOT ENOUGH INFO claims draw from the `labelling_window` of their candidates in turn."""
    skipped = Counter() if skipped is None else skipped
    decided = [claim for claim in claims if claim.label in (Label.SUPPORTS, Label.REFUTES)]
    found = list(pointwise(decided, {}, lookup, skipped=skipped))
    found += _drawn(claims, ranked, lookup, draws, skipped)
    place = {claim.id: number for number, claim in enumerate(claims)}
    # Those without enough information are in round-robin order.
    kept = _kept(found, draws.seed, in_order=(Label.NOT_ENOUGH_INFO,))
    return sorted((found[i] for i in kept), key=lambda example: place[example.claim_id])


def with_equal_labels(examples: Iterable[Example], *, seed: int) -> list[Example]:
    """The examples in their order without those, drawn at random, that a label has more of than the rarest."""
    found = list(examples)
    return [found[i] for i in _kept(found, seed)]


def _kept(examples: Sequence[Example], seed: int, in_order: Sequence[Label] = ()) -> list[int]:
    """The places of equally many examples of each label, drawn at random, or of labels `in_order` the first."""
    by_label = {label: [i for i, example in enumerate(examples) if example.label is label] for label in LABELS}
    count = min((len(places) for places in by_label.values() if places), default=0)
    kept: list[int] = []
    for label, places in by_label.items():
        if label in in_order:
            kept += places[:count]
        elif places:
            chosen = negatives.generator(seed, "", f"balance {label}").choice(len(places), count, replace=False)
            kept += [places[i] for i in chosen]
    return sorted(kept)


def _drawn(
    claims: Iterable[Claim], ranked: Ranked, lookup: Lookup, draws: Draws, skipped: Counter
) -> Iterator[Example]:
    """Candidates of NOT ENOUGH INFO claims, drawn at random: one per claim, then a second one per claim, and so on."""
    drawn: list[tuple[Claim, list[str]]] = []
    window = draws.labelling_window
    for claim in claims:
        if claim.label is Label.NOT_ENOUGH_INFO:
            readable = [unit for unit in ranked.get(claim.id, ()) if lookup(unit) is not None]
            units = negatives.pool(readable, claim.gold_ids, window, 1)
            if units and not negatives.pool(readable, claim.gold_ids, window, 0):
                skipped[negatives.MOVED] += 1
            rng = negatives.generator(draws.seed, claim.id, "balanced")
            drawn.append((claim, [units[i] for i in rng.permutation(len(units))]))
    for turn in range(max((len(units) for _, units in drawn), default=0)):
        for claim, units in drawn:
            if turn < len(units):
                yield Example(claim.id, claim.text, (lookup(units[turn]),), label=claim.label)
