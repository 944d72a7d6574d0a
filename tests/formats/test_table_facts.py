"""Facts of tables: golden strings, and rules that hold for any table."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lisax.formats.table_facts import MOST, facts, moments_of, numbers_of
from lisax.formats.tables import TableView, text_of

CLUBS = """club|country|founded|points|opened
Orm|Varn|1902|31|3 May
Lund|Varn|1911|26|1 June
Tarn|Sel|1889|26|May
Ilm|Varn|1920|12|7 July
Total|||95|"""


TRIPS = """trip|day|leaves|boat|remark
Islands|2 May|9:30|Orm|
Lighthouse|14 April|10.15|Orm|children free
Harbour|30 May|6:05|Sel|"""


def table(text: str) -> TableView:
    header, *rows = (tuple(line.split("|")) for line in text.splitlines())
    return TableView("t", "", header, tuple(rows))


def texts(claim: str, of: str = CLUBS) -> list[str]:
    return facts(claim, table(of))


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        ("Three clubs are from Varn", "country is Varn in 3 rows"),
        ("Orm is a club from Varn", "club is Orm and country is Varn in 1 row"),
        ("Orm is a club from Sel", "club is Orm and country is Sel in 0 rows"),
        ("Three clubs have more than 20 points", "points over 20 in 3 rows , under 20 in 1 row"),
        ("Altogether the clubs have 95 points", "points : total 95 , mean 23.75"),
        ("The average of points in Varn is 23", "points with country Varn : total 69 , mean 23"),
        ("Lund is second by points", "Lund is 2 of 4 by points"),
        ("Orm has 5 points more than Lund", "points of Orm is 5 more than that of Lund"),
        ("Lund and Tarn have the same points", "points of Lund is equal to that of Tarn"),
        ("There are two different values of country", "2 different values of country , most often Varn in 3 rows"),
        ("Two were founded in May", "opened has may in 2 rows"),
        ("Clubs of Varns", "country is Varn in 3 rows"),  # words are compared by their stems
        (
            "Two clubs of Varn have more than 20 points",
            "country is Varn and points over 20 in 2 rows , under 20 in 1 row",
        ),
        ("No club has more than 40 points", "points over 40 in 0 rows , under 40 in 4 rows"),
        ("Orm has the most points", "highest points is 31 of Orm , lowest is 12 of Ilm"),
        ("Orm and Lund have 57 points together", "points of Orm and Lund : total 57 , ratio 1.19"),
        ("Orm has twice the points of Ilm", "points of Orm and Ilm : total 43 , ratio 2.58"),
        ("The last day of a trip is 30 May", "latest day is 30 May of Harbour , earliest is 14 April of Lighthouse"),
        ("The islands are before the lighthouse by day", "day of Islands is later than that of Lighthouse"),
        ("The lighthouse leaves after the harbour", "leaves of Lighthouse is later than that of Harbour"),
        ("Two trips have no remark", "remark is empty in 2 rows"),
    ],
)
def test_golden_facts(claim, said):
    assert said in texts(claim) + texts(claim, TRIPS)


def test_times_with_points_are_no_decimals():
    of = "film|starts|price\nOrm|9.45|9.45\nLund|10.15|10.15\nIlm|8.30|8.30"
    said = texts("Orm starts at a later time than Ilm, twice the total, the highest", of)
    assert "starts of Orm is later than that of Ilm" in said and any("price of Orm is 1.15 more" in one for one in said)
    assert not any("starts" in one and ("total" in one or "1.15" in one or "highest" in one) for one in said)


def test_only_values_of_a_column_of_different_values_name_a_row():
    assert not any("Sel is" in one or "Sel and" in one for one in texts("Sel leaves before the lighthouse", TRIPS))


@pytest.mark.parametrize(
    ("cells", "moments"),
    [
        (["2024-05-02", "3.5.2024", "1 June 2023"], [(2024, 5, 2), (2024, 5, 3), (2023, 6, 1)]),
        (["12 May", "3 June"], [(0, 5, 12), (0, 6, 3)]),
        (["9:30", "12.05"], [(9, 30), (12, 5)]),
        (["9:30 am", "12 pm", "6 p.m."], [(9, 30), (12, 0), (18, 0)]),
        (["30 May", "2 April", "3 June"], [(0, 5, 30), (0, 4, 2), (0, 6, 3)]),
        (["12 May", "June 2023"], []),  # no order
        (["5 Nov", "30 Dec", "2 Jan"], []),  # into the next year
        (["22:00", "23:30", "1:15"], []),
        (["9:30", "Tarn", "Sel"], []),
        (["25:10", "99 pm"], []),
        (["May", "June", ""], []),
    ],
)
def test_the_moments_of_a_column(cells, moments):
    assert list(moments_of(tuple(cells)).values()) == moments


def test_a_column_of_ranks_is_no_amount():
    league = "Rank|Club|Points\n1|Orm|9\n2|Lund|7\n3|Ilm|4"
    assert not any("by Rank" in one or "Rank :" in one for one in texts("Orm has the first rank of all", league))


def test_marks_of_missing_values_are_no_values():
    of = "mine|opened|owner\nOrm|May 1911|Sel\nLund|-|n/a\nTarn|–|Sel\nIlm|N/A|Varn"
    assert "opened is empty in 3 rows" in texts("Three mines were never opened", of)
    assert "2 different values of owner , most often Sel in 2 rows" in texts("There are three different owners", of)


def test_years_of_a_header_before_christ_are_no_numbers():
    of = "town|founded (BC)\nOrm|753\nLund|63\nIlm|38"
    assert texts("Orm has the highest founded", of) == []


def test_ordinals_are_no_amounts():
    league = "Club|Finish\nOrm|1st\nLund|12th\nIlm|2nd"
    said = texts("The highest Finish of all is that of Orm, twice that of Ilm, a total of 3, over 2", league)
    assert not any("Finish" in one for one in said)


@pytest.mark.parametrize(
    "years", [("63 BC", "14 AD", "80 AD"), ("753 bc", "1200", "1300"), ("63 BCE", "14 CE", "1200")]
)
def test_years_before_christ_are_no_numbers(years):
    of = "\n".join(["town|founded", *map("{}|{}".format, ("Orm", "Lund", "Sel"), years)])
    said = texts("The total and the highest founded of Orm and Lund, twice", of)
    assert not any(word in one for one in said for word in ("total", "highest", "ratio", "more", "less"))


def test_rows_are_named_in_one_column():
    games = "Winner|Loser|Margin\nSel|Orm|9\nIlm|Tarn|5\nOrm|Lund|2"
    said = texts("Orm won by a larger margin than Ilm", games)
    assert "Margin of Ilm is 3 more than that of Orm" in said and not any("4 less" in one for one in said)


def test_a_number_that_is_not_read_leaves_out_sums():
    visitors = "Town|Visitors\nOrm|100\nLund|200\nSel|300\nIlm|about 400\nTarn|50\nVarn|20"
    assert not any("total" in one for one in texts("The total of visitors is 1,070", visitors))
    assert "Visitors : total 670 , mean 134" in texts(
        "The total of visitors is 670", visitors.replace("about 400", "-")
    )


def test_of_a_tie_no_value_is_the_most_frequent():
    towns = "Name|Town\nAnn|Orm\nBea|Sel\nCai|Orm\nDag|Sel"
    assert "2 different values of Town" in texts("There are two different towns", towns)


def test_columns_of_one_name_have_numbers():
    scores = "Name|Score|Score\nAnn|1|20\nBea|2|40"
    said = texts("The total score is 3", scores)
    assert {"Score : total 3 , mean 1.5", "Score (2) : total 60 , mean 30"} <= set(said)


def test_a_number_far_from_all_values_gives_no_fact():
    assert not any("300" in one for one in texts("300 people saw clubs with points"))


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["$3T", "$900B", "$45B"], [3 * 10**12, 900 * 10**9, 45 * 10**9]),
        (["3B", "1.2M", "800K"], [3 * 10**9, 1_200_000, 800_000]),
        (["2.1 B", "500 M"], [2_100_000_000, 500_000_000]),
        (["T5", "2", "T3"], [5, 2, 3]),
        (["16 y", "8 mo", "2 y"], []),
        (["1 pm", "6 pm"], []),
    ],
)
def test_the_numbers_of_a_column(cells, values):
    assert list(numbers_of(tuple(cells)).values.values()) == values


def test_a_decimal_comma_in_one_column_makes_the_points_of_others_thousands():
    towns = "Gemeinde|Einwohner|Fläche\nGrünau|12.345|45,2\nÖstrich|8.210|12,75\nKleindorf|999|3,5"
    assert "Einwohner of Grünau is 11346 more than that of Kleindorf" in texts("Grünau und Kleindorf Einwohner", towns)


@pytest.mark.parametrize("lines", [("3,4", "1,2", "7"), ("Lines 3,4", "Line 45,2", "none"), ("12,15", "3,4", "2,1")])
def test_lists_of_small_numbers_make_no_point_of_others_thousands(lines):
    stations = "\n".join(["station|lines|price", *map("{}|{}|{}".format, "ABC", lines, ("1.459", "1.379", "1.812"))])
    assert "price : total 4.65 , mean 1.55" in texts("The total price", stations)


@pytest.mark.parametrize("prices", [("1,29", "2,49", "3,99"), ("1,2 €", "2,4 €", "5 €"), ("3,4", "1.234", "5,6")])
def test_decimal_commas_that_are_no_lists_make_points_of_others_thousands(prices):
    towns = "\n".join(["town|price|people", *map("{}|{}|{}".format, "ABC", prices, ("11.459", "1.379", "1.812"))])
    assert "people : total 14650 , mean 4883.33" in texts("The total of people", towns)


def test_days_with_strokes_are_no_fractions():
    games = "date|opponent|share\n1/5|Orm|1/5\n2/5|Sel|2/5\n3/5|Ilm|4/5"
    assert not any("date" in one and ("total" in one or "highest" in one) for one in texts("The total of date", games))
    assert "share : total 1.4 , mean 0.467" in texts("The total of share", games)


def test_numbers_have_thousands_where_the_claim_has_them():
    sales = "Region|Sales|Since\nNorth|1200|1985\nSouth|900|1990\nEast|50|1985"
    assert "Sales : total 2,150 , mean 716.67" in texts("The total of sales is 2,150", sales)
    assert "Sales : total 2150 , mean 716.67" in texts("The total of sales is 2150", sales)
    assert "Since is 1985 in 2 rows" in texts("Sales since 1985 are 1,250", sales)
    assert "highest Sales is 1,200 of North , lowest is 50 of East" in texts("The highest Sales are 1,200", sales)


def test_years_and_codes_have_no_thousands():
    of = "Club|Founded|Members|Code\nOrm|1902|900|X2500\nLund|1911|1250|X2500\nIlm|1889|70|X30"
    said = texts("The highest Founded code X2500 has 1,250 members", of)
    assert "highest Founded is 1911 of Lund , lowest is 1889 of Ilm" in said
    assert "Members with Code X2500 : total 2,150 , mean 1,075" in said and not any("X2,500" in one for one in said)


def test_the_facts_that_share_most_words_with_the_claim_come_first():
    assert texts("Ilm was founded 18 years after Orm")[0] == "founded of Orm is 18 less than that of Ilm"


def test_a_row_of_totals_is_not_counted():
    assert "points : total 95 , mean 23.75" in texts("95 points altogether")
    assert "4 different values of club" not in " ".join(texts("Five different clubs"))


def test_measures_are_in_the_unit_of_the_first():
    of = "river|length\nOrm|2 km\nIlm|900 m\nSel|1.1 km"
    assert "length : total 4 km , mean 1.33 km" in texts("The length of all rivers together", of)
    assert "length of Orm is 1.1 km more than that of Ilm" in texts("Orm has more length than Ilm", of)
    assert "length over 1 km in 2 rows , under 1 km in 1 row" in texts("Two have a length over 1,000 m", of)
    plain = "river|length (km)\nOrm|2\nIlm|1\nSel|4"
    assert "length (km) over 1.5 in 2 rows , under 1.5 in 1 row" in texts("Two have a length over 1.5 km", plain)


@pytest.mark.parametrize("name, unit", [("heat", " °C"), ("heat (°C)", "")])
def test_temperatures_have_means_and_differences_but_neither_sums_nor_ratios(name, unit):
    of = f"town|{name}\nOrm|12{unit}\nSel|9.5{unit}"
    assert f"{name} : mean 10.75{unit}" in texts("The mean of heat", of)
    found = texts("The total heat of Orm and Sel, a ratio", of)
    assert f"{name} of Orm is 2.5{unit} more than that of Sel" in found
    assert not any("total" in one or "ratio" in one for one in found)


def test_small_numbers_have_the_decimals_of_the_cells():
    of = "patient|dose\nAnn|0.003\nBob|0.001\nCat|0.0015"
    assert "dose of Ann is 0.002 more than that of Bob" in texts("Ann has a dose more than Bob", of)
    assert "dose : total 0.0055 , mean 0.00183" in texts("The total dose", of)
    assert "dose over 0.0025 in 1 row , under 0.0025 in 2 rows" in texts("One dose is over 0.0025", of)
    long = "patient|dose\nAnn|12.125\nBob|1.25\nCat|3.0625"
    assert "dose : total 16.4375 , mean 5.48" in texts("The total dose", long)


def test_years_are_neither_added_nor_are_facts_made_of_one_row():
    assert not any("total" in one for one in texts("The total of founded"))
    assert texts("Orm from Varn", "club|country\nOrm|Varn") == [] == texts("Orm", "club|country")


def test_a_pair_has_the_facts_before_the_records():
    of = "club|country\nOrm|Varn\nLund|Varn\nTarn|Sel"
    assert text_of("Two from Varn", table(of)) == (
        "3 rows . country is Varn in 2 rows . club is Orm ; country is Varn . club is Lund ; country is Varn . "
        "club is Tarn ; country is Sel ."
    )


cells = st.text("ab1 29.,-|", max_size=4).map(lambda text: text.replace("|", ""))


@given(st.integers(1, 4).flatmap(lambda n: st.lists(st.lists(cells, min_size=n, max_size=n), max_size=20)), cells)
def test_facts_of_any_table_are_few_and_count_no_more_than_its_rows(rows, claim):
    of = TableView("t", "", tuple("wxyz"[: len(rows[0]) if rows else 1]), tuple(map(tuple, rows)))
    found = facts(claim, of)
    assert len(found) <= MOST and len(set(found)) == len(found)
    for one in found:
        counts = [int(count) for count in re.findall(r"in (\d+) rows?", one)]
        assert all(count <= len(rows) for count in counts) and one == " ".join(one.split())


def test_time_is_linear_in_rows():
    def seconds(rows: int) -> float:
        of = TableView("t", "", ("name", "n"), tuple((f"a{i % 97}", str(i)) for i in range(rows)))
        taken = []
        for _ in range(3):
            start = time.process_time()
            facts("a1 a2 a3 a4 a5 a6 a7 a8 a9 have n over 12", of)
            taken.append(time.process_time() - start)
        return min(taken)

    assert seconds(8000) < 60 * seconds(400) + 0.1
