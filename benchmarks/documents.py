"""Pages a second of each file type, from file to sentences, next to pypdf for PDF and to the text alone.

    python -m benchmarks.documents [--pages 200]

Files are made of a generated world: the text of one page of it is a file of each type. `text` is the time to split the
same texts into sentences, which every type includes; the ratio is to it.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import openpyxl

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "tests" / "documents")]

import made

from lisax.documents import Reader
from lisax.text.sentences import split_paragraphs
from lisax.world import iterate_documents

PARAGRAPHS = 12  # of a file: about a printed page


def write(folder: Path, texts: list[list[str]]) -> dict[str, list[Path]]:
    """The files of each type; `texts` are the paragraphs of each file."""
    files: dict[str, list[Path]] = {}
    for number, lines in enumerate(texts):
        name = folder / f"{number}"
        written = {
            ".txt": "\n\n".join(lines),
            ".md": "# Title\n\n" + "\n\n".join(lines),
            ".html": "<title>T</title><h1>Title</h1>" + "".join(f"<p>{line}</p>" for line in lines),
            ".csv": "number,text\n" + "".join(f'{i},"{line}"\n' for i, line in enumerate(lines)),
        }
        for suffix, content in written.items():
            path = name.with_suffix(suffix)
            path.write_text(content)
            files.setdefault(suffix, []).append(path)
        body = "".join(made.paragraph(line.replace("&", "&amp;")) for line in lines)
        files.setdefault(".docx", []).append(made.word(name.with_suffix(".docx"), body))
        book = openpyxl.Workbook()
        for i, line in enumerate(lines):
            book.active.append([i, line])
        book.save(name.with_suffix(".xlsx"))
        files.setdefault(".xlsx", []).append(name.with_suffix(".xlsx"))
        sheet = made.Pdf()
        for i, line in enumerate(lines):
            sheet.text(50, 60 + 30 * i, line.encode("cp1252", "replace").decode("cp1252")[:100])
        files.setdefault(".pdf", []).append(sheet.write(name.with_suffix(".pdf")))
    return files


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=200)
    asked = parser.parse_args()
    sentences = itertools.cycle(s.text for page in iterate_documents(400, 0) for s in page.sentences if s.text)
    texts = [
        [" ".join(itertools.islice(sentences, 4)) for _ in range(PARAGRAPHS)] for _ in range(asked.pages)
    ]  # fmt: skip
    alone = seconds(lambda: [split_paragraphs("\n\n".join(lines)) for lines in texts])
    print(f"{'text':6} {asked.pages / alone:8,.0f} pages/s")
    with tempfile.TemporaryDirectory() as folder, Reader() as reader:
        for suffix, paths in write(Path(folder), texts).items():
            reader.read(paths[0])  # starts the process of types that are read in one
            took = seconds(lambda paths=paths: [reader.read(path).page("a") for path in paths])
            print(f"{suffix:6} {asked.pages / took:8,.0f} pages/s  {took / alone:6.1f} times the text alone")
            if suffix == ".pdf":
                import pypdf

                peer = seconds(lambda paths=paths: [pypdf.PdfReader(path).pages[0].extract_text() for path in paths])
                print(
                    f"{'':6} {asked.pages / peer:8,.0f} pages/s by pypdf, without layout; ours is {peer / took:.1f} times as fast"
                )


if __name__ == "__main__":
    main()
