"""Sheets of .xlsx, .ods and .pptx: cells as a sheet shows them, merged amounts, hidden parts."""

import datetime

import made
import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made import blocks

from lisax.corpora.reading import Watch
from lisax.documents import Kind, read, sheets
from lisax.documents.grid import Place, TableLimits
from lisax.documents.reading import Notes
from lisax.documents.sheets import shown


def test_excel(tmp_path):
    rows = (
        ("Budget of Tarn",),
        ("in thousand euros",),
        (),
        ("", "2022", None, "2023", None),
        ("Item", "Plan", "Share", "Plan", "Share"),
        ("Roads", 1200, 0.085, 1300.5, 0.09),
        ("Total", -12, 1, 1300.5, 1),
        ("Source: the town's own figures",),
    )
    book = made.workbook(tmp_path / "a b.xlsx", rows, "B4:C4", "D4:E4")
    sheet = book.active
    sheet.title = "Budget"
    for row in (6, 7):
        sheet.cell(row, 3).number_format = "0.0%"
        sheet.cell(row, 4).number_format = '#,##0.00 "€"'
    other = book.create_sheet("Dates")
    other.append(["Event", "Day"])
    other.append(["Opening", datetime.date(2023, 5, 1)])
    hidden = book.create_sheet("Hidden")
    hidden.append(["secret", "1"])
    hidden.sheet_state = "hidden"
    book.save(tmp_path / "a b.xlsx")
    found = read(tmp_path / "a b.xlsx")
    budget = [
        ("Item", "2022 Plan", "2022 Share", "2023 Plan", "2023 Share"),
        ("Roads", "1200", "8.5%", "€1,300.50", "0.09"),
        ("Total", "-12", "100.0%", "€1,300.50", "1"),
    ]
    assert blocks(tmp_path / "a b.xlsx") == [
        ("heading", "Budget"),
        ("table", budget),
        ("footnote", "Source: the town's own figures"),
        ("heading", "Dates"),
        ("table", [("Event", "Day"), ("Opening", "1 May 2023")]),
    ]
    tables = list(found.tables(Watch()))
    seen = [(table.id, table.title, table.caption) for table in tables]
    assert seen == [("a_b.xlsx:0", "a b", "Budget of Tarn in thousand euros"), ("a_b.xlsx:1", "a b", "Dates")]
    assert found.notes == (("hidden sheets (left out)", 1),)


def test_an_amount_of_merged_rows_is_in_the_first(tmp_path):
    rows = (
        ("Office", "Name", "Pay", "Year", "Rank"),
        ("X", "Ann", 1000, 2019, 3),
        ("", "Bob", None, None, None),
        ("", "Cat", None, None, 4),
        ("Y", "Dan", 500, 2020, 5),
    )
    made.workbook(tmp_path / "a.xlsx", rows, "A2:A4", "C2:C4", "D2:D4", "E2:E3")
    ((_, table),) = blocks(tmp_path / "a.xlsx")
    assert table[1:] == [
        ("X", "Ann", "1000", "2019", "3"),
        ("X", "Bob", "", "2019", "3"),
        ("X", "Cat", "", "2019", "4"),
        ("Y", "Dan", "500", "2020", "5"),
    ]


def test_merged_ranges_that_overlap_fill_each_cell_once():
    size = 800  # each range begins below and left of the one before and overlaps it: their areas add up to 85 million
    rows = [[f"r{i} c{j}" for j in range(size)] for i in range(size)]
    sheets._fill(rows, [(size - i, i + 1, size, size) for i in range(size)])
    assert rows[-1] == [f"r{size - 1 - j} c{j}" for j in range(size)]


def test_a_sheet_ends_with_its_filled_cells(tmp_path):
    book = made.workbook(tmp_path / "a.xlsx", (("Town", "People", "Area"), ("Tarn", 900, 12)), "B1:C1")
    book.active["XFD1048576"].font = openpyxl.styles.Font(bold=True)
    book.save(tmp_path / "a.xlsx")
    notes = Notes()
    place = Place(tmp_path / "a.xlsx", None, notes, TableLimits(rows=10, columns=5))
    (table,) = sheets.read_excel(tmp_path / "a.xlsx", place)
    assert (table.header, table.rows) == (("Town", "People", "People"), (("Tarn", "900", "12"),))
    assert not notes.counts
    for at in ("G1", "A11", "A1048576"):
        book.active[at] = "far"
    book.save(tmp_path / "a.xlsx")
    (table,) = sheets.read_excel(tmp_path / "a.xlsx", place)
    assert table.rows == (("Tarn", "900", "12"),)
    said = {"rows of a sheet past 10 (left out)": 2, "columns of a sheet past 5 (left out)": 1}
    assert notes.counts == said
    assert list(sheets.read_old_excel(tmp_path / "a.xlsx", place))[-1].rows == table.rows


