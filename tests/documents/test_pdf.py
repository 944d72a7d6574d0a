"""The layout of PDF pages: reading order, headings, tables, what repeats, and files that are not read."""

import pytest
from made import Pdf, blocks

from lisax.corpora.reading import Watch
from lisax.documents import Unread, pdf, read

PROSE = ("The council met in the hall and decided", "to rebuild the harbour wall, which the storm", "had destroyed.")


def test_headings_paragraphs_hyphens_and_raised_marks(tmp_path):
    sheet = Pdf().text(50, 80, "Minutes", 20).text(50, 120, "1 Harbour", 11, bold=True)
    sheet.lines(50, 140, "The wall is 12 km", "long. Mara was an archi-", "tect. She was paid.")
    sheet.text(50 + 87, 136, "2", 7).text(50, 300, "1. First").text(50, 320, "2. Second")
    path = sheet.write(tmp_path / "a.pdf")
    assert read(path).title == "Minutes" and read(path).blocks[0].place == "page 1"
    assert blocks(path) == [
        ("heading", "Minutes"),
        ("heading", "1 Harbour"),
        ("paragraph", "The wall is 12 km² long. Mara was an architect. She was paid."),
        ("item", "1. First"),
        ("item", "2. Second"),
    ]


def test_a_compound_that_the_document_has_elsewhere_keeps_its_hyphen(tmp_path):
    sheet = Pdf().lines(
        50, 80, "Her Well-known mill is well-", "known as an archi-", "tect's, built pre-", "and post-war."
    )
    (block,) = read(sheet.write(tmp_path / "a.pdf")).blocks
    assert block.text == "Her Well-known mill is well-known as an architect's, built pre- and post-war."


def test_columns_are_read_one_after_the_other(tmp_path):
    sheet = Pdf().text(50, 80, "A title over both columns of the page, in the size of the text and as wide as they are")
    sheet.lines(50, 120, *PROSE, "The left column ends.").lines(310, 120, *PROSE, "The right column ends.")
    text = " ".join(block.text for block in read(sheet.write(tmp_path / "a.pdf")).blocks)
    assert text.index("A title") < text.index("The left column ends.") < text.index("The right column ends.")
    assert "decided to rebuild" in text and "decided The" not in text


@pytest.mark.parametrize("is_ruled", [True, False])
def test_tables_with_and_without_lines(tmp_path, is_ruled):
    rows = [("Berth", "Length in m", "Shore power"), ("1", "95", "no"), ("2", "105", "yes"), ("3", "140", "no")]
    sheet = Pdf().lines(50, 60, "Three berths are going to be available.", "One of them has power.")
    sheet.rows(120, rows, 9)
    if is_ruled:
        for i in range(5):
            sheet.rule(50, 107 + 18 * i, 410, 107 + 18 * i)
        for j in range(4):
            sheet.rule(50 + 120 * j, 107, 50 + 120 * j, 179)
    sheet.text(50, 230, "The rest is text.")
    found = blocks(sheet.write(tmp_path / "a.pdf"))
    assert [block for block in found if block[0] == "table"] == [("table", rows)]
    assert [kind for kind, _ in found] == ["paragraph", "table", "paragraph"]


def test_two_tables_without_lines_below_each_other(tmp_path):
    towns, mills = (
        [("Town", "2023"), ("Orm", "1,200"), ("Sel", "900")],
        [("Mill", "Margin"), ("Dam", "12 %"), ("Pier", "3 %")],
    )
    tables = [[(*row, row[-1]) for row in rows] for rows in (towns, mills)]
    sheet = Pdf().rows(100, tables[0]).rows(176, tables[1])
    assert blocks(sheet.write(tmp_path / "a.pdf")) == [("table", rows) for rows in tables]


def test_a_table_and_a_paragraph_continue_on_the_next_page(tmp_path):
    header, *parts = (
        [("Stop", "Km", "Time")],
        [("A", "1", "8:10"), ("B", "2", "8:20")],
        [("C", "1", "8:10"), ("D", "2", "8:20")],
    )
    sheet = Pdf().rows(120, header + parts[0]).page().rows(120, header + parts[1])
    assert blocks(sheet.write(tmp_path / "a.pdf")) == [("table", header + parts[0] + parts[1])]
    sheet = Pdf().text(50, 400, "The wall was built in the").page().text(50, 400, "winter of 1990.")
    assert blocks(sheet.write(tmp_path / "b.pdf")) == [("paragraph", "The wall was built in the winter of 1990.")]


def test_the_repeated_header_of_a_table_below_a_cover_is_read_once(tmp_path):
    sheet = Pdf().text(50, 300, "Cargo of Tarn, a report of the harbour office.")
    for months in (("January", "March"), ("May", "July")):
        sheet.page().rows(56, [("Month", "In", "Out"), *((month, "12", "7") for month in months)])
    (table,) = [rows for kind, rows in blocks(sheet.write(tmp_path / "a.pdf")) if kind == "table"]
    assert table == [("Month", "In", "Out"), *((month, "12", "7") for month in ("January", "March", "May", "July"))]


