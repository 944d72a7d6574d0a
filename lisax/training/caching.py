"""seqio's task caching: the part of a task before `CacheDatasetPlaceholder`, run once by Apache Beam and kept."""

from __future__ import annotations

import functools
import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from lisax.errors import LisaxError
from lisax.training.data import DatasetConfig, import_seqio, provider_of, task_modules

# Where the tasks' files are.
PLACES = ("LISAX_DATA", "LISAX_VOCABULARY")


def cache_tasks(
    names: Sequence[str],
    module: str,
    out: str | os.PathLike,
    *,
    min_shards: int,
    overwrite: bool = False,
    options: Sequence[str] = (),
) -> dict[str, Path]:
    """Caches tasks, those of mixtures too, in `out`; returns each one's folder. Existing caches are kept, unless
    `overwrite`. Each split is at least `min_shards` files. `options` are Beam's.
    """
    seqio = import_seqio()
    tasks = {
        task.name: task
        for name in names
        for task in seqio.get_subtasks(provider_of(DatasetConfig(name, None, module=module)))
    }
    for name, task in tasks.items():
        if not task.supports_caching:
            raise LisaxError(
                f"the task '{name}' cannot be cached: seqio.CacheDatasetPlaceholder is not among its preprocessors"
            )
    # The script keeps its settings in absl's flags, which are read here as it would read them.
    from seqio.scripts import cache_tasks_main as script

    script.FLAGS.unparse_flags()
    script.FLAGS(
        [
            "lisax cache",
            f"--tasks={','.join(map(re.escape, tasks))}",
            f"--output_cache_dir={out}",
            # Imported above, under these names; Beam's workers import them again.
            *(f"--module_import={name}" for name in task_modules(module) if name in sys.modules),
            f"--overwrite={overwrite}",
            f"--min_shards={min_shards}",
            f"--pipeline_options={','.join(options)}",
        ]
    )
    # Workers on other machines do not have this process' environment.
    places = {name: os.environ[name] for name in PLACES if name in os.environ}
    preprocess = script.beam_utils.PreprocessTask
    script.beam_utils.PreprocessTask = functools.partial(preprocess, setup_fn=functools.partial(_set, places))
    try:
        script.main([])
    finally:
        script.beam_utils.PreprocessTask = preprocess
    folders = {name: Path(out) / seqio.get_task_dir_from_name(name) for name in tasks}
    for folder in folders.values():
        for left in folder.glob("beam-temp-*"):  # by runners that write a file more than once, such as Dask's
            shutil.rmtree(left, ignore_errors=True)
    return folders


def _set(places: Mapping[str, str]) -> None:
    os.environ.update(places)
