"""Small files of the types that `lisax.documents` reads, made by hand or by the libraries that read them."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import openpyxl

from lisax.documents import Kind, read
from lisax.records import Table

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
A = "http://schemas.openxmlformats.org/drawingml/2006/main"
P = "http://schemas.openxmlformats.org/presentationml/2006/main"
NAMES = {name: name for name in ("office", "text", "table", "presentation", "style")} | {"draw": "drawing"}
ODF = " ".join(f'xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for short, name in NAMES.items())


def blocks(path: Path) -> list[tuple]:
    """(kind, text or rows) of each block that is read of a file."""
    return [
        (block.kind.value, [block.header, *block.rows] if block.kind is Kind.TABLE else block.text)
        for block in read(path).blocks
    ]


def grid(table: Table) -> list[tuple[str, ...]]:
    return [table.header, *table.rows]


def archive(path: Path, members: Mapping[str, str | bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return path


def word(path: Path, body: str, **more: str) -> Path:
    """A .docx of the body's XML; `footnotes` is that of its footnotes."""
    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="{name.replace(" ", "")}"><w:name w:val="{name}"/></w:style>'
        for name in ("Title", "heading 1", "heading 2")
    )
    parts = {"styles": styles, "document": f"<w:body>{body}</w:body>"} | more
    return archive(path, {f"word/{n}.xml": f'<w:{n} xmlns:w="{W}">{xml}</w:{n}>' for n, xml in parts.items()})


def paragraph(text: str, style: str = "") -> str:
    named = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{named}<w:r><w:t>{text}</w:t></w:r></w:p>"


def slide(title: str, *texts: str, table: Sequence[Sequence[str]] = ()) -> str:
    def shape(role: str, lines: Sequence[str]) -> str:
        inner = "".join(f"<a:p><a:r><a:t>{line}</a:t></a:r></a:p>" for line in lines)
        return f'<p:sp><p:nvSpPr><p:nvPr><p:ph type="{role}"/></p:nvPr></p:nvSpPr><p:txBody>{inner}</p:txBody></p:sp>'

    rows = "".join(
        "<a:tr>" + "".join(f"<a:tc><a:txBody><a:p><a:r><a:t>{cell}</a:t></a:r></a:p></a:txBody></a:tc>" for cell in row)
        + "</a:tr>"
        for row in table
    )  # fmt: skip
    frame = (
        f"<p:graphicFrame><a:graphic><a:graphicData><a:tbl>{rows}</a:tbl></a:graphicData></a:graphic></p:graphicFrame>"
    )
    shapes = shape("body", texts) + shape("title", [title]) + shape("sldNum", ["7"]) + (frame if table else "")
    return f'<p:sld xmlns:p="{P}" xmlns:a="{A}"><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:sld>'


def open_document(path: Path, body: str, styles: str = "") -> Path:
    content = f"<office:document-content {ODF}>{styles}<office:body>{body}</office:body></office:document-content>"
    return archive(path, {"content.xml": content})


def workbook(path: Path, rows: Sequence[Sequence], *merged: str) -> openpyxl.Workbook:
    """An .xlsx of one sheet, saved at the path."""
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    for cells in merged:
        book.active.merge_cells(cells)
    book.save(path)
    return book


class Pdf:
    """A PDF file whose texts and lines are put at points from the upper left corner of A4 pages."""

    WIDTH, HEIGHT = 595, 842

    def __init__(self, more: str = ""):
        self.more = more  # entries of each page's dictionary
        self.pages: list[list[str]] = []
        self.page()

    def page(self) -> Pdf:
        self.pages.append([])
        return self

    def text(self, x: float, y: float, text: str, size: float = 11, bold: bool = False) -> Pdf:
        escaped = text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
        font = "F2" if bold else "F1"
        self.pages[-1].append(f"BT /{font} {size} Tf {x} {self.HEIGHT - y} Td ({escaped}) Tj ET")
        return self

    def lines(self, x: float, y: float, *texts: str, size: float = 11) -> Pdf:
        """Lines of one paragraph."""
        for number, text in enumerate(texts):
            self.text(x, y + 1.2 * size * number, text, size)
        return self

    def rows(self, y: float, rows: Sequence[Sequence[str]], size: float = 11) -> Pdf:
        """Lines of cells that begin every 120 points."""
        for i, row in enumerate(rows):
            for j, cell in enumerate(row):
                self.text(55 + 120 * j, y + 18 * i, cell, size)
        return self

    def rule(self, x0: float, y0: float, x1: float, y1: float) -> Pdf:
        self.pages[-1].append(f"0.5 w {x0} {self.HEIGHT - y0} m {x1} {self.HEIGHT - y1} l S")
        return self

    def write(self, path: Path) -> Path:
        fonts = "/Font << /F1 3 0 R /F2 4 0 R >>"
        objects = ["<< /Type /Catalog /Pages 2 0 R >>", ""]
        for name in ("Helvetica", "Helvetica-Bold"):
            objects.append(f"<< /Type /Font /Subtype /Type1 /BaseFont /{name} /Encoding /WinAnsiEncoding >>")
        kids = []
        for page in self.pages:
            content = "\n".join(page)
            objects.append(f"<< /Length {len(content.encode('cp1252'))} >>\nstream\n{content}\nendstream")
            objects.append(
                f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {self.WIDTH} {self.HEIGHT}] /Resources << {fonts} >> "
                f"/Contents {len(objects)} 0 R {self.more} >>"
            )
            kids.append(f"{len(objects)} 0 R")
        objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>"
        out, offsets = b"%PDF-1.4\n", []
        for number, written in enumerate(objects, start=1):
            offsets.append(len(out))
            out += f"{number} 0 obj\n{written}\nendobj\n".encode("cp1252")
        table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
        out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}".encode()
        out += f"trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{out.rindex(b'xref')}\n%%EOF\n".encode()
        path.write_bytes(out)
        return path
