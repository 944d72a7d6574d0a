"""Tables as text: the exact strings, and budgets that drop whole rows and tell how many."""

import re

import pytest
from counters import COUNTERS
from hypothesis import given, settings
from hypothesis import strategies as st

from lisax.errors import LisaxError
from lisax.formats.presets import PAPER, RELEASED
from lisax.formats.tables import (
    TABLE_FUSION,
    TABLES,
    TableClass,
    TableExample,
    TableView,
    header_text,
    row_text,
    table_classes,
)
from lisax.records import Label

CLAIM = "Tirol United scored 54 goals in 1921."
GOALS = TableView(
    "t1",
    "Seasons of  Tirol United",
    ("year", "place", "goals"),
    (("1921", "3", "54"), ("1922", "", "48\n(home)"), ("1923", "1", "71")),
)
TOWNS = TableView("t2", "", ("town", "people"), (("Tirol", "9,000"), ("Varn", "12,000")))
EMPTY = TableView("t3", "Nothing yet", ("year", "place"), ())

GOALS_TEXT = (
    "Seasons of Tirol United . row 1 is : year is 1921 ; place is 3 ; goals is 54 . "
    "row 2 is : year is 1922 ; place is ; goals is 48 (home) . "
    "row 3 is : year is 1923 ; place is 1 ; goals is 71 ."
)
TOWNS_TEXT = "row 1 is : town is Tirol ; people is 9,000 . row 2 is : town is Varn ; people is 12,000 ."


def example(*tables, claim=CLAIM, label=None):
    return TableExample("7", claim, tables, label, (False,) * len(tables))


def alone(claim, table, limit=None, count=COUNTERS["words"]):
    (text,) = TABLE_FUSION.encode_each(example(table, claim=claim), max_tokens=limit, count_tokens=count)
    return text


@pytest.mark.parametrize(
    "preset, tables, label, inputs, targets",
    [
        (PAPER, (GOALS,), Label.SUPPORTS, f"query: {CLAIM} table1: {GOALS_TEXT} relevant:", "true"),
        (RELEASED, (GOALS,), Label.REFUTES, f"hypothesis: {CLAIM} table1: {GOALS_TEXT}", "false"),
        (
            PAPER,
            (GOALS, TOWNS, EMPTY),
            Label.NOT_ENOUGH_INFO,
            f"query: {CLAIM} table1: {GOALS_TEXT} table2: {TOWNS_TEXT} "
            "table3: Nothing yet . header is : year ; place . relevant:",
            "weak",
        ),
        (PAPER, (), None, f"query: {CLAIM} relevant:", ""),
    ],
)
def test_the_exact_text_of_all_tables_in_one_input(preset, tables, label, inputs, targets):
    for limit in (None, 512):
        assert TABLES.encode(
            example(*tables, label=label), preset=preset, max_tokens=limit, count_tokens=COUNTERS["words"]
        ) == (inputs, targets, 0)


def test_the_exact_text_of_each_table_on_its_own():
    texts = TABLE_FUSION.encode_each(example(GOALS, TOWNS), count_tokens=COUNTERS["words"])
    assert texts == [
        (f"query: {CLAIM} table: {GOALS_TEXT} relevant:", (0,)),
        (f"query: {CLAIM} table: {TOWNS_TEXT} relevant:", (0,)),
    ]


def test_what_goes_first_when_room_is_short():
    def at(limit):
        text = alone("a b c", GOALS, limit)
        return text.inputs.removeprefix("query: ").removesuffix(" relevant:"), *text.dropped

    caption, header = "Seasons of Tirol United .", "header is : year ; place ; goals ."
    assert at(60)[1] == 0 and at(59)[1] == at(44)[1] == 1
    assert at(43) == at(28) == (f"a b c table: {caption} {row_text(1, GOALS.header, GOALS.rows[0])}", 2)
    assert at(27) == at(21) == (f"a b c table: {caption} {header}", 3)
    assert at(20) == (f"a b c table: Seasons of Tirol . {header}", 3)
    assert at(16) == (f"a b c table: {header}", 3)
    assert at(10) == ("a b c table: header is :", 3)
    assert at(7) == ("a b c table:", 3)
    assert at(6) == ("a b table:", 3)
    with pytest.raises(LisaxError, match="3 tokens do not hold"):
        at(3)


def test_tables_share_the_budget_and_a_small_one_leaves_its_part_to_the_others():
    def many(rows):
        return TableView("t", "", ("h",), tuple((str(i),) for i in range(rows)))

    def kept(limit, *rows):
        tables = example(*map(many, rows), claim="q")
        text = TABLES.encode(tables, max_tokens=limit, count_tokens=COUNTERS["words"])
        assert text.dropped_rows == sum(rows) - text.inputs.count("row ")
        return [part.count("row ") for part in text.inputs.split(" table")[1:]]

    # A row is 8 words; `query: q relevant:`, three markers and EOS are 7.
    assert kept(7 + 8 * 9, 100, 100, 100) == [3, 3, 3]
    assert kept(7 + 8 * 9, 100, 1, 100) == [4, 1, 4]
    assert kept(7 + 8 * 9 + 7, 100, 100, 100) == [3, 3, 3]
    assert kept(7 + 8 * 10, 100, 100, 100) == [4, 3, 3]


