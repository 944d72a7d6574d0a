"""Date expressions: golden readings, round trips, and what is no date."""

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lisax.temporal.calendar import Length, day_interval, day_number, month_interval, year_interval
from lisax.temporal.expressions import Age, Dates, Duration, Offset, Period, Reading, TemporalRelation
from lisax.temporal.grammar import parse
from lisax.text.numbers import cardinal, number_words, ordinal, ordinal_words
from lisax.text.tokens import tokens
from tests.tables import table

YEARS = st.one_of(st.integers(-999, -1), st.integers(1, 2199))
NO_DATES = [
    *("Baja 1000", "the Billboard 200", "in 1500 people", "he ran 1500 metres", "2,000 people", "last year"),
    *(
        "in the past century",
        "on 6/1/2007",
        "on 30.2.2001",
        "on February 30, 2001",
        "between 1995 and 1990 people",
        "in 2005 votes",
    ),
    *("may", "on June", "the second half of the past century", "U2 played", "Blade Runner 2049 was shown", "an 1100"),
]


def only(text):
    (found,) = parse(text)
    assert (found.start, found.end) == (0, len(text))
    return found


@pytest.mark.parametrize(*table(__file__, "exact_dates"))
def test_exact_expressions(text, relation, first, last):
    found = only(text)
    assert found.relation == relation
    assert found.period.is_exact and found.possibly.iso() == [first, last]
    # `by 2008` is the one that leaves its own year open.
    assert found.relation is TemporalRelation.UNTIL or found.surely == found.possibly


@pytest.mark.parametrize(*table(__file__, "rough_dates"))
def test_expressions_of_which_only_the_middle_is_sure(text, first, last, outer_first, outer_last):
    found = only(text)
    assert found.possibly.iso() == [outer_first, outer_last]
    assert (found.surely.iso() if found.surely else [None, None]) == [first, last]


@pytest.mark.parametrize("text", NO_DATES)
def test_what_is_no_date(text):
    assert not [found for found in parse(text) if isinstance(found, Dates)]


def test_lengths_ages_and_what_they_lean_on():
    assert only("two decades after") == Offset(0, 17, Length(years=20))
    assert only("two years and six months") == Duration(0, 24, Length(years=2, months=6))
    assert only("at the age of thirty-two") == Age(0, 24, 32, 32)
    duration, dates = parse("ruled for ten years from 1990")
    assert duration.length == Length(years=10) and str(dates.period.core) == "1990"


def test_years_alone_are_read_where_they_can_be_nothing_else():
    def words(text):
        return [text[found.start : found.end] for found in parse(text)]

    assert words("a 1983 novel (1990) by the 2001 winner, born 1960") == ["1983", "1990", "2001", "1960"]
    assert words("won before 2020 and after 2010") == ["before 2020", "after 2010"]
    assert words("the Baja 1000, 4 years after 1971") == ["4 years after 1971"]


def test_a_part_has_the_word_of_what_it_is():
    readings = {
        "in 2005": Reading.YEAR,
        "in June 2005": Reading.MONTH,
        "in the 1990s": Reading.DECADE,
        "in the 3rd century": Reading.CENTURY,
        "in early 1990": Reading.PART,
        "from 1990 to 1992": Reading.RANGE,
        "3 days after 1 May 1990": Reading.OFFSET,
    }
    assert {text: only(text).reading for text in readings} == readings


def intervals():
    years = st.tuples(YEARS, YEARS).map(sorted).map(lambda pair: year_interval(*pair))
    months = st.builds(month_interval, YEARS, st.integers(1, 12))
    days = st.dates(datetime.date(1, 1, 1), datetime.date(2199, 12, 31)).map(
        lambda date: day_interval(date.year, date.month, date.day)
    )
    return st.one_of(years, months, days)


@given(intervals(), st.sampled_from(["", "in ", "before ", "after ", "since "]))
def test_an_interval_written_out_is_read_back(interval, preposition):
    written = str(interval)
    if written.startswith("from") or not preposition:
        written = written if written.startswith("from") else "in " + written
        preposition = ""
    found = only(preposition + written)
    assert found.period == Period.exact(interval)
    assert found.relation == (preposition.strip() or "in")


@given(
    st.integers(1, 99),
    st.sampled_from([("year", 1), ("decade", 10)]),
    st.integers(1200, 1900),
    st.booleans(),
    st.booleans(),
)
def test_arithmetic_in_words_is_read_back(count, unit, year, before, spelt):
    number = number_words(count) if spelt else count
    text = f"{number} {unit[0]}{'s' if count > 1 else ''} {'before' if before else 'after'} {year}"
    assert only(text).period == Period.exact(year_interval(year + (-1 if before else 1) * count * unit[1]))


@given(st.integers(0, 99_999))
def test_numbers_in_words_are_read_back(number):
    words = [token.word for token in tokens(number_words(number))]
    assert cardinal(words, 0) == (number, len(words))


@given(st.integers(1, 99))
def test_ordinals_in_words_are_read_back(number):
    words = [token.word for token in tokens(ordinal_words(number))]
    assert ordinal(words, 0) == (number, len(words))


@given(st.text(alphabet="019st BCin-–.,'June to between andafter", max_size=60))
def test_any_text_is_parsed_into_spans_in_order(text):
    at = 0
    for found in parse(text):
        assert at <= found.start < found.end <= len(text)
        at = found.end


def test_open_ends_reach_past_every_date():
    assert only("before 44 BC").surely.contains(day_interval(-9000, 1, 1))
    assert only("after 2100").surely.contains(day_interval(9000, 1, 1)) and day_number(9000) > 0
