"""The four label variants of LisT5 (its Table 2) on a generated world: mean and spread over seeds.

    .venv/bin/python -m benchmarks.label_variants [--out DIR] [--pages N] [--seeds 3]

One ranker selects the evidence of all; each seed draws its own negatives and noise and trains its own
labellers, all from that ranker, with the same steps. Resumes where it was interrupted.
"""

from __future__ import annotations

import dataclasses

from benchmarks import spread
from lisax.corpora import open_folder
from lisax.papers.list5.recipe import WORLD_SHARES, Recipe
from lisax.papers.list5.report import finish
from lisax.papers.list5.run import List5
from lisax.world import write

VARIANTS = ("sum", "max", "listwise", "infused")


def main() -> None:
    args = spread.arguments(__doc__, "out/label_variants", 12_000)
    world = args.out / "world"
    if not (world / "world.json").is_file():
        write(world, args.pages, 0, shares=WORLD_SHARES)
    recipe = Recipe.read(["experiments/list5/label_variants.gin"])

    def run(seed: int) -> None:
        pipeline = List5(open_folder(world), args.out, dataclasses.replace(recipe, label_seed=seed))
        pipeline.run()
        finish(pipeline)

    found = [figures["variants"] for figures in spread.figures_of_seeds(args.out, args.seeds, run)]
    print(f"{'variant':10}  label accuracy    FEVER score       of {args.seeds} seeds, mean ± standard deviation")
    for variant in VARIANTS:
        columns = [[of_seed[variant][figure] for of_seed in found] for figure in ("label_accuracy", "fever_score")]
        print(f"{variant:10}  " + "     ".join(map(spread.mean_and_spread, columns)))
    spread.print_machine()


if __name__ == "__main__":
    main()
