"""The alternating merge of two ranked lists (LisT5, section 3.1)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest


def alternate(first: Sequence[str], second: Sequence[str], k: int) -> list[str]:
    """Takes from both lists in turn, `first` first, skipping duplicates, until there are `k`; when one list is used up,
    the rest of the other follows."""
    merged: dict[str, None] = {}
    for pair in zip_longest(first, second):
        for item in pair:
            if item is not None and len(merged) < k:
                merged.setdefault(item)
    return list(merged)
