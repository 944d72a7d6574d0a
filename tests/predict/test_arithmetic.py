"""Aggregates of cells: exact against fractions, whatever their order, and none of nothing."""

import decimal
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lisax.corpora.answer_cells import exact_number
from lisax.errors import LisaxError
from lisax.predict.aggregation import DECIMALS, aggregate
from lisax.records import Operation

OF_NUMBERS = [Operation.MAX, Operation.MIN, Operation.SUM, Operation.AVERAGE]
numbers = st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**30), max_value=10**30, places=None).map(
    lambda number: f"{number:f}"
)
cell = st.one_of(
    numbers,
    st.integers(-(10**40), 10**40).map(str),
    st.sampled_from(["0.1", "-0.30", "$1,200.50", "39†", "", "n/a", "+7"]),
)
cells = st.lists(cell, min_size=1, max_size=12)


def named(texts):
    return {f"t#r{i}c0": text for i, text in enumerate(texts)}


def exact(operation, values):
    return {
        Operation.MAX: max,
        Operation.MIN: min,
        Operation.SUM: sum,
        Operation.AVERAGE: lambda all: sum(all) / len(all),
    }[operation](values)


def ends(fraction: Fraction) -> bool:
    rest = fraction.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return rest == 1


@pytest.mark.parametrize("operation", OF_NUMBERS)
@given(texts=cells)
def test_values_are_those_of_fractions(operation, texts):
    values = [Fraction(number) for text in texts if (number := exact_number(text)) is not None]
    found = aggregate(operation, named(texts))
    if not values:
        assert found is None
        return
    wanted = exact(operation, values)
    assert len(found.cells) == len(values) and found.left_out == len(texts) - len(values)
    if ends(wanted):
        assert Fraction(found.value) == Fraction(found.text.removesuffix(" $")) == wanted
    else:
        assert operation is Operation.AVERAGE
        assert abs(Fraction(found.value) - wanted) <= Fraction(1, 2 * 10**DECIMALS)
        assert -found.value.as_tuple().exponent == DECIMALS


@pytest.mark.parametrize("operation", [*OF_NUMBERS, Operation.COUNT])
@given(texts=cells, data=st.data())
def test_the_order_of_cells_does_not_matter(operation, texts, data):
    found = aggregate(operation, named(texts))
    other = aggregate(operation, dict(data.draw(st.permutations(list(named(texts).items())))))
    assert (found is None) == (other is None)
    if found is not None:
        assert (found.value, found.text, set(found.cells)) == (other.value, other.text, set(other.cells))


def test_nothing_gives_nothing_and_counts_are_of_cells():
    for operation in [*OF_NUMBERS, Operation.COUNT]:
        assert aggregate(operation, {}) is None
    assert aggregate(Operation.SUM, named(["n/a", ""])) is None
    assert aggregate(Operation.COUNT, named(["n/a", "7"])).text == "2"
    with pytest.raises(LisaxError, match="'none' makes nothing"):
        aggregate(Operation.NONE, named(["1"]))


@pytest.mark.parametrize(
    "operation, texts, text",
    [
        (Operation.SUM, ["0.1", "0.2"], "0.3"),
        (Operation.AVERAGE, ["1", "2", "2"], "1.666666666667"),
        (Operation.AVERAGE, ["1", "2"], "1.5"),
        (Operation.MAX, ["9", "1,000", "none"], "1000"),
        (Operation.MIN, ["-3", "2"], "-3"),
        (Operation.SUM, ["-0"], "0"),
        (Operation.MAX, ["1.5m", "900k", "20k"], "1500000"),
        (Operation.MIN, ["−5", "−12", "3"], "-12"),
        (Operation.SUM, ["(500)", "1,200"], "700"),
        (Operation.SUM, ["12,5", "1.234"], "1246.5"),
        (Operation.AVERAGE, ["5 goals", "2 goals"], "3.5"),
    ],
)
def test_values_in_digits_whatever_the_callers_context(operation, texts, text):
    with decimal.localcontext(decimal.Context(prec=2)):
        found = aggregate(operation, named(texts))
        assert found.text == text and found.value == Decimal(text)


def test_measures_are_added_in_the_unit_of_the_first_and_left_out_among_numbers():
    found = aggregate(Operation.SUM, named(["2 km", "900 m", "n/a"]))
    assert (found.text, found.left_out) == ("2.9 km", 1)
    assert aggregate(Operation.MAX, named(["900 m", "2 km"])).text == "2000 m"
    assert aggregate(Operation.SUM, named(["1 ft", "1 in", "1 m"])).text.startswith("4.3641")
    assert aggregate(Operation.SUM, named(["2 km", "3 kg", "7"])).text == "7"


@pytest.mark.parametrize(
    ("texts", "text"),
    [
        (["$1.20", "$3.00"], "4.2 $"),
        (["$1,200.50", "−0.50"], "1200 $"),
        (["5 €", "€-2"], "3 €"),
        (["12 %", "0.5 %"], "12.5 %"),
    ],
)
def test_sums_of_money_and_of_percentages_have_their_unit(texts, text):
    assert aggregate(Operation.SUM, named(texts)).text == text


@pytest.mark.parametrize("texts", [["€5", "$7"], ["5 €", "1 %"]])
def test_neither_two_currencies_nor_money_and_percentages_are_added(texts):
    assert aggregate(Operation.SUM, named(texts)) is None
