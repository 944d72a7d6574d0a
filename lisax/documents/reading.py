"""Reads a file of any type as a document, by its suffix."""

from __future__ import annotations

import collections
import os
import re
from collections.abc import Callable
from pathlib import Path

from lisax.documents import csv_tables, encodings, html, office, open_document, pdf, sheets, text_files
from lisax.documents.blocks import TOO_LARGE, Block, Document, Unread
from lisax.documents.grid import LIMITS, Place, TableLimits
from lisax.errors import DataError
from lisax.files.reading import read_file
from lisax.text.titles import one_line

TITLE_CHARACTERS = 300
LARGEST = 1 << 24  # bytes of a text file
LARGEST_OFFICE = 1 << 26  # of an Office file or a PDF

_Read = Callable[[Path, Place], tuple[str, list[Block]]]


def _text(path: Path, place: Place) -> str:
    return text_files.decode(path, read_file(path, LARGEST), place)


# Each reader returns the document's own title, or "", and its blocks.
_PLAIN: dict[str, _Read] = {
    ".txt": lambda path, place: text_files.read_titled(_text(path, place)),
    ".md": lambda path, place: text_files.read_markdown(_text(path, place), place),
    ".html": lambda path, place: html.read(html.decode(read_file(path, LARGEST), place), place),
    ".csv": lambda path, place: ("", csv_tables.read(place)),
    ".json": lambda path, place: ("", text_files.read_json(_text(path, place), path)),
    ".jsonl": lambda path, place: ("", text_files.read_json_lines(_text(path, place), path)),
    ".eml": lambda path, place: text_files.read_message(read_file(path, LARGEST), place),
}
# Read in a process with bounds of memory and time: the libraries promise neither.
_BOUNDED: dict[str, _Read] = {
    ".pdf": pdf.read,
    ".mbox": lambda path, place: ("", list(text_files.read_mailbox(path, place))),
    ".docx": office.read_word,
    ".pptx": lambda path, place: ("", list(office.read_slides(path, place))),
    ".epub": office.read_book,
    ".xlsx": lambda path, place: ("", list(sheets.read_excel(path, place))),
    ".xls": lambda path, place: ("", list(sheets.read_old_excel(path, place))),
    ".odt": lambda path, place: ("", list(open_document.read(path, place))),
    ".rtf": lambda path, place: ("", list(text_files.read_rich_text(_text(path, place)))),
}
_ALIASES = {
    ".markdown": ".md",
    ".htm": ".html",
    ".xhtml": ".html",
    ".tsv": ".csv",
    ".ndjson": ".jsonl",
    ".xlsm": ".xlsx",
    ".xlsb": ".xls",
    ".ods": ".odt",
    ".odp": ".odt",
    ".docm": ".docx",
    ".text": ".txt",
}
_READERS = _PLAIN | _BOUNDED
SUFFIXES = frozenset({*_READERS, *_ALIASES})


def kind_of(path: Path) -> str:
    """Returns the canonical suffix of a file's type (`.html` for `.htm`), or "" for other types."""
    suffix = path.suffix.lower()
    suffix = _ALIASES.get(suffix, suffix)
    return suffix if suffix in _READERS else ""


def is_bounded(path: Path) -> bool:
    """Whether files of this type are read in a process of their own (`bounded.py`)."""
    return kind_of(path) in _BOUNDED


def named(name: str) -> str:
    """The title of a document without one: the file's name without suffix and underscores."""
    return one_line(Path(name).stem.replace("_", " "))


def _type_of_old_excel(head: bytes) -> str:
    """The type of a `.xls` file by its beginning: programs write web pages, texts and newer files under that name."""
    if head.startswith(b"PK"):
        return ".xlsx"
    if re.search(rb"<(?:html|table|!doctype html)", head, re.IGNORECASE):
        return ".html"
    is_binary = b"\0" in head and not encodings.marked(head)
    return ".xls" if is_binary or head.lstrip(b"\xef\xbb\xbf").startswith(b"<") else ".csv"


class Notes:
    """Collects warnings of one file, by kind."""

    def __init__(self):
        self.counts: collections.Counter[str] = collections.Counter()

    def warn(self, kind: str, path: Path | str = "", line: int | None = None, count: int = 1) -> None:
        self.counts[kind] += count


def read(path: Path | str, name: str = "", limits: TableLimits = LIMITS) -> Document:
    """The document in a file, read in this process. `name` is its path within its corpus, by default the file's name.

    Raises Unread for a file that cannot be read, with a reason in words: of an unknown type, empty, damaged, too large,
    with a password, a scan without text."""
    path = Path(path)
    name, kind, notes = name or path.name, kind_of(path), Notes()
    if not kind:
        raise Unread(path.suffix.lower() or "no suffix", path=path)
    try:
        with path.open("rb") as file:
            head = file.read(1 << 10)
            size = file.seek(0, os.SEEK_END)
    except OSError as error:
        raise Unread("cannot be read", str(error.strerror), path=path) from None
    if not size:
        raise Unread("empty", path=path)
    if path.suffix.lower() == ".xls":
        kind = _type_of_old_excel(head)
    if size > LARGEST_OFFICE and kind in _BOUNDED:
        raise Unread(TOO_LARGE, f"it has more than {LARGEST_OFFICE >> 20} MiB", path=path)
    try:
        title, blocks = _READERS[kind](path, Place(path, None, notes, limits))
    except Unread:
        raise
    except DataError as error:
        line = "" if error.line is None else f"line {error.line}: "
        raise Unread("damaged", line + error.message, path=path) from None
    except (MemoryError, RecursionError):
        raise Unread(TOO_LARGE, "it takes more memory than a file may take", path=path) from None
    except Exception as error:  # a damaged file can make a library raise anything
        if kind in _PLAIN:
            raise
        raise Unread("damaged", f"{type(error).__name__}: {error}"[:200], path=path) from None
    if not blocks:
        raise Unread("without text", path=path)
    title = one_line(title)[:TITLE_CHARACTERS] or named(name)
    return Document(name, title, tuple(blocks), tuple(notes.counts.items()))
