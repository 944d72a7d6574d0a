"""An attacked claim: what was edited, which label follows, on which evidence, and why."""

from __future__ import annotations

import dataclasses
import enum
import itertools
import random
from collections.abc import Iterable, Sequence

from lisax.records import Claim, Label

EvidenceSets = tuple[tuple[str, ...], ...]

# Products of evidence sets grow fast and five sentences are judged: more sets than this add nothing.
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


# What the authors' FEVER 2.0 file calls each kind; we write these names there, and read any case of them.
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
    """Our name of a kind as the FEVER 2.0 file writes it; any other name stays, and None is `other`."""
    return "other" if name is None else _OF_NAME.get(name.casefold(), name)


@dataclasses.dataclass(frozen=True, slots=True)
class Attack:
    """`text` says what `source` (the first claim's id, or both of a conjunction) became by `edit`.

    `evidence_sets` are complete for `label`, none for NOT ENOUGH INFO; `reason` is a sentence for a person to check.
    """

    kind: AttackKind
    source: tuple[str, ...]
    text: str
    label: Label
    evidence_sets: EvidenceSets
    edit: str
    reason: str


def random_of(seed: int, kind: AttackKind, *ids: str) -> random.Random:
    """The random numbers of one attack, whatever else is attacked before or beside it."""
    return random.Random(f"lisax.adversary:{seed}:{kind}:{':'.join(ids)}")


def together(*parts: EvidenceSets) -> EvidenceSets:
    """What shows all parts at once: one set of each part, joined; repeated units once, repeated sets once."""
    joined = (
        tuple(dict.fromkeys(unit for members in choice for unit in members)) for choice in itertools.product(*parts)
    )
    return distinct(itertools.islice(joined, MOST_SETS))


def distinct(sets: Iterable[Sequence[str]]) -> EvidenceSets:
    """Sets without repeats, whatever the order within them."""
    return tuple({frozenset(members): tuple(members) for members in sets}.values())


def both(first: Claim, second: Claim) -> tuple[Label, EvidenceSets]:
    """The label algebra of "and": refuted as soon as one part is, supported if both are, else undecided."""
    if Label.REFUTES in (first.label, second.label):
        return Label.REFUTES, distinct(
            members for claim in (first, second) if claim.label is Label.REFUTES for members in claim.evidence_sets
        )
    if first.label is second.label is Label.SUPPORTS:
        return Label.SUPPORTS, together(first.evidence_sets, second.evidence_sets)
    return Label.NOT_ENOUGH_INFO, ()
