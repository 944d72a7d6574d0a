"""The alternating merge of ranked lists (LisT5, section 3.1)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import chain, islice, zip_longest
from typing import TypeVar

Item = TypeVar("Item", bound=Hashable)


def in_turn(ranked: Sequence[Sequence[Item]]) -> list[Item]:
    """The first item of each list, then the second of each, and so on, skipping duplicates; a list that is used up is
    passed over."""
    return list(dict.fromkeys(item for item in chain.from_iterable(zip_longest(*ranked)) if item is not None))


def alternate(first: Sequence[str], second: Sequence[str], k: int) -> list[str]:
    """`in_turn` of two lists, until there are `k`."""
    return list(islice(in_turn([first, second]), k))
