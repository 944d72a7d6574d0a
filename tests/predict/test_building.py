"""From a corpus to an index, and the cache of indexes."""

import os
from pathlib import Path

import pytest

from lisax import Document, Graph, Index, LisaxError, Sentence, Table, example_pages
from lisax.files.writing import write_json_lines
from lisax.predict import building
from lisax.predict.building import account_of, build_index, change_files
from lisax.retrieval.documents import DocumentIndex

TABLE = {"id": "t", "title": "Towns", "header": ["town", "people"], "rows": [["Tarn", "18"]]}
PAGE = {"id": "Tarn", "title": "Tarn", "sentences": ["Tarn is a town.", "It has an inn."]}
GRAPH = {"id": "g", "subject": "Tarn", "edges": [["mayor", "Mara"]]}


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("LISAX_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def write_pages(folder, text="Tarn is a town."):
    folder.mkdir(exist_ok=True)
    (folder / "Tarn.txt").write_text(text)
    return folder


def test_a_file_that_may_not_be_read_is_named(tmp_path, monkeypatch):
    pages = write_pages(tmp_path / "pages")
    (pages / "closed.txt").write_text("Orm is a river.")
    opened = Path.open

    def open_(path, *args, **kwargs):  # to root every file is open
        if path.name == "closed.txt":
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, *args, **kwargs)

    monkeypatch.setattr(Path, "open", open_)
    (unread,) = account_of(build_index(pages).folder).skipped
    assert str(unread) == "closed.txt: cannot be read: Permission denied"


def test_the_cache_is_keyed_by_content(tmp_path, cache):
    pages = write_pages(tmp_path / "pages")
    first = build_index(pages)
    assert not first.reused and first.kind == "documents" and first.folder.parent == cache / "indexes"
    assert build_index(pages) == first._replace(reused=True)
    os.utime(pages / "Tarn.txt", (1, 1))
    pages.rename(tmp_path / "elsewhere")
    assert build_index(tmp_path / "elsewhere").folder == first.folder
    other = build_index(write_pages(tmp_path / "pages", "Tarn is a city."))
    assert other.folder != first.folder and not other.reused
    assert build_index(tmp_path / "pages", kind="mixed").folder not in (first.folder, other.folder)
    assert Index.open(first.folder).search("town")[0].text == "Tarn is a town."
    assert [path.name for path in (cache / "indexes").iterdir() if path.name.startswith(".")] == []


def test_a_damaged_index_in_the_cache_is_built_again(tmp_path):
    pages = write_pages(tmp_path / "pages")
    first = build_index(pages)
    next(
        path for path in first.folder.rglob("*") if path.is_file() and path.suffix != ".json" and path.stat().st_size
    ).unlink()
    assert not build_index(pages).reused and build_index(pages).reused


def test_an_interrupted_build_leaves_nothing(tmp_path, cache, monkeypatch):
    def stop(*arguments, **settings):
        raise KeyboardInterrupt

    pages = write_pages(tmp_path / "pages")
    monkeypatch.setattr(building.documents, "build_index", stop)
    with pytest.raises(KeyboardInterrupt):
        build_index(pages)
    assert list((cache / "indexes").iterdir()) == []
    monkeypatch.undo()
    monkeypatch.setenv("LISAX_CACHE", str(cache))
    assert not build_index(pages).reused


def test_another_process_may_be_faster(tmp_path, monkeypatch):
    pages = write_pages(tmp_path / "pages")
    build = building._build

    def both(corpus, kind, out, language):
        if not getattr(both, "inside", False):
            both.inside = True
            assert not build_index(pages).reused  # finishes in between
        build(corpus, kind, out, language)

    monkeypatch.setattr(building, "_build", both)
    assert Index.open(build_index(pages).folder).search("town")


@pytest.mark.parametrize(
    ("records", "kind", "units"),
    [
        ([PAGE], "documents", {"Tarn_0", "Tarn_1"}),
        ([TABLE], "whole", {"t#r0"}),
        ([GRAPH], "mixed", {"g#e0"}),
        ([PAGE, TABLE, GRAPH], "whole", {"Tarn_0", "Tarn_1", "t#r0", "g#e0"}),
        ([{"title": "Tarn town", "text": "Tarn is a town. It has an inn."}], "documents", {"Tarn_town_0", "Tarn_town_1"}),
        ([Document("P", "Tarn", (Sentence("P", 0, "Tarn is."),)), Table("t", "", ("a",), (("Tarn",),))], "whole", {"P_0", "t#r0"}),
        ([Graph("g", "Tarn", (("is", "a town"),))], "mixed", {"g#e0"}),
        (iter([PAGE]), "documents", {"Tarn_0", "Tarn_1"}),
    ],
)  # fmt: skip
def test_records_of_any_kind(records, kind, units):
    built = build_index(records)
    assert built.kind == kind
    assert {one.unit for one in Index.open(built.folder).search("Tarn town", 100)} == units


