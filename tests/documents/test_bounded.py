"""Hostile files: what they take is bounded, and the reader goes on."""

import time
import zipfile

import made
import pytest

from lisax.corpora.files import FileFolder
from lisax.documents import Reader, Unread, read
from lisax.documents.grid import TableLimits
from lisax.documents.reading import LARGEST_OFFICE


def test_a_file_that_takes_too_much_is_named_and_the_next_is_read(tmp_path):
    (tmp_path / "a.html").write_bytes(b"<p>A. B<b>" * 1_600_000)
    (tmp_path / "b.txt").write_text("Tarn is a town.")
    with Reader(bounded=True, seconds=1) as reader:
        with pytest.raises(Unread, match=r"a\.html: too large: it takes more than 1 s"):
            reader.read(tmp_path / "a.html")
        assert reader.read(tmp_path / "b.txt").blocks[0].text == "Tarn is a town."
    with Reader(bounded=True, memory=150 << 20) as reader, pytest.raises(Unread, match="too large: it .* memory"):
        reader.read(tmp_path / "a.html")


def test_a_full_memory_is_not_the_next_file_s(tmp_path):
    path = made.word(tmp_path / "a.docx", made.paragraph("Tarn is a town."))
    with Reader(bounded=True) as reader:
        reader.read(path)
        first = reader._process
        (tmp_path / "b.docx").write_bytes(b"x" * (LARGEST_OFFICE + 1))
        with pytest.raises(Unread, match=r"b\.docx: too large"):
            reader.read(tmp_path / "b.docx")
        assert reader.read(path) == read(path)
        assert reader._process is not first


def test_a_file_that_took_too_much_is_tried_again(tmp_path):
    path = made.word(tmp_path / "a.docx", made.paragraph("Tarn is a town."))
    assert FileFolder(path, reader=Reader(memory=32 << 20)).account().skipped[0].why == "too large"
    assert FileFolder(path).account().read == 1


def test_documents_of_the_process_are_those_of_this_one(tmp_path):
    path = made.word(tmp_path / "a.docx", made.paragraph("Tarn", "Title") + made.paragraph("Tarn is a town."))
    table = tmp_path / "a.csv"
    table.write_text("a,b\n1,2\n3,4\n")
    with Reader(TableLimits(rows=1), bounded=True) as reader:
        assert reader.read(path) == read(path)
        assert reader.read(table) == read(table, limits=TableLimits(rows=1))
        with pytest.raises(Unread, match=r"\.png") as error:
            reader.read(tmp_path / "x.png")
    assert (error.value.why, error.value.detail) == (".png", "")


def test_archives_that_unpack_to_too_much(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.docx", "w", zipfile.ZIP_DEFLATED) as file:
        for number in range(5):
            file.writestr(f"word/{number}.xml", b" " * (60 << 20))
    for name in ("a.docx", "a.xlsx", "a.odt", "a.pptx", "a.epub"):
        path = (tmp_path / "a.docx").rename(tmp_path / name)
        with pytest.raises(Unread, match=r"too large: it unpacks to 300 MiB"):
            read(path)
        path.rename(tmp_path / "a.docx")


@pytest.mark.parametrize("name", ["a.docx", "a.xlsx", "a.odt"])
def test_xml_with_entities_is_not_read(tmp_path, name):
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><x>&b;</x>'
    members = dict.fromkeys(("word/document.xml", "xl/workbook.xml", "content.xml"), bomb)
    with pytest.raises(Unread, match="declares entities"):
        read(made.archive(tmp_path / name, members))


def test_a_sheet_of_one_huge_cell_and_of_repeated_ones(tmp_path):
    cell = f"<table:table-cell><text:p>{'x' * (10 << 20)}</text:p></table:table-cell>"
    path = made.open_document(
        tmp_path / "a.ods",
        f"<office:spreadsheet><table:table><table:table-row>{cell}{cell}</table:table-row><table:table-row "
        'table:number-rows-repeated="1000000000"><table:table-cell table:number-columns-repeated="1000000000">'
        "<text:p>y</text:p></table:table-cell></table:table-row></table:table></office:spreadsheet>",
    )
    started = time.process_time()
    found = read(path, limits=TableLimits(rows=50, columns=20))
    assert time.process_time() - started < 10 and len(found.blocks[0].rows) <= 50
