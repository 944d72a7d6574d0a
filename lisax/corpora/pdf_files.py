"""The text of a PDF file, read by pypdf (extra `pdf`) in a process of its own, which has little memory and time: a file of a
few kilobytes can ask for as much as it likes, and nothing in it is ever run."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from lisax.corpora import titles
from lisax.corpora.page_files import split_sentences
from lisax.records import DataError, Document, LisaxError, Sentence, check_id

SECONDS, MEMORY = 60, 1 << 30  # of the process
PAGES, CHARACTERS = 1_000, 4 << 20
_HYPHEN = re.compile(r"(\w)[-\u00ad]\n(?=[a-z\u00df-\u024f])")  # a word that goes on in the next line


def read_page(path: Path, name: str) -> Document:
    """The PDF as one page; `name` is its path within the corpus. Raises DataError for a file without text, such as one of
    scanned pages, and LisaxError without pypdf."""
    title, texts = _read(path)
    page = check_id(titles.page_id(name.removesuffix(path.suffix)), path=path)
    blocks = (titles.one_line(_HYPHEN.sub(r"\1", text)) for text in texts)
    sentences = [sentence for block in blocks for sentence in split_sentences(block)]
    if not sentences:
        raise DataError("it has no text: pages that are pictures are not read", path=path)
    title = titles.one_line(title) or titles.one_line(path.stem.replace("_", " "))
    return Document(page, title, tuple(Sentence(page, number, text) for number, text in enumerate(sentences)))


def _read(path: Path) -> tuple[str, list[str]]:
    command = [sys.executable, "-P", "-m", __name__, str(path)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=2 * SECONDS, stdin=subprocess.DEVNULL, check=False)
    except subprocess.TimeoutExpired:
        raise DataError("it takes too long to read", path=path) from None
    if done.returncode == MISSING:
        raise LisaxError("PDF files need pypdf, which is not installed: pip install 'lisax[pdf]'")
    try:
        found = json.loads(done.stdout)
    except ValueError:  # killed: too much memory or time
        raise DataError("it cannot be read: damaged, or too large for what it says", path=path) from None
    if "error" in found:
        raise DataError(f"it cannot be read: {found['error']}", path=path)
    return found["title"], found["texts"]


MISSING = 3


def main(path: str) -> int:
    """Prints the title and the texts of a file's pages as JSON."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    try:
        from pypdf import PdfReader
    except ImportError:
        return MISSING
    try:
        reader, texts, left = PdfReader(path), [], CHARACTERS
        if reader.is_encrypted and not reader.decrypt(""):
            print(json.dumps({"error": "it has a password"}))
            return 0
        for page in reader.pages[:PAGES]:
            texts.append(page.extract_text()[:left])
            left -= len(texts[-1])
            if left <= 0:
                break
        title = str((reader.metadata or {}).get("/Title") or "")
        clean = [text.encode("utf-8", "ignore").decode() for text in (title, *texts)]
        print(json.dumps({"title": clean[0], "texts": clean[1:]}))
    except Exception as error:  # whatever a damaged file makes of the reader
        print(json.dumps({"error": f"{type(error).__name__}: {error}"[:200]}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
