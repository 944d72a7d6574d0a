"""monoT5 on MS MARCO passages: `msmarco/triples.{split}.tsv` (query, positive, negative) in the data folder.

`lisax data msmarco --triples triples.train.small.tsv --out DATA` writes both splits, from triples of texts or of
ids; each line gives a relevant and an irrelevant example.
"""

from __future__ import annotations

import json

import numpy as np
import tensorflow as tf

from lisax.errors import LisaxError
from lisax.formats.ranking import RANK
from lisax.sampling import examples

from . import example_tasks
from .locations import in_data_folder

NAME = "msmarco_rank"


def records_of(line: bytes) -> np.ndarray:
    """The two example records of a line, [2] JSON strings."""
    columns = line.decode().rstrip("\r\n").split("\t")
    if len(columns) != 3:
        raise LisaxError(
            f"task '{NAME}': expected query, positive and negative passage separated by tabs, "
            f"found {len(columns)} columns: {line[:80]!r}"
        )
    return np.array([json.dumps(example.row()).encode() for example in examples.msmarco([tuple(columns)])], object)


def triples(dataset: tf.data.Dataset) -> tf.data.Dataset:
    def split(row):
        lines = tf.numpy_function(records_of, [row["line"]], tf.string)
        lines.set_shape([2])
        return {"line": lines}

    return dataset.map(split, num_parallel_calls=2).unbatch()


def add_all() -> None:
    example_tasks.add(NAME, RANK, in_data_folder("msmarco/triples.{split}.tsv"), before=[triples])
