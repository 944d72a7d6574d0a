"""The settings of attacked claims in a run."""

from __future__ import annotations

import dataclasses

from lisax.errors import LisaxError
from lisax.papers.recipe import ClaimsRecipe


@dataclasses.dataclass(frozen=True)
class AttackRecipe(ClaimsRecipe):
    """Adds attacks by rule: all kinds but lexical substitution (which `lisax attack make` has as well)."""

    attacks: bool = False  # also verify attacked claims of the reported split
    attacked_claims: int | None = None  # limit on the attacked claims verified per kind; None: all
    # Share of attacked claims in the training data; 0 trains only on clean claims.
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
