"""What attacks cost a LisT5 verifier, and what each defence wins back, by kind and over seeds.

    .venv/bin/python -m benchmarks.defences [--out DIR] [--pages 12000] [--seeds 3]
    .venv/bin/python -m benchmarks.defences --data ../shared/data/fever --trained RUN --out DIR

On a generated world, or on data in FEVER's layout with the models of a finished `lisax run list5 --data DATA --out RUN`
to start from. Defences: the temporal step, a second hop of retrieval, training with a share of attacked claims mixed
in, and all of them. Each has its ranker, all from one base model; each seed trains its own labellers. Figures are FEVER
scores in percent; what a defence wins back is its gain over no defence, as a share of what the attacks had cost.
Resumes where it was interrupted.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable
from pathlib import Path

from benchmarks import spread
from lisax.corpora import open_folder
from lisax.files.writing import write_json
from lisax.metrics.fever import fever_score
from lisax.papers.attack_report import ALL, CLEAN, groups
from lisax.papers.base import REPORT
from lisax.papers.list5.recipe import WORLD_SHARES, Recipe
from lisax.papers.list5.run import List5
from lisax.papers.over_pages import ATTACKED
from lisax.predict.judging import judge_dates
from lisax.predict.verifier import verdict_of
from lisax.world import write

MIXED = {"attacked_share": 0.3}
TRAININGS = {"none": {}, "hops": {"hops": 2}, "mixing": MIXED, "all": {"hops": 2} | MIXED}
DEFENCES = ("none", "dates", "hops", "mixing", "all")


def main() -> None:
    args = spread.arguments(
        __doc__,
        "out/defences",
        12_000,
        data="a folder in FEVER's layout; default: a world is made",
        trained="with --data: the finished run whose models others start from",
    )
    if (args.data is None) != (args.trained is None):
        raise SystemExit("--data and --trained go together")
    variant = "any" if args.data is None else "infused"
    pipeline = world_run(args.out, args.pages) if args.data is None else data_run(args.out, args.data, args.trained)

    def run(seed: int) -> None:
        figures = {}
        for training in TRAININGS:
            made = pipeline(training, seed)
            made.run()
            for name, dates in {"none": (("none", False), ("dates", True)), "all": (("all", True),)}.get(
                training, ((training, False),)
            ):
                figures[name] = scores(made, variant, dates)
        write_json(args.out / "metrics.json", figures)

    report(spread.figures_of_seeds(args.out, args.seeds, run))
    spread.print_machine()


def world_run(out: Path, pages: int) -> Callable[[str, int], List5]:
    """(training, seed) -> its run over a world of `pages`; all start from the base that the first one trains."""
    world = out / "world"
    if not (world / "world.json").is_file():
        write(world, pages, 0, shares=WORLD_SHARES)
    data, first = open_folder(world), out / "none"
    recipe = dataclasses.replace(Recipe.read(["experiments/list5/demo.gin"]), attacks=True, attacked_claims=200)
    trained = {name: path for name, path in recipe.train.items() if name != "claim_only"}
    base = str((first / "models" / "base").absolute())

    def made(training: str, seed: int) -> List5:
        changes = {"train": trained, "label_seed": seed} | TRAININGS[training]
        if training != "none":
            changes |= {
                "train": {name: path for name, path in trained.items() if name != "base"},
                "initial": {"rank_entities": base, "label_pointwise": base},
                "vocabulary": str((first / "spiece.model").absolute()),
            }
        return List5(data, out / training, dataclasses.replace(recipe, **changes))

    return made


def data_run(out: Path, folder: Path, start: Path) -> Callable[[str, int], List5]:
    """(training, seed) -> its run over `folder`, from the base and the pointwise labeller of the run `start`."""
    data, recipe = open_folder(folder), Recipe.read(["experiments/list5/scratch.gin"])
    models = {"rank_entities": "base", "label_listwise_infused": "label_pointwise"}
    recipe = dataclasses.replace(
        recipe,
        attacks=True,
        warm_up=None,
        vocabulary=str((start / "spiece.model").absolute()),
        train={name: recipe.train[name] for name in models},
        initial={name: str((start / "models" / of).absolute()) for name, of in models.items()},
    )

    def made(training: str, seed: int) -> List5:
        return List5(data, out / training, dataclasses.replace(recipe, label_seed=seed, **TRAININGS[training]))

    return made


def scores(run: List5, variant: str, dates: bool) -> dict[str, float]:
    """FEVER score of each group of claims, in percent; `dates`: with the temporal step."""
    found = {}
    for name, claims in groups(run).items():
        role = REPORT if name == CLEAN else ATTACKED
        verdicts = run.verdicts(variant, role)
        kept = [verdicts[i] for i in claims]
        if dates:
            read = (
                verdict_of(claims[one.claim_id], one.probabilities, run.units.evidence(one.evidence)) for one in kept
            )
            kept = [verdict.prediction() for verdict in judge_dates(read, run.lookup)]
        found[name] = 100 * fever_score(claims, {verdict.claim_id: verdict for verdict in kept})["fever_score"]
    return found


def report(found: list[dict]) -> None:
    print(
        f"{'FEVER score':24}"
        + "".join(f"{name:>14}" for name in DEFENCES)
        + f"   of {len(found)} seeds, mean ± deviation"
    )
    for group in found[0]["none"]:
        columns = [[of_seed[name][group] for of_seed in found] for name in DEFENCES]
        print(f"{group:24}" + "".join(f"{spread.mean_and_spread(values, 1):>14}" for values in columns))
    for name in DEFENCES[1:]:
        won = [
            (of_seed[name][ALL] - of_seed["none"][ALL]) / (of_seed["none"][CLEAN] - of_seed["none"][ALL])
            for of_seed in found
        ]
        print(f"{name} wins back {100 * statistics.mean(won):.0f} % of what all attacks cost")


if __name__ == "__main__":
    main()
