"""What the page is asked about: indexes that it is given and uploads, with their limits."""

import errno
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from markup import Page as Markup
from small_page import SUMS, Browser, last_answers, shown, words

from lisax.errors import DataError, LisaxError
from lisax.records import Table
from lisax.retrieval import table_text
from lisax.serve import export, uploads
from lisax.serve.contents import contents
from lisax.serve.library import Library
from lisax.serve.limits import Limits


def test_an_index_keeps_its_id_whatever_it_is_given_beside(tmp_path, index):
    """Folders of indexes are mostly called the same; what was said of one is never said of another."""

    def ids(*paths):
        return [corpus.id for corpus in Library(paths, tmp_path / "state" / "corpora", Limits())]

    other = tmp_path / "other" / "index"
    table_text.build_index([Table("people-0", "Others", ("a",), (("b",),))], other)
    assert ids(index) == ["index"] and ids(other) == ["index-1"] and ids(other, index) == ["index-1", "index"]
    other.rename(tmp_path / "moved")
    assert ids(tmp_path / "moved") == ["index-1"]
    table_text.build_index([Table("people-1", "Others", ("a",), (("b",),))], tmp_path / "moved", add=True)
    assert ids(tmp_path / "moved") == ["index-1"]
    (tmp_path / "state" / "indexes.json").write_text("[]")
    with pytest.raises(DataError, match="indexes.json.*which index is which"):
        ids(index)


def test_a_corpus_that_was_half_removed_stays_removed(browser, page, opened):
    browser.load("Sums", SUMS)
    (left,) = (path.parent for path in page.library.folder.glob("*/corpus.json"))
    left.rename(left.with_name(f".removed-{left.name}"))  # and the server was killed
    again = opened()
    assert [corpus.id for corpus in again.library] == ["index"] and not list(again.library.folder.iterdir())


def test_what_a_killed_upload_left_is_removed_at_the_next_start_and_no_other(opened, tmp_path):
    folder = tmp_path / "state" / "corpora"
    code = (
        "import sys, time\nfrom pathlib import Path\nfrom lisax.serve import library\n"
        "with library._scratch(Path(sys.argv[1])) as scratch:\n"
        "    (scratch / 'corpus').mkdir()\n    print(scratch, flush=True)\n    time.sleep(600)"
    )
    folder.mkdir(parents=True)
    with subprocess.Popen([sys.executable, "-P", "-c", code, str(folder)], stdout=subprocess.PIPE, text=True) as upload:
        scratch = Path(upload.stdout.readline().strip())
        opened()  # of another server, or of `lisax feedback export`
        assert (scratch / "corpus").is_dir()
        upload.kill()
    opened()
    assert list(folder.iterdir()) == []


def test_an_upload_that_fails_leaves_nothing(page, monkeypatch):
    def fails(*_, **__):
        raise OSError("no room")

    monkeypatch.setattr(table_text, "build_index", fails)
    with pytest.raises(OSError, match="no room"):
        page.library.add("Sums", [SUMS])
    assert list(page.library.folder.iterdir()) == []


def test_an_uploaded_corpus_is_asked_kept_and_removed(browser, page, opened):
    html = b"<title>Rivers</title><table><tr><th>river<th>length<tr><td>Ode<td>120<tr><td>Tarn<td>90</table>"
    response = browser.load("Rivers", ("rivers.html", html), ("lakes.csv", b"lake,depth\nMira,40\n"))
    assert "Rivers" in words(shown(response))
    corpus = list(page.library)[-1]
    found = words(shown(browser.ask("How long is the Ode?", corpus=corpus.id)))
    assert "120" in found and "Rivers" in found
    assert words(shown(browser.ask("The Ode is long .", "claim", corpus.id)))
    assert opened().library.get(corpus.id) == corpus
    call = {"claim": "The Ode is long.", "index": corpus.id}
    assert browser.post("/v1/check", json=call).status_code == 200
    assert any(corpus.edition in key for key in page.worker._pace)
    assert corpus.name not in words(shown(browser.fill(f"/corpora/{corpus.id}/remove")))
    assert not any(corpus.edition in key for key in page.worker._pace)
    assert page.library.get(corpus.id) is None and not list(page.library.folder.glob("*/files"))
    assert browser.fill("/corpora/index/remove").status_code == 400


