"""A folder of ordinary pages: plain text, Markdown and HTML files, with the tables of CSV and HTML files.

    *.txt               one page; its title is the file's name without underscores
    *.md                one page; its title is the first heading, or the file's name
    *.html, *.htm       one page; its title is the page's own, or the file's name; its tables are tables of the corpus

A page's id is the file's path without the suffix, `towns/Tarn`, with an underscore for each white space. A sentence
ends at a full stop, question or exclamation mark before a capital or a digit, and at the end of its paragraph or list
item. Headings, and in HTML navigation and tables, are not part of a page's text. Files called README or LICENSE are not
pages.
"""

from __future__ import annotations

import collections
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

from lisax.corpora import table_files
from lisax.corpora.dataset import TableDataset
from lisax.corpora.reading import Watch, told, unique_documents
from lisax.documents import encodings, html_tables
from lisax.documents.grid import Place
from lisax.errors import DataError
from lisax.files.reading import read_file
from lisax.records import Document, Sentence, check_id
from lisax.text import titles
from lisax.text.sentences import paragraphs, split_sentences

TEXT, MARKDOWN, HTML = {".txt"}, {".md", ".markdown"}, table_files.HTML
LARGEST = 1 << 24  # bytes of a page

_HEADING = re.compile(r"\s{0,3}#{1,6}\s+")
_ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")
_QUOTED = re.compile(r"^\s*>\s?")
_EMPHASIS = re.compile(r"(?:\*\*|__|\*|`)(?=\S)")
_ENDS = {mark: re.compile(rf"(?<=\S){re.escape(mark)}") for mark in ("**", "__", "*", "`")}
_BLOCKS = frozenset(
    "address article aside blockquote body dd div dl dt figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr li "
    "main nav ol p pre section table td th tr ul".split()
)
_UNSEEN = frozenset("script style template noscript svg math head table nav h1 h2 h3 h4 h5 h6".split())
_ENDED_BY_BLOCKS = frozenset("head h1 h2 h3 h4 h5 h6".split())  # which end these if their own end tag is missing
_NO_PAGES = ("readme", "license", "licence")


class PageFolder(TableDataset):
    """Pages and tables without claims; `folder` may also be a single file."""

    layout = "pages"

    def __init__(self, folder: Path):
        super().__init__(folder, {})

    def claims(self, split, watch=None):
        self.claim_file(split)  # raises: there are none

    def documents(self, watch=None):
        return read_pages(self.folder, watch)

    def tables(self, watch=None):
        if self.folder.is_file():
            one = Place(self.folder, None, watch or Watch())
            return html_tables.read_tables(self.folder.name, one) if self.folder.suffix.lower() in HTML else iter(())
        return table_files.read_tables(self.folder, watch)


def is_page(path: Path) -> bool:
    """Whether a file is read as a page, by its name."""
    return path.suffix.lower() in TEXT | MARKDOWN | HTML and not path.name.lower().startswith((".", *_NO_PAGES))


def has_pages(folder: Path) -> bool:
    """Whether a folder has text or Markdown, which are always pages; HTML may be meant for its tables only."""
    return any(path.suffix.lower() in TEXT | MARKDOWN for path in _files(folder))


def _files(folder: Path) -> Iterator[Path]:
    if folder.is_file():
        yield folder
        return
    for path in sorted(folder.rglob("*")):
        if path.is_file() and is_page(path):
            yield path


def read_pages(folder: Path, watch: Watch | None = None) -> Iterator[Document]:
    """The pages below a folder by path; duplicate ids are reported at the end."""

    def stream(watch: Watch) -> Iterator[Document]:
        for path in _files(folder):
            watch.where = (path, 1)
            name = path.name if folder.is_file() else path.relative_to(folder).as_posix()
            try:
                page = read_page(path, name, watch)
            except DataError as error:
                watch.problem(error)
                continue
            if page.sentences:
                yield page
            else:
                watch.warn("pages without text (left out)", path)

    return told(lambda w: unique_documents(stream, w), watch)


