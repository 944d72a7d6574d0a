"""Attacked claims in a run, as its recipe asks for them."""

from __future__ import annotations

import dataclasses

from lisax.papers.recipe import ClaimsRecipe
from lisax.records import LisaxError


@dataclasses.dataclass(frozen=True)
class AttackRecipe(ClaimsRecipe):
    """Attacks by rule, of all kinds but lexical substitution (`lisax attack make` has that too)."""

    attacks: bool = False  # attacked claims of the reported split are verified beside the clean ones
    attacked_claims: int | None = None  # that are verified of a kind at most; None: all
    # Share of attacked claims among those of train, 0 to train on clean claims alone.
    attacked_share: float = 0.0

    def __post_init__(self):
        super().__post_init__()
        if not 0 <= self.attacked_share < 1:
            raise LisaxError(f"attacked_share must be at least 0 and below 1, found {self.attacked_share}")
        if self.attacked_claims is not None and self.attacked_claims < 1:
            raise LisaxError(f"attacked_claims must be at least 1, or None for all, found {self.attacked_claims}")

    @property
    def attacked_roles(self) -> tuple[str, ...]:
        """Roles of the claims that are attacked."""
        return (*(["train"] if self.attacked_share else []), *(["test"] if self.attacks else []))
