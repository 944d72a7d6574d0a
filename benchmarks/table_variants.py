"""Table fusion's variants (the paper's Tables 3 and 4) on a generated world: mean and spread over seeds.

    .venv/bin/python -m benchmarks.table_variants [--out DIR] [--pages 30000] [--seeds 3]
    .venv/bin/python -m benchmarks.table_variants --data DIR [--claims N] [--out DIR] [--seeds 3]

One model learns the gold table; from it each seed trains its own fusion models, all with the same steps. Tables come
from the words of the claim: by entities a world's gold table is first for nine claims of ten, which leaves nothing for
several tables to add. With `--data`, a folder of claims over tables, the variants are those of
`experiments/open_tables/minilm_fusion.gin` on N of its reported claims. Resumes where it was interrupted.
"""

from __future__ import annotations

import dataclasses

from benchmarks import spread
from lisax.corpora import open_folder
from lisax.papers.open_tables.recipe import TableRecipe
from lisax.papers.open_tables.report import finish
from lisax.papers.open_tables.run import OpenTables
from lisax.retrieval.cells import Strategy
from lisax.world import write


def main() -> None:
    args = spread.arguments(__doc__, "out/table_variants", 30_000, data="a folder of claims over tables")
    if args.data is not None:
        folder = args.data
        recipe = TableRecipe.read(["experiments/open_tables/minilm_fusion.gin"])
        recipe = dataclasses.replace(recipe, report_claims=args.claims)
    else:
        folder = args.out / "world"
        if not (folder / "world.json").is_file():
            write(folder, args.pages, 0, **OpenTables.world_settings)
        recipe = TableRecipe.read(["experiments/open_tables/world.gin"])
        recipe = dataclasses.replace(recipe, compared=(), strategy=str(Strategy.QUERY_WORD))

    def run(seed: int) -> None:
        pipeline = OpenTables(open_folder(folder), args.out, dataclasses.replace(recipe, fusion_seed=seed))
        pipeline.run()
        finish(pipeline)

    found = [figures["models"] for figures in spread.figures_of_seeds(args.out, args.seeds, run)]
    print(f"{'model':28}  accuracy           of {args.seeds} seeds, mean ± standard deviation")
    for model in found[0]:
        print(f"{model:28}  {spread.mean_and_spread([of_seed[model]['accuracy'] for of_seed in found])}")
    spread.print_machine()


if __name__ == "__main__":
    main()