def test_old_files_repeat_merged_cells_and_tell_that_formats_are_lost(tmp_path):
    rows = ((), (), (None, "Region", "Revenue"), (None, None, 2022, 2023), (None, "North", 0.5, 120))
    made.workbook(tmp_path / "a.xlsx", rows, "B3:B4", "C3:D3")
    notes = Notes()
    # The library reads every type of Excel in the same way.
    (table,) = sheets.read_old_excel(tmp_path / "a.xlsx", Place(tmp_path / "a.xlsx", None, notes))
    assert (table.header, table.rows) == (("Region", "Revenue 2022", "Revenue 2023"), (("North", "0.5", "120"),))
    assert table.place == "row 3"
    assert notes.counts == {"sheets whose numbers are without their formats, such as % and €": 1}


@pytest.mark.parametrize(
    ("value", "text", "read_as"),
    [
        ("2023-05-04", "04/05/23", "4 May 2023"),
        ("2023-05-04T14:30:00", "05.04.2023 14:30", "4 May 2023 14:30"),
        ("2023-05-04", "May 23", "May 23"),
        ("-0044-03-15", "15.3.-44", "15.3.-44"),
        ("-0044-03-15", "03/15/44", "03/15/44"),
    ],
)
def test_dates_in_numbers_of_open_documents_are_read_by_their_values(tmp_path, value, text, read_as):
    cells = ODF_CELL.format(f' office:date-value="{value}"', text) + ODF_CELL.format("", text)
    body = f"<office:spreadsheet><table:table><table:table-row>{cells}</table:table-row></table:table>"
    ((_, ((first, second),)),) = blocks(made.open_document(tmp_path / "a.ods", f"{body}</office:spreadsheet>"))
    assert (first, second) == (read_as, text)


def test_names_below_groups_may_have_blanks(tmp_path):
    rows = (
        ("Office", "2023", "2024", None, "Change"),
        (None, "Actual", "Plan", "Q1", None),
        ("Parks", 12, 13, 3, 0.5),
        ("Roads", 81, 79, 20, -0.5),
    )
    made.workbook(tmp_path / "a.xlsx", rows)
    ((_, table),) = blocks(tmp_path / "a.xlsx")
    assert table[0] == ("Office", "2023 Actual", "2024 Plan", "2024 Q1", "Change")
    made.workbook(tmp_path / "a.xlsx", (rows[0], ("Sum", "none", "open", "open", None), *rows[2:]))
    ((_, table),) = blocks(tmp_path / "a.xlsx")
    assert table[:2] == [("Office", "2023", "2024", "", "Change"), ("Sum", "none", "open", "open", "")]


BOARD = (("Name", "Role"), ("Ann", "Chair"), ("Cy", "Clerk"))


@pytest.mark.parametrize(
    ("above", "below", "count"),
    [
        (BOARD, ((), (), ("Room", "Holder"), ("Hall", "Eve"), ("Attic", "Gus")), 2),
        (BOARD, ((), ("Room", "Floor", "Holder"), ("Hall", "First", "Eve"), ("Attic", "Top", "Gus")), 2),
        ((("Boat", "Metres"), ("Heron", 12), ("Swift", 9)), ((), *BOARD), 2),
        (BOARD, ((), ("Eve", "Clerk"), ("Gus", "Member"), ("Hal", "Guest")), 1),
        (BOARD, ((), (), ("Eve", "Member"), ("Gus", "Member"), ("Hal", "Guest")), 1),
        (BOARD, ((), (), ("Eve", "Member"), ("Gus", "Guest")), 1),
        (BOARD, ((), ("Eve", "Member", "since May"), ("Gus", "Guest"), ("Hal", "Friend")), 1),
        ((("Item", "Number"), ("Saw", 3)), ((), ("Pan", "none"), ("Pot", "none"), ("Cup", "none")), 1),
    ],
)
def test_a_table_of_words_below_another(tmp_path, above, below, count):
    made.workbook(tmp_path / "a.xlsx", (*above, *below))
    assert sum(kind == "table" for kind, _ in blocks(tmp_path / "a.xlsx")) == count


