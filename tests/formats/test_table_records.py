"""Tables as records: golden strings, and rules that hold for any table."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lisax.formats.table_records import MOST, records, totals
from lisax.formats.tables import TableView


def table(header: str, *rows: str) -> TableView:
    return TableView("t", "", tuple(header.split("|")), tuple(tuple(row.split("|")) for row in rows))


@pytest.mark.parametrize(
    ("claim", "of", "text"),
    [
        # A column of numbers has extremes; years and columns with other values have none.
        (
            "Orm scored the most",
            table("team|points|year", "Orm|31 pts|1990", "Lund|1,204|1991", "Tarn|-2|1992", "Ilm|31|1993"),
            "team is Lund ; points is 1,204 , the highest ; year is 1991 . "
            "team is Orm ; points is 31 pts ; year is 1990 . "
            "team is Tarn ; points is -2 , the lowest ; year is 1992 . team is Ilm ; points is 31 ; year is 1993 .",
        ),
        # Two may share an extreme; more do not stand out.
        (
            "x",
            table("n", "1", "1", "2", "2", "2"),
            "n is 1 , the lowest . n is 1 , the lowest . n is 2 . n is 2 . n is 2 .",
        ),
        # Signs, magnitudes and units count; quantities that cannot be compared have no extremes.
        ("x", table("n", "−5", "−12", "3"), "n is −5 . n is −12 , the lowest . n is 3 , the highest ."),
        ("x", table("n", "1st", "12th", "2nd"), "n is 1st . n is 12th . n is 2nd ."),
        ("x", table("n", "63 BC", "14 AD", "80 AD"), "n is 63 BC . n is 14 AD . n is 80 AD ."),
        ("x", table("n", "1.5m", "900k", "20k"), "n is 1.5m , the highest . n is 900k . n is 20k , the lowest ."),
        ("x", table("n", "2 km", "900 m", "950 m"), "n is 2 km , the highest . n is 900 m , the lowest . n is 950 m ."),
        ("x", table("n", "2 km", "900 m", "3 kg"), "n is 2 km . n is 900 m . n is 3 kg ."),
        ("x", table("n", "1-2", "3-1", "2-2"), "n is 1-2 . n is 3-1 . n is 2-2 ."),
        ("x", table("n", "28 june", "9 july", "1 may"), "n is 28 june . n is 9 july . n is 1 may ."),
        ("x", table("n", "1", "1", "1"), "n is 1 . n is 1 . n is 1 ."),
        ("x", table("n", "1", "2"), "n is 1 . n is 2 ."),
        ("x", table("n", "1", "2", "?"), "n is 1 . n is 2 . n is ? ."),
        # Empty cells are left out; the best records come first.
        (
            "Three come from Varn",
            table("team|country", "Orm|Lund", "Ilm|Varn", "Tarn|", "Sel|Varn"),
            "team is Ilm ; country is Varn . team is Sel ; country is Varn . "
            "team is Orm ; country is Lund . team is Tarn .",
        ),
        # Of a table of one row each cell is a record.
        ("Born in Tarn", table("Name|Born|Note|", "Mara|in  Tarn||x"), "Born is in Tarn . Name is Mara . x ."),
        # So has one that lists names and values.
        ("Born in Tarn", table("Key|Value", "Name|Mara", "Born|in Tarn", "Note|"), "Born is in Tarn . Name is Mara ."),
        ("x", table("a|b"), ""),
    ],
)
def test_golden_records(claim, of, text):
    assert " ".join(f"{one} ." for one in records(claim, of)) == text


def test_the_row_with_the_extreme_that_the_claim_is_about_comes_first():
    of = table("team|points", *(f"team {i}|{i * 7 % 20}" for i in range(20)))
    assert records("The fewest points were zero", of)[0] == "team is team 0 ; points is 0 , the lowest"
    assert records("the largest number", of)[0].endswith("19 , the highest")


cells = st.text("ab1 29.,-", max_size=4)


@given(st.integers(1, 4).flatmap(lambda n: st.lists(st.lists(cells, min_size=n, max_size=n), max_size=20)), cells)
def test_each_row_has_its_record_with_its_cells(rows, claim):
    of = TableView("t", "", tuple("wxyz"[: len(rows[0]) if rows else 1]), tuple(map(tuple, rows)))
    found = records(claim, of)
    said = [[f"{name} is {' '.join(cell.split())}" for name, cell in zip("wxyz", row) if cell.strip()] for row in rows]
    if len(rows) == 1:
        assert sorted(found) == sorted(said[0])
    else:
        assert len(found) == min(len(rows), MOST)
        for one in found:
            assert any(all(part in one for part in parts) for parts in said)


def test_days_with_strokes_have_no_extremes():
    assert "highest" not in " ".join(records("2 goals", table("match date|rival", "1/5|Orm", "2/5|Sel", "3/5|Ilm")))
    assert "3/4 , the highest" in " ".join(
        records("2 goals", table("doses a day|rival", "1/2|Orm", "1/4|Sel", "3/4|Ilm"))
    )


def test_a_row_of_totals_is_not_compared_with_the_others():
    seats = table("party|seats", "Greens|3", "Reds|5", "Blues|4", "Total|12")
    assert records("Who won the most seats?", seats)[0] == "party is Reds ; seats is 5 , the highest"
    assert "party is Total ; seats is 12" in records("seats", seats)


@pytest.mark.parametrize(
    ("rows", "places"),
    [
        (["a|3", "b|4", "Grand Total|1"], {2}),
        (["a|3", "b|4", " Insgesamt: |"], {2}),
        (["итого|7", "a|3", "b|4"], {0}),
        (["a|3", "b|4", "Total expenses|7"], {2}),
        (["a|3", "b|4", "Sub total|7", "c|1", "d|1", "Total South|2", "|9"], {2, 5, 6}),
        (["a|3", "b|4", "Total|7", "Average|3.5"], {2, 3}),
        (["Shell|300", "Total|250", "BP|200"], set()),  # a firm
        (["a|3", "b|4", "Total Recall|1990"], set()),
        (["|", "|"], set()),
        ([], set()),
    ],
)
def test_rows_that_sum_up_the_others(rows, places):
    assert totals(table("name|n", *rows)) == places


def test_totals_are_found_in_linear_time():
    def seconds(rows: int) -> float:
        many = table("name|n", *("|1" for _ in range(rows)))
        taken = []
        for _ in range(3):
            start = time.process_time()
            totals(many)
            taken.append(time.process_time() - start)
        return min(taken)

    assert seconds(16000) < 60 * seconds(800) + 0.1
