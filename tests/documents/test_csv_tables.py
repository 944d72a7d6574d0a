"""Tables of separated values: separators, quotes, encodings, title lines, limits."""

from pathlib import Path

import pytest
from made import grid

from lisax.corpora.files import FileFolder
from lisax.corpora.reading import Watch
from lisax.documents import Document, Kind, csv_tables
from lisax.documents.grid import Place, TableLimits
from lisax.errors import DataError
from lisax.records import Table


def read_csv(path: Path, content: str | bytes, **limits):
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    watch = Watch()
    block, title = csv_tables.read(Place(path, None, watch, TableLimits(**limits)))[0], path.stem.replace("_", " ")
    (table,) = Document(path.name, title, (block,)).tables(watch, TableLimits(**limits))
    return table, [warning.partition(", first")[0] for warning in watch.warnings]


@pytest.mark.parametrize("separator", [",", "\t", ";", "|", "#"])
def test_separators_and_quotes(tmp_path, separator):
    text = separator.join(["name", "note"]) + "\r\n" + separator.join(["אורי 🦁", '"a, b; c\n""d"""']) + "\r\n\r\n"
    table, warnings = read_csv(tmp_path / "big_cats.csv", text)
    assert table == Table("big_cats.csv", "big cats", ("name", "note"), (("אורי 🦁", 'a, b; c "d"'),))
    assert warnings == []


def test_commas_inside_cells_do_not_win():
    assert csv_tables.separator("a;b\n1,5;2,5\n3,5;4\n") == ";"
    assert csv_tables.separator("one column\nof text, with a comma\n") == ","
    assert csv_tables.separator("") == ","
    assert csv_tables.separator("Name;Price, EUR\nA;1,5\nB;2,5\n") == ";"
    assert csv_tables.separator("Day;Sales, net;Sales, gross\n1;1,5;2,5\nSource: the office, 2023, Tarn\n") == ";"
    assert csv_tables.separator("name\tprice, net\nA\t1,5\n") == "\t"
    assert csv_tables.separator("name, age\nAda, 36\n") == csv_tables.separator("Player #, goals\n7, 3\n") == ","


@pytest.mark.parametrize(
    "name, content, expected",
    [
        ("a.tsv", "name\tcity, country\nAda\tTarn, Norway\n", [("name", "city, country"), ("Ada", "Tarn, Norway")]),
        ("a.TSV", "a,b\n1,2\n", [("a,b",), ("1,2",)]),
        ("a.csv", "sep=;\r\na,b;c\r\n1,2;3\r\n", [("a,b", "c"), ("1,2", "3")]),
        ("a.csv", "sep=\t\na,b\tc\n1,2\t3\n", [("a,b", "c"), ("1,2", "3")]),
        ("a.csv", "quote\nHello; world\nTo be; or not\n", [("quote",), ("Hello; world",), ("To be; or not",)]),
        ("a.csv", "colour\n#ff0000\n#00ff00\n", [("colour",), ("#ff0000",), ("#00ff00",)]),
        ("a.csv", "# of cats\n#1\n#2\n", [("# of cats",), ("#1",), ("#2",)]),
        ("a.csv", ",\n1,2\n", [("", ""), ("1", "2")]),
    ],
)
def test_what_says_the_separator_and_the_header(tmp_path, name, content, expected):
    assert grid(read_csv(tmp_path / name, content)[0]) == expected


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_marked_encodings(tmp_path, encoding):
    assert grid(read_csv(tmp_path / "a.csv", "é,b\n1,2\n".encode(encoding))[0]) == [("é", "b"), ("1", "2")]


def test_ragged_and_empty_tables(tmp_path):
    table, warnings = read_csv(tmp_path / "a.csv", "a,b\n1\n1,2,3\n1,2\n")
    assert grid(table) == [("a", "b", ""), ("1", "", ""), ("1", "2", "3"), ("1", "2", "")]
    assert warnings == [
        "columns without a name, past the end of the header: 1",
        "rows that are shorter than the others (padded): 2",
    ]
    assert grid(read_csv(tmp_path / "a.csv", "a,b\n")[0]) == [("a", "b")]


def test_limits_are_told(tmp_path):
    table, warnings = read_csv(tmp_path / "a.csv", "aaaa,b,c\n" + "1,2,3\n" * 7, rows=4, columns=2, characters=3)
    assert grid(table) == [("aaa", "b"), *[("1", "2")] * 4]
    assert warnings == [
        "columns beyond the 2 of a table (left out): 1",
        "rows beyond the 4 or the 2,000,000 cells of a table (left out): 3",
        "texts of cells with more than 3 characters (cut): 1",
    ]
    assert len(read_csv(tmp_path / "a.csv", "a,b\n" + "1,2\n" * 7, cells=6)[0].rows) == 3