@pytest.mark.parametrize(
    ("value", "form", "text"),
    [
        (None, "General", ""),
        (True, "General", "yes"),
        (0.1 + 0.2, "General", "0.3"),
        (1e20, "General", "100000000000000000000"),
        (1234.5, "#,##0.00", "1,234.50"),
        (0.125, "0.0%", "12.5%"),
        (-3, '"$"#,##0', "-$3"),
        (5, '0 "km"', "5 km"),
        (5, "[$€-407] #,##0", "€5"),
        (12_345_678, '0.0,,"M"', "12.3 M"),
        (42, "00000", "00042"),
        (datetime.datetime(2021, 3, 1), "mmm yyyy", "March 2021"),
        (datetime.time(0, 3, 25), "hh:mm:ss", "00:03:25"),
        (datetime.datetime(2023, 5, 1, 14, 30), "yyyy", "1 May 2023 14:30"),
        (datetime.time(9, 5), "hh:mm", "09:05"),
        (datetime.timedelta(hours=26, minutes=3), "[h]:mm", "26:03"),
        (datetime.timedelta(minutes=-90), "[h]:mm", "-1:30"),
        (datetime.datetime(2024, 6, 30, 0, 0, 30), "dd/mm/yyyy hh:mm:ss", "30 June 2024 00:00:30"),
        (datetime.datetime(2024, 6, 30, 14, 5, 9), "dd/mm/yyyy hh:mm", "30 June 2024 14:05"),
        (datetime.datetime(2024, 6, 30, 14, 5, 9), "General", "30 June 2024 14:05:09"),
        (0.00000012, "General", "1.2E-07"),
        (0.0000234, "General", "2.34E-05"),
        (0.000123, "0.00E+00", "1.23E-04"),
        (3, '"Q"0', "Q3"),
        (-3, '"Q"0', "-Q3"),
        (5, '"Plan "\\A0" km"', "Plan A5 km"),
        (5, '0"%"', "5%"),
        (5, '0"°"', "5°"),
        (500, "[$₹-4009]#,##0", "₹500"),
        (7, "[$CHF-807] 0.00", "CHF 7.00"),
        (2.5, "0", "3"),
        (-2.5, "0", "-3"),
        (0.125, "0.00", "0.13"),
        (0.00125, "0.0%", "0.1%"),
        (0.0015, "0.0%", "0.2%"),
        (1.005, "0.00", "1.01"),
        (10**30, "0.00", "1" + "0" * 30 + ".00"),
    ],
)
def test_cells_as_a_sheet_shows_them(value, form, text):
    assert shown(value, form) == text


@given(st.integers(0, 10**12))
def test_halves_are_rounded_away_from_zero(eighths):
    cents = (25 * eighths + 1) // 2
    assert shown(eighths / 8, "0.00") == f"{cents // 100}.{cents % 100:02}"


def test_hidden_rows_and_columns_are_left_out_and_counted(tmp_path):
    rows = (("Town", "Draft", "Old", "People"), ("Tarn", 1, 2, 900), ("Orm", 3, 4, 412), ("Sel", 5, 6, 77))
    book = made.workbook(tmp_path / "a.xlsx", (("Accounts of 2023",), (), *rows))
    sheet = book.active
    sheet.column_dimensions["B"].hidden = True
    sheet.column_dimensions.group("B", "C", hidden=True)
    sheet.column_dimensions.group("F", "H", hidden=True)
    for number in (1, 5, 9):
        sheet.row_dimensions[number].hidden = True
    book.save(tmp_path / "a.xlsx")
    found = read(tmp_path / "a.xlsx")
    (table,) = found.blocks
    assert (table.header, table.rows, table.place) == (("Town", "People"), (("Tarn", "900"), ("Sel", "77")), "row 3")
    assert found.notes == (("hidden rows of sheets (left out)", 2), ("hidden columns of sheets (left out)", 2))


ODF_CELL = "<table:table-cell{}><text:p>{}</text:p></table:table-cell>"


