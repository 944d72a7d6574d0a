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

YEARS = st.one_of(st.integers(-999, -1), st.integers(1, 2199))
EXACT = [
    ("in 2005", "in", "2005-01-01", "2005-12-31"),
    ("during June 2007", "in", "2007-06-01", "2007-06-30"),
    ("in June of 2007", "in", "2007-06-01", "2007-06-30"),
    ("on June 1st, 2007", "in", "2007-06-01", "2007-06-01"),
    ("on the 1st of June 2007", "in", "2007-06-01", "2007-06-01"),
    ("July 15 , 1973", "in", "1973-07-15", "1973-07-15"),
    ("28 Sept. 1951", "in", "1951-09-28", "1951-09-28"),
    ("2007-06-01", "in", "2007-06-01", "2007-06-01"),
    ("on 13/6/2007", "in", "2007-06-13", "2007-06-13"),
    ("in nineteen eighty-four", "in", "1984-01-01", "1984-12-31"),
    ("in two thousand and five", "in", "2005-01-01", "2005-12-31"),
    ("before 2008", "before", None, "2007-12-31"),
    ("prior to June 2008", "before", None, "2008-05-31"),
    ("after 2008", "after", "2009-01-01", None),
    ("no later than 2008", "until", None, "2008-12-31"),
    ("since 12 May 1999", "since", "1999-05-12", None),
    ("from 1999 onwards", "since", "1999-01-01", None),
    ("between 1990 and 1995", "in", "1990-01-01", "1995-12-31"),
    ("from March 1990 to 2 May 1995", "in", "1990-03-01", "1995-05-02"),
    ("1990–95", "in", "1990-01-01", "1995-12-31"),
    ("5 February 1748 -- 28 January 1798", "in", "1748-02-05", "1798-01-28"),
    ("in the 1990s", "in", "1990-01-01", "1999-12-31"),
    ("in the '90s", "in", "1990-01-01", "1999-12-31"),
    ("in the nineties", "in", "1990-01-01", "1999-12-31"),
    ("in the eighties of the nineteenth century", "in", "1880-01-01", "1889-12-31"),
    ("in the nineteen-thirties", "in", "1930-01-01", "1939-12-31"),
    ("in the 1980s -- 1984", "in", "1980-01-01", "1984-12-31"),
    ("4 years before 2005", "in", "2001-01-01", "2001-12-31"),
    ("exactly two decades after 1990", "in", "2010-01-01", "2010-12-31"),
    ("half a century before 1990", "in", "1940-01-01", "1940-12-31"),
    ("two years and three months after June 2005", "in", "2007-09-01", "2007-09-30"),
    ("30 days after 1 June 2007", "in", "2007-07-01", "2007-07-01"),
    ("more than 4 years before 2005", "before", None, "2000-12-31"),
    ("at least 4 years after 2005", "since", "2009-01-01", None),
    ("less than 4 years after 2005", "in", "2005-01-01", "2009-12-31"),
    ("in the 4 years before 2005", "in", "2001-01-01", "2005-12-31"),
    ("within two years of 1990", "in", "1988-01-01", "1992-12-31"),
    ("on Christmas Day 1890", "in", "1890-12-25", "1890-12-25"),
    ("on New Year's Eve , 1999", "in", "1999-12-31", "1999-12-31"),
    ("on the last day of February 2000", "in", "2000-02-29", "2000-02-29"),
    ("from 1694 until his death in 1713", "in", "1694-01-01", "1713-12-31"),
    ("on 3–5 May 1644", "in", "1644-05-03", "1644-05-05"),
    ("between 4 April and 19 June 1552", "in", "1552-04-04", "1552-06-19"),
    ("from February to April 1998", "in", "1998-02-01", "1998-04-30"),
    ("in 44 BC", "in", "-0044-01-01", "-0044-12-31"),
    ("in the 60s BC", "in", "-0069-01-01", "-0060-12-31"),
    ("during the 770s BC", "in", "-0779-01-01", "-0770-12-31"),
    ("on 15 March 44 BC", "in", "-0044-03-15", "-0044-03-15"),
    ("10 years after 5 B.C.", "in", "0006-01-01", "0006-12-31"),
    ("in the 5th century BC", "in", "-0500-01-01", "-0401-12-31"),
    ("in AD 476", "in", "0476-01-01", "0476-12-31"),
    ("in the year 476", "in", "0476-01-01", "0476-12-31"),
    ("before the 1990s", "before", None, "1989-12-31"),
]
ROUGH = [
    ("in the 20th century", "1901-01-01", "1999-12-31", "1900-01-01", "2000-12-31"),
    ("in the first century", "0001-01-01", "0099-12-31", "0001-01-01", "0100-12-31"),
    ("in the second-decade of the twenty-first century", "2011-01-01", "2019-12-31", "2010-01-01", "2020-12-31"),
    ("in the second half of the 20th century", "1951-01-01", "1999-12-31", "1950-01-01", "2000-12-31"),
    ("in the last quarter of the 19th century", "1876-01-01", "1899-12-31", "1875-01-01", "1900-12-31"),
    ("in the early 1990s", "1990-01-01", "1993-12-31", "1990-01-01", "1999-12-31"),
    ("in the mid-1990s", "1993-01-01", "1996-12-31", "1990-01-01", "1999-12-31"),
    ("in late 1990", "1990-08-08", "1990-12-31", "1990-01-01", "1990-12-31"),
    ("in the 1800s", "1800-01-01", "1809-12-31", "1800-01-01", "1899-12-31"),
    ("around 1990", "1990-01-01", "1990-12-31", "1985-01-01", "1995-12-31"),
    ("nearly a decade before 2000", "1990-01-01", "1990-12-31", "1985-01-01", "1995-12-31"),
    ("in the summer of 1990", None, None, "1990-01-01", "1990-12-31"),
]
NO_DATES = [
    "Baja 1000",
    "the Billboard 200",
    "in 1500 people",
    "he ran 1500 metres",
    "2,000 people",
    "last year",
    "in the past century",
    "on 6/1/2007",
    "on February 30, 2001",
    "between 1995 and 1990 people",
    "in 2005 votes",
    "may",
    "on June",
    "the second half of the past century",
    "U2 played",
    "Blade Runner 2049 was shown",
    "an 1100",
]


def only(text):
    (found,) = parse(text)
    assert (found.start, found.end) == (0, len(text))
    return found


@pytest.mark.parametrize(("text", "relation", "first", "last"), EXACT, ids=[row[0] for row in EXACT])
def test_exact_expressions(text, relation, first, last):
    found = only(text)
    assert found.relation == relation
    assert found.period.is_exact and found.possibly.iso() == [first, last]
    # `by 2008` is the one that leaves its own year open.
    assert found.relation is TemporalRelation.UNTIL or found.surely == found.possibly


@pytest.mark.parametrize(("text", "first", "last", "outer_first", "outer_last"), ROUGH, ids=[row[0] for row in ROUGH])
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
