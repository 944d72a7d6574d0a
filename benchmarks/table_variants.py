"""Table fusion's variants (the paper's Tables 3 and 4) on a generated world: mean and spread over seeds.

    .venv/bin/python benchmarks/table_variants.py [--out DIR] [--pages 30000] [--seeds 3]

One model learns the gold table; from it each seed trains its own fusion models, all with the same steps. Resumes where
it was interrupted.
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
from lisax.pipelines.list5_report import versions
from lisax.pipelines.open_tables import OpenTables
from lisax.pipelines.open_tables_report import finish
from lisax.pipelines.table_recipe import read_recipe
from lisax.records import write_json
from lisax.world import write


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("out/table_variants"))
    parser.add_argument("--pages", type=int, default=30_000)
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    world = args.out / "world"
    if not (world / "world.json").is_file():
        write(world, args.pages, 0, **OpenTables.world_shares)
    recipe = dataclasses.replace(read_recipe(["experiments/open_tables/world.gin"]), compared=())
    found = []
    for seed in range(args.seeds):
        figures = args.out / f"metrics.seed{seed}.json"
        if not figures.is_file():
            run = OpenTables(open_folder(world), args.out, dataclasses.replace(recipe, fusion_seed=seed))
            run.run()
            finish(run)
            write_json(figures, json.loads((args.out / "metrics.json").read_text(encoding="utf-8")))
        found.append(json.loads(figures.read_text(encoding="utf-8"))["models"])
    print(f"{'model':28}  accuracy           of {args.seeds} seeds, mean ± standard deviation")
    for model in found[0]:
        values = [run[model]["accuracy"] for run in found]
        spread = statistics.stdev(values) if len(values) > 1 else 0
        print(f"{model:28}  {statistics.mean(values):.3f} ± {spread:.3f}")
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores; " +
          ", ".join(f"{name} {version}" for name, version in versions().items()))


if __name__ == "__main__":
    main()
