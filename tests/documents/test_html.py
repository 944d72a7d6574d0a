"""HTML pages: their main text, marks within lines, and tables with spans and hidden cells."""

import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made import grid

from lisax.corpora.files import FileFolder
from lisax.corpora.reading import Watch
from lisax.documents import html, html_tags, read
from lisax.documents.grid import Place, TableLimits
from lisax.records import Table


def read_html(path: Path, content: str | bytes, **limits):
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    watch = Watch()
    tables = list(FileFolder(path, TableLimits(**limits)).tables(watch))
    return tables, [warning.partition(", first")[0] for warning in watch.warnings]


def texts(path: Path) -> list[str]:
    return [sentence.text for sentence in read(path).page("a").sentences]


def blocks(content: str) -> list[tuple[str, str]]:
    _, found = html.read(content, Place(Path("a.html"), None, Watch()))
    return [(block.kind.value, block.text) for block in found]


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
        ("<tr><th colspan=2>Orm<tr><th>Built<td>1900<tr><th>Height<td>30 m", [("Built", "Height"), ("1900", "30 m")]),
        ("<tr><th>Built<td>1900<tr><th>a<td>1<td>2", [("Built", "1900", ""), ("a", "1", "2")]),
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
        (  # an amount of a group is in its first row; a year, and an amount of each, are in all
            "<tr><th>a<th>b<th>c<th>d<tr><td rowspan=2>X<td>Ann<td rowspan=2>1,000<td rowspan=2>2019<tr><td>Bob<tr>"
            "<td>Y<td>Cat<td rowspan=2>7<td>2020<tr><td>Z<td>Dan<td>2021",
            [
                ("a", "b", "c", "d"),
                *(("X", "Ann", "1,000", "2019"), ("X", "Bob", "", "2019")),
                *(("Y", "Cat", "7", "2020"), ("Z", "Dan", "7", "2021")),
            ],
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
    beyond = "columns beyond the 20 of a table (left out): 10"
    assert (len(table.header), warnings) == (20, [beyond, "tables without a row below their header: 1"])
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
    assert (table.id, grid(table)) == ("p.html:0", [("a", "b"), ("c", "b"), ("d", "b")])
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
    _, found, left_out = html_tags.parse("<table><tr><td>a</table>" * 10, row_limit=5, cell_limit=31)
    assert (len(found), left_out) == (4, 6)
    _, (table,), _ = html_tags.parse("<table>" + "<tr><td>a" * 100, row_limit=99, cell_limit=30)
    assert (len(table.rows), table.rows_left_out) == (11, 89)


TAGS = (
    "<table> </table> <tr> </tr> <td> </td> <th> <caption> <![x <!-- --> <script> </script> x <h2> <p> &amp < > <? <!"
)
PIECES = st.lists(
    st.sampled_from([*TAGS.split(), "<td colspan=3>", "<td rowspan=2>", "\x00", "ש"]) | st.text(max_size=5)
)


@settings(max_examples=300)
@given(PIECES)
def test_no_page_makes_the_reader_fail(pieces):
    _, parts, _ = html_tags.parse("".join(pieces), 10)
    for table in (part for part in parts if isinstance(part, html_tags.HtmlTable)):
        header, rows, _ = html.split_header(*html.expand(table, Place(Path("p"), 1, Watch())))
        assert all(isinstance(cell, str) for row in (header, *rows) for cell in row)


@pytest.mark.parametrize(
    "bad",
    [
        "<!--" * 3000,
        "<p" * 3000,
        "<nav>" * 3000 + "a",
        "</p>" * 3000,
        "<svg>" * 50_000 + "</nav>" * 50_000,
        "<h1>" * 500 + "<p>x. Y.",
    ],
)
def test_broken_html_is_read_in_no_time(tmp_path, bad):
    (tmp_path / "a.html").write_text(f"<p>Before.</p>{bad}")
    assert texts(tmp_path / "a.html")[0] == "Before."


def test_a_tag_of_endless_attributes_takes_little_memory(tmp_path):
    (tmp_path / "a.html").write_text(f"<p>Before.<p {'a=b ' * 500_000}>After.")
    tracemalloc.start()
    found = texts(tmp_path / "a.html")
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found == ["Before.", "After."] and most < 20_000_000


def test_the_main_content_of_a_saved_page_is_read_and_what_is_beside_it_is_not():
    page = """<title>Tarn | Town Online</title><body class="has-sidebar"><nav><ul><li><a>Home</a></ul></nav>
    <div class="cookie-banner"><p>We use cookies.</p></div><div id="content"><h1>Tarn</h1><p>Tarn is a town.</p>
    <aside>Advertisement</aside><div hidden><p>Secret.</p></div><p>It is old.</p></div><footer>Imprint</footer>"""
    title, found = html.read(page, Place(Path("a.html"), None, Watch()))
    assert title == "Tarn"  # without the name of the site
    assert [block.text for block in found] == ["Tarn", "Tarn is a town.", "It is old."]
    # Without main content, all that is not beside it; and if that leaves nothing, all.
    assert blocks("<p>One.</p><footer>Two.</footer>") == [("paragraph", "One.")]
    assert blocks("<footer>Two.</footer>") == [("paragraph", "Two.")]


def test_notes_of_books_and_facts_in_asides_are_read(tmp_path):
    page = """<p>The Orm is 412 km long.<a epub:type="noteref" href="#n">1</a> It <a href="#x">floods</a>.</p>
    <aside epub:type="footnote" id="n"><p>Measured in 1950.</p></aside><p>Tarn<sup><a role="doc-noteref">2</a></sup>.</p>
    <aside role="doc-footnote">A town.</aside><aside>Advertisement</aside>"""
    seen = ["The Orm is 412 km long. It floods.", "Measured in 1950.", "Tarn.", "A town."]
    assert [text for _, text in blocks(page)] == seen
    table = "<table><tr><th>Depth<td>40 m<tr><th>Area<td>12 ha</table>"
    page = "<div id=content><p>The lake is deep.</p><aside>Ad {}</aside><nav>{}</nav><aside><nav>{}</nav></aside></div>"
    (found,), _ = read_html(tmp_path / "a.html", page.format(table, table, table))
    assert grid(found) == [("Depth", "Area"), ("40 m", "12 ha")]


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("2×10<sup>3</sup> people", "2×10³ people"),
        ("12 km<sup>2</sup> and m<sup>-1</sup>", "12 km² and m⁻¹"),
        ("the 19<sup>th</sup> and the 1<sup>er</sup>", "the 19th and the 1er"),
        ("founded in 2026<sup>1</sup>.", "founded in 2026."),
        ("a town.<sup class=reference><a href='#n'>[1]</a></sup> It", "a town. It"),
        ("a town<sup>3</sup>", "a town"),
        ("H<sub>2</sub>O", "H2O"),
        ("is <del>not</del> open", "is open"),
        ("she said <q>yes</q>", "she said “yes”"),
        ("<ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby>字", "漢字"),
        ("<img alt='a picture'>text", "text"),
    ],
)
def test_marks_within_a_line_keep_their_meaning(line, text):
    assert blocks(f"<p>{line}</p>") == [("paragraph", text)]
    _, (table,) = html.read(f"<table><tr><th>x<tr><td>{line}</table>", Place(Path("a.html"), None, Watch()))
    assert " ".join(table.rows[0][0].split()) == (text or "a picture")


