"""Dates in claims and evidence: what they mean (`parse`) and what they decide (`judge`; DeSePtion, section 5.2)."""

from lisax.temporal.grammar import parse
from lisax.temporal.rules import judge
from lisax.temporal.ruling import Ruling

__all__ = ["Ruling", "judge", "parse"]
