"""Word documents, slides and electronic books: archives of XML or HTML."""

from __future__ import annotations

import dataclasses
import io
import itertools
import posixpath
import re
import urllib.parse
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from lisax.documents import archives, headers, html
from lisax.documents.blocks import Block, Kind, Unread
from lisax.documents.grid import Place
from lisax.text.titles import one_line

HIDDEN_SLIDES = "hidden slides (left out)"

# Styles that mammoth does not map.
_STYLES = "p[style-name='Title'] => h1:fresh\np[style-name='Subtitle'] => p:fresh\np[style-name='Caption'] => p:fresh\n"
_BACK = re.compile(r'<a href="#[\w-]*-?(?:foot|end)note-ref-[^"]*">[^<]*</a>')  # mammoth's link from a note to its mark
_NOTES = re.compile(r'<ol>\s*<li id="[\w-]*(?:foot|end)note-')

_TEXTS = ("word/document.xml", "word/footnotes.xml", "word/endnotes.xml")
# Hidden text, which mammoth reads; fields in one piece and modern text boxes, which mammoth does not read.
_MENDED = (b"vanish", b"fldSimple", b"txbxContent")
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_SLIDE = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_COMPATIBLE = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_TREE = f"{_SLIDE}cSld/{_SLIDE}spTree"
_TITLES = {"title", "ctrTitle"}
_SKIPPED = {"dt", "ftr", "sldNum", "hdr"}  # placeholders for date, footer and number

_CONTAINER = "{urn:oasis:names:tc:opendocument:xmlns:container}"
_PACKAGE = "{http://www.idpf.org/2007/opf}"
_DUBLIN = "{http://purl.org/dc/elements/1.1/}"


def read_word(path: Path, place: Place) -> tuple[str, list[Block]]:
    """(title, blocks) of a .docx file: mammoth writes it as HTML, without comments, deleted and hidden text; footnotes
    are at the end."""
    import mammoth

    archives.check_zip(path)
    with archives.Archive(path) as archive:
        if "word/document.xml" not in archive.names:
            raise Unread("damaged", "it has no document", path=path)
        shown = _mended(archive) or path.read_bytes()
    made = mammoth.convert_to_html(
        io.BytesIO(shown), style_map=_STYLES, convert_image=mammoth.images.img_element(lambda _: {})
    )
    text, notes = made.value, ""
    if found := _NOTES.search(text):
        text, notes = text[: found.start()], _BACK.sub("", text[found.start() :])
    title, blocks = html.read(text, place)
    blocks += [dataclasses.replace(block, kind=Kind.FOOTNOTE) for block in html.read(notes, place)[1]]
    title = title or next((b.text for b in blocks if b.kind is Kind.HEADING and b.level == 1), "")
    return title, blocks


def _mended(archive: archives.Archive) -> bytes | None:
    """The file without hidden text, and with fields and text boxes in elements that mammoth reads; None if it has none
    of these."""
    mended = [name for name in _TEXTS if name in archive.names and any(mark in archive.read(name) for mark in _MENDED)]
    if not mended:
        return None
    parts = {name: archive.read(name) for name in archive.names}
    for name in mended:
        root = archive.xml(name)
        for parent in list(root.iter()):
            for run in [one for one in parent if one.tag == f"{_WORD}r" and _is_hidden(one)]:
                parent.remove(run)
        for field in root.iter(f"{_WORD}fldSimple"):
            field.tag = f"{_WORD}smartTag"
        for choices in list(root.iter(f"{_COMPATIBLE}AlternateContent")):
            if (boxes := _boxes(choices)) and not any(map(_boxes, choices.iterfind(f"{_COMPATIBLE}Fallback"))):
                choices[:], choices.tag = boxes, f"{_WORD}smartTag"
        for drawing in list(root.iter(f"{_WORD}drawing")):
            drawing[:] = _boxes(drawing) or drawing[:]
        parts[name] = ElementTree.tostring(root)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as file:
        for name, content in parts.items():
            file.writestr(name, content)
    return made.getvalue()


def _boxes(parent: Element) -> list[Element]:
    """The contents of the text boxes in an element."""
    return list(parent.iter(f"{_WORD}txbxContent"))


def _is_hidden(run: Element) -> bool:
    mark = run.find(f"{_WORD}rPr/{_WORD}vanish")
    return mark is not None and mark.get(f"{_WORD}val") not in ("0", "false", "off")