def test_a_cell_of_a_picture_or_a_check_box_has_its_alternative_text():
    page = "<table><tr><th>a<th>b<th>c<tr><td><img alt=Yes><td><input type=checkbox checked><td><img alt=x>5</table>"
    _, (table,) = html.read(page, Place(Path("a.html"), None, Watch()))
    assert table.rows == (("Yes", "yes", "5"),)


def test_headings_lists_and_descriptions():
    page = "<h2>Shops</h2><p>Open:</p><ul><li>Baker<li>Butcher <p>in Orm</p></ul><dl><dt>Mayor<dd>Ann</dl>"
    assert blocks(page) == [
        ("heading", "Shops"),
        ("paragraph", "Open:"),
        ("item", "Baker"),
        ("item", "Butcher"),
        ("item", "in Orm"),
        ("paragraph", "Mayor:"),
        ("item", "Ann"),
    ]


def tables(content: str) -> list:
    return [block for block in html.read(content, Place(Path("a.html"), None, Watch()))[1] if block.rows]


def test_tables_of_layout_are_text_and_rows_over_all_columns_are_groups_or_titles():
    line = "Orvel was founded in 1851 by fishermen, who came from the islands of the north."
    assert blocks(f"<table><tr><td>{line}</table>") == [("paragraph", line)]
    row = "<tr><td>Mayor: Ada Orm was chosen on 3 May 2023.<td>Budget: 5 million euros"
    assert [kind for kind, _ in blocks(f"<table role=presentation>{row}</table>")] == ["paragraph", "paragraph"]
    group = "<tr><th colspan=2>{}</tr>"
    page = f"<table>{group.format('North')}<tr><th>Club<th>Won<tr><td>Tarn<td>3{group.format('South')}<tr><td>Orm<td>4</table>"
    (table,) = tables(page)
    assert (table.header, table.rows[0], table.rows[2]) == (("Club", "Won"), ("North", "North"), ("South", "South"))
    (table,) = tables(f"<table>{group.format('Clubs')}<tr><th>Club<th>Won<tr><td>Tarn<td>3</table>")
    assert (table.text, table.header) == ("Clubs", ("Club", "Won"))
    (table,) = tables("<table><tr><td>x<td colspan=2>Men<tr><td>Club<td>2019<td>2020<tr><td>Tarn<td>3<td>4</table>")
    assert table.header == ("x Club", "Men 2019", "Men 2020")


def test_a_teaser_is_not_the_main_content_and_quoted_messages_are_not_read():
    text = "<p>The council met on Monday and decided to close the mill, which had stood empty for years.</p>"
    assert blocks(f"{text}<article><p>Read this as well: the pier.</p></article>")[0][1].startswith("The council")
    page = "<p>It is open.</p><div class='gmail_quote'>Is it open?</div><blockquote type=cite>No.</blockquote>Yes&shy;terday."
    assert [text for _, text in blocks(page)] == ["It is open.", "Yesterday."]


def test_an_amount_of_a_group_is_in_its_first_row_whatever_stands_before_the_group(tmp_path):
    rows = "<tr><td>1</td><td rowspan=2>A</td><td>Ann</td><td rowspan=2>1000</td></tr><tr><td>2</td><td>Bob</td></tr>"
    head = "<tr><th>No.</th><th>Office</th><th>Name</th><th>Pay</th></tr>"
    (tmp_path / "a.html").write_text(
        f"<table>{head}{rows}<tr><td>3</td><td>B</td><td>Cid</td><td>500</td></tr></table>"
    )
    (table,) = read(tmp_path / "a.html").blocks
    assert [row[3] for row in table.rows] == ["1000", "", "500"]
