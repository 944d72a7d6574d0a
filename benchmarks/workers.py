"""Claims checked by one process and by workers of a Ray cluster on this machine: seconds of each, and equal bytes.

    .venv/bin/python -m benchmarks.workers [--claims 256] [--workers 1 2 3] [--json FILE]

A generated world's claims are checked by `lisax check` with the shipped labeller (MiniLM). Each run is a fresh process;
its seconds include the start of Ray and of the workers (the cluster is started for the command) and the opening of the
models. Started once, a cluster saves the first of these.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from lisax import world

REPOSITORY = Path(__file__).resolve().parents[1]


def lisax(*words: object) -> float:
    """Runs a command; returns its seconds."""
    started = time.monotonic()
    subprocess.run([sys.executable, "-m", "lisax", *map(str, words)], cwd=REPOSITORY, check=True, capture_output=True)
    return time.monotonic() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--claims", type=int, default=256)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder, found = Path(scratch), {}
        world.write(folder / "world", pages=2 * options.claims, seed=0)
        lines = (folder / "world" / "claims.train.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
        (folder / "claims.jsonl").write_text("".join(lines[: options.claims]), encoding="utf-8")
        lisax("index", "documents", "--corpus", folder / "world", "--out", folder / "index")
        given = ["check", "--claims", folder / "claims.jsonl", "--index", folder / "index", "--out"]
        for count in (0, *options.workers):
            more = ["--workers", f"ray,{count}"] if count else []
            found[count] = lisax(*given, folder / f"{count}.jsonl", *more)
            same = (folder / f"{count}.jsonl").read_bytes() == (folder / "0.jsonl").read_bytes()
            print(
                f"{count or 'no'} workers: {found[count]:6.1f} s, {'the same bytes' if same else 'OTHER BYTES'}",
                flush=True,
            )
            assert same
    if options.json:
        options.json.write_text(json.dumps({"claims": options.claims, "cores": os.cpu_count(), "seconds": found}))


if __name__ == "__main__":
    main()
