"""seqio's task caching: the part of a task before `CacheDatasetPlaceholder`, run once by Apache Beam and kept."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from lisax.errors import LisaxError
from lisax.training.data import DatasetConfig, import_seqio, provider_of, task_modules


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
    script.main([])
    return {name: Path(out) / seqio.get_task_dir_from_name(name) for name in tasks}
