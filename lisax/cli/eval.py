"""`lisax eval`."""

from __future__ import annotations

from lisax.cli.gin import GinBindings, GinFiles, GinSearchPaths, SeqioCacheDirs, TfdsDataDir, configured_by


def eval(
    *,
    gin_file: GinFiles = (),
    gin_bindings: GinBindings = (),
    gin_search_paths: GinSearchPaths = "",
    tfds_data_dir: TfdsDataDir = None,
    seqio_additional_cache_dirs: SeqioCacheDirs = "",
) -> None:
    """Evaluate a checkpoint on a seqio task, and write the metrics to EVAL_OUTPUT_DIR.

        lisax eval --gin_file=models/t5_1_1_small.gin --gin_file=runs/eval.gin --gin.CHECKPOINT_PATH=out \\
        --gin.MIXTURE_OR_TASK_MODULE=tasks --gin.MIXTURE_OR_TASK_NAME=list5_rank --gin.EVAL_OUTPUT_DIR=eval
    """
    with configured_by(
        "eval", gin_file, gin_bindings, gin_search_paths, tfds_data_dir, seqio_additional_cache_dirs
    ) as config:
        from lisax.training.inference import evaluate

        evaluate(config)