cell = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)


@st.composite
def views(draw, max_columns=4):
    columns = draw(st.integers(0, max_columns))
    row = st.lists(cell, min_size=columns, max_size=columns).map(tuple)
    return TableView("t", draw(cell), draw(row), tuple(draw(st.lists(row, max_size=12))))


@settings(max_examples=80)
@pytest.mark.parametrize("counter", COUNTERS)
@given(
    claim=st.lists(cell, max_size=20).map(" ".join),
    tables=st.lists(views(), min_size=1, max_size=4),
    limit=st.integers(70, 400),
    preset=st.sampled_from([PAPER, RELEASED]),
    together=st.booleans(),
)
def test_every_input_fits_keeps_claim_and_header_and_tells_what_it_dropped(
    counter, claim, tables, limit, preset, together
):
    count = COUNTERS[counter]
    given, budget = example(*tables, claim=claim), {"preset": preset, "max_tokens": limit, "count_tokens": count}
    if together:
        text = TABLES.encode(given, **budget)
        texts = [(text.inputs, text.dropped_rows, tables)]
    else:
        found = TABLE_FUSION.encode_each(given, **budget)
        texts = [(text.inputs, *text.dropped, [table]) for text, table in zip(found, tables, strict=True)]
    for inputs, dropped, of_text in texts:
        markers = [f"table{i + 1}:" if together else "table:" for i in range(len(of_text))]
        assert count(inputs) <= limit
        assert inputs.endswith(preset.label_closing) and markers[0] in inputs
        # Each table's kept rows are its first ones, whole, and where there is none its header stands.
        kept = [len(re.findall(r"\brow \d+ is :", part)) for part in re.split("|".join(markers), inputs)[1:]]
        assert sum(kept) + dropped == sum(len(table.rows) for table in of_text)
        parts = [preset.claim_slot, claim]
        for marker, table, rows in zip(markers, of_text, kept, strict=True):
            said = [row_text(i, table.header, row) for i, row in enumerate(table.rows[:rows], start=1)]
            caption = [table.caption, "."] if table.caption.split() else []
            parts += [marker, *caption, *(said or [header_text(table.header)])]
        expected = " ".join(" ".join([*parts, preset.label_closing]).split())
        if any(kept):
            assert inputs == expected
        elif inputs != expected:  # no row is left; then captions and headers give way, before the claim
            assert count(expected) > limit
            start = " ".join(" ".join([preset.claim_slot, claim, markers[0]]).split())
            assert inputs.startswith(start) or not re.search("header|row", inputs.split(markers[0])[-1])


@settings(max_examples=60)
@given(table=views(max_columns=3), limit=st.integers(60, 200))
def test_no_row_is_dropped_that_has_room(table, limit):
    count = COUNTERS["words"]
    text = alone("a claim", table, limit)
    if text.dropped[0]:
        one_more = TableView("t", table.caption, table.header, table.rows[: len(table.rows) - text.dropped[0] + 1])
        assert count(alone("a claim", one_more).inputs) > limit


def test_only_the_rows_that_are_kept_are_counted():
    class Rows(tuple):
        read = 0

        def __getitem__(self, i):
            Rows.read += 1
            return super().__getitem__(i)

    table = TableView("t", "long", ("a", "b"), Rows((str(i), "x") for i in range(5000)))
    asked = []
    text = alone("q", table, 512, lambda text: asked.append(text) or COUNTERS["words"](text))
    kept = 5000 - text.dropped[0]
    assert kept == (512 - 1 - 5) // 12 and Rows.read <= kept + 1 and len(asked) <= kept + 5


def test_wide_right_to_left_and_odd_tables_are_ordinary():
    wide = TableView("t", "", tuple(f"h{i}" for i in range(300)), (tuple(str(i) for i in range(300)),) * 3)
    for view in (wide, TableView("t", "שלום", ("שנה", "🙂"), (("١٩٢١", "👩‍👩‍👧"),)), TableView("t", "", (), ((), ()))):
        text = alone(CLAIM, view, 512, COUNTERS["bytes"])
        assert len(text.inputs.encode()) < 512 and text.inputs.startswith(f"query: {CLAIM} table:")
    assert alone("q", wide).dropped == (0,)


def test_classes_of_tables():
    assert table_classes(Label.SUPPORTS, (False, True)) == [TableClass.IRRELEVANT, TableClass.TRUE] == [1, 2]
    assert table_classes(Label.REFUTES, (True, False)) == [TableClass.FALSE, TableClass.IRRELEVANT] == [3, 1]
    assert table_classes(Label.NOT_ENOUGH_INFO, (True, False)) == [1, 1]
    assert table_classes(None, (True, False)) == [0, 0]