def read_slides(path: Path, place: Place) -> Iterator[Block]:
    """The blocks of a .pptx file, slide by slide: its title, its texts and tables, and the speaker's notes. Hidden slides
    are left out.

    python-pptx would bring lxml and Pillow for this one walk."""
    with archives.Archive(path) as archive:
        slides = sorted(
            (int(found[1]), name)
            for name in archive.names
            if (found := re.fullmatch(r"ppt/slides/slide(\d+)\.xml", name))
        )
        for number, name in slides:
            root = archive.xml(name)
            if root.get("show") in ("0", "false"):
                place.warn(HIDDEN_SLIDES)
                continue
            where = f"slide {number}"
            found = list(_shapes(root.iterfind(_TREE), where))
            found.sort(key=lambda block: block.kind is not Kind.HEADING)  # a title may come late in the file
            yield from found
            if (notes := _notes_of(name, archive)) is not None:
                for block in _shapes(notes.iterfind(_TREE), where):
                    yield dataclasses.replace(block, kind=Kind.PARAGRAPH) if block.kind is Kind.ITEM else block


def _notes_of(slide: str, archive: archives.Archive) -> Element | None:
    """The page of notes that belongs to a slide."""
    folder, name = posixpath.split(slide)
    links = f"{folder}/_rels/{name}.rels"
    for link in archive.xml(links) if links in archive.names else ():
        target = posixpath.normpath(posixpath.join(folder, link.get("Target") or ""))
        if (link.get("Type") or "").endswith("/notesSlide") and target in archive.names:
            return archive.xml(target)
    return None


def _shapes(parents: Iterable[Element], where: str) -> Iterator[Block]:
    for shape in itertools.chain.from_iterable(parents):
        if shape.tag == f"{_SLIDE}grpSp":
            yield from _shapes([shape], where)
        elif shape.tag == f"{_COMPATIBLE}AlternateContent":
            yield from _shapes(shape.iterfind(f"{_COMPATIBLE}Choice[1]"), where)
        elif shape.tag == f"{_SLIDE}graphicFrame":
            for table in shape.iter(f"{_DRAWING}tbl"):
                yield from headers.tables(_table_rows(table), where)
        elif shape.tag == f"{_SLIDE}sp":
            holder = shape.find(f"{_SLIDE}nvSpPr/{_SLIDE}nvPr/{_SLIDE}ph")
            role = "" if holder is None else holder.get("type") or "body"
            if role in _SKIPPED:
                continue
            texts = [one_line(_runs(line)) for line in shape.iter(f"{_DRAWING}p")]
            if role in _TITLES:
                yield from [Block(Kind.HEADING, " ".join(filter(None, texts)), 1, where)] if any(texts) else ()
            else:
                kind = Kind.ITEM if role in ("body", "obj") else Kind.PARAGRAPH
                yield from (Block(kind, text, place=where) for text in texts if text)


def _table_rows(table: Element) -> list[list[str]]:
    rows: list[list[str]] = []
    for row in table.iter(f"{_DRAWING}tr"):
        rows.append([])
        for cell in row.iter(f"{_DRAWING}tc"):
            text = " ".join(_runs(line) for line in cell.iter(f"{_DRAWING}p"))
            if cell.get("hMerge") == "1" and rows[-1]:
                text = rows[-1][-1]
            elif cell.get("vMerge") == "1" and len(rows) > 1 and len(rows[-1]) < len(rows[-2]):
                text = rows[-2][len(rows[-1])]
            rows[-1].append(one_line(text))
    return rows


def _runs(line: Element) -> str:
    """The text of a paragraph; a line break is a blank."""
    return "".join(
        " " if part.tag == f"{_DRAWING}br" else part.text or ""
        for part in line.iter()
        if part.tag in (f"{_DRAWING}t", f"{_DRAWING}br")
    )


def read_book(path: Path, place: Place) -> tuple[str, list[Block]]:
    """(title, blocks) of an .epub file, chapter by chapter."""
    with archives.Archive(path) as archive:
        roots = archive.xml("META-INF/container.xml").iter(f"{_CONTAINER}rootfile")
        package = next((root.get("full-path") or "" for root in roots), "")
        root = archive.xml(package)
        files = {item.get("id"): item.get("href") or "" for item in root.iter(f"{_PACKAGE}item")}
        title = next((one_line(found.text or "") for found in root.iter(f"{_DUBLIN}title")), "")
        blocks: list[Block] = []
        for item in root.iter(f"{_PACKAGE}itemref"):
            name = posixpath.normpath(
                posixpath.join(posixpath.dirname(package), urllib.parse.unquote(files.get(item.get("idref"), "")))
            )
            if name in archive.names:
                blocks += html.read(html.decode(archive.read(name), place), place)[1]
    return title, blocks