def test_large_tables_are_ordinary(tmp_path):
    table, warnings = read_csv(tmp_path / "long.csv", "a,b\n" + "1,2\n" * 5000)
    assert (len(table.rows), warnings) == (5000, [])
    table, warnings = read_csv(tmp_path / "wide.csv", ",".join(map(str, range(300))) + "\n" + ",x" * 299)
    assert (len(table.header), len(table.rows), warnings) == (300, 1, [])


@pytest.mark.parametrize(
    "content, said",
    [
        (b"", "a.csv: the file is empty"),
        (b"\n \n", "a.csv: the file is empty"),
        (b",,\n", "a.csv: the file is empty"),
        (b'sep=;\na;b\n1;"x\n2;y', "a.csv:3: .* a quote of this row"),
        (b"a,b\n\xe9\0,2\n", "a.csv: not UTF-8 .*nor in another encoding"),
        (b"\xff\xfea", "a.csv: not UTF-16"),
        (b'a,b\n1,"x"\n2,"x\n3,y\n4,z', "a.csv:3: not separated values: a quote of this row is never closed"),
        (b'a,b\n"' + b"x" * (1 << 24) + b"x", "a.csv:2: not separated values: the row has more"),
    ],
)
def test_files_that_hold_no_table(tmp_path, content, said):
    with pytest.raises(DataError, match=said):
        read_csv(tmp_path / "a.csv", content)


def test_a_table_in_another_encoding_is_read_with_a_warning(tmp_path):
    table, warnings = read_csv(tmp_path / "a.csv", "name,city\nJosé,Zürich\n".encode("cp1252"))
    assert table.rows == (("José", "Zürich"),) and "files that are not UTF-8 (read as cp1252)" in str(warnings)


def test_lines_of_title_groups_and_units_are_no_header(tmp_path):
    table, _ = read_csv(
        tmp_path / "a.csv", "Budget of Tarn;;;\nin thousand;;;\n\n;2022;;2023\nItem;Plan;Spent;Plan\nRoads;1;2;3\n"
    )
    assert table.caption == "Budget of Tarn in thousand"
    assert grid(table) == [("Item", "2022 Plan", "2022 Spent", "2023 Plan"), ("Roads", "1", "2", "3")]
    table, _ = read_csv(tmp_path / "b.csv", "River,Length\n,(km)\nOrm,412\nIlm,90\n")
    assert grid(table) == [("River", "Length (km)"), ("Orm", "412"), ("Ilm", "90")]
    table, _ = read_csv(tmp_path / "c.csv", "party,2019,2023\nGreens,5,7\n")
    assert (table.caption, grid(table)) == ("", [("party", "2019", "2023"), ("Greens", "5", "7")])


@pytest.mark.parametrize(
    ("content", "caption", "expected"),
    [
        ("Sales, 2023\nRegion,Q1,Q2\nNorth,1,2\n", "Sales, 2023", [("Region", "Q1", "Q2"), ("North", "1", "2")]),
        (
            "Seats; by party\nparty;2019;2023\nGreens;5;7\nReds;6;8\n",
            "Seats; by party",
            [("party", "2019", "2023"), ("Greens", "5", "7"), ("Reds", "6", "8")],
        ),
        ("Draft\na, b\nx,y,z\n1,2,3\n", "Draft a, b", [("x", "y", "z"), ("1", "2", "3")]),
        ("name, age\nAda, 36\nBo, 7\n", "", [("name", " age"), ("Ada", " 36"), ("Bo", " 7")]),
        ("x, y\nAda,1,2\nBo,3,4\n", "", [("x", " y", ""), ("Ada", "1", "2"), ("Bo", "3", "4")]),
        ("x,y\nr,a,b\ns,c,d\n", "", [("x", "y", ""), ("r", "a", "b"), ("s", "c", "d")]),
    ],
)
def test_a_line_of_title_may_have_separators(tmp_path, content, caption, expected):
    table, _ = read_csv(tmp_path / "a.csv", content)
    assert (table.caption, grid(table)) == (caption, [tuple(map(str.strip, row)) for row in expected])


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (",,\n\nname,age,city\nAda,36,Tarn\n\nBo,7,Orm\n", [("name", "age", "city"), ("Ada", "36", "Tarn"), ("Bo", "7", "Orm")]),
        (",\n\nname,role\nAda,chair\n", [("name", "role"), ("Ada", "chair")]),
        (",\nname,age\nAda,36\n", [("name", "age"), ("Ada", "36")]),
        (",\nAda,36\nBo,7\n", [("", ""), ("Ada", "36"), ("Bo", "7")]),
    ],
)  # fmt: skip
def test_empty_cells_above_a_header_are_a_blank_line(tmp_path, content, expected):
    assert grid(read_csv(tmp_path / "a.csv", content)[0]) == expected


