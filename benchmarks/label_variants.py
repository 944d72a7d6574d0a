"""The four label variants of LisT5 (its Table 2) on a generated world: mean and spread over seeds.

    .venv/bin/python benchmarks/label_variants.py [--out DIR] [--pages N] [--seeds 3]

One ranker selects the evidence of all; each seed draws its own negatives and noise and trains its own
labellers, all from that ranker, with the same steps. Resumes where it was interrupted.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import platform
import statistics
from pathlib import Path

from lisax.corpora import open_folder
from lisax.pipelines.list5 import List5
from lisax.pipelines.list5_report import finish, versions
from lisax.pipelines.recipe import WORLD_SHARES, read_recipe
from lisax.records import write_json
from lisax.world import write

VARIANTS = ("sum", "max", "listwise", "infused")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("out/label_variants"))
    parser.add_argument("--pages", type=int, default=12_000)
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    world = args.out / "world"
    if not (world / "world.json").is_file():
        write(world, args.pages, 0, shares=WORLD_SHARES)
    recipe = read_recipe(["experiments/list5/label_variants.gin"])
    found = []
    for seed in range(args.seeds):
        figures = args.out / f"metrics.seed{seed}.json"
        if not figures.is_file():
            run = List5(open_folder(world), args.out, dataclasses.replace(recipe, label_seed=seed))
            run.run()
            finish(run)
            write_json(figures, json.loads((args.out / "metrics.json").read_text(encoding="utf-8")))
        found.append(json.loads(figures.read_text(encoding="utf-8"))["variants"])
    print(f"{'variant':10}  label accuracy    FEVER score       of {args.seeds} seeds, mean ± standard deviation")
    for variant in VARIANTS:
        columns = [[run[variant][figure] for run in found] for figure in ("label_accuracy", "fever_score")]
        print(f"{variant:10}  " + "     ".join(
            f"{statistics.mean(values):.3f} ± {statistics.stdev(values) if len(values) > 1 else 0:.3f}"
            for values in columns))
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores; " +
          ", ".join(f"{name} {version}" for name, version in versions().items()))


if __name__ == "__main__":
    main()
