"""Claims checked in a second, from text to verdict: together, one at a time, and by `lisax check` in a fresh process.

    .venv/bin/python -m benchmarks.checker [--pages 400] [--claims 300] [--rounds 3]

Test claims of a generated world are checked against its pages with the model that comes along. `check_many` takes them
together, `check` one at a time; `lisax check --claims` starts, compiles and writes a file. Medians over rounds, in each
of which all run in turn. `first verdict` is `lisax check` of one claim over the five
example pages whose index is built already, without and with JAX's compilation cache.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import jax

from lisax import Checker, Index, example_model, example_pages
from lisax.corpora import open_folder
from lisax.world import write

LISAX = [sys.executable, "-m", "lisax"]


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def run(*command: str | Path, **environment: str) -> None:
    subprocess.run([*LISAX, *map(str, command)], check=True, capture_output=True, env=os.environ | environment)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=400)
    parser.add_argument("--claims", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, jax {jax.__version__}", flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder, model = Path(name), example_model()
        write(folder / "world", options.pages, seed=0)
        data = open_folder(folder / "world")
        claims = list(data.claims("train"))[: options.claims]
        file = folder / "claims.jsonl"
        lines = data.claim_file("train").read_text(encoding="utf-8").splitlines(keepends=True)
        file.write_text("".join(lines[: len(claims)]), encoding="utf-8")
        index = folder / "index"
        checker = Checker(Index.build(folder / "world", index, kind="documents"), verifier=model)

        ways: dict[str, Callable[[], object]] = {
            "Checker.check_many": lambda: list(checker.check_many(claims)),
            "Checker.check, one at a time": lambda: [checker.check(claim) for claim in claims],
            "lisax check --claims": lambda: run(
                "check", "--index", index, "--claims", file, "--model", model, "--out", folder / "checked.jsonl"
            ),
        }
        for work in list(ways.values())[:2]:
            work()
        taken = {way: [] for way in ways}
        for _ in range(options.rounds):
            for way, work in ways.items():
                taken[way].append(seconds(work))
        base = statistics.median(taken["Checker.check_many"])
        print(f"{len(claims)} claims over {options.pages} pages")
        for way, times in taken.items():
            median = statistics.median(times)
            print(f"{way:30} {median:7.2f} s  {len(claims) / median:7.1f} claims/s  {median / base:5.2f} of check_many")

        one = ("check", "Torimoor has 39,000 residents.", "--model", model, "--corpus", example_pages())
        run(*one)
        cached = {"JAX_COMPILATION_CACHE_DIR": str(folder / "cache")}
        run(*one, **cached)
        for name, environment in (("without a compilation cache", {}), ("with one", cached)):
            times = [seconds(lambda environment=environment: run(*one, **environment)) for _ in range(options.rounds)]
            print(f"first verdict {name}: {statistics.median(times):.1f} s")


if __name__ == "__main__":
    main()
