"""The text of a PDF file, read by pypdf (extra `pdf`). A file of a few kilobytes can ask for any amount of memory and
time: the caller is a process that has little of both. Nothing in a file is ever run."""

from __future__ import annotations

import re
import time
from pathlib import Path

from lisax.corpora.reading import Watch
from lisax.errors import DataError, LisaxError
from lisax.records import Document, Sentence, check_id
from lisax.text import titles
from lisax.text.sentences import split_sentences

SECONDS = 30  # of the processor, after which no further page of a file is begun
PAGES, CHARACTERS = 1_000, 4 << 20
_HYPHEN = re.compile(r"(\w)[-\u00ad]\n(?=[a-z\u00df-\u024f])")  # a word that continues in the next line


def read_page(path: Path, name: str, watch: Watch) -> Document:
    """The PDF as one page; `name` is its path within the corpus. Raises DataError for a file without text, such as one
    of scanned pages, and LisaxError without pypdf."""
    title, texts = _read(path, watch)
    page = check_id(titles.page_id(name.removesuffix(path.suffix)), path=path)
    blocks = (titles.one_line(_HYPHEN.sub(r"\1", text)) for text in texts)
    sentences = [sentence for block in blocks for sentence in split_sentences(block)]
    if not sentences:
        raise DataError("it has no text: pages that are pictures are not read", path=path)
    title = titles.one_line(title) or titles.one_line(path.stem.replace("_", " "))
    return Document(page, title, tuple(Sentence(page, number, text) for number, text in enumerate(sentences)))


def _read(path: Path, watch: Watch) -> tuple[str, list[str]]:
    """The title and the texts of a file's pages, as far as the limits go; a warning counts the pages left out."""
    try:
        from pypdf import PdfReader
        from pypdf.errors import DependencyError
    except ImportError:
        raise LisaxError("PDF files need pypdf, which is not installed: pip install 'lisax[pdf]'") from None
    end = time.process_time() + SECONDS
    try:
        reader, texts, left = PdfReader(path), [], CHARACTERS
        if reader.is_encrypted and not reader.decrypt(""):
            raise DataError("it cannot be read: it has a password", path=path)
        for page in reader.pages[:PAGES]:
            texts.append(page.extract_text()[:left].encode("utf-8", "ignore").decode())
            left -= len(texts[-1])
            if left <= 0 or time.process_time() > end:
                break
        if left_out := len(reader.pages) - len(texts):
            watch.warn(
                "pages of a PDF past the text or the time that one file may take (left out)", path, count=left_out
            )
        title = str((reader.metadata or {}).get("/Title") or "")
        return title.encode("utf-8", "ignore").decode(), texts
    except DependencyError:
        raise LisaxError("this PDF is encrypted, which needs cryptography: pip install 'lisax[pdf]'") from None
    except (DataError, MemoryError):
        raise
    except Exception as error:  # whatever a damaged file makes of the reader
        raise DataError(f"it cannot be read: {type(error).__name__}: {error}"[:200], path=path) from None
