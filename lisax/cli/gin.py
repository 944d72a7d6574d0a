"""T5X's flags, shared by `train`, `eval`, `infer`, `plan`, `run`, `reproduce` and `demo`.

`--gin.NAME=value` is read as `--gin_bindings=NAME=value` (`training.gin_files.rewrite_gin_flags`).
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
from typing import Annotated, Any

import click

from lisax.cli.verbs import Option

GinFiles = Annotated[
    tuple[str, ...],
    Option(
        "A gin file: a path, or a name in --gin_search_paths or in gin_configs/. Later files override earlier ones.",
        "FILE",
        names=("--gin_file",),
    ),
]
GinBindings = Annotated[
    tuple[str, ...],
    Option(
        "A gin binding, applied after all files. Also as --gin.NAME=value, where strings need no quotes.",
        "NAME=value",
        names=("--gin_bindings",),
    ),
]
GinSearchPaths = Annotated[str, Option("Folders to search for gin files.", "DIR,DIR", names=("--gin_search_paths",))]


def split_paths(paths: str) -> list[str]:
    return [path for path in paths.split(",") if path]


@dataclasses.dataclass(frozen=True)
class GinOptions:
    """T5X's flags of `train`, `eval`, `infer` and `plan`."""

    gin_file: GinFiles = ()
    gin_bindings: GinBindings = ()
    gin_search_paths: GinSearchPaths = ""
    tfds_data_dir: Annotated[
        str | None, Option("Folder of TensorFlow Datasets, for tasks that use them.", "DIR", names=("--tfds_data_dir",))
    ] = None
    seqio_additional_cache_dirs: Annotated[
        str,
        Option(
            "Folders of cached tasks written by `lisax cache tasks`; used with USE_CACHED_TASKS=True.",
            "DIR,DIR",
            names=("--seqio_additional_cache_dirs",),
        ),
    ] = ""


def configured_by(verb: str, given: GinOptions) -> contextlib.AbstractContextManager[Any]:
    """The configuration of `train`, `eval` or `infer` from gin files; see `gin_files.configured`."""
    from lisax.training.gin_files import configured

    if not given.gin_file and not given.gin_bindings:
        raise click.UsageError(
            f"gin files are needed: --gin_file=models/t5_1_1_small.gin --gin_file=runs/"
            f"{'finetune' if verb == 'train' else verb}.gin"
        )
    if given.tfds_data_dir:
        os.environ["TFDS_DATA_DIR"] = given.tfds_data_dir
    if given.seqio_additional_cache_dirs:
        from lisax.training.data import import_seqio

        import_seqio().add_global_cache_dirs(given.seqio_additional_cache_dirs.split(","))
    return configured(
        verb, list(given.gin_file), list(given.gin_bindings), split_paths(given.gin_search_paths), typed=True
    )