def test_running_heads_and_page_numbers_are_not_evidence(tmp_path):
    sheet = Pdf().text(50, 300, "Cover.").page()
    for number in range(1, 5):
        sheet.text(50, 40, "Town of Tarn").text(400, 40, "Minutes").text(
            50, 800, f"Report {['A', 'B'][number % 2]} {number}"
        )
        sheet.text(50, 300, f"Paragraph {'abcd'[number - 1]} is read.")
        if number < 4:
            sheet.page()
    found = [text for _, text in blocks(sheet.write(tmp_path / "a.pdf"))]
    assert found == ["Cover.", *(f"Paragraph {letter} is read." for letter in "abcd")]


def test_why_a_pdf_is_not_read(tmp_path, monkeypatch):
    Pdf().rule(0, 0, 100, 100).write(tmp_path / "scan.pdf")
    with pytest.raises(Unread, match="scanned PDF without text"):
        read(tmp_path / "scan.pdf")
    sheet = Pdf().text(50, 300, "One.")
    for _ in range(4):
        sheet.page().text(50, 300, "More.")
    monkeypatch.setattr(pdf, "SECONDS", -1)
    found = read(sheet.write(tmp_path / "long.pdf"))
    assert [block.text for block in found.blocks] == ["One."]
    assert found.notes == (("pages of a PDF past the text or the time that one file may take (left out)", 4),)


@pytest.mark.parametrize(
    ("more", "box"),
    [
        ("/MediaBox [100 50 695 892]", (100, 50, 695, 892)),
        ("/Rotate 90", None),
        ("/Rotate 180", None),
        ("/Rotate 270", None),
    ],
)
def test_boxes_and_rotations_of_pages(tmp_path, more, box):
    """The texts are drawn so that they are upright on the page as it is shown."""
    sheet = Pdf(more)
    for y, text in ((100, "First line of it"), (114, "and the second.")):
        x, up = 50, Pdf.HEIGHT - y
        turn = {"/Rotate 90": (0, 1, -1, 0, y, x), "/Rotate 180": (-1, 0, 0, -1, Pdf.WIDTH - x, y)}.get(more)
        if more == "/Rotate 270":
            turn = (0, -1, 1, 0, Pdf.WIDTH - y, Pdf.HEIGHT - x)
        if box:
            turn = (1, 0, 0, 1, x + box[0], up + box[1])
        sheet.pages[-1].append(f"BT /F1 11 Tf {' '.join(map(str, turn))} Tm ({text}) Tj ET")
    assert blocks(sheet.write(tmp_path / "a.pdf")) == [("paragraph", "First line of it and the second.")]


def test_nothing_in_a_file_is_run(tmp_path):
    path = Pdf().text(50, 300, "Tarn is a town.").write(tmp_path / "a.pdf")
    content = path.read_bytes().replace(
        b"/Type /Catalog", b"/Type /Catalog /OpenAction << /S /JavaScript /JS (never run) >>"
    )
    path.write_bytes(content)
    assert blocks(path) == [("paragraph", "Tarn is a town.")]
    assert list(read(path).tables(Watch())) == []


def test_rows_of_a_table_at_the_edge_of_pages_are_read(tmp_path):
    sheet = Pdf()
    for page in range(4):
        for i in range(40):
            sheet.text(50, 40 + 19 * i, f"Station {page * 40 + i}").text(250, 40 + 19 * i, f"{(page * 40 + i) * 7} mm")
        if page < 3:
            sheet.page()
    found = blocks(sheet.write(tmp_path / "a.pdf"))
    assert sum(len(rows) for kind, rows in found if kind == "table") == 160


def test_text_of_a_joined_cell_is_in_all_its_rows_and_a_watermark_is_not_read(tmp_path):
    sheet = Pdf()
    for y in (100, 120, 160):
        sheet.rule(50, y, 350, y)
    sheet.rule(150, 140, 350, 140)  # not below the joined cell
    for x in (50, 150, 250, 350):
        sheet.rule(x, 100, x, 160)
    for x, y, text in ((55, 115, "Region"), (155, 115, "Town"), (255, 115, "People"), (55, 142, "North")):
        sheet.text(x, y, text, 9)
    for y, town, people in ((134, "Tarn", "900"), (154, "Orm", "412")):
        sheet.text(155, y, town, 9).text(255, y, people, 9)
    sheet.pages[-1].append("BT /F1 40 Tf 0.7 0.7 -0.7 0.7 100 700 Tm (DRAFT) Tj ET")
    found = blocks(sheet.write(tmp_path / "a.pdf"))
    assert found == [("table", [("Region", "Town", "People"), ("North", "Tarn", "900"), ("North", "Orm", "412")])]


