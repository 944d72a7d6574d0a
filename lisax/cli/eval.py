"""`lisax eval`."""

from __future__ import annotations

from lisax.cli.gin import GinOptions, configured_by


def eval(*, gin: GinOptions) -> None:
    """Evaluate a checkpoint on a seqio task, and write the metrics to EVAL_OUTPUT_DIR.

        lisax eval --gin_file=models/t5_1_1_small.gin --gin_file=runs/eval.gin --gin.CHECKPOINT_PATH=out \\
        --gin.MIXTURE_OR_TASK_MODULE=tasks --gin.MIXTURE_OR_TASK_NAME=list5_rank --gin.EVAL_OUTPUT_DIR=eval
    """
    with configured_by("eval", gin) as config:
        from lisax.training.inference import evaluate

        evaluate(config)
