"""Entity-to-cell retrieval: the paper's table on TabFact, speed against plain scikit-learn, growth to 3 M tables.

    .venv/bin/python -m benchmarks.cells table  --data TABFACT [--splits dev] [--strategies ...] [--json FILE]
    .venv/bin/python -m benchmarks.cells speed  --data TABFACT [--rounds 3] [--claims 200] [--json FILE]
    .venv/bin/python -m benchmarks.cells growth [--tables 16000 100000 1000000 3000000] [--json FILE]

`table` gives H@1/3/5/10 for each strategy, split and kind of claim, entities linked against the gold table and from
the claim alone, and the same with ties broken in four orders: many tables of a page share caption and header, so
that the order of equal tables decides a tenth of all claims. The published dev and test figures are met, and lie
above train's as published, when the tables of train come last (`other splits first`, which needs train_id.json).

`speed` asks the same of the plain definition: all cells through TfidfVectorizer, a sparse product, the maximum over
each table's cells, the sum. Both sides answer in turns in one process; memory is of processes of their own (VmHWM).
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

from lisax.records import Claim, Table
from lisax.retrieval.cells import CellIndex, Strategy, build, cells_of
from lisax.retrieval.tables import CUTOFFS, MODES, entities, gold_tables

K, DEEP = 10, 300
# What the paper prints for dev, H@1/3/5/10.
PUBLISHED = {
    Strategy.QUERY_WORD: (41.7, 54.2, 59.0, 65.3),
    Strategy.QUERY_CHAR_23: (34.7, 45.5, 50.2, 56.8),
    Strategy.ENTITY_EXACT: (48.2, 57.9, 64.2, 67.3),
    Strategy.ENTITY_WORD: (56.0, 65.6, 74.1, 81.2),
    Strategy.ENTITY_CHAR_23: (69.6, 78.8, 82.3, 86.6),
    Strategy.ENTITY_CHAR_123: (62.3, 75.2, 80.1, 86.1),
}


def apart(measure: Callable[..., dict], *arguments) -> dict:
    """Runs a measurement in a fresh process, so that its peak memory is its own."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(measure, *arguments).result()


def peak_mib() -> float:
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


# --- The paper's table ----------------------------------------------------------------------


def table(arguments: argparse.Namespace) -> list[dict]:
    from lisax.corpora import open_folder

    data = open_folder(arguments.data)
    tables = list(data.tables())
    late = (
        set(json.loads((arguments.data / "train_id.json").read_text()))
        if (arguments.data / "train_id.json").is_file()
        else set()
    )
    found = []
    print(f"{'strategy':18} {'mode':7} {'split':6} {'claims':8} {'ties':20} " + " ".join(f"H@{k:<4}" for k in CUTOFFS))
    for strategy in map(Strategy, arguments.strategies):
        with tempfile.TemporaryDirectory() as folder:
            index = build(tables, folder, strategy)
            for split in arguments.splits:
                claims = list(data.claims(split))[:: arguments.step]
                gold = gold_tables({table.id: table for table in tables}.get, claims)
                for mode in MODES if not strategy.whole_query else ("claim",):
                    queries = [(claim.text,) if mode == "claim" else entities(claim, mode, gold) for claim in claims]
                    hits = index.search(queries, DEEP)
                    for kind in ("all", *sorted({claim.kind for claim in claims if claim.kind})):
                        some = [(claim, found) for claim, found in zip(claims, hits) if kind in ("all", claim.kind)]
                        for ties, rates in by_ties(some, tables, late).items():
                            found.append(
                                {
                                    "strategy": str(strategy),
                                    "mode": mode,
                                    "split": split,
                                    "claims": kind,
                                    "count": len(some),
                                    "ties": ties,
                                    "hits": rates,
                                }
                            )
                            print(
                                f"{strategy:18} {mode:7} {split:6} {kind:8} {ties:20} "
                                + " ".join(f"{100 * rate:6.1f}" for rate in rates),
                                flush=True,
                            )
        if "dev" in arguments.splits:
            published = " ".join(f"{rate:6.1f}" for rate in PUBLISHED[strategy])
            print(f"{strategy:18} {'published for dev':44} {published}")
    return found


