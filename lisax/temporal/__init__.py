"""Reads dates in claims and evidence (`parse`), and rules on claims by them (`judge`; DeSePtion, section 5.2)."""

from lisax.temporal.alignment import Ruling
from lisax.temporal.grammar import parse
from lisax.temporal.rules import judge

__all__ = ["Ruling", "judge", "parse"]
