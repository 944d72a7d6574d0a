"""Reads dates in claims and evidence (`parse`), and rules on claims by them (`judge`; DeSePtion, section 5.2)."""

from lisax.temporal.grammar import parse
from lisax.temporal.rules import judge
from lisax.temporal.ruling import Ruling

__all__ = ["Ruling", "judge", "parse"]
