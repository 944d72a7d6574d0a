"""Trains the checker that LisaX ships and puts it where it stands, `lisax/shipped/text`.

    python -m benchmarks.ship --data ../shared/data/fever --out OUT

The run of `experiments/list5/minilm.gin` (seed 0, about half an hour on two cores) resumes where it was interrupted. Its
dev figures are in OUT/metrics.json; the model card, which is written by hand, says them.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
from collections.abc import Iterable
from pathlib import Path

from lisax import shipped
from lisax.corpora import open_folder
from lisax.papers.base import TRAIN, VALIDATION
from lisax.papers.list5.recipe import Recipe
from lisax.papers.list5.report import finish
from lisax.papers.list5.run import List5
from lisax.records import write_json
from lisax.runtime.export import export_adapter

RECIPE = "experiments/list5/minilm.gin"
MODEL = "label_listwise_infused"
CARD, TRAINING = "MODEL_CARD.md", "training.json"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="FEVER's sample, in the official layout")
    parser.add_argument("--out", type=Path, required=True, help="folder of the run")
    given = parser.parse_args()
    run = List5(open_folder(given.data), given.out, Recipe.read([RECIPE]))
    run.run()
    print(finish(run))
    made = export_adapter(run.model_dir(MODEL), given.out / "adapter")
    write_json(made / TRAINING, training(run))
    card = shipped.labeller() / CARD
    if card.is_file():
        shutil.copyfile(card, made / CARD)
    shutil.rmtree(shipped.labeller(), ignore_errors=True)
    shutil.move(made, shipped.labeller())


def training(run: List5) -> dict:
    """Which claims it has learned from: their number, and the SHA-256 of their ids."""
    roles = {"trained": TRAIN, "held_out": VALIDATION}
    return {"recipe": RECIPE, **{name: _described(run.claims_of(role)) for name, role in roles.items()}}


def _described(ids: Iterable[str]) -> dict:
    ids = sorted(ids)
    return {"claims": len(ids), "ids_sha256": hashlib.sha256("\n".join(ids).encode()).hexdigest()}


if __name__ == "__main__":
    main()
