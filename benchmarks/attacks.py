"""Speed of the attack kit on a generated world: claims attacked a second, by kind and all together.

    .venv/bin/python benchmarks/attacks.py [--claims 10000] [--repeats 3]

One process; lexical substitution is left out, since a model's speed decides it.
"""

from __future__ import annotations

import argparse
import itertools
import os
import platform
import statistics
import tempfile
import time
from pathlib import Path

from lisax.adversary.corpus import AttackCorpus
from lisax.adversary.kinds import BY_RULE, attacks
from lisax.adversary.writing import write_folder
from lisax.corpora import open_folder
from lisax.world import write

CLAIMS_PER_PAGE = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--claims", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        write(folder, -(-args.claims // CLAIMS_PER_PAGE) + 50, claims_per_page=CLAIMS_PER_PAGE)
        dataset = open_folder(folder)
        every = itertools.chain.from_iterable(dataset.claims(split) for split in dataset.splits)
        claims = list(itertools.islice(every, args.claims))

        def timed(kinds, out: Path) -> tuple[float, int]:
            start = time.perf_counter()
            corpus = AttackCorpus.open(folder)
            made = write_folder(out, {"train": attacks(claims, corpus, kinds)}, corpus, pages=False)
            seconds = time.perf_counter() - start
            return seconds, sum(sum(labels.values()) for labels in made["counts"]["train"].values())

        print(
            f"{len(claims):,} claims, with opening the corpus and writing: seconds, median of {args.repeats} (spread)"
        )
        for name, kinds in (*((kind, [kind]) for kind in BY_RULE), ("all", list(BY_RULE))):
            runs = [timed(kinds, Path(folder) / "out") for _ in range(args.repeats)]
            seconds = [run[0] for run in runs]
            print(
                f"{name:20} {statistics.median(seconds):6.2f} ({min(seconds):.2f}–{max(seconds):.2f})  "
                f"{runs[0][1]:,} attacks"
            )
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
