"""Word documents, slides, OpenDocument files and books: parts that are not in plain paragraphs."""

import made
from made import blocks

from lisax.corpora.reading import Watch
from lisax.documents import read

SPACES = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
NOTES = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/notesSlide"


def test_fields_and_text_boxes_of_word_are_read_once(tmp_path):
    def box(text: str) -> str:
        return f"<w:drawing><x><w:txbxContent>{made.paragraph(text)}</w:txbxContent></x></w:drawing>"

    def choice(new: str, old: str) -> str:
        return f"<mc:AlternateContent {SPACES}><mc:Choice>{new}</mc:Choice>{old}</mc:AlternateContent>"

    field = '<w:fldSimple w:instr="DATE"><w:r><w:t>5 June 2021</w:t></w:r></w:fldSimple>'
    old = f"<mc:Fallback><w:pict><w:txbxContent>{made.paragraph('Two.')}</w:txbxContent></w:pict></mc:Fallback>"
    runs = box("One."), choice(box("Two."), old), choice(box("Three."), ""), choice(box("Four."), "<mc:Fallback/>")
    body = f"<w:p><w:r><w:t>On </w:t></w:r>{field}</w:p>" + "".join(f"<w:p><w:r>{run}</w:r></w:p>" for run in runs)
    path = made.word(tmp_path / "a.docx", body)
    assert [text for _, text in blocks(path)] == ["On 5 June 2021", "One.", "Two.", "Three.", "Four."]


def test_captions_are_those_below_if_more_tables_have_one_there(tmp_path):
    first, second = "| a | b |\n|---|---|\n| 1 | 2 |\n", "| c | d |\n|---|---|\n| 3 | 4 |\n"
    path = tmp_path / "a.md"
    path.write_text(f"# Costs\n\n{first}\nTable 1: Tools\n\n{second}\nTable 2: Boats\n")
    assert [table.caption for table in read(path).tables(Watch())] == ["Table 1: Tools", "Table 2: Boats"]
    path.write_text(f"# Costs\n\nTable 1: Tools\n\n{first}\nTable 2: Boats\n\n{second}\nTable 2 shows boats.\n")
    assert [table.caption for table in read(path).tables(Watch())] == ["Table 1: Tools", "Table 2: Boats"]
    path.write_text(f"# Costs\n\n{first}\nTable 1 shows the tools.\n")
    assert [table.caption for table in read(path).tables(Watch())] == ["Costs"]


def test_notes_and_newer_shapes_of_slides_are_read_and_hidden_slides_are_not(tmp_path):
    slide = made.slide("Plans", "Build a pier")
    shape, notes = slide[slide.index("<p:sp>") : slide.index("</p:sp>") + 7], made.slide("", "The mayor approved it.")
    newer = shape.replace("Build a pier", "It is 25 m long.")
    newer = f"<mc:AlternateContent {SPACES}><mc:Choice>{newer}</mc:Choice><mc:Fallback>{shape}</mc:Fallback></mc:AlternateContent>"
    link = f'<Relationships><Relationship Type="{NOTES}" Target="../notesSlides/notesSlide7.xml"/></Relationships>'
    slides = {
        "ppt/slides/slide1.xml": slide.replace("</p:spTree>", f"{newer}</p:spTree>"),
        "ppt/slides/_rels/slide1.xml.rels": link,
        "ppt/notesSlides/notesSlide7.xml": notes,
        "ppt/slides/slide2.xml": made.slide("Secret", "It costs 99 euros.").replace("<p:sld ", '<p:sld show="0" '),
    }
    path = made.archive(tmp_path / "a.pptx", slides)
    found = [("heading", "Plans"), ("item", "Build a pier"), ("item", "It is 25 m long.")]
    assert blocks(path) == [*found, ("paragraph", "The mayor approved it.")]
    assert read(path).notes == (("hidden slides (left out)", 1),)


def test_hidden_slides_of_an_open_document_are_not_read(tmp_path):
    hidden = (
        '<style:style style:name="h"><style:drawing-page-properties presentation:visibility="hidden"/></style:style>'
    )
    pages = '<draw:page draw:style-name="h"><text:p>Secret.</text:p></draw:page><draw:page><text:p>Open.</text:p></draw:page>'
    path = made.open_document(tmp_path / "a.odp", f"<office:presentation>{pages}</office:presentation>", hidden)
    assert blocks(path) == [("paragraph", "Open.")]
    assert read(path).notes == (("hidden slides (left out)", 1),)


def test_lists_and_tables_in_cells_of_an_open_document(tmp_path):
    def table(*rows: tuple[str, ...]) -> str:
        cells = ("".join(f"<table:table-cell>{cell}</table:table-cell>" for cell in row) for row in rows)
        first, *others = (f"<table:table-row>{row}</table:table-row>" for row in cells)
        return f"<table:table><table:table-header-rows>{first}</table:table-header-rows>{''.join(others)}</table:table>"

    def text(name: str) -> str:
        return f"<text:p>{name}</text:p>"

    items = "".join(f"<text:list-item>{text(name)}</text:list-item>" for name in ("Ann Bee", "Bob Cee"))
    inner = table((text("Berth"), text("Price")), (text("B7"), text("45")))
    outer = table(
        (text("Room"), text("Key holders")),
        (text("Hall"), f"<text:list>{items}</text:list><office:annotation>{text('Ask.')}</office:annotation>"),
        (text("Attic"), text("Eve Fox") + inner),
    )
    assert blocks(made.open_document(tmp_path / "a.odt", f"<office:text>{outer}</office:text>")) == [
        ("table", [("Room", "Key holders"), ("Hall", "Ann Bee Bob Cee"), ("Attic", "Eve Fox")]),
        ("table", [("Berth", "Price"), ("B7", "45")]),
    ]
