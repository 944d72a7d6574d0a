"""Registers a dataset, trains a labeller on it, exports the model and loads it again.

    python examples/train_own_claims.py [OUT]

`examples/claims` holds claims about six towns, in the layout of docs/data.md. The model starts from nothing and learns
fifteen claims by heart: this shows the way from a dataset to a verdict, not what a model can do. What is written goes to
OUT, by default the folder `towns`. Training needs the extra `train`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from lisax import Verifier, cli
from lisax.tasks.register import register

CLAIMS = Path(__file__).parent / "claims"
out = Path(sys.argv[1] if len(sys.argv) > 1 else "towns")


def lisax(*words: str) -> None:
    """What `lisax WORDS` does on the command line."""
    if status := cli.main(words):
        sys.exit(status)


towns = register("towns", folder=CLAIMS, out=out / "tasks", vocabulary="train")
print("tasks:", *sorted(towns.tasks.values()))
print("examples:", towns.counts["label_pointwise"])

towns.write_gin(out / "towns.gin", "label_pointwise", model="t5_1_1_micro")
lisax(
    "train",
    f"--gin_file={out / 'towns.gin'}",
    f"--gin.MODEL_DIR={out / 'model'}",
    "--gin.INITIAL_CHECKPOINT_PATH=None",
    "--gin.TRAIN_STEPS=100",
    "--gin.BATCH_SIZE=16",
    "--gin.DROPOUT_RATE=0.0",
    "--gin.TASK_FEATURE_LENGTHS={'inputs': 32, 'targets': 2}",
    "--gin.network.T5Config.vocab_size=1024",
    "--gin.utils.create_learning_rate_scheduler.base_learning_rate=0.01",
)
lisax("export", f"--model={out / 'model'}", f"--out={out / 'bundle'}")

verifier = Verifier.open(out / "bundle")
river, founded = "Tarn is a town on the Orm.", "Tarn was founded in 1204."
for claim, sentence in (
    ("Tarn is on the Orm.", river),
    ("Tarn is on the Sel.", river),
    ("Tarn has a harbour.", founded),
):
    print(verifier.verify(claim, [sentence]).label, claim)