def test_hidden_rows_and_columns_of_open_documents_are_left_out_and_counted(tmp_path):
    def row(cells, more=""):
        return f"<table:table-row{more}>{''.join(ODF_CELL.format('', cell) for cell in cells)}</table:table-row>"

    hidden = ' table:visibility="collapse"'
    rows = (
        row(("Accounts of 2023",), hidden)
        + row(("Town", "Draft", "Old", "People"))
        + row(("Tarn", 1, 2, 900))
        + row(("Orm", 3, 4, 412), ' table:visibility="filter" table:number-rows-repeated="2"')
        + row(("Sel", 5, 6, 77))
        + f'<table:table-row{hidden} table:number-rows-repeated="9999"/>'
    )
    columns = (
        f'<table:table-column/><table:table-column{hidden} table:number-columns-repeated="2"/><table:table-column/>'
        f'<table:table-column{hidden} table:number-columns-repeated="1020"/>'
    )
    table = f'<table:table table:name="Sheet1">{columns}{rows}</table:table>'
    found = read(made.open_document(tmp_path / "a.ods", f"<office:spreadsheet>{table}</office:spreadsheet>"))
    (table,) = found.blocks
    assert (table.header, table.rows, table.place) == (("Town", "People"), (("Tarn", "900"), ("Sel", "77")), "row 2")
    assert found.notes == (("hidden rows of sheets (left out)", 3), ("hidden columns of sheets (left out)", 2))


def test_an_amount_over_the_rows_of_an_open_document_s_group_is_in_the_first(tmp_path):
    down, covered = ' table:number-rows-spanned="2"', "<table:covered-table-cell/>"
    rows = (
        [ODF_CELL.format("", name) for name in ("Office", "Name", "Pay", "Year")],
        [ODF_CELL.format(down * (cell != "Ann"), cell) for cell in ("X", "Ann", "1000", "2019")],
        [covered, ODF_CELL.format("", "Bob"), covered, covered],
        [ODF_CELL.format(down * (cell == "7"), cell) for cell in ("Y", "Cat", "7", "2020")],
        [ODF_CELL.format("", "Z"), ODF_CELL.format("", "Dan"), covered, ODF_CELL.format("", "2021")],
    )
    table = "".join(f"<table:table-row>{''.join(row)}</table:table-row>" for row in rows)
    body = f"<office:spreadsheet><table:table>{table}</table:table></office:spreadsheet>"
    ((_, table),) = blocks(made.open_document(tmp_path / "a.ods", body))
    assert table[1:] == [
        *(("X", "Ann", "1000", "2019"), ("X", "Bob", "", "2019")),
        *(("Y", "Cat", "7", "2020"), ("Z", "Dan", "7", "2021")),
    ]


def test_hidden_sheets_of_every_type_are_left_out_and_counted(tmp_path):
    row = "<table:table-row><table:table-cell><text:p>{}</text:p></table:table-cell></table:table-row>"
    tables = "".join(
        f'<table:table table:name="{name}" table:style-name="{style}">{row.format(name)}</table:table>'
        for name, style in (("Open", "t1"), ("Secret", "t2"), ("Plain", ""))
    )
    styles = "".join(
        f'<style:style style:name="{name}"><style:table-properties table:display="{shown}"/></style:style>'
        for name, shown in (("t1", "true"), ("t2", "false"))
    )
    path = made.open_document(tmp_path / "a.ods", f"<office:spreadsheet>{tables}</office:spreadsheet>", styles)
    assert [text for kind, text in blocks(path) if kind == "paragraph"] == ["Open", "Plain"]
    assert read(path).notes == (("hidden sheets (left out)", 1),)
    book = openpyxl.Workbook()
    book.active.append(["Open"])
    for name, state in (("Secret", "hidden"), ("Worse", "veryHidden")):
        sheet = book.create_sheet(name)
        sheet.append([name])
        sheet.sheet_state = state
    book.save(tmp_path / "a.xlsx")
    notes = Notes()
    # The library reads every type of Excel in the same way.
    found = [*sheets.read_old_excel(tmp_path / "a.xlsx", Place(tmp_path / "a.xlsx", None, notes))]
    assert [block.text for block in found if block.kind is Kind.PARAGRAPH] == ["Open"]
    assert notes.counts == {"hidden sheets (left out)": 2}
