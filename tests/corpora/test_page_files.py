"""Pages as anyone has them: text, Markdown and HTML files."""

import time
import tracemalloc

import pytest

from lisax.corpora import open_folder, page_files
from lisax.corpora.reading import Watch
from lisax.errors import DataError


def read(folder):
    return {page.id: page for page in page_files.read_pages(folder)}


def texts(page):
    return [sentence.text for sentence in page.sentences]


def test_text_markdown_and_html(tmp_path):
    (tmp_path / "towns").mkdir()
    (tmp_path / "towns" / "Old Tarn.txt").write_text(
        "Tarn is\na town.\n\nIt has no full stop\n\nEnd.", encoding="utf-8-sig"
    )
    (tmp_path / "orm.md").write_text(
        "Intro **text**.\n# The *Orm* #\nA [river](x.html) of `212` km.\n## Flow\n- It rises. It falls.\n- It ends\n"
        "```\ncode. Not read.\n```\n> Quoted.\n"
    )
    (tmp_path / "mill.html").write_text(
        "<html><head><title> Red\n Mill </title><style>x{}</style></head><body><nav>Home. Menu</nav><h1>Mill</h1>"
        "<p>The mill is &lt;red&gt;. It<br>burned.<p>Unclosed one.<script>var a = 1;</script>"
        "<table><tr><th>year<tr><td>1888</table><ul><li>First<li>Second</ul></body>"
    )
    (tmp_path / "README.md").write_text("About these files.")
    (tmp_path / ".hidden.txt").write_text("Not read.")
    (tmp_path / "empty.txt").write_text(" \n")
    watch = Watch()
    pages = {page.id: page for page in page_files.read_pages(tmp_path, watch)}
    assert list(pages) == ["mill", "orm", "towns/Old_Tarn"]
    assert pages["towns/Old_Tarn"].title == "Old Tarn"
    assert texts(pages["towns/Old_Tarn"]) == ["Tarn is a town.", "It has no full stop", "End."]
    assert pages["orm"].title == "The Orm"
    assert texts(pages["orm"]) == ["Intro text.", "A river of 212 km.", "It rises.", "It falls.", "It ends", "Quoted."]
    assert pages["mill"].title == "Red Mill"
    assert texts(pages["mill"]) == ["The mill is <red>.", "It burned.", "Unclosed one.", "First", "Second"]
    assert watch.warnings == [f"pages without text (left out): 1, first at {tmp_path / 'empty.txt'}"]
    data = open_folder(tmp_path)
    assert data.layout == "pages" and [page.id for page in data.documents()] == list(pages)
    assert [(table.id, table.header, table.rows) for table in data.tables()] == [
        ("mill.html:0", ("year",), (("1888",),))
    ]


def test_what_cannot_be_read(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"fine\n\xff\0 bad")
    with pytest.raises(DataError, match=r"a\.txt:2: the page is not UTF-8"):
        list(page_files.read_pages(tmp_path))
    (tmp_path / "a.txt").write_text("One.")
    (tmp_path / "a.md").write_text("Two.")
    with pytest.raises(DataError, match="duplicate id 'a'"):
        list(page_files.read_pages(tmp_path))


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
    page = page_files.read_page(tmp_path / "a.html", "a.html", Watch())
    assert texts(page)[0] == "Before."


@pytest.mark.parametrize(
    "bad",
    [
        f"# a{' ' * 5_000}#x",
        *(mark * 50_000 for mark in ("__a ", "*a", "`a ", "[", "[a](", "![](", "](", "[a] ")),
        "A. " * 50_000,
        "J. B. Name, " * 20_000,
        "?" * 100_000,
    ],
)
def test_bad_markdown_is_read_in_no_time(tmp_path, bad):
    (tmp_path / "a.md").write_text(f"Before. And on.\n\n{bad}\n")
    started = time.process_time()
    assert texts(page_files.read_page(tmp_path / "a.md", "a.md", Watch()))[:2] == ["Before.", "And on."]
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("[![alt](a.png)](b) and [c](d)", " and c"),
        ("![a] b](c) [x [y](z)", "![a] b](c) x [y"),
        ("**a* b** `c`d` __e_ f__", "a* b cd` e_ f"),
        ("**a*", "*a"),
        ("* a* *b", "a* *b"),
        ("> **q", "**q"),
        ("[](", "[]("),
    ],
)
def test_marks_of_markdown(tmp_path, line, text):
    (tmp_path / "a.md").write_text(line)
    assert texts(page_files.read_page(tmp_path / "a.md", "a.md", Watch())) == [" ".join(text.split())]


@pytest.mark.parametrize(
    ("line", "title"), [("# a # #", "a #"), ("# ##", "#"), ("#  ![x](y)", "a"), ("## b##", "b"), ("#c", "a")]
)
def test_headings_of_markdown(tmp_path, line, title):
    (tmp_path / "a.md").write_text(f"{line}\n\nText.")
    assert page_files.read_page(tmp_path / "a.md", "a.md", Watch()).title == title


def test_a_tag_of_endless_attributes_takes_little_memory(tmp_path):
    (tmp_path / "a.html").write_text(f"<p>Before.<p {'a=b ' * 500_000}>After.")
    tracemalloc.start()
    page = page_files.read_page(tmp_path / "a.html", "a.html", Watch())
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert texts(page) == ["Before.", "After."] and most < 20_000_000


def test_a_folder_of_tables_stays_one(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    (tmp_path / "README.txt").write_text("About.")
    assert open_folder(tmp_path).layout == "tables"
