"""Claims checked in a second, from text to verdict: together, one at a time, and by `lisax check` in a fresh process.

    .venv/bin/python -m benchmarks.checker [--pages 400] [--claims 300] [--rounds 3]

Test claims of a generated world are checked against its pages with the model that comes along. `check_many` takes them
together, `check` one at a time; `lisax check --claims` starts, compiles and writes a file. Medians over rounds, in each
of which all run in turn. `first verdict` is `lisax check` of one claim by the shipped checker (MiniLM) over the five
example pages, whose index is built already, in a fresh process: by onnxruntime, in float32 and in 8 bits, and by JAX,
without and with its compilation cache; with the CPU's seconds, because only those mean much on a machine that is shared,
and the peak memory. `--claims 0` measures nothing else.
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
from lisax.scoring.backends import JAX, ONNX, ONNX_INT8, VARIABLE
from lisax.world import write

LISAX = [sys.executable, "-P", "-m", "lisax"]


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def run(*command: str | Path, **environment: str) -> None:
    subprocess.run([*LISAX, *map(str, command)], check=True, capture_output=True, env=os.environ | environment)


def first_verdict(environment: dict[str, str]) -> tuple[float, float, float]:
    """Seconds that passed, the CPU's seconds, and the peak memory in MiB."""
    command = [*LISAX, "check", "Torimoor has 39,000 residents.", "--corpus", str(example_pages())]
    start = time.perf_counter()
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ | environment
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, command
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def first_verdicts(cache: Path, rounds: int) -> None:
    ways = {
        "onnxruntime": {VARIABLE: ONNX},
        "onnxruntime, int8": {VARIABLE: ONNX_INT8},
        "JAX": {VARIABLE: JAX},
        "JAX, compiled before": {VARIABLE: JAX, "JAX_COMPILATION_CACHE_DIR": str(cache)}
        | {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"},
    }
    for environment in ways.values():  # the index is built, the cache filled
        first_verdict(environment)
    found = {name: [] for name in ways}
    for _ in range(rounds):
        for name, environment in ways.items():
            found[name].append(first_verdict(environment))
    for name, taken in found.items():
        wall, work, peak = map(statistics.median, zip(*taken))
        print(f"first verdict, {name:22}{wall:6.2f} s, {work:6.2f} s of the CPU, {peak:5.0f} MiB", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=400)
    parser.add_argument("--claims", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, jax {jax.__version__}", flush=True)
    with tempfile.TemporaryDirectory() as name:
        first_verdicts(Path(name) / "cache", options.rounds)
        if not options.claims:
            return
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


if __name__ == "__main__":
    main()