@pytest.mark.parametrize(("call", "stays"), [("rename", True), ("rmdir", False)])
def test_a_removal_that_fails_says_so(browser, page, monkeypatch, call, stays):
    """A folder of uploads that cannot be changed keeps the upload; one whose files stay is hidden."""

    def fails(*_, **__):
        raise OSError(errno.EROFS, "Read-only file system")

    browser.load("Sums", SUMS)
    corpus = list(page.library)[-1].id
    with monkeypatch.context() as patch:
        patch.setattr(*{"rename": (Path, "rename"), "rmdir": (os, "rmdir")}[call], fails)
        answer = browser.delete(f"/v1/indexes/{corpus}")
        assert answer.status_code == 500 and "`lisax serve` has the reason" in answer.json()["error"]["message"]
        assert (corpus in {one.id for one in page.library}) == stays
        assert browser.fill(f"/corpora/{corpus}/remove").status_code == (500 if stays else 404)
    assert browser.delete(f"/v1/indexes/{corpus}").status_code == (204 if stays else 404)
    assert not page.library.remove(corpus)


def test_a_removal_does_not_wait_for_an_upload_that_is_read(page, monkeypatch):
    corpus = page.library.add("Sums", [SUMS])
    monkeypatch.setattr(uploads, "read", lambda *_: page.library.remove(corpus.id) and 1 / 0)
    with pytest.raises(ZeroDivisionError):
        page.library.add("More", [("more.csv", b"year,sum\n1991,13\n")])
    assert page.library.get(corpus.id) is None


def test_a_form_that_is_sent_twice_makes_one_corpus(browser, page):
    before = len(list(page.library))
    for name, content in (("A", b"n,m\n1,2\n"), ("A", b"n,m\n1,2\n"), ("A", b"n,m\n1,3\n"), ("B", b"n,m\n1,2\n")):
        assert browser.load(name, ("t.csv", content)).status_code < 400
    assert len(list(page.library)) == before + 3
    for corpus in list(page.library)[before:]:
        browser.fill(f"/corpora/{corpus.id}/remove")


def test_a_corpus_that_something_was_said_of_is_not_removed_by_a_slip(browser, page):
    browser.load("Lakes", ("lakes.csv", b"lake,depth\nMira,40\n"))
    corpus = list(page.library)[-1].id
    address = browser.ask("How deep is the Mira?", corpus=corpus).url.path
    browser.fill(f"{address}/feedback", say="cell right", table="lakes.csv", row="1", column="2")
    browser.fill(f"{address}/feedback", say="table right", table="lakes.csv")
    assert "Not in it" not in words(shown(browser.get("/feedback")))
    assert "and what was said of 1 of its answers" in words(shown(browser.get("/corpora")))
    refused = browser.fill(f"/corpora/{corpus}/remove")
    assert refused.status_code == 400 and "The feedback on 1 answers" in words(shown(refused))
    assert page.library.get(corpus) is not None
    assert browser.fill(f"/corpora/{corpus}/remove", without="1").status_code == 200
    assert page.library.get(corpus) is None
    assert f"Not in it: 2 {export.GONE}." in words(shown(browser.get("/feedback")))


@pytest.mark.parametrize("by", ["the page", "a killed server"])
def test_stored_answers_lose_the_texts_of_a_removed_upload(browser, page, opened, by):
    browser.load("Lakes", ("lakes.csv", b"lake,depth\nMira,40\n"))
    corpus = list(page.library)[-1].id
    browser.ask("Mara Velin lived in Tarn.", "claim")
    asked = {"How deep is the Mira?": "question", "Mira": "search", "Mira is a lake. It is 40 deep.": "claim"}
    addresses = [browser.ask(text, kind, corpus).url.path for text, kind in asked.items()]
    *ours, given = last_answers(page.store, 6)
    assert "lakes" in json.dumps([one.result for one in ours])
    if by == "the page":
        browser.fill(f"/corpora/{corpus}/remove")
    else:
        (page.library.folder / corpus).rename(page.library.folder / f".removed-{corpus}")
        browser = Browser(opened())
    *ours, same = last_answers(page.store, 6)
    assert "lakes" not in json.dumps([one.result for one in ours]) and same == given
    assert [shown(browser.get(address)).balanced for address in addresses] == [True] * 3


