"""Folders of tables in CSV and HTML, and claims beside them."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisax.corpora import open_folder
from lisax.corpora.check import check
from lisax.corpora.reading import Watch
from lisax.corpora.table_files import TableFolder
from lisax.documents import csv_tables, html_tables
from lisax.documents.grid import Place, TableLimits
from lisax.errors import DataError
from lisax.records import Table


def read_csv(path: Path, content: str | bytes, **limits):
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    watch = Watch()
    table = csv_tables.read_table(path.name, Place(path, None, watch, TableLimits(**limits)))
    return table, [warning.partition(", first")[0] for warning in watch.warnings]


def read_html(path: Path, content: str | bytes, **limits):
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    watch = Watch()
    tables = list(html_tables.read_tables(path.name, Place(path, None, watch, TableLimits(**limits))))
    return tables, [warning.partition(", first")[0] for warning in watch.warnings]


def grid(table: Table) -> list[tuple[str, ...]]:
    return [table.header, *table.rows]


# --- CSV ------------------------------------------------------------------------------------


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


# --- HTML -----------------------------------------------------------------------------------


def test_spans_header_rows_and_captions(tmp_path):
    (table,), warnings = read_html(
        tmp_path / "page.html",
        """
        <html><head><title>Lions &amp; more</title></head><body><table><caption>Of <b>cats</b></caption>
        <thead><tr><th rowspan=2>Name<th colspan=2>Weight</tr><tr><th>kg<th>lb</tr></thead>
        <tr><th rowspan="2">Leo</th><td>190</td><td>419</td></tr>
        <tr><td colspan="2">unknown<br>so far<script>x</script></td></tr></table>""",
    )
    assert table == Table(
        "page.html:0",
        "Lions & more",
        ("Name", "Weight kg", "Weight lb"),
        (("Leo", "190", "419"), ("Leo", "unknown so far", "unknown so far")),
        "Of cats",
    )
    assert warnings == []


@pytest.mark.parametrize(
    "markup, expected",
    [
        ("<thead><tr><th rowspan=0>a<th>b</thead><tbody><tr><td>1<td>2</tbody>", [("a", "b"), ("1", "2")]),
        (
            "<tr><th>a<th>b<tbody><tr><td rowspan=5>1<td>2<tbody><tr><td>3<td>4<tfoot><tr><td>5<td>6",
            [("a", "b"), ("1", "2"), ("3", "4"), ("5", "6")],
        ),
        ("<tr><th>a<th>b<tr><th>1<th>2<tr><th>3<th>4", [("a", "b"), ("1", "2"), ("3", "4")]),
        (
            "<tr><th>a<th>b<tr><td><span style='display: none'>00<span>1</span>x</span>1<img hidden><td>2",
            [("a", "b"), ("1", "2")],
        ),
        (
            "<tr><th>a<th style='DISPLAY:none'>x<th>b<tr style=display:none><td>y<tr><td>1<td hidden>z<td>2<tr><td>3<td>4",
            [("a", "b"), ("1", "2"), ("3", "4")],
        ),
        ("<tr><th>a<th>b<tr><td><i hidden>never closed<td>1<tr><td>2<td>3", [("a", "b"), ("", "1"), ("2", "3")]),
    ],
)
def test_groups_headings_and_what_is_hidden(tmp_path, markup, expected):
    (table,), _ = read_html(tmp_path / "p.html", f"<table>{markup}</table>")
    assert grid(table) == expected


@pytest.mark.parametrize("charset", ["iso-8859-1", "latin1", "us-ascii", "windows-1252"])
def test_latin_1_is_what_browsers_take_it_for(tmp_path, charset):
    content = f"<meta charset={charset}><table><tr><th>a<tr><td>“é” – 5 €</table>".encode("cp1252")
    assert grid(read_html(tmp_path / "p.html", content)[0][0]) == [("a",), ("“é” – 5 €",)]


def test_nested_tables_stand_on_their_own(tmp_path):
    tables, _ = read_html(
        tmp_path / "p.html",
        "<h2>Outside</h2><table><tr><td>a<table><tr><td>in</td></tr></table> b</td><td>c</td></tr></table>",
    )
    assert [(t.id, t.caption, grid(t)) for t in tables] == [
        ("p.html:0", "Outside", [("a b", "c")]),
        ("p.html:1", "Outside", [("in",)]),
    ]


@pytest.mark.parametrize(
    "markup",
    [
        "<table><tr><td>a<td>b<tr><td>1<td>2",
        "<table><td>a</td><td>b</td></tr><tr><td>1</td></td><td>2</tr></table></table>",
        "<TABLE><TBODY><TR><TD>a</TD><TD>b</TR></TBODY><TR><TD>1<TD>2</TABLE><p>after",
        "<table><tr></tr><tr><th>a<th>b</tr><tr></tr><tr><td>1<td>2</tr><tr></table>",
        "<![if x]><table border=<tr><tr><td>a</td><td>b<![endif]></td></tr><tr><td>1<!-- c --><td>2</table>",
    ],
)
def test_malformed_markup(tmp_path, markup):
    tables, _ = read_html(tmp_path / "p.html", markup)
    assert grid(tables[0]) == [("a", "b"), ("1", "2")]


def test_spans_cannot_claim_memory(tmp_path):
    bomb = "<table>" + "<tr><td rowspan=65534 colspan=1000>x</td></tr>" * 50 + "</table>"
    (table,), warnings = read_html(tmp_path / "p.html", bomb, columns=20, cells=400)
    assert len(table.header) == 20 and len(table.rows) * 20 <= 400
    assert any(warning.startswith("columns beyond the 20 of a table") for warning in warnings)
    assert any("left out" in warning and "rows" in warning for warning in warnings)
    (table,), warnings = read_html(tmp_path / "p.html", "<table><tr><td colspan=30>x", columns=20)
    assert (len(table.header), warnings) == (20, ["columns beyond the 20 of a table (left out): 10"])
    (table,), warnings = read_html(tmp_path / "p.html", "<table>" + "<tr><td>x" * 10, rows=4)
    assert (len(table.rows), warnings) == (4, ["rows beyond the 4 or the 2,000,000 cells of a table (left out): 5"])


@pytest.mark.parametrize("charset", ["unicode_escape", "raw-unicode-escape", "UTF7", "u7", "punycode", "idna"])
def test_what_only_python_calls_an_encoding_is_none_of_a_page(tmp_path, charset):
    content = rf"<meta charset={charset}><table><tr><td>\x3ca<td>b+2AA-<tr><td>1<td>é</table>".encode()
    (table,), _ = read_html(tmp_path / "x.html", content)
    assert grid(table) == [("\\x3ca", "b+2AA-"), ("1", "é")]


def test_odd_spans_encodings_and_empty_tables(tmp_path):
    (table,), warnings = read_html(
        tmp_path / "p.html",
        "<table></table><table><tr><td colspan=0>a<td rowspan=0>b<tr><td colspan=two>c<tr><td>d</table>",
    )
    assert (table.id, grid(table)) == ("p.html:1", [("a", "b"), ("c", "b"), ("d", "b")])
    assert warnings == ["tables without a cell (left out): 1"]
    declared = "<meta charset=iso-8859-1><table><tr><td>é</table>".encode("latin-1")
    assert grid(read_html(tmp_path / "p.html", declared)[0][0]) == [("é",)]
    (table,), warnings = read_html(tmp_path / "p.html", declared[declared.index(b"<table") :])
    assert grid(table) == [("é",)] and "read as cp1252" in warnings[0]
    (table,), _ = read_html(tmp_path / "p.html", "<table><tr><td>שלום</td><td>🦁</table>")
    assert grid(table) == [("שלום", "🦁")]


@pytest.mark.parametrize("piece", ["<a ", "<!-- ", "<td x='", "<", "<![x", "</a "])
def test_what_never_ends_hides_nothing(tmp_path, piece):
    """A hundred thousand of them would take the standard parser an hour on its own."""
    tables, _ = read_html(tmp_path / "p.html", "<table><tr><td>a</table>" + piece * 100_000)
    assert [grid(table) for table in tables] == [[("a",)]]
    tables, _ = read_html(tmp_path / "p.html", "<!-- <table><tr><td>a</table>")
    assert [grid(table) for table in tables] == [[("a",)]]


def test_tables_past_the_cells_of_a_page_are_left_out():
    page = html_tables.parse("<table><tr><td>a</table>" * 10, row_limit=5, cell_limit=31)
    assert (len(page.tables), page.left_out) == (4, 6)
    page = html_tables.parse("<table>" + "<tr><td>a" * 100, row_limit=99, cell_limit=30)
    assert (len(page.tables[0].rows), page.tables[0].rows_left_out) == (11, 89)


PIECES = st.lists(
    st.sampled_from(
        [
            "<table>",
            "</table>",
            "<tr>",
            "</tr>",
            "<td>",
            "<td colspan=3>",
            "</td>",
            "<th>",
            "<td rowspan=2>",
            "<caption>",
            "<![x",
            "<!--",
            "-->",
            "<script>",
            "</script>",
            "x",
            "<h2>",
            "<p>",
            "&amp",
            "<",
            ">",
            "<?",
            "<!",
            "\x00",
            "ש",
        ]
    )
    | st.text(max_size=5)
)


@settings(max_examples=300)
@given(PIECES)
def test_no_page_makes_the_reader_fail(pieces):
    tables = html_tables.parse("".join(pieces), 10).tables
    for table in tables:
        header, rows = html_tables.split_header(*html_tables.expand(table, Place(Path("p"), 1, Watch())))
        assert all(isinstance(cell, str) for row in (header, *rows) for cell in row)


# --- Folders ------------------------------------------------------------------------------


def test_a_folder_of_everything(tmp_path):
    (tmp_path / "b sub").mkdir()
    (tmp_path / "b sub/a b.tsv").write_text("x\ty\n1\t2\n")
    (tmp_path / "page.html").write_text("<table><tr><td>1</table><table><tr><td>2</table>")
    (tmp_path / "other.json").write_text("[1]\n")
    (tmp_path / "notes.txt").write_text("no table")
    tables = list(open_folder(tmp_path).tables())
    assert [t.id for t in tables] == ["b_sub/a_b.tsv", "page.html:0", "page.html:1"]
    assert tables[0] == Table("b_sub/a_b.tsv", "a b", ("x", "y"), (("1", "2"),), original_id="b sub/a b.tsv")
    summary = check(tmp_path)
    assert summary.sound and summary.counts == {"tables": 3, "pages": 1, "sentences with text": 1}


def test_problems_have_their_place(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"")
    for name in ("b c.csv", "b_c.csv"):
        (tmp_path / name).write_text("x\n1\n")
    assert [problem.replace(str(tmp_path), "") for problem in check(tmp_path).problems] == [
        "/a.csv: the file is empty",
        "/b_c.csv:1: field 'id': duplicate id 'b_c.csv', first at /b c.csv:1",
    ]


def test_a_user_s_claims_over_a_folder_of_tables(tmp_path):
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables/cats.csv").write_text("name,kg\nlion,190\n")
    (tmp_path / "claims.dev.jsonl").write_text(
        '{"id": 1, "claim": "A lion weighs 190 kg.", "label": "SUPPORTS", "evidence": [["cats.csv"]]}\n'
    )
    dataset = open_folder(tmp_path)
    assert (dataset.layout, dataset.table_claim_splits) == ("plain", ("dev",))
    assert [claim.gold_ids for claim in dataset.table_claims("dev")] == [("cats.csv",)]
    assert [table.id for table in dataset.tables()] == ["cats.csv"] and not list(dataset.documents())
    assert check(tmp_path).sound
    with pytest.raises(DataError, match="no claims over tables for split 'test'; there are dev"):
        dataset.table_claims("test")
    (tmp_path / "tables/cats.csv").unlink()
    assert not check(tmp_path).sound


def test_claims_over_tables_jsonl_beside_claims_over_pages(tmp_path):
    claim = '{{"id": {0}, "claim": "c", "label": "SUPPORTS", "evidence": [["{1}"]]}}\n'
    (tmp_path / "pages.jsonl").write_text('{"id": "P", "title": "P", "sentences": ["a"]}\n')
    (tmp_path / "tables.jsonl").write_text('{"id": "T", "title": "", "header": ["h"], "rows": [["c"]]}\n')
    (tmp_path / "claims.dev.jsonl").write_text(claim.format(1, "P_0"))
    assert open_folder(tmp_path).table_claim_splits == ()
    (tmp_path / "table_claims.dev.jsonl").write_text(claim.format(2, "T"))
    dataset = open_folder(tmp_path)
    assert [c.id for c in dataset.claims("dev")] == ["1"] and [c.id for c in dataset.table_claims("dev")] == ["2"]
    summary = check(tmp_path)
    assert summary.sound and summary.counts["table claims in dev"] == 1


def test_a_folder_of_tables_has_no_claims(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    assert TableFolder(tmp_path).splits == ()
    with pytest.raises(DataError, match="no claims for split 'dev'"):
        open_folder(tmp_path).claims("dev")
