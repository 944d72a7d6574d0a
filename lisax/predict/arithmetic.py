"""Counts, sums, averages and extremes of cells, in exact arithmetic."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction

from lisax.errors import LisaxError
from lisax.records import Operation
from lisax.text import units
from lisax.text.quantities import Kind, Quantity, column, comparable

DECIMALS = 12  # kept of a value that does not terminate


@dataclasses.dataclass(frozen=True, slots=True)
class Aggregate:
    """The result of an operation on cells. `cells`: ids of the cells used; `left_out`: how many others hold no
    number; `unit`: that of the cells, if they are measures, money or percentages."""

    operation: Operation
    value: Decimal
    cells: tuple[str, ...]
    left_out: int = 0
    unit: str = ""

    @property
    def text(self) -> str:
        """The value in digits, without trailing zeros, with its unit."""
        text = f"{self.value:f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
        text = "0" if text == "-0" else text
        return f"{text} {self.unit}" if self.unit else text


def aggregate(operation: Operation, cells: Mapping[str, str]) -> Aggregate | None:
    """Applies `operation` to cells of a column (id -> text); None if no cell fits it.

    A count counts all cells, whatever their text. The other operations use the cells that hold one number, or one
    quantity with a unit if all can be compared (`2 km` and `900 m` are 2.9 km, `€5` and `$7` have no sum); without any
    there is no aggregate. A value that does not terminate is rounded to `DECIMALS` decimals, half to even; everything
    else is exact. The order of the cells changes only the unit of a sum. Raises LisaxError for the operation NONE.
    """
    if operation is Operation.NONE:
        raise LisaxError("the operation 'none' makes nothing of cells: they are the answer themselves")
    if operation is Operation.COUNT:
        return Aggregate(operation, Decimal(len(cells)), tuple(cells)) if cells else None
    read = {cell: one for cell, one in zip(cells, column(list(cells.values()))) if one is not None and _is_number(one)}
    if not comparable(list(read.values())):
        read = {cell: one for cell, one in read.items() if one.kind is Kind.PLAIN and not one.noun}
    if not read:
        return None
    first = next(iter(read.values()))
    unit = units.find(first.written) if first.unit else None
    values = [one.value if unit is None else unit.back(one.value) for one in read.values()]
    value = {
        Operation.MAX: max,
        Operation.MIN: min,
        Operation.SUM: sum,
        Operation.AVERAGE: lambda values: sum(values) / len(values),
    }[operation](values)
    return Aggregate(operation, _decimal(value), tuple(read), len(cells) - len(read), "" if unit is None else unit.word)


def _is_number(one: Quantity) -> bool:
    return one.exact and one.kind is not Kind.ORDINAL


def _decimal(value: Fraction) -> Decimal:
    """A fraction as a decimal, exact if it terminates: a denominator of the primes 2 and 5 divides the power of ten that
    its number of bits gives."""
    rest = value.denominator
    places = rest.bit_length()
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    digits = len(str(abs(value.numerator) // value.denominator)) + (places if rest == 1 else DECIMALS) + 2 * DECIMALS
    context = Context(prec=digits, rounding=ROUND_HALF_EVEN, Emax=MAX_EMAX, Emin=MIN_EMIN)
    found = context.divide(Decimal(value.numerator), Decimal(value.denominator))
    return found if rest == 1 else found.quantize(Decimal(1).scaleb(-DECIMALS), context=context)