def test_what_was_odd_of_an_upload_is_told_by_the_names_of_its_files(browser, page):
    """A long name keeps its suffix."""
    long = "l" * 300 + ".csv"
    response = browser.load("Odd", ("head.csv", b"a,b\n"), (long, b"a,b\n1\n"), ("ok.csv", b"a,b\n1,2\n"))
    notes = words(shown(response))
    assert "tables without a row below their header: 1, first at head.csv" in notes
    assert re.search(r"rows that are shorter than the others \(padded\): 1, first at l+…l+\.csv", notes)
    assert [table.id for table in page.engine.tables(list(page.library)[-1])] == [f"{'l' * 87}…{'l' * 8}.csv", "ok.csv"]


@pytest.mark.parametrize(
    ("names", "kept"),
    [
        (["a.txt", "3-a.txt", "a.txt"], ["a.txt", "3-a.txt", "4-a.txt"]),
        (["a.txt", "a.txt", "b/a.txt"], ["a.txt", "2-a.txt", "3-a.txt"]),
        (["a\0b.txt", "c.t\0xt"], ["a b.txt", "c.t xt"]),
        (["a." + "é" * 200], ["a." + "é" * 85 + "…" + "é" * 12]),
    ],
)
def test_each_file_has_a_name_of_its_own(tmp_path, names, kept):
    files = [("0.txt", b"Tarn is a town."), *((name, b"Mira is a lake.") for name in names)]
    account = uploads.read(files, tmp_path, Limits()).account
    assert account.files == len(files) and account.read == sum(name.endswith(".txt") for name in ["0.txt", *kept])
    assert [one.file for one in account.skipped] == [name for name in kept if not name.endswith(".txt")]


def test_pages_and_tables_of_all_kinds_are_counted_before_and_after_and_asked(browser, page):
    """Of an HTML page the text and the tables; what is not UTF-8 is guessed, and said."""
    both = b"<title>Rivers</title><p>The Ode is a river. It is long.<table><tr><th>river<th>length<tr><td>Ode<td>120</table>"
    files = [
        ("files", ("rivers.html", both)),
        ("files", ("notes.txt", "Jos\u00e9 Velin was born in Tarn.".encode("cp1252"))),
        ("files", ("lakes.csv", "lake;country\nMira;Bj\u00f6rkland\n".encode("cp1252"))),
        ("folder", ("mine/town.md", b"# Tarn\nTarn is a town.")),
        ("folder", ("mine/picture.png", b"\x89PNG")),
        ("folder", ("mine/.hidden.txt", b"nothing")),
    ]
    before = len(list(page.library))
    seen = browser.fill("/corpora/preview", files=files)
    found = words(Markup(seen.text))
    assert seen.status_code == 200 and "3 pages, 4 sentences, 2 tables, 2 rows" in found and "Bj\u00f6rkland" in found
    assert "read as cp1252" in found and len(list(page.library)) == before
    assert "Left out, since they are of other kinds: picture.png." in found  # nothing is said of hidden files
    assert not list(page.library.folder.glob(".upload-*"))
    loaded = browser.fill("/corpora", name="Mine", files=files)
    corpus = list(page.library)[-1]
    found = words(shown(loaded))
    assert f"Loaded: {corpus.name}. Ask it" in found and "Mine 3 pages, 2 tables Ask it" in found
    assert f'href="/?corpus={corpus.id}"' in loaded.text and "notes.txt" in found
    assert page.engine.sources(corpus) == ("tables", "passages")
    found = words(shown(browser.ask("Jos\u00e9 Velin was born in Tarn.", "claim", corpus.id)))
    assert "the surest of tables and text, tables and graphs" in found and "Jos\u00e9 Velin was born in Tarn." in found
    rivers = words(shown(browser.ask("The Ode is long.", "search", corpus.id)))
    assert "row 1 of the table rivers.html:0" in rivers and "sentence 1 of the page rivers" in rivers


def test_pages_alone_are_a_corpus_for_claims(browser, page, opened):
    browser.load("Notes", ("town.txt", b"Tarn is a town. Mara lived there."))
    corpus = list(page.library)[-1]
    assert page.engine.kinds(corpus) == ("claim", "search") and contents(page.engine, corpus) == [(1, "page")]
    answer = browser.ask("Tarn is a town.", "claim", corpus.id)
    link = re.search(r'href="(/sources/[^"]+)"', answer.text)[1]
    assert re.search("<mark id=.marked.>Tarn is a town.</mark> *<span>Mara lived there.", browser.get(link).text)
    assert opened().library.get(corpus.id) == corpus


