"""PDF files: text in reading order, headings by their size, and tables with and without lines.

PDFium knows the place of each character; `pdf_layout.py` finds columns, headings and cells. pdfplumber finds tables
too, at a fifth of the speed. Nothing in a file is ever run. A file of a few kilobytes can ask for any amount of memory
and time: the caller is a process that has little of both.
"""

from __future__ import annotations

import collections
import ctypes
import math
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from lisax.documents import pdf_layout
from lisax.documents.blocks import Block, Kind, Unread
from lisax.documents.grid import Place
from lisax.documents.pdf_lines import Page, Rule, Word
from lisax.text.titles import one_line

SECONDS = 30  # of the processor, after which no further page of a file is begun
PAGES, CHARACTERS = 1_000, 4 << 20
PAGE_CHARACTERS = 100_000
RULES = 5_000  # lines of a page
FEW_WORDS = 20  # a stamp, on a page that is a scan
_BOLD = 600  # from this weight on
_BULLETS = frozenset({0xF076, 0xF0A7, 0xF0B7, 0xF0D8})  # of Symbol and Wingdings, as office programs write them
_BOLD_NAME = re.compile(rb"bold|black|heavy", re.IGNORECASE)


def read(path: Path, place: Place) -> tuple[str, list[Block]]:
    """(title, blocks) of the file. Raises Unread for one without text, with a password, or damaged."""
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        if "password" in str(error).lower() or "security" in str(error).lower():
            raise Unread("password-protected", path=path) from None
        raise Unread("damaged", str(error), path=path) from None
    try:
        if document.get_formtype() == pypdfium2.raw.FORMTYPE_ACRO_FORM:
            document.init_forms()  # draws values that have only been set
        end, left = time.process_time() + SECONDS, CHARACTERS
        pages: list[Page] = []
        for number in range(min(len(document), PAGES)):
            try:
                pages.append(_page(document, number))
            except pypdfium2.PdfiumError:
                place.warn("damaged pages of a PDF (left out)")
                continue
            left -= sum(len(word.text) for word in pages[-1].words)
            if left <= 0 or time.process_time() > end:
                break
        if not any(page.words for page in pages):
            raise Unread("scanned PDF without text", path=path)
        scans = sum(page.pictured > (0.5 if page.words else 0) and len(page.words) <= FEW_WORDS for page in pages)
        place.warn("pages of a PDF that are pictures with few or no words (pictures left out)", scans)
        place.warn("annotations of a PDF whose text is not drawn (left out)", sum(page.undrawn for page in pages))
        read_pages = pages[-1].number if pages else 0
        place.warn(
            "pages of a PDF past the text or the time that one file may take (left out)", len(document) - read_pages
        )
        title = (document.get_metadata_value("Title") or "").encode("utf-8", "ignore").decode()
    finally:
        document.close()
    blocks = pdf_layout.blocks(pages)
    shown = " ".join(block.text for block in blocks[:5]).casefold()
    if not title.strip() or one_line(title).casefold() not in shown:  # programs write names of files and templates
        title = next((b.text for b in blocks[:3] if b.kind is Kind.HEADING and b.level == 1), "")
    return title, blocks


def _page(document, index: int) -> Page:
    """The words and rules of a page. Coordinates are points from the upper left corner of the page as it is shown."""
    import pypdfium2.raw as pdfium

    page = document[index]
    width, height = page.get_size()
    left, bottom, right, top = page.get_bbox()
    rotation = page.get_rotation()

    def turned(x0: float, y0: float, x1: float, y1: float) -> tuple[float, float, float, float]:
        """(left, top, right, bottom) as shown, of (left, bottom, right, top) as the file has it."""
        if rotation == 90:
            return y0 - bottom, x0 - left, y1 - bottom, x1 - left
        if rotation == 180:
            return right - x1, y0 - bottom, right - x0, y1 - bottom
        if rotation == 270:
            return top - y1, right - x1, top - y0, right - x0
        return x0 - left, top - y1, x1 - left, top - y0

    rules, pictured, undrawn = [], 0.0, 0
    for count, found in enumerate(page.get_objects(max_depth=4)):
        if count > RULES:
            break
        if found.type == pdfium.FPDF_PAGEOBJ_IMAGE:
            x0, y0, x1, y1 = found.get_bounds()
            pictured += (x1 - x0) * (y1 - y0) / max(width * height, 1.0)
        if found.type == pdfium.FPDF_PAGEOBJ_PATH:
            rules.append(Rule(*turned(*found.get_bounds())))
    for i in range(pdfium.FPDFPage_GetAnnotCount(page)):
        note = pdfium.FPDFPage_GetAnnot(page, i)
        is_text = pdfium.FPDFAnnot_GetSubtype(note) == pdfium.FPDF_ANNOT_FREETEXT
        undrawn += is_text and not pdfium.FPDFAnnot_HasKey(note, b"AP")
        pdfium.FPDFPage_CloseAnnot(note)
    # The values of a form, and other annotations, become text of the page in their places.
    if pdfium.FPDFPage_Flatten(page, pdfium.FLAT_NORMALDISPLAY) == pdfium.FLATTEN_SUCCESS:
        page.close()
        page = document[index]
    text = page.get_textpage()
    words = list(_words(text.raw, pdfium, turned))
    text.close()
    page.close()
    return Page(index + 1, width, height, words, rules, pictured, undrawn)


