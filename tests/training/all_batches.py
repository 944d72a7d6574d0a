"""The batches of all tasks of a mixture."""

import itertools
from collections.abc import Iterator

from lisax.training.data import DatasetConfig, eval_sets


def eval_batches(config: DatasetConfig) -> Iterator:
    return itertools.chain.from_iterable(batches for _, batches in eval_sets(config))
