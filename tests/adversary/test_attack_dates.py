"""Dates that attacks read and write."""

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lisax.adversary import dates
from lisax.adversary.dates import Date

YEARS = st.integers(1200, dates.LAST_YEAR - 30) | st.integers(-1900, -1)
DATES = (
    st.builds(Date, YEARS)
    | st.builds(Date, st.integers(1200, 1999), st.integers(1, 12))
    | st.builds(Date, st.integers(1200, 1999), st.integers(1, 12), st.integers(1, 28))
)


@given(DATES)
def test_dates_are_read_as_written(date):
    (found,) = dates.find(f"It was founded in {date.text()}.")
    assert found.date == date


@given(DATES, st.sampled_from(dates.VARIANTS), st.booleans(), st.integers(0, 10**6))
def test_variants_hold_as_they_say(date, name, holds, seed):
    form = dates.variant(name, date, holds, random.Random(seed))
    if form is None:
        return
    assert form.holds is holds
    assert form.takes_in((date.earliest, date.latest)) or not holds
    named = [found.date for found in dates.find(form.text)]
    if name in ("before", "after"):
        (bound,) = named
        assert (date.before(bound) if name == "before" else bound.before(date)) is holds or not holds
        if not holds:
            assert not (date.before(bound) if name == "before" else bound.before(date))
    elif name == "between":
        first, last = named
        assert first.before(last) and (first.earliest <= date.earliest and date.latest <= last.latest) is holds
    elif name.startswith("years"):
        count = int(form.text.split()[0]) * (-1 if " before " in form.text else 1)
        (anchor,) = named
        assert date.within(anchor.shifted(count)) is holds
    elif match := re.search(r"the (\d+)s(?P<bc> BC)?", form.text):
        year = -date.year if match["bc"] else date.year
        assert (year // 10 * 10 == int(match[1])) is holds
        if not holds and int(match[1]) % 100 == 0:
            assert year // 100 != int(match[1]) // 100  # no reader takes it for the century


@pytest.mark.parametrize(
    "year, expected",
    [
        (
            2001,
            {
                "in the first decade of the twenty-first century",
                "in the first decade of the 21st century",
                "in the twenty-first century",
                "in the 21st century",
            },
        ),
        (1980, {"in the eighties of the twentieth century", "in the twentieth century", "in the 20th century"}),
        (1900, {"in the decade from 1900 to 1909"}),
        (-44, {"in the first century BC"}),
    ],
)
def test_verbalised_dates(year, expected):
    made = {dates.variant("verbalised", Date(year), True, random.Random(seed)).text for seed in range(60)}
    assert made == expected


@pytest.mark.parametrize("text", ["in the 1990s", "from 1990-1995", "1,990 people", "version 1990.5x of 12"])
def test_what_is_no_date(text):
    assert dates.find(text)[:1] == [] or text.startswith("version")


@pytest.mark.parametrize(
    "text, expected",
    [
        ("It ran from 1984-89.", {1984, 1989}),
        ("It ran from 1984 -- 1989 .", {1984, 1989}),
        ("1,984 people", set()),
        ("It was sung in the 1980s.", {1980}),
        ("A song of the 19th century.", {1801}),
        ("Won on June 5, 1980.", {1980}),
        ("A twentieth-century song.", {1901}),
        ("Written in 44 BC.", {-44}),
    ],
)
def test_dates_that_pages_tell(text, expected):
    assert {first[0] for first, _ in dates.told(text)} == expected


def test_years_bc_stay_in_their_era():
    made = {
        dates.variant(name, Date(-3), True, random.Random(seed))
        for name in ("before", "between", "years_before")
        for seed in range(30)
    }
    assert all(form is None or form.text.count(" BC") == len(dates.find(form.text)) for form in made)
    assert {form.text for form in made if form} >= {"before 2 BC", "before 1 BC"}
