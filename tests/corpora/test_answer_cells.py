"""What answers and cells say, and the cells that hold an answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lisax.corpora.answer_cells import COUNT, NO_CELL, SEVERAL_COLUMNS, evidence_of, exact_number, find_cells, value_of
from lisax.records import Table


@pytest.mark.parametrize(
    "texts",
    [
        ("12,467", "12467", "12,467.00", " $12,467 ", "12467%", "12,467†", "12467[3]", "+12467", "12467 *"),
        ("-5", "−5", "– 5", "‑5", "-$5", "$-5", "€ −5.00", "-5 €"),
        ("5€", "5 €", "€5", "5"),
        (".5", "0.5", "0.50", "1/2", "½", "0,5"),
        ("$1.5m", "1,500,000", "1.5 million", "1 500 000"),
        ("2 km", "2,000 m", "≈ 2 km"),
        ("1 May 1921", "May 1, 1921", "1921-05-01", "1st May 1921", "may 1 1921", "1921-5-1"),
        ("May 1921", "may, 1921", "MAY 1921"),
        ("3 Sept. ", "September 3", "sep 3rd"),
        ("Muñeca brava", "muneca  BRAVA", '"Muneca brava"', "Muneca-brava[12]"),
        ("10 years", "10  Years."),
        ("–", "—–"[1:]),
        ("?",),
    ],
)
def test_texts_that_say_the_same(texts):
    assert len({value_of(text) for text in texts}) == 1


@pytest.mark.parametrize(
    "one, other",
    [
        ("5", "-5"),
        ("$-5", "5 $"),
        ("12345678901234567", "12345678901234568"),
        ("1921", "May 1921"),
        ("1 May", "1 May 1921"),
        ("1999-2000", "1999"),
        ("4th", "4"),
        ("–", "?"),
        ("2004-13-01", "2004-12-01"),
        ("C", "C++ Builder"),
        ("1,2", "12"),
        ("May", "May 1"),
        ("5 km", "5"),
        ("5 km", "5 m"),
        ("(500)", "500"),
        ("1.", "1"),
        ("5 goals", "5"),
        ("Seven", "7"),
    ],
)
def test_texts_that_say_different_things(one, other):
    assert value_of(one) != value_of(other)


@given(st.text(max_size=30))
def test_every_text_says_something_and_the_same_with_blanks_around(text):
    assert value_of(text)[0] in ("number", "measure", "date", "text")
    assert value_of(f"  {text}\n") == value_of(text)


@given(st.integers(-(10**9), 10**9))
def test_separators_of_thousands_do_not_matter(number):
    assert exact_number(f"{number:,}") == exact_number(str(number)) == number
    assert exact_number("1,2,3") is exact_number("") is exact_number("5 km") is exact_number("Seven") is None


ROWS = (
    ("1921", "Tirol United", "3", "Varn (old town)"),
    ("1922", "Varn", "54", ""),
    ("1923", "Tirol United", "1,921", "Tarn"),
)
TABLE = Table("t", "", ("year", "team", "score", "town"), ROWS)


@pytest.mark.parametrize(
    "answers, places",
    [
        (["Tirol united"], [(0, 1), (2, 1)]),
        (["Varn", "Tirol United"], [(0, 1), (1, 1), (2, 1)]),
        (["1921"], [(0, 0), (2, 2)]),
        (["Varn (new)"], [(0, 3), (1, 1)]),  # only without what stands in brackets
        (["Tirol Unit"], []),
        (["irol United"], []),
        (["United"], []),
        (["Varn", "Nowhere"], []),
        ([], []),
        ([""], []),
        (["Varn", ""], [(1, 1)]),
        (["1922", "Varn"], []),  # in no column are both
    ],
)
def test_the_cells_of_an_answer(answers, places):
    assert find_cells(TABLE, answers) == places


def test_a_cell_that_is_the_answer_but_for_a_little():
    table = Table("t", "", ("name", "other"), (("Sir Alexander Hamilton", "Hamilton Alexander the Elder"), ("", "")))
    assert find_cells(table, ["Alexander Hamilton"]) == [(0, 0)]
    assert find_cells(table, ["Hamilton"]) == []


def test_evidence_is_cells_or_the_table_alone():
    told = []
    assert evidence_of("q", TABLE, ["54"], warn=told.append) == ("t#r1c2",) and told == []
    assert evidence_of("q", TABLE, ["55"], warn=told.append) == ("t",) and told == [NO_CELL]
    assert evidence_of("q", TABLE, ["1921"], warn=told.append) == ("t",) and told == [NO_CELL, SEVERAL_COLUMNS]
    assert evidence_of("q", TABLE, ["1921"], warn=told.append, known=True) == ("t#r0c0", "t#r2c2")


@pytest.mark.parametrize(
    "question, answer, cells",
    [
        ("How many teams played?", "3", ("t",)),
        ("what is the total number of teams?", "3", ("t",)),
        ("what was the score in 1921?", "3", ("t#r0c2",)),
        ("how many goals did Varn score?", "54", ("t#r1c2",)),
        ("how many teams does the manyfold total hold?", "Varn", ("t#r1c1",)),
    ],
)
def test_a_number_that_may_be_counted_is_no_cell(question, answer, cells):
    told = []
    assert evidence_of(question, TABLE, [answer], warn=told.append) == cells
    assert told == ([COUNT] if cells == ("t",) else [])
    assert evidence_of(question, TABLE, [answer], warn=told.append, known=True) != ("t",)
