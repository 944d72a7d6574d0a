"""What the evidence pointer learns of each candidate, as numbers: its targets.

A candidate has `COLUMNS` numbers: what the claim is (1 unlabelled, or 2 and more in the order of `LABELS`; 0 is a place
without a candidate), its place among the gold pointers (from 1, or 0), and 1 for each evidence set that it belongs to,
of the first `SETS`.
"""

from __future__ import annotations

from collections.abc import Sequence

from lisax.records import LABELS, Label

SETS = 6
COLUMNS = 2 + SETS
NO_CANDIDATE, UNLABELLED, FIRST_LABEL = 0, 1, 2


def pointer_targets(
    candidates: int, label: Label | None, pointers: Sequence[int], sets: Sequence[Sequence[int]]
) -> list[list[int]]:
    """[candidates][COLUMNS]; `pointers` and `sets` hold places of candidates."""
    kind = UNLABELLED if label is None else FIRST_LABEL + LABELS.index(label)
    rows = [[kind, *[0] * (COLUMNS - 1)] for _ in range(candidates)]
    for step, place in enumerate(pointers, start=1):
        rows[place][1] = step
    for column, places in enumerate(sets[:SETS], start=2):
        for place in places:
            rows[place][column] = 1
    return rows
