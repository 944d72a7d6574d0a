"""How the document stage grows: time, memory and queries a second from 1,000 world pages up.

    .venv/bin/python -m benchmarks.retrieval [--pages 1000 10000 100000 1000000] [--queries 1000] [--json FILE]

For each size, a world of that many pages is written once (`--data`, kept and reused), then in fresh processes:
the whole index is built from it (BM25, titles, pages); claims are searched with each method; and the same
tokens go into a plain in-memory bm25s index, with which BM25 search is timed in alternation, one thread each.
Memory is the process's peak (VmHWM; at search it counts index pages that the kernel keeps mapped, too).
100,000 pages take about two minutes on two shared cores; 1,000,000 ten times that.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import shutil
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from pathlib import Path

from lisax.files.writing import atomic_write
from lisax.records import Claim
from lisax.world.claims import ClaimWriter
from lisax.world.facts import SIZE
from lisax.world.writing import neighbourhoods, page_row, plain_row

K = 100
ROUNDS = 5
PIECE = 256  # neighbourhoods that a process writes at a time


def world(folder: Path, pages: int) -> Path:
    """The world's folder, written unless it is there complete: pages, and a claim about one of each neighbourhood."""
    data = folder / f"world-{pages}"
    if not (claims := data / "claims.dev.jsonl").is_file():
        numbers = range(-(-pages // SIZE))
        pieces = [numbers[n : n + PIECE] for n in range(0, len(numbers), PIECE)]
        # The claims are complete last.
        with ProcessPoolExecutor() as pool, atomic_write(claims) as asked, atomic_write(data / "pages.jsonl") as file:
            for lines, about in pool.map(_piece, repeat(pages), pieces):
                file.writelines(lines)
                asked.writelines(about)
    return data


def _piece(pages: int, numbers: range) -> tuple[list[str], list[str]]:
    """The lines of the pages of some neighbourhoods, and of their claims."""
    lines, claims = [], []
    for geography, place, written in neighbourhoods(pages, numbers=numbers):
        lines += [json.dumps(page_row(page), ensure_ascii=False) + "\n" for page in written]
        writer = ClaimWriter(geography, place, written, geography.rng(place.number, "claims"))
        for stated in writer.claims(written[0].entity, 1):
            claims.append(json.dumps(plain_row(stated.claim, f"w{place.number}"), ensure_ascii=False) + "\n")
    return lines, claims


def claims_of(data: Path, count: int) -> list[Claim]:
    """Up to `count` claims with evidence, spread over the dev split."""
    from lisax.corpora import open_folder

    claims = [claim for claim in open_folder(data).claims("dev") if claim.evidence_sets]
    return claims[:: max(1, len(claims) // count)][:count]


def peak_mib() -> float:
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def build(data: Path, index: Path, queries: int) -> dict:
    from lisax.corpora import open_folder
    from lisax.retrieval.documents import build_index

    started = time.perf_counter()
    build_index(open_folder(data).documents(), index)
    return {
        "build_seconds": time.perf_counter() - started,
        "build_cpu_seconds": time.process_time(),
        "build_peak_mib": peak_mib(),
        "index_mib": sum(path.stat().st_size for path in index.rglob("*") if path.is_file()) / 2**20,
    }


def search(data: Path, index: Path, queries: int) -> dict:
    from lisax.retrieval.documents import METHODS, DocumentIndex, retrieve
    from lisax.retrieval.recall import recall

    claims = claims_of(data, queries)
    opened = DocumentIndex.open(index)
    started = time.perf_counter()
    list(retrieve(opened, claims[:1], K))
    figures = {"first_query_seconds": time.perf_counter() - started}
    for method in METHODS:
        started = time.perf_counter()
        run: dict[str, list[str]] = {}
        for hit in retrieve(opened, claims, K, method=method):
            run.setdefault(hit.query_id, []).append(hit.id)
        figures[f"{method}_queries_per_second"] = len(claims) / (time.perf_counter() - started)
        figures[f"{method}_recall_complete@10"] = recall(claims, run, (10,)).get("recall_complete@10", 0.0)
    return figures | {"search_peak_mib": peak_mib()}


def peer(data: Path, index: Path, queries: int) -> dict:
    """bm25s as it comes, in memory, on our tokens; answers must agree with ours."""
    import bm25s

    from lisax.corpora import open_folder
    from lisax.retrieval.bm25 import Bm25Index
    from lisax.retrieval.documents import indexed_text
    from lisax.retrieval.terms import Terms

    started = time.perf_counter()
    vocabulary: dict[str, int] = {}
    terms = Terms(lambda stem: vocabulary.setdefault(stem, len(vocabulary)))
    ids, texts = [], []
    for document in open_folder(data).documents():
        ids.append(document.id)
        texts.append(terms(indexed_text(document)))
    plain = bm25s.BM25(k1=0.6, b=0.5, method="lucene", backend="numba")
    plain.index((texts, vocabulary), show_progress=False)
    figures = {"bm25s_build_seconds": time.perf_counter() - started, "bm25s_build_peak_mib": peak_mib()}
    del texts

    known = Terms(lambda stem: vocabulary.get(stem, -1))
    claims = [claim.text for claim in claims_of(data, queries)]
    k = min(K, len(ids))
    ours = Bm25Index.open(index)

    def ask_ours():
        return ours.search(claims, k, threads=1)

    def ask_bm25s():
        numbers, scores = plain.retrieve([known(claim) for claim in claims], k=k, n_threads=1, show_progress=False)
        return [
            [(ids[n], s) for n, s in zip(row, row_scores) if s > 0]
            for row, row_scores in zip(numbers.tolist(), scores.tolist())
        ]

    for mine, theirs in zip(ask_ours(), ask_bm25s(), strict=True):  # compiles both, too
        for (_, score), (_, expected) in zip(mine, theirs, strict=True):
            if abs(score - expected) > 1e-4 * expected:
                raise SystemExit(f"scores differ: ours {score}, bm25s {expected}")
    ratios, seconds = [], {"ours": [], "bm25s": []}
    for _ in range(ROUNDS):
        for name, ask in (("ours", ask_ours), ("bm25s", ask_bm25s)):
            started = time.perf_counter()
            ask()
            seconds[name].append(time.perf_counter() - started)
        ratios.append(seconds["bm25s"][-1] / seconds["ours"][-1])
    for name, values in seconds.items():
        figures[f"{name}_one_thread_queries_per_second"] = len(claims) / statistics.median(values)
    return figures | {"search_speed_ratio_to_bm25s": statistics.median(ratios)}


def apart(measure: Callable[..., dict], *arguments) -> dict:
    """Runs a measurement in a fresh process, so that its peak memory is its own."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(measure, *arguments).result()


COLUMNS = (
    ("pages", "pages", ",.0f"),
    ("build_seconds", "build s", ".1f"),
    ("build_cpu_seconds", "CPU s", ".1f"),
    ("build_peak_mib", "build MiB", ",.0f"),
    ("index_mib", "index MiB", ",.0f"),
    ("search_peak_mib", "search MiB", ",.0f"),
    ("bm25_queries_per_second", "bm25 q/s", ",.0f"),
    ("titles_queries_per_second", "titles q/s", ",.0f"),
    ("both_queries_per_second", "both q/s", ",.0f"),
    ("both_recall_complete@10", "R@10", ".3f"),
    ("bm25s_build_seconds", "bm25s build s", ".1f"),
    ("bm25s_build_peak_mib", "bm25s MiB", ",.0f"),
    ("ours_one_thread_queries_per_second", "q/s 1 thread", ",.0f"),
    ("bm25s_one_thread_queries_per_second", "bm25s q/s", ",.0f"),
    ("search_speed_ratio_to_bm25s", "ratio", ".2f"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pages", type=int, nargs="+", default=[1000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--peer-pages", type=int, default=1_000_000, help="bm25s, in memory, at no more pages")
    parser.add_argument("--data", type=Path, default=Path("out/benchmarks/retrieval"))
    parser.add_argument("--json", type=Path, help="also write all figures to this file")
    arguments = parser.parse_args()
    print("  ".join(title for _, title, _ in COLUMNS), flush=True)
    rows = []
    for pages in arguments.pages:
        data = world(arguments.data, pages)
        index = arguments.data / f"index-{pages}"
        shutil.rmtree(index, ignore_errors=True)
        row = {"pages": pages}
        for measure in (build, search, peer) if pages <= arguments.peer_pages else (build, search):
            row |= apart(measure, data, index, arguments.queries)
        rows.append(row)
        shown = (f"{row[name]:{form}}" if name in row else "-" for name, _, form in COLUMNS)
        print("  ".join(text.rjust(len(title)) for text, (_, title, _) in zip(shown, COLUMNS)), flush=True)
        if arguments.json:
            arguments.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
