"""Noise infusion I(S(q)) (LisT5, section 3.3): gold evidence among the sentences that the ranker really selects."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from lisax.records import Label

if TYPE_CHECKING:
    import numpy as np


def infuse(
    selected: Sequence[str], gold: Sequence[str], label: Label, rng: np.random.Generator, *, spare: Collection[str] = ()
) -> list[str]:
    """The selected sentences Ŝ(q) with every missing gold sentence at a random non-gold index.

    `gold` is one evidence set. A claim without enough information keeps its list. The length never changes.
    If more gold sentences are missing than there are non-gold indices, the first missing ones in the set's order are
    put in and the rest are left out: then every sentence of the list is gold, and a list of L is all that the model
    will ever see. `spare` (ours) are sentences of the claim's other evidence sets: their indices are taken last."""
    result = list(selected)
    if label is Label.NOT_ENOUGH_INFO:
        return result
    gold = list(dict.fromkeys(gold))
    spare = set(spare)
    for sentence in gold:
        if sentence in result:
            continue
        free = [i for i, unit in enumerate(result) if unit not in gold]
        if not free:
            break
        free = [i for i in free if result[i] not in spare] or free
        result[free[int(rng.integers(len(free)))]] = sentence
    return result


def varied(units: Sequence[str], gold: Collection[str], rng: np.random.Generator) -> list[str]:
    """The gold sentences and a random number of the others, in a random order; at least one sentence (ours)."""
    others = [unit for unit in units if unit not in gold]
    kept = int(rng.integers(0 if len(others) < len(units) else 1, len(others) + 1)) if others else 0
    chosen = {others[i] for i in rng.permutation(len(others))[:kept]}
    left = [unit for unit in units if unit in gold or unit in chosen]
    return [left[i] for i in rng.permutation(len(left))]
