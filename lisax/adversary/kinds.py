"""Applies all kinds of attack to a set of claims, streaming. Deterministic in claims, corpus, kinds and seed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence

from lisax.adversary.attack import Attack, AttackKind
from lisax.adversary.conjunction import Conjunction
from lisax.adversary.corpus import AttackCorpus
from lisax.adversary.date_manipulation import DateManipulation
from lisax.adversary.disambiguation import Disambiguation
from lisax.adversary.multi_hop import MultiHop
from lisax.adversary.multi_hop_temporal import MultiHopTemporal
from lisax.adversary.unverifiable import Unverifiable
from lisax.records import Claim, Label

# Lexical substitution is run separately (`lexical.LexicalSearch`): it needs a vocabulary and queries a model.
BY_RULE: dict[AttackKind, Callable] = {
    maker.kind: maker
    for maker in (Conjunction, MultiHop, Unverifiable, DateManipulation, MultiHopTemporal, Disambiguation)
}


def attackable(claims: Iterable[Claim], corpus: AttackCorpus) -> tuple[list[Claim], int]:
    """The claims, restricted to evidence sets that the corpus has, and the number of claims left out: true or false
    claims without evidence in the corpus cannot support the label of their attack."""
    kept, left_out = [], 0
    for claim in claims:
        sets = tuple(
            members for members in claim.evidence_sets if all(unit.rpartition("_")[0] in corpus for unit in members)
        )
        if sets or claim.label in (None, Label.NOT_ENOUGH_INFO):
            kept.append(dataclasses.replace(claim, evidence_sets=sets))
        else:
            left_out += 1
    return kept, left_out


def attacks(
    claims: Sequence[Claim],
    corpus: AttackCorpus,
    kinds: Sequence[AttackKind] = tuple(BY_RULE),
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> Iterator[tuple[str, Attack]]:
    """(id, attack) pairs claim by claim, kind by kind, with ids `{source}-{kind}-{n}`. Claims without a label give
    none.

    Texts that were already produced, or that are claims of the set, are left out.
    """
    makers = [BY_RULE[kind](corpus, claims, seed) for kind in kinds]
    seen = {claim.text for claim in claims}
    for claim in claims:
        for maker in makers:
            made = (attack for attack in maker.attack(claim) if attack.text not in seen)
            for number, attack in enumerate(made):
                seen.add(attack.text)
                yield f"{claim.id}-{maker.kind}-{number}", attack
        if progress is not None:
            progress(1)
