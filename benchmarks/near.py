"""Near vectors of real texts: recall and time of exact and approximate search, and of fewer bits on disk.

    lisax models get minilm
    .venv/bin/python -m benchmarks.near [--data ../shared/data] [--vectors out/benchmarks/near] [--counts 10000 100000]

108,905 sentences and statements of FEVER, FM2, WiCE, DART, WebNLG, FEVER Symmetric, InfoTabs and TabFact are encoded by
MiniLM in a random order, in blocks that are kept and resumed (an hour or more on two cores). Questions are claims and
questions of FEVER, FM2, WiCE, Natural Questions and TabFact. For each count the first of these vectors are searched: of
`--asked` questions the share of the exact first 10, and of the first 300, which `lisax check` takes, is printed with
milliseconds of CPU time a question, all at once. Runs from the repository's root.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import re
import tarfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import faiss
import numpy as np

from lisax.corpora import open_folder
from lisax.files.reading import read_json_lines
from lisax.files.writing import atomic_write
from lisax.predict.sentence_encoder import SentenceEncoder
from lisax.retrieval.dense import NEIGHBOURS, PROBES, REACHED, TRAINED_BY, TRIED
from lisax.retrieval.vector_codes import coded, floats

BLOCK = 2048
TOP, DEPTH = 10, 300
SHORTEST = 20  # characters of a text


def rows(path: Path) -> Iterator[dict]:
    return (row for _, row in read_json_lines(path))


def texts_of(data: Path) -> list[str]:
    """Sentences and statements, each once."""
    pages = open_folder(data / "fever").documents()
    found = [f"{page.title}: {one.text}" for page in pages for one in page.sentences if one.text.strip()]
    for row in rows(data / "fm2/dev.jsonl"):
        evidence = row["gold_evidence"] + row["retrieved_evidence"]
        found += [f"{row.get('page') or row.get('wikipedia_page') or ''}: {one['text']}" for one in evidence]
    for row in rows(data / "wice/dev.jsonl"):
        found += row["evidence"]
    for record in json.loads((data / "dart/dart-v1.1.1-full-dev.json").read_text()):
        found += [one["text"] for one in record["annotations"]]
    with tarfile.open(data / "webnlg/webnlg_2017_train_dev.tar.gz") as archive:
        for file in archive:
            if file.isfile() and file.name.endswith(".xml"):
                found += re.findall(r"<lex[^>]*>(.*?)</lex>", archive.extractfile(file).read().decode(), re.DOTALL)
    found += [row["evidence"] for row in rows(data / "adversarial/fever-symmetric-dev.jsonl")]
    with (data / "infotabs/infotabs_train.tsv").open(encoding="utf-8") as file:
        found += [row["hypothesis"] for row in csv.DictReader(file, delimiter="\t")]
    found += [row["claim"] for row in rows(data / "tabfact/train_core.jsonl")]
    return list(dict.fromkeys(text.strip() for text in found if len(text.strip()) >= SHORTEST))


def questions_of(data: Path) -> list[str]:
    found = [row["claim"] for row in rows(data / "fever/dev.jsonl")]
    found += [row.get("claim") or row["text"] for row in rows(data / "fm2/dev.jsonl")]
    found += [row["claim"] for row in rows(data / "wice/dev.jsonl")]
    found += [row["question"] for row in rows(data / "questions/NQ-open.dev.jsonl")]
    tables = json.loads((data / "tabfact/val_examples_raw.json").read_text())
    found += [claim for claims, *_ in tables.values() for claim in claims][::10]
    return list(dict.fromkeys(found))


def encoded(folder: Path, name: str, texts: list[str], encoder: SentenceEncoder) -> Iterator[np.ndarray]:
    """The vectors of texts by blocks, of which those in `folder` are read."""
    for start in range(0, len(texts), BLOCK):
        path = folder / f"{name}-{start:07d}.npy"
        if not path.is_file():
            with atomic_write(path, "wb") as file:
                np.save(file, encoder.encode(texts[start : start + BLOCK]))
        yield np.load(path)


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """The result, and seconds of CPU time."""
    started = time.process_time()
    return work(), time.process_time() - started


def measure(vectors: np.ndarray, asked: np.ndarray) -> None:
    few, width = asked[:DEPTH], vectors.shape[1]
    exact = faiss.IndexFlatIP(width)
    exact.add(vectors)
    (_, best), seconds = timed(lambda: exact.search(asked, TOP))
    _, deep = exact.search(few, DEPTH)
    _, alone = timed(lambda: [exact.search(one[None], TOP) for one in few])
    print(f"{len(vectors):,} vectors; exact {seconds / len(asked) * 1e3:.2f} ms, alone {alone / len(few) * 1e3:.2f}")

    def tell(name: str, index: faiss.Index, more: str = "") -> None:
        (_, found), seconds = timed(lambda: index.search(asked, TOP))
        _, further = index.search(few, DEPTH)
        top, depth = (
            np.mean([len({*a} & {*b}) / len(b) for a, b in zip(mine, right)])
            for mine, right in ((found, best), (further, deep))
        )
        print(
            f"  {name:24} {top:.1%} of {TOP}, {depth:.1%} of {DEPTH}, {seconds / len(asked) * 1e3:.2f} ms{more}",
            flush=True,
        )

    for bits in (16, 8):
        index = faiss.IndexFlatIP(width)
        index.add(floats(stored := coded(vectors, bits)))
        tell(f"exact, {bits} bits", index, f", {stored.nbytes / len(stored):.0f} bytes a vector")
    lists = max(1, min(round(4 * math.sqrt(len(vectors))), len(vectors) // 39))
    for kind, tried, settings in (
        (f"IVF{lists},SQ8", 0, (64, PROBES)),
        (f"HNSW{NEIGHBOURS},SQ8", 40, (128, REACHED)),
        (f"HNSW{NEIGHBOURS},SQ8", TRIED, (128, REACHED)),
    ):
        index = faiss.index_factory(width, kind, faiss.METRIC_INNER_PRODUCT)
        if tried:
            index.hnsw.efConstruction = tried
        index.train(vectors[:: max(1, len(vectors) // (TRAINED_BY * lists))])
        _, seconds = timed(lambda: index.add(vectors))
        for setting in settings:
            if tried:
                index.hnsw.efSearch = setting
            else:
                index.nprobe = setting
            tell(f"{kind}, {tried or ''} {setting}", index, f", {seconds:.0f} s to build")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--vectors", type=Path, default=Path("out/benchmarks/near"))
    parser.add_argument("--counts", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--asked", type=int, default=1000)
    arguments = parser.parse_args()
    faiss.omp_set_num_threads(1)
    encoder, texts = SentenceEncoder.open("minilm"), texts_of(arguments.data)
    order = np.random.default_rng(0).permutation(len(texts))[: max(arguments.counts)]
    questions = questions_of(arguments.data)
    chosen = np.random.default_rng(0).permutation(len(questions))[: arguments.asked]
    asked = np.concatenate([*encoded(arguments.vectors, "questions", [questions[i] for i in chosen], encoder)])
    vectors = np.concatenate([*encoded(arguments.vectors, "texts", [texts[i] for i in order], encoder)])
    for count in arguments.counts:
        measure(vectors[:count], asked)


if __name__ == "__main__":
    main()