def read_page(path: Path, name: str, watch: Watch) -> Document:
    """The page in a file; `name` is its path within the corpus."""
    content, suffix = read_file(path, LARGEST), path.suffix.lower()
    if suffix in HTML:
        title, blocks = _read_html(html_tables.decode(content, Place(path, None, watch)))
    else:
        try:
            text, guessed = encodings.decoded(content)
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            raise DataError(
                "the page is not UTF-8, nor in another encoding that is known", path=path, line=line
            ) from None
        if guessed is not None:
            watch.warn(f"pages that are not UTF-8 (read as {guessed})", path)
        title, blocks = _read_markdown(text) if suffix in MARKDOWN else ("", paragraphs(text.splitlines()))
    page = check_id(titles.page_id(name.removesuffix(path.suffix)), path=path)
    sentences = [sentence for block in blocks for sentence in split_sentences(titles.one_line(block))]
    title = titles.one_line(title) or titles.one_line(path.stem.replace("_", " "))
    return Document(page, title, tuple(Sentence(page, number, text) for number, text in enumerate(sentences)))


def _read_markdown(text: str) -> tuple[str, list[str]]:
    """(title, blocks): the title is the first heading; other headings and fenced code are left out."""
    title, blocks, block, fenced = "", [], [], False
    for line in [*text.splitlines(), ""]:
        if line.lstrip().startswith(("```", "~~~")):
            fenced, line = not fenced, ""
        heading = _HEADING.match(line)
        if (heading or _ITEM.match(line) or not line.strip()) and block:
            blocks.append(" ".join(block))
            block = []
        if fenced or not line.strip():
            continue
        line = _without_emphasis(_without_links(_without_links(line, "![", keeps_text=False), "[", keeps_text=True))
        if heading:
            text = line[heading.end() :].strip()
            title = title or text.rstrip("#").rstrip() or text[:1]
        else:
            block.append(_QUOTED.sub("", _ITEM.sub("", line)))
    return title, blocks


# Written out, since an expression looks for the end of each mark again: 100 KB of `[` take it minutes.


def _without_links(line: str, opening: str, keeps_text: bool) -> str:
    """`line` with only the text, or nothing, in the place of each `[text](address)`."""
    parts, done, middle = [], 0, -1
    while (middle := line.find("](", searched := middle + 1)) >= 0:
        start = line.find(opening, max(searched, line.rfind("]", searched, middle) + 1), middle)
        if start < 0:
            continue
        if (end := line.find(")", middle)) < 0:
            break
        parts += line[done:start], line[start + len(opening) : middle] if keeps_text else ""
        done, middle = end + 1, end
    return "".join((*parts, line[done:]))


def _without_emphasis(line: str) -> str:
    """`line` without the marks of strong, emphasised or code text."""
    parts, done, at, unended = [], 0, 0, set()
    while found := _EMPHASIS.search(line, at):
        at = found.start() + 1
        for mark in (mark for mark in _ENDS if mark not in unended and line.startswith(mark, found.start())):
            inner = found.start() + len(mark)
            if not line[inner : inner + 1].strip():
                continue
            if end := _ENDS[mark].search(line, inner + 1):
                parts += line[done : found.start()], line[inner : end.start()]
                done = at = end.end()
                break
            unended.add(mark)
    return "".join((*parts, line[done:]))


def _read_html(text: str) -> tuple[str, list[str]]:
    parser = _Text()
    parser.feed(html_tables.closed(text))
    parser.close()
    parser.end_block()
    return "".join(parser.title), parser.blocks


class _Text(HTMLParser):
    """The text of a page in blocks, without scripts, styles, navigation and tables."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.title: list[str] = []
        self.blocks: list[str] = []
        self._block: list[str] = []
        self._unseen: list[str] = []
        self._open = collections.Counter()  # how often each tag is in `_unseen`
        self._in_title = False

    def handle_starttag(self, tag, attributes):
        self._in_title = tag == "title" and not self.title
        if tag in _BLOCKS:
            self.end_block()
            while self._unseen and self._unseen[-1] in _ENDED_BY_BLOCKS:
                self._close()
        elif tag == "br":
            self.handle_data(" ")
        if tag in _UNSEEN:
            self._unseen.append(tag)
            self._open[tag] += 1

    def handle_endtag(self, tag):
        self._in_title = False
        if tag in _BLOCKS:
            self.end_block()
        if self._open[tag]:  # with unclosed tags within it
            while self._close() != tag:
                pass

    def _close(self) -> str:
        tag = self._unseen.pop()
        self._open[tag] -= 1
        return tag

    def handle_data(self, data):
        if self._in_title:
            self.title.append(data)
        elif not self._unseen:
            self._block.append(data)

    def end_block(self) -> None:
        if block := "".join(self._block).strip():
            self.blocks.append(block)
        self._block = []