def by_ties(
    found: list[tuple[Claim, list[tuple[str, float]]]], tables: list[Table], late: set[str]
) -> dict[str, list[float]]:
    """H@k with equal tables in their own order, in the reverse, at random (expected), and with `late` ones last."""
    place = {one.id: number for number, one in enumerate(tables)}
    orders = {"table order": lambda name: place[name], "reversed order": lambda name: -place[name]}
    if late:
        orders["other splits first"] = lambda name: (name in late, place[name])
    rates: dict[str, list[list[float]]] = {name: [] for name in (*orders, "at random")}
    for claim, hits in found:
        gold = claim.gold_ids[0]
        score = next((score for name, score in hits if name == gold), None)
        # Two sums may differ in float32's last digits where they are equal.
        better = sum(score is not None and other > score + 1e-5 for _, other in hits)
        equal = [name for name, other in hits if score is not None and abs(other - score) <= 1e-5]
        for name, order in orders.items():
            rank = better + 1 + sum(order(other) < order(gold) for other in equal)
            rates[name].append([float(score is not None and rank <= k) for k in CUTOFFS])
        rates["at random"].append([min(1.0, max(0.0, (k - better) / len(equal))) if equal else 0.0 for k in CUTOFFS])
    return {name: np.mean(values, axis=0).tolist() for name, values in rates.items()}


# --- Speed ----------------------------------------------------------------------------------


class PlainCells:
    """The definition as scikit-learn and scipy say it, a claim at a time."""

    def __init__(self, tables: list[Table]):
        from sklearn.feature_extraction.text import TfidfVectorizer

        cells = [[cell for cell in cells_of(one) if cell.strip()] for one in tables]
        cells = [some or ["-"] for some in cells]
        self.ids = [one.id for one in tables]
        self.starts = np.cumsum([0, *map(len, cells)])[:-1]
        self.vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 3))
        self.cells = self.vectorizer.fit_transform(cell for some in cells for cell in some).T.tocsr()

    def search(self, queries: list[tuple[str, ...]], k: int) -> list[list[tuple[str, float]]]:
        return [self._search(query, k) for query in queries]

    def _search(self, query: tuple[str, ...], k: int) -> list[tuple[str, float]]:
        if not query:
            return []
        products = (self.vectorizer.transform(query) @ self.cells).toarray()
        scores = np.maximum.reduceat(products, self.starts, axis=1).sum(axis=0)
        best = np.argsort(-scores, kind="stable")[:k]
        return [(self.ids[at], float(scores[at])) for at in best if scores[at] > 0]


def read_queries(data: Path) -> tuple[list[Table], list[tuple[str, ...]]]:
    """TabFact's tables and the linked entities of all dev claims."""
    from lisax.corpora import open_folder

    opened = open_folder(data)
    tables, claims = list(opened.tables()), list(opened.claims("dev"))
    gold = gold_tables({table.id: table for table in tables}.get, claims)
    return tables, [entities(claim, "linked", gold) for claim in claims]


def memory(data: Path, folder: Path, side: str) -> dict:
    """Peak memory of a process that builds an index, or opens one, and answers some claims; before and after."""
    tables, queries = read_queries(data)
    tables = [] if side == "ours, opened" else tables
    before = peak_mib()
    started = time.perf_counter()
    if side == "plain":
        index = PlainCells(tables)
    elif side == "ours, built":
        index = build(tables, folder / "again", Strategy.ENTITY_CHAR_23)
    else:
        index = CellIndex.open(folder / "index")
    seconds = time.perf_counter() - started
    index.search(queries[:50] if side == "plain" else queries, K)
    return {"seconds": seconds, "mib_before": before, "mib_peak": peak_mib()}


def speed(arguments: argparse.Namespace) -> dict:
    tables, queries = read_queries(arguments.data)
    folder = Path(tempfile.mkdtemp())
    ours, plain = build(tables, folder / "index", Strategy.ENTITY_CHAR_23), PlainCells(tables)
    chooser = random.Random(0)
    sample = chooser.sample(queries, arguments.claims)
    distinct = chooser.sample(sorted({(entity,) for query in queries for entity in query}), 10 * arguments.claims)
    check(ours.search(sample, K), plain.search(sample, K))
    rates: dict[str, list[float]] = {}
    for _ in range(arguments.rounds):
        for name, index, asked in (
            ("ours, all of dev", ours, queries),
            ("plain, sample", plain, sample),
            ("ours, sample", ours, sample),
            ("plain, distinct entities", plain, distinct[: arguments.claims]),
            ("ours, distinct entities", ours, distinct),
        ):
            started = time.perf_counter()
            index.search(asked, K)
            rates.setdefault(name, []).append(len(asked) / (time.perf_counter() - started))
    ratios = {
        name: statistics.median(a / b for a, b in zip(rates[one], rates[other]))
        for name, one, other in (
            ("all of dev", "ours, all of dev", "plain, sample"),
            ("sample", "ours, sample", "plain, sample"),
            ("distinct entities", "ours, distinct entities", "plain, distinct entities"),
        )
    }
    del ours, plain
    figures = {
        "queries_per_second": {name: statistics.median(values) for name, values in rates.items()},
        "ratios": ratios,
        "entities": sum(map(len, queries)),
        "distinct_entities": len({entity for query in queries for entity in query}),
        "index_mib": sum(path.stat().st_size for path in (folder / "index").rglob("*.*")) / 2**20,
        "memory": {
            side: apart(memory, arguments.data, folder, side) for side in ("plain", "ours, built", "ours, opened")
        },
    }
    shutil.rmtree(folder)
    print(json.dumps(figures, indent=2))
    return figures


