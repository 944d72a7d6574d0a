"""Counts, sums, averages and extremes of cells, in exact decimal arithmetic."""

from __future__ import annotations

import dataclasses
import decimal
import functools
from collections.abc import Mapping
from decimal import Decimal

from lisax.corpora.answer_cells import exact_number
from lisax.errors import LisaxError
from lisax.records import Operation

DECIMALS = 12  # kept of an average that does not terminate
# Enough precision that no sum is rounded; memory is only used for digits that occur.
_EXACT = decimal.Context(prec=decimal.MAX_PREC, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)


@dataclasses.dataclass(frozen=True, slots=True)
class Aggregate:
    """The result of an operation on cells. `cells`: ids of the cells used; `left_out`: how many others hold no
    number."""

    operation: Operation
    value: Decimal
    cells: tuple[str, ...]
    left_out: int = 0

    @property
    def text(self) -> str:
        """The value in digits, without trailing zeros."""
        text = f"{self.value:f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
        return "0" if text == "-0" else text


def aggregate(operation: Operation, cells: Mapping[str, str]) -> Aggregate | None:
    """Applies `operation` to cells (id -> text); None if no cell fits it.

    A count counts all cells, whatever their text. The other operations use the cells that `answer_cells.exact_number`
    reads as numbers; without any there is no aggregate. An average that does not terminate is rounded to `DECIMALS`
    decimals, half to even; everything else is exact. The order of the cells does not change the value. Raises
    LisaxError for the operation NONE.
    """
    if operation is Operation.NONE:
        raise LisaxError("the operation 'none' makes nothing of cells: they are the answer themselves")
    if operation is Operation.COUNT:
        return Aggregate(operation, Decimal(len(cells)), tuple(cells)) if cells else None
    numbers = {cell: number for cell, text in cells.items() if (number := exact_number(text)) is not None}
    if not numbers:
        return None
    values = numbers.values()
    if operation in (Operation.MAX, Operation.MIN):
        value = (max if operation is Operation.MAX else min)(values)
    else:
        value = functools.reduce(_EXACT.add, values)
        if operation is Operation.AVERAGE:
            value = _quotient(value, len(numbers))
    return Aggregate(operation, value, tuple(numbers), len(cells) - len(numbers))


def _quotient(total: Decimal, parts: int) -> Decimal:
    """Exact if the quotient terminates: it then has at most one more digit than `total` per bit of `parts`."""
    context = decimal.Context(
        prec=len(total.as_tuple().digits) + parts.bit_length() + 2 * DECIMALS,
        rounding=decimal.ROUND_HALF_EVEN,
        Emax=decimal.MAX_EMAX,
        Emin=decimal.MIN_EMIN,
    )
    value = context.divide(total, Decimal(parts))
    return value.quantize(Decimal(1).scaleb(-DECIMALS), context=context) if context.flags[decimal.Inexact] else value
