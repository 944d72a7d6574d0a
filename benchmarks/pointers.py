"""DeSePtion's Tables 6 to 8 on MiniLM: every variant on claims in FEVER's layout, as mean and spread over seeds.

    .venv/bin/python -m benchmarks.pointers --data ../shared/data/fever [--claims N] [--out DIR] [--seeds 3]

The recipe is `experiments/deseption/minilm.gin`; a seed draws its own examples and trains its own pointers, and all share
what the encoders say of a text, which is computed once in a process. Accuracy, recall of complete evidence and FEVER score
are of N reported claims; then the FEVER score of attacked ones, by kind. Resumes where it was interrupted.
"""

from __future__ import annotations

import dataclasses

from benchmarks import spread
from lisax.corpora import open_folder
from lisax.papers.deseption.recipe import PointerRecipe
from lisax.papers.deseption.report import ROWS, finish
from lisax.papers.deseption.run import Deseption

MEASURES = ("label_accuracy", "evidence_recall", "fever_score")


def main() -> None:
    args = spread.arguments(__doc__, "out/pointers", 0, data="claims and pages in FEVER's layout")
    recipe = PointerRecipe.read(["experiments/deseption/minilm.gin"])
    recipe = dataclasses.replace(recipe, report_claims=args.claims)

    def run(seed: int) -> None:
        pipeline = Deseption(open_folder(args.data), args.out, dataclasses.replace(recipe, seed=seed))
        pipeline.run()
        finish(pipeline)

    found = spread.figures_of_seeds(args.out, args.seeds, run)

    def percent(*of_seeds: float) -> str:
        return spread.mean_and_spread([100 * value for value in of_seeds], 1)

    print(f"\n{args.seeds} seeds, mean and standard deviation, percent")
    print("| variant | accuracy | recall | FEVER |\n|---|---|---|---|")
    for name in found[0]["variants"]:
        cells = [percent(*(figures["variants"][name][measure] for figures in found)) for measure in MEASURES]
        print(f"| {ROWS[name]} | {' | '.join(cells)} |")
    kinds = [figures["attacks"]["by_kind"] for figures in found]
    print(f"\n| FEVER score of | {' | '.join(ROWS[name] for name in found[0]['variants'])} |")
    print("|---" * (1 + len(found[0]["variants"])) + "|")
    for kind in kinds[0]:
        scores = [[of[kind]["variants"][name]["fever_score"] for of in kinds] for name in found[0]["variants"]]
        print(f"| {kind} ({kinds[0][kind]['claims']}) | {' | '.join(percent(*values) for values in scores)} |")
    spread.print_machine()


if __name__ == "__main__":
    main()