def check(ours: list[list[tuple[str, float]]], plain: list[list[tuple[str, float]]]) -> None:
    """The same scores rank by rank, and the same tables but for those that float32 cannot tell apart."""
    for mine, theirs in zip(ours, plain, strict=True):
        if len(mine) != len(theirs) or any(abs(a - b) > 1e-4 for (_, a), (_, b) in zip(mine, theirs)):
            raise SystemExit(f"results differ: {mine} {theirs}")
        if theirs:
            last = theirs[-1][1] + 1e-4
            if {name for name, score in mine if score > last} != {name for name, score in theirs if score > last}:
                raise SystemExit(f"tables differ: {mine} {theirs}")


# --- Growth ---------------------------------------------------------------------------------


def made_tables(count: int, seed: int = 0) -> Iterator[Table]:
    """Tables of 20 cells on average, the distinct of which grow as in a crawl: names of two words (both frequent and
    rare ones), years, numbers, categories; headers repeat."""
    chooser = np.random.default_rng(seed)
    syllables = np.array([a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "er", "or")])
    words = np.array(["".join(chooser.choice(syllables, n)) for n in chooser.integers(2, 5, 200_000)])
    headers = np.array(["name", "year", "team", "points", "place", "home team", "score", "date", "title", "party"])
    for first in range(0, count, 1024):
        for number in range(first, min(first + 1024, count)):
            rows = int(chooser.integers(2, 7))
            names = words[np.minimum(chooser.zipf(1.2, 4 * rows + 3) - 1, len(words) - 1)]
            plain = words[chooser.integers(0, len(words), 2 * rows)]
            years, numbers = chooser.integers(1900, 2025, rows), chooser.integers(0, 100_000, rows)
            body = tuple(
                (f"{names[4 * row]} {plain[row]}", str(years[row]), str(numbers[row]), names[4 * row + 1])
                for row in range(rows)
            )
            yield Table(
                f"t{number}", "", tuple(chooser.choice(headers, 4)), body, f"{names[-1]} {plain[-1]} {years[0]}"
            )


def made_queries(tables: int, count: int = 1000) -> list[tuple[str, ...]]:
    """Three cells of one table each, one of them with a letter changed."""
    chooser = random.Random(1)
    asked = []
    for one in made_tables(min(tables, count)):
        first, last = chooser.choice(one.rows), chooser.choice(one.rows)
        asked.append((first[0], one.caption, last[0][:-1] + "x"))
    return asked


def grow(folder: Path, count: int) -> dict:
    started = time.perf_counter()
    index = build(made_tables(count), folder, Strategy.ENTITY_CHAR_23)
    seconds = time.perf_counter() - started
    return {
        "tables": len(index),
        "cells": index.settings["cells"],
        "build_seconds": seconds,
        "build_peak_mib": peak_mib(),
        "index_mib": sum(path.stat().st_size for path in folder.rglob("*.*")) / 2**20,
    }


def ask(folder: Path, count: int) -> dict:
    index, asked = CellIndex.open(folder), made_queries(count)
    index.search(asked[:1], K)
    started = time.perf_counter()
    hits = index.search(asked, K)
    seconds = time.perf_counter() - started
    found = sum(any(name == f"t{number}" for name, _ in some) for number, some in enumerate(hits))
    return {"queries_per_second": len(asked) / seconds, "search_peak_mib": peak_mib(), "hits@10": found / len(asked)}


def growth(arguments: argparse.Namespace) -> list[dict]:
    rows = []
    for count in arguments.tables:
        folder = arguments.out / f"cells-{count}"
        shutil.rmtree(folder, ignore_errors=True)
        rows.append(apart(grow, folder, count) | apart(ask, folder, count))
        shutil.rmtree(folder)
        print(json.dumps(rows[-1]), flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=("table", "speed", "growth"))
    parser.add_argument("--data", type=Path, help="TabFact's folder")
    parser.add_argument("--splits", nargs="+", default=["dev"])
    parser.add_argument("--strategies", nargs="+", default=list(PUBLISHED), type=Strategy)
    parser.add_argument("--step", type=int, default=1, help="table: every n-th claim only")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--claims", type=int, default=200, help="speed: the sample for scikit-learn")
    parser.add_argument("--tables", type=int, nargs="+", default=[16_000, 100_000, 1_000_000, 3_000_000])
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks"))
    parser.add_argument("--json", type=Path, help="also write all figures to this file")
    arguments = parser.parse_args()
    if arguments.what != "growth" and arguments.data is None:
        parser.error("--data TABFACT is needed")
    figures = {"table": table, "speed": speed, "growth": growth}[arguments.what](arguments)
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
