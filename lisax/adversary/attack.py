"""An attacked claim: the edit, the resulting label, its evidence, and the reason."""

from __future__ import annotations

import dataclasses
import enum
import itertools
import random
from collections.abc import Iterable, Sequence

from lisax.records import Claim, Label

EvidenceSets = tuple[tuple[str, ...], ...]

# Products of evidence sets grow fast, and only five sentences are judged: more sets than this add nothing.
MOST_SETS = 50


class AttackKind(enum.StrEnum):
    """The seven kinds of attack, in the order of the paper's tables (DeSePtion, section 4)."""

    CONJUNCTION = "conjunction"
    MULTI_HOP = "multi_hop"
    UNVERIFIABLE = "unverifiable"
    DATE = "date"
    MULTI_HOP_TEMPORAL = "multi_hop_temporal"
    DISAMBIGUATION = "disambiguation"
    LEXICAL = "lexical"


# Names of the kinds in the authors' FEVER 2.0 file. We write these names there, and read them in any case.
FEVER2_NAMES = {
    AttackKind.CONJUNCTION: "conjunction",
    AttackKind.MULTI_HOP: "Multihop",
    AttackKind.UNVERIFIABLE: "Phrasal Additions",
    AttackKind.DATE: "date manipulation",
    AttackKind.MULTI_HOP_TEMPORAL: "multi-hop temporal reasoning",
    AttackKind.DISAMBIGUATION: "Entity Disambiguation",
    AttackKind.LEXICAL: "word replacement",
}
_OF_NAME = {name.casefold(): str(kind) for kind, name in FEVER2_NAMES.items()}


def kind_name(name: str | None) -> str:
    """Our name of a kind, given its name in the FEVER 2.0 file; any other name is returned as it is, and None as
    `other`."""
    return "other" if name is None else _OF_NAME.get(name.casefold(), name)


@dataclasses.dataclass(frozen=True, slots=True)
class Attack:
    """An attacked claim: `text` is the result of applying `edit` to `source` (the first claim's id, or both of a
    conjunction).

    `evidence_sets` are complete for `label`, and empty for NOT ENOUGH INFO; `reason` is a sentence for reviewers.
    """

    kind: AttackKind
    source: tuple[str, ...]
    text: str
    label: Label
    evidence_sets: EvidenceSets
    edit: str
    reason: str


def random_of(seed: int, kind: AttackKind, *ids: str) -> random.Random:
    """The random generator of one attack, independent of all other attacks."""
    return random.Random(f"lisax.adversary:{seed}:{kind}:{':'.join(ids)}")


def together(*parts: EvidenceSets) -> EvidenceSets:
    """Evidence sets that show all parts at once: one set of each part, joined, without duplicate units or sets."""
    joined = (
        tuple(dict.fromkeys(unit for members in choice for unit in members)) for choice in itertools.product(*parts)
    )
    return distinct(itertools.islice(joined, MOST_SETS))


def distinct(sets: Iterable[Sequence[str]]) -> EvidenceSets:
    """Sets without duplicates, ignoring their order."""
    return tuple({frozenset(members): tuple(members) for members in sets}.values())


def both(first: Claim, second: Claim) -> tuple[Label, EvidenceSets]:
    """Label and evidence of "first and second": refuted if one part is, supported if both are, else undecided."""
    if Label.REFUTES in (first.label, second.label):
        return Label.REFUTES, distinct(
            members for claim in (first, second) if claim.label is Label.REFUTES for members in claim.evidence_sets
        )
    if first.label is second.label is Label.SUPPORTS:
        return Label.SUPPORTS, together(first.evidence_sets, second.evidence_sets)
    return Label.NOT_ENOUGH_INFO, ()
