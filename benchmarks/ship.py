"""Trains a model that ships and puts it into `lisax/shipped`.

    python -m benchmarks.ship warmup --data ../shared/data/tabfact ../shared/data/infotabs --out OUT
    python -m benchmarks.ship text --data ../shared/data/fever --out OUT
    python -m benchmarks.ship ranker --data ../shared/data/fever --out OUT
    python -m benchmarks.ship tables --data ../shared/data/tabfact ../shared/data/infotabs --out OUT
    python -m benchmarks.ship parts --data ../shared/data/wtq --out OUT
    python -m benchmarks.ship accurate/text --data ../shared/data/fever --out OUT
    python -m benchmarks.ship accurate/tables --data ../shared/data/tabfact ../shared/data/infotabs --out OUT

The model of rows and columns begins from the warm-up, and `accurate/tables` from `accurate/text`; `accurate`, which
teaches `light`, comes before it. Each is a run of the gin file that `MODELS` names (seed 0, about half an hour on two
quiet cores, of `parts` more; of `accurate`, `text` and `tables` minutes of a GPU, and hours of two cores) and resumes
where it was interrupted; GLIBC_TUNABLES=glibc.malloc.hugetlb=1 takes a quarter off (`lisax train` sets it by itself).
Its dev figures are in OUT/metrics.json; the model card, which is written by hand, says them.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors.numpy import load_file, save_file

from lisax import shipped
from lisax.corpora import Dataset, open_folder, plain
from lisax.files.writing import write_json
from lisax.models.axes import LORA_A, LORA_B
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
from lisax.records import Claim
from lisax.sampling.files import hashed_share
from lisax.training.export import export_adapter
from lisax.weights.checkpoints import add_fitted
from lisax.weights.interop.kinds import SAFETENSORS
from lisax.weights.model_folder import ModelFolder

CARD, TRAINING = "MODEL_CARD.md", "training.json"
MOST_BYTES = 5_000_000  # of an adapter in the repository


class Shipped(NamedTuple):
    """A model by its folder in `lisax/shipped`. `model`: the one of the run that is shipped; `claims`: its claims or
    questions by role and id; `most`: of a mixture, how many claims of each set it takes at most (None: all), for training,
    of which some are held out, and reported; `biases`: of its labels, see `metrics.temperature`."""

    recipe: str
    read: Callable[..., Any]
    run: type[Pipeline]
    finish: Callable[[Any], str]
    model: str
    claims: Callable[[Any, str], Iterable[str]]
    most: Mapping[str, tuple[int | None, ...]] = {}
    biases: tuple[float, ...] = ()


def _claims(run: Pipeline, role: str) -> Iterable[str]:
    return run.claims_of(role)


def _over_text(recipe: str, model: str = "label_listwise_infused", biases: tuple[float, ...] = ()) -> Shipped:
    return Shipped(recipe, Recipe.read, List5, finish_text, model, _claims, biases=biases)


def _over_tables(recipe: str, tabfact: int | None = None, infotabs: int | None = None) -> Shipped:
    most = {"train": (tabfact, infotabs), "dev": (1500, 1800)}
    return Shipped(recipe, TableRecipe.read, OpenTables, finish_tables, "closed", _claims, most)


MODELS = {
    "warmup": _over_tables("experiments/open_tables/minilm_warmup.gin", 6000, 17000),
    "text": _over_text("experiments/list5/minilm_taught.gin", biases=(0.5, 0.2, -0.1)),
    "ranker": _over_text("experiments/list5/minilm_ranker.gin", "rerank"),
    "tables": _over_tables("experiments/open_tables/minilm_taught.gin"),
    "parts": Shipped(
        "experiments/cltr/minilm.gin",
        CltrRecipe.read,
        Cltr,
        finish_parts,
        "parts",
        lambda run, role: run.questions[role],
    ),
    "accurate/text": _over_text("experiments/list5/mpnet.gin", biases=(0.3, 0.1, 0.0)),
    "accurate/tables": _over_tables("experiments/open_tables/mpnet.gin"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=MODELS)
    parser.add_argument("--data", type=Path, nargs="+", required=True, help="folders in the owners' layouts")
    parser.add_argument("--out", type=Path, required=True, help="folder of the run")
    given = parser.parse_args()
    one = MODELS[given.what]
    data = data_of(given.data, given.out, one.most)
    run = one.run(data, given.out, one.read([one.recipe]))
    run.run()
    print(one.finish(run))
    model = ModelFolder.find(run.model_dir(one.model))
    if one.biases:
        add_fitted(model.folder, {"calibration": {**model.card["calibration"], "biases": one.biases}})
    made = export_adapter(ModelFolder.find(run.model_dir(one.model)), given.out / "adapter")
    if (made / SAFETENSORS).stat().st_size > MOST_BYTES:
        halve(made)
    write_json(made / TRAINING, training(one, run))
    folder = shipped.FOLDER / given.what
    if (folder / CARD).is_file():
        shutil.copyfile(folder / CARD, made / CARD)
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(exist_ok=True)
    shutil.move(made, folder)


def halve(adapter: Path) -> None:
    """Writes an adapter's matrices in float16, which is as exact as bfloat16 products need; its head stays float32."""
    arrays = load_file(adapter / SAFETENSORS)
    halved = {name: one.astype(np.float16) if name.endswith((LORA_A, LORA_B)) else one for name, one in arrays.items()}
    save_file(halved, adapter / SAFETENSORS)
    (adapter / SAFETENSORS).chmod(0o644)  # safetensors lets its owner alone read it


def data_of(folders: Sequence[Path], out: Path, most: Mapping[str, tuple[int | None, ...]]) -> Dataset:
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


def _some(claims: Iterable[Claim], number: int | None) -> list[Claim]:
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
