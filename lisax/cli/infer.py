"""`lisax infer`."""

from __future__ import annotations

from lisax.cli.gin import GinOptions, configured_by


def infer(*, gin: GinOptions) -> None:
    """Predict or score a seqio task, and write JSON Lines to INFER_OUTPUT_DIR.

        lisax infer --gin_file=models/t5_1_1_small.gin --gin_file=runs/infer.gin --gin.CHECKPOINT_PATH=out \\
        --gin.MIXTURE_OR_TASK_MODULE=tasks --gin.MIXTURE_OR_TASK_NAME=list5_rank --gin.INFER_OUTPUT_DIR=predictions
    """
    with configured_by("infer", gin) as config:
        from lisax.training.inference import infer

        print(infer(config))
