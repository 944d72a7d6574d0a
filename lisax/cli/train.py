"""`lisax train`."""

from __future__ import annotations

import os
from typing import Annotated

import click

from lisax.cli.gin import GinOptions, configured_by
from lisax.cli.verbs import Count, Option

MULTIPROCESS = "LISAX_MULTIPROCESS"  # set to 1 by tpu_scripts/tpu.sh on every host of a pod


def train(
    *,
    gin: GinOptions,
    multiprocess: Annotated[
        bool,
        Option(
            "One of several processes that train together; on a TPU pod and under Slurm or Open MPI they find each "
            f"other, elsewhere the next three are needed (also {MULTIPROCESS}=1).",
            names=("--multiprocess", "--multiprocess_gpu"),
        ),
    ] = False,
    coordinator_address: Annotated[
        str | None, Option("Address of process 0.", "HOST:PORT", names=("--coordinator_address",))
    ] = None,
    process_count: Annotated[Count | None, Option("Number of processes.", names=("--process_count",))] = None,
    process_index: Annotated[int | None, Option("Index of this process, from 0.", names=("--process_index",))] = None,
) -> int:
    """Train the model of the gin files in MODEL_DIR, or resume its training.

        lisax train --gin_file=models/t5_1_1_small.gin --gin_file=runs/finetune.gin \\
        --gin.MIXTURE_OR_TASK_MODULE=tasks --gin.MIXTURE_OR_TASK_NAME=list5_rank --gin.TASK_FEATURE_LENGTHS="{'inputs': 512, 'targets': 8}" \\
        --gin.MODEL_DIR=out --gin.TRAIN_STEPS=1000 --gin.INITIAL_CHECKPOINT_PATH=None
    """
    from lisax.devices import hosts

    joins = [coordinator_address, process_count, process_index]
    if any(value is not None for value in joins) and None in joins:
        raise click.UsageError("--coordinator_address, --process_count and --process_index belong together")
    if multiprocess or os.environ.get(MULTIPROCESS) == "1" or coordinator_address is not None:
        hosts.connect(coordinator_address, process_count, process_index)
    with configured_by("train", gin) as config:
        from lisax.training.train import train

        try:
            result = train(config)
        except KeyboardInterrupt:  # the run has been saved and this has been logged
            return 130
        if hosts.is_first():
            print(result.checkpoint or result.model_dir)
    return 0
