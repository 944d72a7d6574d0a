"""Quantities: the golden set, whose kinds have their public origins, and rules that hold for any text."""

from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lisax.text.digits import decimals_of, in_digits
from lisax.text.quantities import Kind, Quantity, column, comparable, find, whole

GOLDEN = Path(__file__).with_name("quantities.tsv")


def golden() -> list[tuple[str, str, str, str]]:
    """(kind, way of reading, text, quantities) of each line: a `#` line opens a kind and names its origins."""
    rows, kind = [], ""
    for line in GOLDEN.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            kind = line[2:].partition(":")[0]
        else:
            rows.append((kind, *line.split("\t")))
    return rows


def written(one: Quantity | None) -> str:
    """`-5`, `2000 m`, `10..12`, `>= 5 %`, `#3` (an ordinal), or `none`."""
    if one is None:
        return "none"
    number = f"{one.low}..{one.high}" if one.is_range else str(one.value)
    sign = "#" if one.kind is Kind.ORDINAL else ""
    return " ".join(filter(None, (one.relation, sign + number, one.unit)))


def normal(said: str) -> str:
    """The golden notation with its decimals as fractions."""
    parts = said.replace("~", "~ ").split()
    for i, part in enumerate(parts):
        sign, numbers = ("#", part[1:]) if part.startswith("#") else ("", part)
        if numbers[0].isdigit() or numbers[1:2].isdigit():
            parts[i] = sign + "..".join(str(Fraction(number)) for number in numbers.split(".."))
            break
    return " ".join(parts)


READ = {"cell": lambda text: [whole(text)], "column": lambda text: column(text.split(" | ")), "text": find}
SPLIT = {
    "cell": lambda wanted: [wanted],
    "column": lambda wanted: wanted.split(" | "),
    "text": lambda wanted: [] if wanted == "-" else wanted.split("; "),
}


def test_each_kind_of_the_golden_set_has_origins():
    kinds = [line for line in GOLDEN.read_text(encoding="utf-8").splitlines() if line.startswith("# ")]
    assert len(golden()) > 400 and all("#" in kind.partition(":")[2] for kind in kinds)


@pytest.mark.parametrize("kind", dict.fromkeys(row[0] for row in golden()))
def test_the_golden_set(kind):
    for _, way, text, wanted in (row for row in golden() if row[0] == kind):
        assert [written(one) for one in READ[way](text)] == [normal(one) for one in SPLIT[way](wanted)], (way, text)


@given(st.integers(-(10**40), 10**40), st.integers(0, 9))
def test_digits_are_exact_with_any_separators(number, places):
    value = Decimal(number).scaleb(-places)
    english = f"{value:,.{places}f}"
    swiss, german = english.replace(",", "'"), english.translate(str.maketrans(",.", ".,"))
    assert whole(english, comma=False).value == Fraction(value)
    assert whole(swiss, comma=False).value == Fraction(value)
    assert whole(german, comma=True).value == Fraction(value)


@given(st.integers(-(10**20), 10**20), st.integers(0, 6))
def test_a_number_is_written_as_it_is_read(number, places):
    value = Fraction(number, 10**places)
    assert decimals_of(value) <= places and Fraction(in_digits(value, places)) == value
    assert Fraction(in_digits(value, places, ",").replace(",", "")) == value


@given(st.fractions())
def test_a_number_is_written_with_two_decimals_or_three_digits(value):
    text = in_digits(value)
    assert abs(Fraction(text) - value) <= max(Fraction(1, 10**12), min(Fraction(1, 200), abs(value) / 100))
    assert not (text.endswith("0") and "." in text)


@given(st.text())
def test_quantities_follow_each_other_within_the_text(text):
    end = 0
    for one in find(text):
        assert end <= one.start < one.end <= len(text)
        assert one.low is None or one.high is None or one.low <= one.value <= one.high
        end = one.end


@given(st.text(max_size=20))
def test_a_cell_reads_as_in_a_column_of_its_own(text):
    one = whole(text)
    assert one is None or 0 <= one.start < one.end <= len(text)
    assert len(column([text, "", "7"])) == 3


def test_a_quantity_has_its_place_unit_and_bounds():
    (one,) = find("It rose by about 5 km.")
    assert (one.start, one.end, one.written) == (11, 21, "km")
    (bound,) = find("more than 1.5 million people")
    assert (bound.low, bound.high, bound.exact) == (1_500_000, None, False)
    assert whole(" 12 goals [2]").noun == "goals"


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("floors 3,4 and 5", [3, 4, 5]),
        ("lines 12,13 or 14 of 20", [12, 13, 14, 20]),
        ("between 3,4 and 5 in all", [Fraction(21, 5)]),
        ("values of 3,4 and 2", [Fraction(17, 5), 2]),  # no list that rises
        ("scores of 3,4 on 7.5 of them", [7.5]),  # a point separates decimals
        ("3,4 kg of the 7.5 kg", [3.4, 7.5]),
    ],
)
def test_a_comma_between_the_small_numbers_of_a_list_separates_no_decimals(text, values):
    assert [float(one.value) for one in find(text)] == [*map(float, values)]


@pytest.mark.parametrize(
    "cells, alike",
    [
        (["2 km", "900 m"], True),
        (["2 km", "3 kg"], False),
        (["5 goals", "1 goal", "7"], True),
        (["5 goals", "3 games"], False),
        (["14th century", "1430"], False),
        (["16 y", "8 mo"], False),
        (["7.58 pb", "7.9"], True),
        (["1-2", "3"], False),
        (["41%", "112,482"], False),
        (["41%", "12"], True),
        (["7.58 pb", "7.61"], True),
    ],
)
def test_comparable_columns(cells, alike):
    found = column(cells)
    assert all(found) and comparable(found) is alike


def test_a_number_of_more_digits_than_any_is_not_read():
    assert whole("9" * 1001) is None and find("9" * 10**6) == [] and whole("1e999999999") is None