def test_a_file_that_cannot_be_read_is_named_and_the_others_are_used(browser, page):
    loaded = words(shown(browser.load("Mixed", ("town.txt", b"Tarn is a town."), ("bad.docx", b"no document"))))
    assert "not read: bad.docx: damaged" in loaded
    assert contents(page.engine, list(page.library)[-1]) == [(1, "page")]


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("x.exe", b"MZ", "x.exe: .exe"),
        ("x." + "é" * 99, b"MZ", "éé: .éé"),
        ("x.csv", b"a,b\n", "no table with a row"),
        ("x.html", b"<p>", "no table with a row and no page with text"),
        ("x.pdf", b"%PDF-1.7 and no more", "x.pdf: damaged"),
    ],
)
def test_files_that_are_no_tables_are_told_in_a_sentence_and_leave_nothing(browser, page, name, content, complaint):
    response = browser.load("bad", (name, content))
    assert response.status_code == 400 and complaint in words(shown(response))
    assert 'name="name" value="bad"' in response.text  # what was typed is not lost
    assert str(page.library.folder) not in response.text
    assert list(page.library.folder.iterdir()) == [] and len(list(page.library)) == 1


def test_too_many_files_and_too_large_ones(opened):
    browser = Browser(opened(limits=Limits(upload_bytes=20_000, upload_files=3)))
    large = browser.load("large", ("x.csv", b"a,b\n" * 10_000))
    assert large.status_code == 413 and "19 KiB" in words(shown(large))
    assert browser.load("many", *((f"{i}.csv", b"a,b\n1,2\n") for i in range(4))).status_code == 400
    assert browser.post("/ask", data={"text": "x" * 300_000}).status_code == 413


def test_uploads_that_a_visitor_does_not_see_count_too(opened):
    page = opened(limits=Limits(corpora=1))
    assert Browser(page).load("Sums", SUMS, seen_by="session").status_code == 200
    refused = Browser(page).load("Mine", SUMS)
    assert refused.status_code == 400
    assert "at most 1 are kept, those included that you do not see" in words(shown(refused))


def test_files_may_take_longer_than_answers(opened, monkeypatch):
    page = opened(limits=Limits(answer_seconds=0.1))
    add = page.library.add
    monkeypatch.setattr(page.library, "add", lambda *given: time.sleep(0.3) or add(*given))
    response = Browser(page).load("Sums", SUMS)
    assert response.status_code == 200 and "Sums" in words(shown(response))


def test_small_files_cannot_claim_much(tmp_path):
    """Tables are counted as they come, each cell as often as it spans others, and a page's title is cut."""

    def read(*contents: bytes):
        return uploads.read([(f"{i}.html", content) for i, content in enumerate(contents)], tmp_path, Limits())

    with pytest.raises(LisaxError, match="at most 2,000"):
        read(b"<table><tr><td>h<tr><td>x</table>" * 2_001)
    spanning = b"<table><tr><td>h<tr><td rowspan=0 colspan=100>b" + b"<tr><td>" * 400 + b"</table>"
    with pytest.raises(LisaxError, match="500,000"):
        read(*[spanning * 4] * 5)
    with pytest.raises(LisaxError, match="33,554,432 characters"):
        read(b"<table><tr><td>h<tr><td rowspan=0 colspan=100>" + b"word" * 500 + b"<tr>" * 400 + b"</table>")
    found = read(b"<title>%b</title><table><caption>%b<tr><td>a<tr><td>b</table>" % (b"x" * 100_000, b"y" * 3_000))
    assert [(len(table.title), len(table.caption)) for table in found.tables] == [(300, 2_000)]
    assert "titles and captions with more than 2,000 characters (cut)" in str(found.notes)


@pytest.mark.parametrize(
    ("limits", "content", "said"),
    [
        (Limits(file_seconds=1), b"<p>A. B<b>" * 1_600_000, "b.html: too large: it takes more than 1 s"),
        (Limits(upload_seconds=0.01), b"<p>A.", "b.html: too late: the files before it took all the time"),
    ],
)
def test_files_are_read_with_little_memory_and_time(tmp_path, limits, content, said):
    with pytest.raises(LisaxError, match=said):
        found = uploads.read([("a.txt", b"Tarn is a town."), ("b.html", content)], tmp_path, limits)
        raise LisaxError("; ".join(found.notes))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0.txt", "1.html"]
