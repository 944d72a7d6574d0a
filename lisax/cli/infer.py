"""`lisax infer`."""

from __future__ import annotations

from lisax.cli.gin import GinBindings, GinFiles, GinSearchPaths, SeqioCacheDirs, TfdsDataDir, configured_by


def infer(
    *,
    gin_file: GinFiles = (),
    gin_bindings: GinBindings = (),
    gin_search_paths: GinSearchPaths = "",
    tfds_data_dir: TfdsDataDir = None,
    seqio_additional_cache_dirs: SeqioCacheDirs = "",
) -> None:
    """Predict or score a seqio task, and write JSON Lines to INFER_OUTPUT_DIR.

        lisax infer --gin_file=models/t5_1_1_small.gin --gin_file=runs/infer.gin --gin.CHECKPOINT_PATH=out \\
        --gin.MIXTURE_OR_TASK_MODULE=tasks --gin.MIXTURE_OR_TASK_NAME=list5_rank --gin.INFER_OUTPUT_DIR=predictions
    """
    with configured_by(
        "infer", gin_file, gin_bindings, gin_search_paths, tfds_data_dir, seqio_additional_cache_dirs
    ) as config:
        from lisax.training.inference import infer

        print(infer(config))