def _words(text, pdfium, turned: Callable[..., tuple[float, float, float, float]]) -> Iterator[Word]:
    """The words of a page in the order of the file: characters without a gap on one line."""
    loose, name, flags = pdfium.FS_RECTF(), ctypes.create_string_buffer(128), ctypes.c_int()
    ink, at = [ctypes.c_double() for _ in range(4)], [ctypes.c_double() for _ in range(2)]
    count = min(pdfium.FPDFText_CountChars(text), PAGE_CHARACTERS)
    angle = collections.Counter(round(pdfium.FPDFText_GetCharAngle(text, i), 2) for i in range(count)).most_common(1)
    angle = angle[0][0] if angle else 0.0
    heights: dict[float, tuple[float, float]] = {}  # font size -> above and below the origin
    letters: list[str] = []
    box: list[float] = []
    size, bold = 0.0, False
    for i in range(min(pdfium.FPDFText_CountChars(text), PAGE_CHARACTERS)):
        code = pdfium.FPDFText_GetUnicode(text, i)
        letter = chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"
        if code == 2:  # PDFium's mark of a hyphen at the end of a line
            letter = "-"
        elif code in _BULLETS:
            letter = "•"
        if letter.isspace() or (code < 32 and letter != "-"):
            if letters:
                yield Word("".join(letters), *box, size, bold)
                letters = []
            continue
        # The loose box: from the end of the letter before to the start of the next, as high as the font.
        pdfium.FPDFText_GetLooseCharBox(text, i, loose)
        x0, y0, x1, y1 = turned(loose.left, loose.bottom, loose.right, loose.top)
        if abs(math.sin(pdfium.FPDFText_GetCharAngle(text, i) - angle)) > 0.1:  # a watermark, or a note at the edge
            continue
        pdfium.FPDFText_GetCharOrigin(text, i, *at)
        base = turned(at[0].value, at[1].value, at[0].value, at[1].value)[3]
        pdfium.FPDFText_GetCharBox(text, i, *ink)  # left, right, bottom, top
        em = pdfium.FPDFText_GetFontSize(text, i)
        if abs(ink[2].value - loose.bottom) + abs(ink[3].value - loose.top) > 0.01:
            heights[em] = base - y0, y1 - base
        elif em in heights:  # a part of a ligature, of which PDFium has only the ink
            y0, y1 = base - heights[em][0], base + heights[em][1]
        font = y1 - y0 if 0 < y1 - y0 < 200 else pdfium.FPDFText_GetFontSize(text, i)
        if letters and (
            x0 - box[2] > 0.25 * max(font, size) or x0 < box[0] or abs(y1 - box[4]) > 0.5 * max(font, size)
            or font < 0.8 * size or size < 0.8 * font
        ):  # fmt: skip
            yield Word("".join(letters), *box, size, bold)
            letters = []
        if not letters:
            box, size = [x0, y0, x1, y1, y1], font
            bold = pdfium.FPDFText_GetFontWeight(text, i) >= _BOLD
            if not bold:  # the standard fonts have no weight, but a name
                length = pdfium.FPDFText_GetFontInfo(text, i, name, len(name), flags)
                bold = _BOLD_NAME.search(name.raw[: max(0, min(length, len(name)) - 1)]) is not None
        else:
            box = [min(box[0], x0), min(box[1], y0), max(box[2], x1), max(box[3], y1), box[4]]
        letters.append(letter)
    if letters:
        yield Word("".join(letters), *box, size, bold)
