"""Days and intervals against the standard library's calendar, and their rules."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lisax.errors import LisaxError
from lisax.temporal.calendar import (
    EARLIEST,
    LATEST,
    Interval,
    Length,
    civil,
    day_interval,
    day_number,
    month_interval,
    year_interval,
)

YEARS = st.integers(-3000, 3000).filter(bool)
DAYS = st.integers(day_number(-3000), day_number(3000))


@given(st.dates())
def test_days_are_numbered_as_the_standard_library_does(date):
    assert day_number(date.year, date.month, date.day) == date.toordinal()
    assert civil(date.toordinal()) == (date.year, date.month, date.day)


@given(DAYS)
def test_a_day_has_one_date_and_the_next_day_follows_it(number):
    assert day_number(*civil(number)) == number
    assert civil(number) < civil(number + 1)


def test_the_year_before_1_is_1_bc_which_is_a_leap_year():
    assert civil(day_number(1) - 1) == (-1, 12, 31)
    assert day_number(-1, 2, 29) == day_number(-1, 3, 1) - 1
    assert year_interval(-1).shifted(Length(years=1)) == year_interval(1)
    assert year_interval(4).shifted(Length(years=-10)) == year_interval(-7)


@pytest.mark.parametrize("date", [(2001, 2, 29), (1900, 2, 29), (2001, 13, 1), (0, 1, 1), (2001, 4, 31)])
def test_days_that_the_calendar_has_not_are_errors(date):
    with pytest.raises(LisaxError):
        day_number(*date)


@given(YEARS, st.integers(-500, 500))
def test_a_year_moved_by_years_is_a_year(year, count):
    moved = (year if year > 0 else year + 1) + count  # there is no year 0
    assert year_interval(year).shifted(Length(years=count)) == year_interval(moved if moved > 0 else moved - 1)


@given(YEARS, st.integers(1, 12), st.integers(-60, 60))
def test_a_month_moved_by_months_and_back_is_the_month(year, month, count):
    interval = month_interval(year, month)
    assert interval.shifted(Length(months=count)).shifted(Length(months=-count)) == interval


def test_a_leap_day_moved_by_a_year_is_the_months_last():
    assert day_interval(2000, 2, 29).shifted(Length(years=1)) == day_interval(2001, 2, 28)
    assert day_interval(2000, 2, 28).shifted(Length(years=4)) == day_interval(2004, 2, 28)


@given(st.tuples(DAYS, DAYS).map(sorted), st.tuples(DAYS, DAYS).map(sorted))
def test_intersection_meeting_and_containment_agree(one, other):
    one, other = Interval(*one), Interval(*other)
    common = one.intersection(other)
    assert (common is not None) == one.meets(other) == other.meets(one)
    assert one.contains(other) == (common == other)
    assert one.hull(other).contains(one) and one.hull(other).contains(other)


def test_the_iso_form_has_negative_years_and_open_ends():
    assert day_interval(-44, 3, 15).iso() == ["-0044-03-15", "-0044-03-15"]
    assert Interval(EARLIEST, day_number(2008) - 1).iso() == [None, "2007-12-31"]
    assert Interval(day_number(2008), LATEST).iso() == ["2008-01-01", None]


def test_an_interval_cannot_end_before_it_begins():
    with pytest.raises(LisaxError, match="ends"):
        Interval(2, 1)


def test_the_length_of_time_is_written_out():
    assert str(Length(years=2, months=1)) == "2 years 1 month" and str(Length()) == "0 days"
