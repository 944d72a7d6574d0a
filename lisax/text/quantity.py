"""A quantity: an exact value in the base unit of its dimension, with its bounds and its place in a text."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Sequence
from fractions import Fraction

_REMARK = 3  # letters; a shorter word after a number is a remark (`7.58 pb`) and counts nothing


class Kind(enum.StrEnum):
    PLAIN = "plain"
    PERCENT = "percent"  # the unit is %, the value 5 for 5 %; basis points are hundredths
    CURRENCY = "currency"  # the unit is a sign ($, €) or a code (CHF)
    MEASURE = "measure"  # the unit is the base unit: m, kg, s, K …
    ORDINAL = "ordinal"


class Relation(enum.StrEnum):
    """The word before a quantity: `over 5` is MORE, `rose by 5 %` is BY, `rose to 5 %` is TO."""

    EXACTLY = ""
    ABOUT = "~"
    MORE = ">"
    LESS = "<"
    AT_LEAST = ">="
    AT_MOST = "<="
    BY = "by"
    TO = "to"


@dataclasses.dataclass(frozen=True, slots=True)
class Quantity:
    """A quantity at [start, end) of its text.

    `value`: exact, in `unit`; of a range its middle. `low` and `high` bound it: they equal the value unless the text gives
    a range or a bound, and None is open. `written` is the unit as the text writes it. `noun` is the word that a cell has
    after the number (`5 goals`).
    """

    value: Fraction
    unit: str = ""
    kind: Kind = Kind.PLAIN
    start: int = 0
    end: int = 0
    low: Fraction | None = None
    high: Fraction | None = None
    relation: Relation = Relation.EXACTLY
    written: str = ""
    noun: str = ""

    @property
    def is_range(self) -> bool:
        return None not in (self.low, self.high) and self.low != self.high

    @property
    def exact(self) -> bool:
        """Whether it is one value: not a range, a bound or an estimate."""
        return self.low == self.high and self.relation in (Relation.EXACTLY, Relation.BY, Relation.TO)


def comparable(quantities: Sequence[Quantity]) -> bool:
    """Whether the values have one dimension and count the same, no range and no named rank (`14th century`) among
    numbers. Unknown units (`16 y`, `8 mo`) are not comparable; remarks of some values (`7.58 pb`) are ignored."""
    remarks = {one.noun for one in quantities if len(one.noun) <= _REMARK}
    if len(remarks) > 1 and all(map(str.islower, remarks)):
        return False
    nouns = {one.noun.lower().rstrip(".").removesuffix("s") if len(one.noun) > _REMARK else "" for one in quantities}
    ranked = {one.kind is Kind.ORDINAL for one in quantities}
    return (
        len({one.unit for one in quantities}) < 2
        and len(nouns - {""}) < 2
        and not (len(nouns) == len(ranked) == 2)
        and not any(one.is_range for one in quantities)
    )
