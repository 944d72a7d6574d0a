"""Tables as text: the exact strings, and budgets that drop whole rows and tell how many."""

import re

import pytest
from counters import COUNTERS
from hypothesis import given, settings
from hypothesis import strategies as st

from lisax.errors import LisaxError
from lisax.formats.examples import Example
from lisax.formats.presets import PAPER, RELEASED
from lisax.formats.tables import (
    TABLE_FUSION,
    TABLES,
    TableClass,
    TableExample,
    TableView,
    encode_table,
    encode_tables,
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


def example(*tables, label=None):
    return TableExample("7", CLAIM, tables, label, (False,) * len(tables))


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
    with pytest.raises(LisaxError, match="an input for each table"):
        TABLE_FUSION.encode(example(GOALS), count_tokens=COUNTERS["words"])
    with pytest.raises(LisaxError, match="the format 'tables' takes TableExample, found Example"):
        TABLES.encode(Example("7", CLAIM), count_tokens=COUNTERS["words"])


def test_what_goes_first_when_room_is_short():
    def at(limit):
        text = encode_table("a b c", GOALS, max_tokens=limit, count_tokens=COUNTERS["words"])
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
        text = encode_tables("q", [many(n) for n in rows], max_tokens=limit, count_tokens=COUNTERS["words"])
        return [n - dropped for n, dropped in zip(rows, text.dropped)]

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
    if together:
        texts = [(encode_tables(claim, tables, preset=preset, max_tokens=limit, count_tokens=count), tables)]
    else:
        texts = [
            (encode_table(claim, table, preset=preset, max_tokens=limit, count_tokens=count), [table])
            for table in tables
        ]
    for text, of_text in texts:
        marker = "table1:" if together else "table:"
        assert count(text.inputs) <= limit
        assert text.inputs.endswith(preset.label_closing) and marker in text.inputs
        # Each table's kept rows are its first ones, whole, and where there is none its header stands.
        bodies = []
        for table, dropped in zip(of_text, text.dropped, strict=True):
            assert 0 <= dropped <= len(table.rows)
            rows = [row_text(i + 1, table.header, row) for i, row in enumerate(table.rows)]
            bodies.append(" ".join(rows[: len(rows) - dropped]) or header_text(table.header))
        claim_text = " ".join(claim.split())
        markers = [f"table{i + 1}:" if together else "table:" for i in range(len(of_text))]
        captions = [" ".join(table.caption.split()) for table in of_text]
        parts = [
            preset.claim_slot,
            claim_text,
            *(
                f"{mark} {caption + ' . ' if caption else ''}{body}"
                for mark, caption, body in zip(markers, captions, bodies)
            ),
            preset.label_closing,
        ]
        expected = " ".join(" ".join(parts).split())
        if any(len(table.rows) > dropped for table, dropped in zip(of_text, text.dropped)):
            assert text.inputs == expected
        elif text.inputs != expected:  # no row is left; then captions and headers give way, before the claim
            assert count(expected) > limit
            start = f"{preset.claim_slot} {claim_text} {marker}" if claim_text else f"{preset.claim_slot} {marker}"
            assert text.inputs.startswith(start) or not re.search("header|row", text.inputs.split(marker)[-1])


@settings(max_examples=60)
@given(table=views(max_columns=3), limit=st.integers(60, 200))
def test_no_row_is_dropped_that_has_room(table, limit):
    count = COUNTERS["words"]
    text = encode_table("a claim", table, max_tokens=limit, count_tokens=count)
    if text.dropped[0]:
        one_more = TableView("t", table.caption, table.header, table.rows[: len(table.rows) - text.dropped[0] + 1])
        assert count(encode_table("a claim", one_more, count_tokens=count).inputs) > limit


def test_only_the_rows_that_are_kept_are_counted():
    class Rows(tuple):
        read = 0

        def __getitem__(self, i):
            Rows.read += 1
            return super().__getitem__(i)

    table = TableView("t", "long", ("a", "b"), Rows((str(i), "x") for i in range(5000)))
    asked = []
    text = encode_table(
        "q", table, max_tokens=512, count_tokens=lambda text: asked.append(text) or COUNTERS["words"](text)
    )
    kept = 5000 - text.dropped[0]
    assert kept == (512 - 1 - 5) // 12 and Rows.read <= kept + 1 and len(asked) <= kept + 5


def test_wide_right_to_left_and_odd_tables_are_ordinary():
    wide = TableView("t", "", tuple(f"h{i}" for i in range(300)), (tuple(str(i) for i in range(300)),) * 3)
    for view in (wide, TableView("t", "שלום", ("שנה", "🙂"), (("١٩٢١", "👩‍👩‍👧"),)), TableView("t", "", (), ((), ()))):
        text = encode_table(CLAIM, view, max_tokens=512, count_tokens=COUNTERS["bytes"])
        assert len(text.inputs.encode()) < 512 and text.inputs.startswith(f"query: {CLAIM} table:")
    assert encode_table("q", wide, count_tokens=len).dropped == (0,)


def test_classes_of_tables():
    assert table_classes(Label.SUPPORTS, (False, True)) == [TableClass.IRRELEVANT, TableClass.TRUE] == [1, 2]
    assert table_classes(Label.REFUTES, (True, False)) == [TableClass.FALSE, TableClass.IRRELEVANT] == [3, 1]
    assert table_classes(Label.NOT_ENOUGH_INFO, (True, False)) == [1, 1]
    assert table_classes(None, (True, False)) == [0, 0]