def test_the_owners_ids_survive():
    index = Index.build([{"id": "Tarn (town)".replace(" ", "_"), "title": "Tarn", "text": "Tarn is a town."}])
    assert index.search("Tarn")[0].page == "Tarn_(town)"


@pytest.mark.parametrize("kind", ["cells", "tables"])
def test_whole_tables(kind):
    index = Index.build([TABLE, {**TABLE, "id": "u", "rows": [["Ostra", "9"]]}], kind=kind)
    (best, *_) = index.search("Ostra has 9 people.", 2)
    assert index.reads == "tables" and best.unit == "u" and best.table.rows == (("Ostra", "9"),)
    with pytest.raises(LisaxError, match="the model reads sentences, and this index holds tables"):
        index.reading("sentences")


@pytest.mark.parametrize(
    ("name", "content", "unit"),
    [
        ("a.txt", "Tarn is a town.", "a_0"),
        ("a.md", "# Tarn\nTarn is a town.", "a_0"),
        ("a.html", "<p>Tarn is a town.</p><table><tr><th>a<tr><td>Tarn</table>", "a_0"),
        ("a.csv", "town,people\nTarn,18\n", "a.csv#r0"),
        ("pages.jsonl", None, "Tarn_0"),
        ("wiki-pages.jsonl", '{"id": "Tarn", "text": "", "lines": "0\\tTarn is a town."}\n', "Tarn_0"),
    ],
)
def test_single_files(tmp_path, name, content, unit):
    path = tmp_path / name
    if content is None:
        write_json_lines(path, [PAGE])
    else:
        path.write_text(content)
    assert unit in {one.unit for one in Index.build(path).search("Tarn", 100)}


def test_html_pages_give_text_and_tables(tmp_path):
    (tmp_path / "a.html").write_text("<p>Tarn is a town.</p><table><tr><th>mayor<tr><td>Mara of Tarn</table>")
    assert {one.unit for one in Index.build(tmp_path).search("Tarn", 9)} == {"a_0", "a.html:0#r0"}


def test_a_folder_of_ones_own_choice(tmp_path):
    index = Index.build(example_pages(), tmp_path / "index")
    assert index.folder == tmp_path / "index" and not (tmp_path / "cache").exists()
    assert Index.open(tmp_path / "index").search("Tarn", 3) == index.search("Tarn", 3)


@pytest.mark.parametrize(
    ("source", "kind", "complaint"),
    [
        ("nowhere", None, "no such file or folder"),
        ("empty", None, "the folder is empty"),
        ("odd.bin", None, "expected a folder, or a file with one of .csv"),
        ("damaged", None, r"has no page: read 0 of 1 files; .*\n  not read: .*torn.docx"),
        ([], None, "nothing to index: the list of records has no page"),
        ([PAGE], "cells", "has no table"),
        ([PAGE], "other", "expected an index kind of documents, whole, mixed"),
        ([{"title": "x"}], None, "records:1: field 'text'"),
        ([{**TABLE, "rows": [["a"]]}], None, r"records:1: field 'rows\[0\]': expected 2 cells"),
        ([PAGE, PAGE], None, "two records of the kind Document have the id 'Tarn'"),
        ([PAGE, 7], None, "record 2: expected a Document, Table, Graph or dict, found int"),
        (PAGE, None, "expected a folder, a file or a list of records"),
    ],
)
def test_corpora_that_cannot_be_indexed(tmp_path, source, kind, complaint):
    (tmp_path / "empty").mkdir()
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged/torn.docx").write_bytes(b"PK")
    (tmp_path / "odd.bin").write_bytes(b"x")
    (tmp_path / "odd.jsonl").write_text('{"x": 1\n')
    with pytest.raises(LisaxError, match=complaint):
        Index.build(tmp_path / source if isinstance(source, str) else source, kind=kind)


def test_an_index_keeps_its_language(tmp_path):
    pages = write_pages(
        tmp_path / "pages", "Die Stadt hat drei Mühlen und ist nicht groß. Das ist die Brücke von Tarn."
    )
    german, english, found = (build_index(pages, language=name) for name in ("german", "english", "auto"))
    assert german.folder != english.folder == build_index(pages).folder
    assert Index.open(german.folder).search("eine Mühle")[0].text.startswith("Die Stadt")
    for built in (german, found):
        assert DocumentIndex.open(built.folder).bm25.settings["language"] == "german"
    assert "language" not in DocumentIndex.open(english.folder).bm25.settings
    with pytest.raises(LisaxError, match="expected a language of"):
        build_index(pages, language="klingon")


