"""Rows and sub-graphs written as sentences (UDT-QA, section 3)."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class Verbalized:
    """What is written for one unit: a line of `lisax verbalize`'s file, in the order of the units given.

    `beam`: which hypothesis of the model was kept, counted from 0, best first; of a unit that was split, the last of
    those kept; -1 where `fallback`, the text being a rule's. `rejected`: hypotheses that agreed better with the input,
    but lost or invented a number, a date or a name.
    """

    id: str
    title: str
    text: str
    beam: int
    rejected: int = 0
    fallback: bool = False

    def to_row(self) -> dict:
        return dataclasses.asdict(self)
