"""Trains what LisaX ships and puts it where it stands: `lisax/shipped/warmup`, `text`, `ranker`, `tables` or `parts`.

    python -m benchmarks.ship warmup --data ../shared/data/tabfact ../shared/data/infotabs --out OUT
    python -m benchmarks.ship text --data ../shared/data/fever --out OUT
    python -m benchmarks.ship ranker --data ../shared/data/fever --out OUT
    python -m benchmarks.ship tables --data ../shared/data/tabfact ../shared/data/infotabs --out OUT
    python -m benchmarks.ship parts --data ../shared/data/wtq --out OUT

The labeller over text and the model of rows and columns begin from the warm-up, the ranker and the labeller over tables
from the labeller over text. Each is a run of the gin file that `MODELS` names (seed 0, about half an hour on two quiet cores, of `parts` an
hour) and resumes where it was interrupted; GLIBC_TUNABLES=glibc.malloc.hugetlb=1 takes a quarter off (`lisax train` sets
it by itself). Its dev figures are in OUT/metrics.json; the model card, which is written by hand, says them. The labeller over text is the mean of two such runs' adapters, in OUT/seed0 and so on, ten minutes each; its own
figures are those of `lisax run list5 --gin_file experiments/list5/given.gin --model minilm-text`.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import itertools
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors.numpy import load_file, save_file

from lisax import shipped
from lisax.corpora import Dataset, open_folder, plain
from lisax.files.writing import write_json
from lisax.papers.base import TRAIN, VALIDATION, Pipeline
from lisax.papers.cltr.recipe import CltrRecipe
from lisax.papers.cltr.report import finish as finish_parts
from lisax.papers.cltr.run import Cltr
from lisax.papers.list5.recipe import Recipe
from lisax.papers.list5.report import finish as finish_text
from lisax.papers.list5.run import List5
from lisax.papers.open_tables.recipe import TableRecipe
from lisax.papers.open_tables.report import finish as finish_tables
from lisax.papers.open_tables.run import OpenTables
from lisax.predict import calibrating
from lisax.predict.verifier import Verifier
from lisax.records import Claim
from lisax.retrieval.runs import read_run
from lisax.sampling.files import hashed_share
from lisax.training.export import export_adapter
from lisax.weights.checkpoints import add_fitted
from lisax.weights.interop.kinds import SAFETENSORS
from lisax.weights.model_folder import ModelFolder

CARD, TRAINING = "MODEL_CARD.md", "training.json"


class Shipped(NamedTuple):
    """`model`: the one of the run that is shipped; `seeds`: of the runs whose adapters are averaged; `claims`: its claims or
    questions by role and id; `most`: of a mixture, how many claims of each set it takes at most, for training, of which
    some are held out, and reported."""

    recipe: str
    read: Callable[..., Any]
    run: type[Pipeline]
    finish: Callable[[Any], str]
    model: str
    folder: Path
    claims: Callable[[Any, str], Iterable[str]]
    most: Mapping[str, tuple[int, ...]] = {}
    seeds: tuple[int, ...] = (0,)


MODELS = {
    "warmup": Shipped(
        "experiments/open_tables/minilm_warmup.gin",
        TableRecipe.read,
        OpenTables,
        finish_tables,
        "closed",
        shipped.FOLDER / "warmup",
        lambda run, role: run.claims_of(role),
        {"train": (6000, 17000), "dev": (1500, 1800)},
    ),
    "text": Shipped(
        "experiments/list5/minilm.gin",
        Recipe.read,
        List5,
        finish_text,
        "label_listwise_infused",
        shipped.FOLDER / "text",
        lambda run, role: run.claims_of(role),
        seeds=(0, 1),
    ),
    "ranker": Shipped(
        "experiments/list5/minilm_ranker.gin",
        Recipe.read,
        List5,
        finish_text,
        "rerank",
        shipped.FOLDER / "ranker",
        lambda run, role: run.claims_of(role),
    ),
    "tables": Shipped(
        "experiments/open_tables/minilm.gin",
        TableRecipe.read,
        OpenTables,
        finish_tables,
        "closed",
        shipped.FOLDER / "tables",
        lambda run, role: run.claims_of(role),
        {"train": (13000, 10000), "dev": (1500, 1800)},
    ),
    "parts": Shipped(
        "experiments/cltr/minilm.gin",
        CltrRecipe.read,
        Cltr,
        finish_parts,
        "parts",
        shipped.FOLDER / "parts",
        lambda run, role: run.questions[role],
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=MODELS)
    parser.add_argument("--data", type=Path, nargs="+", required=True, help="folders in the owners' layouts")
    parser.add_argument("--out", type=Path, required=True, help="folder of the run")
    given = parser.parse_args()
    one = MODELS[given.what]
    data, runs = data_of(given.data, given.out, one.most), []
    for seed in one.seeds:
        recipe = one.read([one.recipe], [f"{one.run.recipe_class.__name__}.seed = {seed}"])
        runs.append(one.run(data, given.out if len(one.seeds) == 1 else given.out / f"seed{seed}", recipe))
        runs[-1].run()
        print(one.finish(runs[-1]))
    run, made = runs[0], export_adapter(ModelFolder.find(runs[0].model_dir(one.model)), given.out / "adapter")
    if len(runs) > 1:
        average(made, [run.model_dir(one.model) for run in runs])
        calibrate(made, run)
    write_json(made / TRAINING, training(one, run))
    card = one.folder / CARD
    if card.is_file():
        shutil.copyfile(card, made / CARD)
    shutil.rmtree(one.folder, ignore_errors=True)
    shutil.move(made, one.folder)


def average(adapter: Path, models: Sequence[Path]) -> None:
    """Replaces an adapter's arrays by the means of the models' own, which were trained from the same start."""
    with tempfile.TemporaryDirectory() as scratch:
        folders = [export_adapter(ModelFolder.find(model), Path(scratch) / str(i)) for i, model in enumerate(models)]
        arrays = [load_file(folder / SAFETENSORS) for folder in folders]
    means = {name: np.mean([one[name] for one in arrays], axis=0) for name in arrays[0]}
    save_file(means, adapter / SAFETENSORS)
    (adapter / SAFETENSORS).chmod(0o644)  # safetensors lets its owner alone read it


def calibrate(adapter: Path, run: List5) -> None:
    """Fits the adapter's temperature on the claims that the run has held out of training."""
    held, verifier = run.claims_of(VALIDATION), calibrating.uncalibrated(Verifier.open(adapter))
    fitted = run.temperature_of(verifier, held.values(), read_run(run.selection_file(run.recipe.selector, VALIDATION)))
    add_fitted(adapter, {"calibration": dataclasses.asdict(fitted)})