@pytest.mark.parametrize(
    ("page", "claim"),
    [
        ("塔恩是一座古老的城市。它在北方。", "塔恩有九百人。"),
        ("タルンは古い町です。川があります。", "タルンの人口は900人です。"),
        ("ทาร์นเป็นเมืองเก่า", "ทาร์นมีประชากร 900 คน"),
        ("Тарн — старый город. Он стоит на реке.", "В Тарне? Тарн мал."),
        ("टार्न एक पुराना शहर है। यह छोटा है।", "टार्न बड़ा है।"),
    ],
)
def test_claims_of_every_script_find_their_page(tmp_path, page, claim):
    write_pages(tmp_path / "pages", page)
    (tmp_path / "pages" / "Orm.txt").write_text("Orm is a river.")
    found = Index.build(tmp_path / "pages").search(claim)
    assert found and found[0].text in page


def test_files_are_added_to_an_index_in_its_language(tmp_path):
    write_pages(tmp_path / "pages", "Die Stadt hat drei Mühlen.")
    build_index(tmp_path / "pages", tmp_path / "index", language="german")
    (tmp_path / "Orm.txt").write_text("Der Orm hat viele Brücken.")
    change_files(tmp_path / "index", add=[tmp_path / "Orm.txt"])
    assert DocumentIndex.open(tmp_path / "index").bm25.settings["language"] == "german"
    assert Index.open(tmp_path / "index").search("eine Brücke")[0].text == "Der Orm hat viele Brücken."


def test_an_index_stays_as_it_was_if_no_file_to_add_can_be_read(tmp_path):
    write_pages(tmp_path / "pages")
    build_index(tmp_path / "pages", tmp_path / "index")
    before = {path: path.read_bytes() for path in (tmp_path / "index").rglob("*") if path.is_file()}
    (tmp_path / "more").mkdir()
    (tmp_path / "more/torn.docx").write_bytes(b"PK")
    with pytest.raises(
        LisaxError, match="nothing was added: read 0 of 1 files; skipped 1 damaged\n  not read: torn.docx"
    ):
        change_files(tmp_path / "index", add=[tmp_path / "more/torn.docx"])
    assert before == {path: path.read_bytes() for path in (tmp_path / "index").rglob("*") if path.is_file()}
    (tmp_path / "more/Orm.txt").write_text("The Orm is a river.")
    change_files(tmp_path / "index", add=[tmp_path / "more"])
    assert str(account_of(tmp_path / "index")) == "read 2 of 3 files; skipped 1 damaged"


def test_each_kind_of_warning_is_told_once_and_again_when_the_index_is_reused(tmp_path, caplog):
    (tmp_path / "files").mkdir()
    for name in ("a.csv", "b.csv"):
        (tmp_path / "files" / name).write_bytes("town,mayor\nTarn,José\nOrm\n".encode("cp1252"))
    (tmp_path / "files/c.csv").write_text("town,mayor\n")
    said = [
        "files that are not UTF-8 (read as cp1252): 2, first at a.csv",
        "rows that are shorter than the others (padded): 2, first at a.csv",
        "tables without a row below their header: 1, first at c.csv",
    ]
    for reused in (False, True):
        caplog.clear()
        built = build_index(tmp_path / "files")
        assert (built.reused, caplog.messages) == (reused, said)
    caplog.clear()
    build_index(tmp_path / "files", tmp_path / "index")
    assert caplog.messages == said and list(map(str, account_of(tmp_path / "index").notes)) == said
    caplog.clear()
    change_files(tmp_path / "index", add=[write_pages(tmp_path / "pages")])
    assert caplog.messages == said
    caplog.clear()
    assert build_index(tmp_path / "files/b.csv").kind == "whole"
    assert caplog.messages == [one.replace("2, first at a", "1, first at b") for one in said[:2]]


def test_a_table_without_rows_is_named_and_the_others_are_indexed(tmp_path):
    pages = write_pages(tmp_path / "pages")
    (pages / "head.csv").write_text("town,people\n")
    assert build_index(pages).kind == "documents"
    for source in (tmp_path / "pages/head.csv", pages):
        (tmp_path / "pages/Tarn.txt").unlink(missing_ok=True)
        with pytest.raises(
            LisaxError, match=r"(?s)nothing to index: .*below their header: 1, first at head.csv"
        ) as raised:
            build_index(source)
        assert ".building-" not in str(raised.value)


def test_a_file_of_an_index_that_is_gone_is_named_until_it_is_removed(tmp_path):
    gone = write_pages(tmp_path / "pages", "Tarn is a town.") / "Tarn.txt"
    (tmp_path / "pages/Orm.txt").write_text("The Orm is a river.")
    build_index(tmp_path / "pages", tmp_path / "index")
    gone.unlink()
    change_files(tmp_path / "index", add=[tmp_path / "pages/Orm.txt"])
    (unread,) = account_of(tmp_path / "index").skipped
    assert str(unread) == "Tarn.txt: cannot be read: No such file or directory"
    change_files(tmp_path / "index", remove=["Tarn.txt"])
    assert str(account_of(tmp_path / "index")) == "read 1 of 1 files"