def test_bullets_larger_than_their_items_and_dashes_within_them(tmp_path):
    sheet = Pdf().lines(
        50, 60, "The club met in the hall and chose a chair.", "All of its members were there that day."
    )
    sheet.text(50, 102, "\u2022", 14).text(64, 100, "Ann Bee was elected chair.")
    sheet.text(50, 120, "1. The lease - signed in 2019 - ends.").text(50, 140, "- Net: 500 - 300 = 200 euros")
    sheet.text(50, 160, "120. There were 95, who worked in pre-").text(50, 173, "and postwar halls.")
    assert [text for kind, text in blocks(sheet.write(tmp_path / "a.pdf")) if kind == "item"] == [
        "Ann Bee was elected chair.",
        "1. The lease - signed in 2019 - ends.",
        "Net: 500 - 300 = 200 euros",
        "120. There were 95, who worked in pre- and postwar halls.",
    ]


def test_headings_of_nearly_one_size_are_of_one_level_and_symbols_are_bullets(tmp_path):
    """The letters of some fonts have different heights, and bullets of symbol fonts no character of their own."""
    sheet = Pdf().text(50, 60, "Minutes", 24).text(150, 60, "of 2021", 22.8)
    for y, word, size in ((100, "Boats", 14), (180, "Members", 14.5)):
        sheet.text(50, y, word, size).lines(50, y + 20, "The board has met and bought three new boats.")
        sheet.text(50, y + 40, "\u2022 A large one", 14)
    path = sheet.write(tmp_path / "a.pdf")
    path.write_bytes(path.read_bytes().replace(b"/WinAnsiEncoding", b"<< /Differences [149 /uniF0B7] >>"))
    found = read(path)
    assert found.title == "Minutes of 2021"
    assert [(block.text, block.level) for block in found.blocks if block.level] == [
        ("Minutes of 2021", 1),
        ("Boats", 2),
        ("Members", 2),
    ]
    assert [block.text for block in found.blocks if block.kind == "item"] == ["A large one"] * 2


@pytest.mark.parametrize("is_drawn", [True, False])
def test_values_of_forms_are_read_in_their_places(tmp_path, is_drawn):
    field = "/Type /Annot /Subtype /Widget /FT /Tx /T (n) /V (Mara Velin) /DA (/Helv 11 Tf 0 g) /Rect [150 690 350 710]"
    note = "/Type /Annot /Subtype /FreeText /Contents (Not drawn) /Rect [150 490 350 510]"
    look = "/AP << /N 7 0 R >>" if is_drawn else ""
    sheet = Pdf(f"/Annots [<< {field} {look} >> << {note} >>]").text(50, 146, "Name:").text(50, 300, "Tarn is a town.")
    content = sheet.write(tmp_path / "a.pdf").read_bytes()
    if is_drawn:
        drawn = b"BT /Helv 11 Tf 2 6 Td (Mara Velin) Tj ET"
        form = b"/Type /XObject /Subtype /Form /BBox [0 0 200 20] /Resources << /Font << /Helv 3 0 R >> >>"
        form = b"7 0 obj\n<< %b /Length %d >>\nstream\n%b\nendstream\nendobj\nxref\n" % (form, len(drawn), drawn)
        content = content.replace(b"xref\n", form, 1)
    else:
        content = content.replace(b"/Type /Catalog", b"/Type /Catalog /AcroForm << /Fields [] >>")
    (tmp_path / "a.pdf").write_bytes(content)
    found = read(tmp_path / "a.pdf")
    assert [block.text for block in found.blocks] == ["Name: Mara Velin", "Tarn is a town."]
    assert found.notes == (("annotations of a PDF whose text is not drawn (left out)", 1),)


def test_scanned_pages_are_noted_even_with_a_stamp(tmp_path):
    sheet = Pdf().text(50, 300, "Tarn is a town.")
    for size, texts in (("595 0 0 842", ()), ("595 0 0 700", ["Received 4 March 2021"]), ("90 0 0 90", ["A logo."])):
        sheet.page().lines(50, 60, *texts)
        sheet.pages[-1].append(f"q {size} 0 0 cm BI /W 1 /H 1 /CS /G /BPC 8 ID @ EI Q")
    sheet.page().lines(50, 60, *["A searchable scan has all of its words."] * 9)
    sheet.pages[-1].append("q 595 0 0 842 0 0 cm BI /W 1 /H 1 /CS /G /BPC 8 ID @ EI Q")
    assert read(sheet.write(tmp_path / "a.pdf")).notes == (
        ("pages of a PDF that are pictures with few or no words (pictures left out)", 2),
    )
