"""Every type of file as a document: what a reader of the file reads, and why a file is not read."""

import email.message

import made
import pytest
from made import blocks

from lisax.corpora.reading import Watch
from lisax.documents import Kind, Unread, read, sheets
from lisax.documents.archives import OLE


def sentences(path):
    """(headings, sentence) of the page."""
    return [(sentence.heading, sentence.text) for sentence in read(path).page("a").sentences]


# --- Text ----------------------------------------------------------------------------------


def test_plain_text(tmp_path):
    path = tmp_path / "tarn_minutes.txt"
    path.write_text(
        "MINUTES\n=======\n\nItem 4: Harbour wall\n\nThe council revoked its decision. It\nwas unanimous.\n\n- one\n- two\n"
    )
    assert read(path).title == "MINUTES"
    assert sentences(path) == [
        ("", "Item 4: Harbour wall"),
        ("Item 4: Harbour wall", "The council revoked its decision."),
        ("Item 4: Harbour wall", "It was unanimous."),
        ("Item 4: Harbour wall", "one"),
        ("Item 4: Harbour wall", "two"),
    ]
    path.write_text("Tarn is a town.")
    assert read(path).title == "tarn minutes" and sentences(path) == [("", "Tarn is a town.")]
    path.write_bytes("Größe: 5 m.".encode("cp1252"))
    assert sentences(path) == [("", "Größe: 5 m.")] and read(path).notes == (
        ("files that are not UTF-8 (read as cp1252)", 1),
    )