def data_of(folders: Sequence[Path], out: Path, most: Mapping[str, tuple[int, ...]]) -> Dataset:
    """The one dataset, or a mixture of sets of claims over tables, which is written to `out/data` once."""
    if len(folders) == 1:
        return open_folder(folders[0])
    if (out / "data" / f"claims.{list(most)[-1]}.jsonl").is_file():
        return open_folder(out / "data")
    sets = [open_folder(folder, wording="written") for folder in folders]
    plain.write_tables(out / "data" / "tables.jsonl", itertools.chain.from_iterable(one.tables() for one in sets))
    for split, numbers in most.items():
        some = (_some(one.table_claims(split), number) for one, number in zip(sets, numbers, strict=True))
        claims = sorted(itertools.chain.from_iterable(some), key=_place)
        plain.write_claims(out / "data" / f"claims.{split}.jsonl", claims)
    return open_folder(out / "data")


def _some(claims: Iterable[Claim], number: int) -> list[Claim]:
    return sorted(claims, key=_place)[:number]


def _place(claim: Claim) -> float:
    return hashed_share(f"shipped {claim.id}")  # another order than that by which claims are held out


def training(one: Shipped, run: Any) -> dict:
    """Which claims or questions it has learned from: their number, and the SHA-256 of their ids."""
    roles = {"trained": TRAIN, "held_out": VALIDATION}
    return {"recipe": one.recipe, **{name: _described(one.claims(run, role)) for name, role in roles.items()}}


def _described(ids: Iterable[str]) -> dict:
    ids = sorted(ids)
    return {"claims": len(ids), "ids_sha256": hashlib.sha256("\n".join(ids).encode()).hexdigest()}


if __name__ == "__main__":
    main()
