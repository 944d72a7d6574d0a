"""What tests do with a task: read it, and train on it for one step."""

from __future__ import annotations

import seqio

from lisax.files.writing import write_json_lines
from lisax.training.gin_files import bindings_of, run_gin


def written(folder, files):
    """A folder of JSON Lines; `files` are the rows by the names of the files without their ending."""
    for name, rows in files.items():
        write_json_lines(folder / f"{name}.jsonl", rows)
    return folder


def read(name, lengths, split="train", **options):
    """The examples of a task or mixture, in order."""
    options = {"shuffle": False, "seed": 0} | options
    return list(seqio.get_mixture_or_task(name).get_dataset(lengths, split=split, **options).as_numpy_iterator())


def forget(prefix):
    """Removes the tasks and mixtures with this prefix, as in a new process."""
    for registry in (seqio.MixtureRegistry, seqio.TaskRegistry):
        for name in [name for name in registry.names() if name.startswith(prefix)]:
            registry.remove(name)


def train_a_step(folder, lengths):
    """Trains into `folder/model` by `folder/mine.gin`."""
    values = {"MODEL_DIR": str(folder / "model"), "INITIAL_CHECKPOINT_PATH": None, "TRAIN_STEPS": 1, "BATCH_SIZE": 8}
    run_gin([folder / "mine.gin"], bindings_of(values | {"TASK_FEATURE_LENGTHS": lengths}))