def test_broken_words_of_plain_text_are_joined_as_the_text_has_them_elsewhere(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("Mara is well-\nknown as an archi-\ntect of well-known mills and self-\nmade. An architect builds.")
    ((_, first), _) = sentences(path)
    assert first == "Mara is well-known as an architect of well-known mills and self- made."


def test_columns_and_fields_of_plain_text(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text(
        "Votes\n\nParty     2019  2023\n--------------------\nGreens       5     7\nReds         9     4\n\n"
        "Present: Ann Bee\nAbsent: Bob Cee\n\nThe vote took place on Monday:  it was\nheld in the hall.\n"
    )
    assert blocks(path) == [
        ("heading", "Votes"),
        ("table", [("Party", "2019", "2023"), ("Greens", "5", "7"), ("Reds", "9", "4")]),
        ("item", "Present: Ann Bee"),
        ("item", "Absent: Bob Cee"),
        ("paragraph", "The vote took place on Monday: it was held in the hall."),
    ]
    path.write_text("| a | b |\n|---|---|\n| 1 | 2 |\n")
    assert blocks(path) == [("table", [("a", "b"), ("1", "2")])]


def test_markdown(tmp_path):
    path = tmp_path / "a.md"
    path.write_text(
        "---\ntitle: 'Orm'\ndate: 2020\n---\n# The *Orm* #\n\nA [river](x.html) of `212` km.[^1] It floods.\n\n"
        "## Towns\n\n| town | people |\n|---|--:|\n| Tarn | 900 |\n\n- Tarn\n- Ostra\n\n```\ncode\n```\n\n## Sources\n\n"
        "~~No~~ yes &amp; no\n\n[^1]: Measured in 1990.\n"
    )
    assert read(path).title == "Orm"
    assert sentences(path) == [
        ("", "date: 2020"),
        ("The Orm", "A river of 212 km."),
        ("The Orm", "It floods."),
        ("The Orm: Towns", "Tarn"),
        ("The Orm: Towns", "Ostra"),
        ("The Orm: Sources", "yes & no"),
        ("The Orm: Sources", "Measured in 1990."),
    ]
    (table,) = read(path).tables(Watch())
    assert (table.caption, table.header, table.rows) == ("Towns", ("town", "people"), (("Tarn", "900"),))


def test_a_list_has_its_introduction_and_a_heading_without_text_is_a_sentence(tmp_path):
    path = tmp_path / "a.md"
    path.write_text(
        "# Shops\n\nOpen on Sundays:\n\n- baker\n- butcher\n\nOthers are closed.\n\n## The mill is closed\n"
    )
    assert sentences(path) == [
        ("", "Open on Sundays:"),
        ("Open on Sundays", "baker"),
        ("Open on Sundays", "butcher"),
        ("", "Others are closed."),
        ("", "The mill is closed"),
    ]


def test_rich_text(tmp_path):
    path = tmp_path / "a.rtf"
    path.write_text(r"{\rtf1\ansi{\fonttbl{\f0 Arial;}}Tarn is {\b a town}. It is \'e9t\'e9.\par Ostra is a port.}")
    assert sentences(path) == [("", "Tarn is a town."), ("", "It is été."), ("", "Ostra is a port.")]


def test_messages(tmp_path):
    message = email.message.EmailMessage()
    message["From"], message["To"] = "Ann Bee <ann@tarn.example>", "bob@tarn.example"
    message["Date"], message["Subject"] = "Tue, 14 Mar 2023 10:00:00 +0000", "The pïer"
    message.set_content("The pier is closed.\n\n> It was open.\n\n-- \nAnn, harbour office\n")
    message.add_attachment(b"x", maintype="application", subtype="zip", filename="x.zip")
    (tmp_path / "a.eml").write_bytes(message.as_bytes())
    found = read(tmp_path / "a.eml")
    assert found.title == "The pïer (14 March 2023)"
    seen = [block.text for block in found.blocks]
    assert seen == ["Ann Bee wrote to bob@tarn.example on 14 March 2023.", "The pier is closed."]
    assert found.notes == (("attachments of messages (left out)", 1),)
    (tmp_path / "a.mbox").write_bytes(b"From x\n" + message.as_bytes() + b"\nFrom y\nSubject: Two\n\nIt is open.\n")
    assert ("heading", "Two") in blocks(tmp_path / "a.mbox")
    assert ("paragraph", "It is open.") in blocks(tmp_path / "a.mbox")


def test_json(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(
        '{"town": "Tarn", "open": true, "mayor": {"name": "Ann", "sinceYear": 2019}, "tags": ["a", "b"],'
        ' "schools": [{"name": "A", "pupils": {"girls": 10}}, {"name": "B", "head": null}]}'
    )
    assert blocks(path) == [
        ("paragraph", "town: Tarn"),
        ("paragraph", "open: yes"),
        ("paragraph", "tags: a, b"),
        ("heading", "mayor"),
        ("paragraph", "name: Ann"),
        ("paragraph", "since Year: 2019"),
        ("heading", "schools"),
        ("table", [("name", "pupils girls", "head"), ("A", "10", ""), ("B", "", "")]),
    ]
    path.write_text('{"mon": {"from": 9, "to": 5}, "tue": {"from": 8, "to": 4}}')
    assert blocks(path) == [("table", [("name", "from", "to"), ("mon", "9", "5"), ("tue", "8", "4")])]
    path.write_text('[["town", "people"], ["Tarn", 900], ["Orm", null]]')
    assert blocks(path) == [("table", [("town", "people"), ("Tarn", "900"), ("Orm", "")])]
    lines = tmp_path / "a.jsonl"
    lines.write_text('{"name": "A", "n": 1}\n\n{"name": "B", "n": 2.5}\n')
    assert blocks(lines) == [("table", [("name", "n"), ("A", "1"), ("B", "2.5")])]
    text = "Tarn is a town. " * 10
    lines.write_text(f'{{"title": "Tarn", "text": "{text}"}}\n')
    assert blocks(lines) == [("heading", "Tarn"), ("paragraph", text.strip())]


# --- Office files ---------------------------------------------------------------------------


def test_word(tmp_path):
    rows = "".join(
        "<w:tr>" + "".join(f"<w:tc>{made.paragraph(cell)}</w:tc>" for cell in row) + "</w:tr>"
        for row in (("Item", "2023"), ("Roads", "−5"))
    )
    note = '<w:r><w:footnoteReference w:id="2"/></w:r>'
    deleted = "<w:del><w:r><w:delText>never </w:delText></w:r></w:del>"
    path = made.word(
        tmp_path / "a.docx",
        made.paragraph("Harbour report", "Title")
        + made.paragraph("Costs", "heading1")
        + f"<w:p><w:r><w:t>The wall cost 1.5m euros.</w:t></w:r>{note}{deleted}</w:p><w:tbl>{rows}</w:tbl>",
        footnotes=f'<w:footnote w:id="2">{made.paragraph("Without tax.")}</w:footnote>',
    )
    found = read(path)
    assert found.title == "Harbour report"
    assert sentences(path) == [("Costs", "The wall cost 1.5m euros."), ("Costs", "Without tax.")]
    assert [block.kind for block in found.blocks][-1] is Kind.FOOTNOTE
    (table,) = found.tables(Watch())
    assert (table.caption, table.header, table.rows) == ("Costs", ("Item", "2023"), (("Roads", "−5"),))


def test_hidden_text_of_word_is_not_read(tmp_path):
    def run(text: str, properties: str) -> str:
        return f"<w:r><w:rPr>{properties}</w:rPr><w:t>{text}</w:t></w:r>"

    note = f'<w:footnote w:id="2"><w:p>{run("Tarn burnt down.", "<w:vanish/>")}</w:p></w:footnote>'
    path = made.word(
        tmp_path / "a.docx",
        f"<w:p>{run('Tarn is a town.', '')}{run('Tarn is no town.', '<w:b/><w:vanish/>')}"
        f'{run(" It has an inn.", """<w:vanish w:val="0"/>""")}<w:r><w:footnoteReference w:id="2"/></w:r></w:p>',
        footnotes=note,
    )
    assert [text for _, text in sentences(path)] == ["Tarn is a town.", "It has an inn."]


def test_slides(tmp_path):
    slides = {
        "ppt/slides/slide10.xml": made.slide("Later", "Paint the hall"),
        "ppt/slides/slide2.xml": made.slide("Plans", "Build a pier", table=[("year", "cost"), ("2023", "5")]),
    }
    path = made.archive(tmp_path / "a.pptx", slides)
    assert blocks(path) == [
        ("heading", "Plans"),
        ("item", "Build a pier"),
        ("table", [("year", "cost"), ("2023", "5")]),
        ("heading", "Later"),
        ("item", "Paint the hall"),
    ]
    assert read(path).blocks[0].place == "slide 2"


def test_open_document(tmp_path):
    path = made.open_document(
        tmp_path / "a.odt",
        '<office:text><text:h text:outline-level="1">Tarn</text:h><text:p>Tarn<text:s/>is a town.<text:note>'
        "<text:note-body><text:p>Since 1900.</text:p></text:note-body></text:note></text:p><text:list><text:list-item>"
        "<text:p>one</text:p></text:list-item></text:list></office:text>",
    )
    expected = [("heading", "Tarn"), ("paragraph", "Tarn is a town."), ("item", "one"), ("footnote", "Since 1900.")]
    assert blocks(path) == expected
    cell = "<table:table-cell{}><text:p>{}</text:p></table:table-cell>"
    covered = "<table:covered-table-cell/>"
    rows = (
        cell.format(' table:number-rows-spanned="2"', "Item") + cell.format(' table:number-columns-spanned="2"', "2023") + covered,
        covered + cell.format("", "Plan") + cell.format("", "Share"),
        cell.format("", "Roads") + cell.format("", "5") + cell.format("", "8,5 %"),
        '<table:table-cell table:number-columns-repeated="1000"/>',
    )  # fmt: skip
    sheet = "".join(f"<table:table-row>{row}</table:table-row>" for row in rows)
    path = made.open_document(
        tmp_path / "a.ods",
        f'<office:spreadsheet><table:table table:name="Blad1">{sheet}'
        '<table:table-row table:number-rows-repeated="1000000">'
        "<table:table-cell/></table:table-row></table:table></office:spreadsheet>",
    )
    assert blocks(path) == [("table", [("Item", "2023 Plan", "2023 Share"), ("Roads", "5", "8,5 %")])]


@pytest.mark.parametrize(("name", "caption"), [("Wells of Tarn", "Wells of Tarn"), ("Feuil1", ""), ("Sheet", "")])
def test_the_only_sheet_of_a_file_keeps_the_name_that_someone_gave_it(name, caption):
    *_, table = sheets.sheet_blocks(name, [["Well", "Depth"], ["Ash", "12"]], is_one_of_many=False)
    assert table.text == caption


def test_books(tmp_path):
    files = {
        "META-INF/container.xml": '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="o/c.opf"/></rootfiles></container>',
        "o/c.opf": '<package xmlns="http://www.idpf.org/2007/opf"><metadata>'
        '<title xmlns="http://purl.org/dc/elements/1.1/">Tarn</title></metadata><manifest>'
        '<item id="b" href="b%20b.xhtml"/><item id="a" href="../a.xhtml"/></manifest><spine><itemref idref="b"/>'
        '<itemref idref="a"/><itemref idref="none"/></spine></package>',
        "o/b b.xhtml": "<h1>One</h1><p>First.</p>",
        "a.xhtml": "<p>Second.</p>",
    }
    path = made.archive(tmp_path / "a.epub", files)
    assert read(path).title == "Tarn"
    assert sentences(path) == [("One", "First."), ("One", "Second.")]


# --- What is not read -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("a.png", b"\x89PNG", ".png"),
        ("a", b"text", "no suffix"),
        ("a.txt", b"", "empty"),
        ("a.txt", b" \n", "without text"),
        ("a.txt", b"fine\n\xff\0 bad", "not text: line 2"),
        ("a.csv", b'a,b\n1,"x\n', "damaged: line 2: not separated values"),
        ("a.json", b"{", "damaged: not valid JSON"),
        ("a.jsonl", b"{}\nno\n", "damaged: line 2 is not valid JSON"),
        ("a.jsonl", b'{"id": 1, "claim": "Tarn is a town."}\n', "claims or questions"),
        ("a.docx", b"PK and no more", "damaged"),
        ("a.docx", OLE + b"\0" * 600 + "EncryptedPackage".encode("utf-16-le"), "password-protected"),
        ("a.docx", OLE + b"\0" * 600, "damaged: it is an old Office file"),
        ("a.xlsx", b"no archive", "damaged"),
        ("a.xls", b"no \0\0\0 sheet", "damaged"),
        ("a.pptx", b"", "empty"),
        ("a.pdf", b"%PDF-1.7 and no more", "damaged"),
        ("a.epub", b"no book", "damaged"),
    ],
)
def test_why_a_file_is_not_read(tmp_path, name, content, why):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(Unread, match=rf"{name}: {why}"):
        read(tmp_path / name)


def test_what_programs_save_as_xls(tmp_path):
    made.workbook(tmp_path / "a.xlsx", rows := (("Town", "People"), ("Tarn", "900"), ("Orm", "412")))
    page = "<html><table>" + "".join(f"<tr><td>{a}<td>{b}" for a, b in rows) + "</table>"
    lines = "".join(f"{a}\t{b}\r\n" for a, b in rows)
    for content in ((tmp_path / "a.xlsx").read_bytes(), page.encode(), lines.encode(), lines.encode("utf-16")):
        (tmp_path / "a.xls").write_bytes(content)
        (table,) = read(tmp_path / "a.xls").blocks
        assert (table.header, *table.rows) == rows


def test_tables_beside_each_other_and_formulas_without_values(tmp_path):
    rows = (
        ("Town", "People", None, "Bridge", "Built"),
        ("Tarn", 900, None, "Tarn Bridge", 1884),
        ("Orm", "=400+12", None, "Mill Bridge", 1901),
    )
    made.workbook(tmp_path / "a.xlsx", rows)
    found = read(tmp_path / "a.xlsx")
    seen = [(block.header, block.rows[0]) for block in found.blocks]
    assert seen == [(("Town", "People"), ("Tarn", "900")), (("Bridge", "Built"), ("Tarn Bridge", "1884"))]
    assert found.notes == (("formulas without a stored value (read as empty)", 1),)


def test_tables_beside_each_other_have_their_own_titles(tmp_path):
    rows = (
        ("Clubs", None, None, None, "Rivers", None),
        ("Club", "Points", None, None, "River", "Length"),
        ("Orm", 3, None, None, "Ilm", 90),
        ("Sel", 4, None, None, "Tarn", 100),
    )
    book = made.workbook(tmp_path / "a.xlsx", rows)
    assert [(one.text, one.header, one.rows[0]) for one in read(tmp_path / "a.xlsx").blocks] == [
        ("Clubs", ("Club", "Points"), ("Orm", "3")),
        ("Rivers", ("River", "Length"), ("Ilm", "90")),
    ]
    book.active["E3"] = 7  # no name of a row
    book.save(tmp_path / "b.xlsx")
    (table,) = read(tmp_path / "b.xlsx").blocks
    assert len(table.header) == 4


def test_the_line_of_a_caption_is_the_tables(tmp_path):
    (tmp_path / "a.md").write_text("# Budget\n\nTable 1: Income in 2020\n\n| a | b |\n|---|---|\n| 1 | 2 |\n")
    (table,) = read(tmp_path / "a.md").tables(Watch())
    assert table.caption == "Table 1: Income in 2020"
