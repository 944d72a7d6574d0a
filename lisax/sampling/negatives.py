"""Negatives from a window of ranks: low enough to contain few false negatives, high enough to be hard.

LisT5 draws the ranker's negatives from ranks 50 to 200 of the candidates, and the labeller's NOINFO evidence from ranks
10 to 25 of the reranked ones; ranks count from 1, both ends included. With FEVER's pages every claim has 200
candidates. The paper does not specify shorter lists; ours then starts the window higher (`pool`), and counts how often
(`MOVED`).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple

from lisax.errors import LisaxError

if TYPE_CHECKING:
    import numpy as np


class Window(NamedTuple):
    """Ranks `first` to `last`, from 1, both included."""

    first: int
    last: int


RANKING = Window(50, 200)
LABELLING = Window(10, 25)
MOVED = (
    "draws of negatives began above their window of ranks, since too few sentences are in it; higher ranks hold "
    "more unmarked evidence"
)


def generator(seed: int, claim_id: str, purpose: str) -> np.random.Generator:
    """The random generator of one claim; `purpose` makes the draws of different uses independent."""
    import numpy as np

    digest = hashlib.blake2b(f"{seed}\0{purpose}\0{claim_id}".encode(), digest_size=16).digest()
    return np.random.default_rng(int.from_bytes(digest, "little"))


def pool(candidates: Sequence[str], gold: Collection[str], window: Window, count: int) -> list[str]:
    """Candidates of the window that are not gold, in rank order, without duplicates.

    If the list is too short for the window to contain `count` of them, the window's first rank is halved until it does
    (50, 25, 12, … 1): as low in the list as possible. Fewer than `count` are returned only if the whole list up to
    `window.last` has no more."""
    first, last = window
    if not 1 <= first <= last:
        raise LisaxError(f"a window of ranks must be 1 <= first <= last, found {first} to {last}")
    gold = set(gold)
    while True:
        found = [unit for unit in dict.fromkeys(candidates[first - 1 : last]) if unit not in gold]
        if len(found) >= count or first == 1:
            return found
        first //= 2


def sample(
    candidates: Sequence[str],
    gold: Collection[str],
    window: Window,
    count: int,
    rng: np.random.Generator,
    counts: Counter | None = None,
) -> list[str]:
    """`count` negatives drawn uniformly without replacement from `pool`; fewer if it is smaller.

    `counts` counts under `MOVED` how many draws started above the window."""
    units = pool(candidates, gold, window, count)
    if counts is not None and units != pool(candidates, gold, window, 0):
        counts[MOVED] += 1
    chosen = rng.choice(len(units), size=min(count, len(units)), replace=False) if units else ()
    return [units[i] for i in chosen]