@pytest.mark.parametrize(("unit", "is_unit"), [("km2", True), ("m^3", True), ("m/s2", True), ("Q2", False)])
def test_units_with_digits(tmp_path, unit, is_unit):
    table, _ = read_csv(tmp_path / "a.csv", f"town,area,height\n,{unit},m\nTarn,10,20\nOrm,30,40\n")
    assert table.header == (("town", f"area {unit}", "height m") if is_unit else ("town", "area", "height"))


@pytest.mark.parametrize("end", ["Source: the league,\n", "Source: the league\n", ",Source: the league"])
def test_a_note_below_a_table_is_no_row(tmp_path, end):
    (path := tmp_path / "a.csv").write_text(f"club,points\nOrm,3\nSel,4\n{end}")
    table, note = csv_tables.read(Place(path, None, Watch()))
    assert (table.rows, note.kind, note.text) == ((("Orm", "3"), ("Sel", "4")), Kind.FOOTNOTE, "Source: the league")
    assert read_csv(path, "remark\nfine\nNote: one column\n")[0].rows == (("fine",), ("Note: one column",))
    assert read_csv(path, "club,points\nOrm,3\nSource: a,b\n")[0].rows[1:] == (("Source: a", "b"),)
    assert read_csv(path, "club, points\nOrm, 3\nSource: a, 4\n")[0].rows[1:] == (("Source: a", "4"),)


@pytest.mark.parametrize("end", ["Source: the office, 2023\n", "Note: a, b\nSource: the office, Tarn, 2023"])
def test_a_note_below_a_table_may_have_separators(tmp_path, end):
    (path := tmp_path / "a.csv").write_text(f"Well,Depth\nAsh,12\nBay,8\n{end}")
    table, *notes = csv_tables.read(Place(path, None, Watch()))
    assert table.rows == (("Ash", "12"), ("Bay", "8"))
    assert [note.text for note in notes] == end.splitlines()


def test_two_tables_of_a_file_are_two(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("Towns\ntown,people\nTarn,900\n\nRivers\nriver,km\nOrm,412\n")
    tables = list(FileFolder(path).tables(Watch()))
    assert [(one.id, one.caption, grid(one)) for one in tables] == [
        ("a.csv:0", "Towns", [("town", "people"), ("Tarn", "900")]),
        ("a.csv:1", "Rivers", [("river", "km"), ("Orm", "412")]),
    ]
    path.write_text("town,people\nTarn,900\n\nOrm,412\n")  # a blank line within a table
    assert grid(next(FileFolder(path).tables(Watch())))[1:] == [("Tarn", "900"), ("Orm", "412")]


@pytest.mark.parametrize(
    ("content", "is_data"),
    [
        ("Ada,17,2020\nBo,99,2021\nCy,3,2022\n", True),
        ("5,2,9\n1,7,3\n4,4,4\n", True),
        ("1,2,3\n4,5,6\n", None),
        ("size,10,50\nTarn,3,4\nOrm,5,6\n", None),
        ("party,2019,2015\nGreens,5,7\nReds,6,8\n", False),
        ("party,2019,seats\nGreens,5,7\nReds,6,8\n", False),
        ("runner,100 m\nAda,11.2 s\nBo,12.1 s\n", False),
        (",7\nAda,1\nBo,2\n", False),
        ("Arl,1200,1887\nBem,1900,1901\nCor,2000,1950\n", None),
        ("Ada,1987\nBo,1993\nCy,1970\n", None),
        ("1950,1990,1970\n1200,1300,1100\n1210,1310,1110\n", True),
    ],
)
def test_a_first_row_of_data_is_no_header(tmp_path, content, is_data):
    table, warnings = read_csv(tmp_path / "a.csv", content)
    first = tuple(content.splitlines()[0].split(","))
    assert grid(table)[: 2 if is_data else 1] == [("column 1", "column 2", "column 3"), first][1 - bool(is_data) :]
    assert warnings == ["headers with numbers, which may be a row of data: 1"] * (is_data is None)
