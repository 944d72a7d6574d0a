"""A mixture of two seqio tasks, small enough for tests: the target is the first word of the input, or the last. The tasks
`mt5_words` and `umt5_words` are the first one with the pieces of `small_pieces`, in the folder TWO_TASKS_PIECES."""

import functools
import os
import tempfile
from pathlib import Path

import numpy as np
import seqio
import tensorflow as tf
from small_pieces import write

FOLDER = Path(os.environ.get("TWO_TASKS_PIECES") or tempfile.mkdtemp(prefix="two-tasks-"))
SENTINELS = {"mt5": None, "umt5": 300}  # that are added to the pieces
SIZES = {"train": 48, "dev": 16}
WORDS = ("yes", "no", "maybe", "never", "often")


def _rows(place, split, shuffle_files=False, seed=None):
    words = [WORDS[i % 5] for i in range(SIZES[split])]
    texts = [f"{word} {i}" if place == "first" else f"{i} {word}" for i, word in enumerate(words)]
    return tf.data.Dataset.from_tensor_slices({"inputs": texts, "targets": words})


def exact(targets, predictions):
    return {"exact": float(np.mean([t == p for t, p in zip(targets, predictions, strict=True)]))}


def letters(targets, predictions):
    return {"letters": float(np.mean([len(p) for p in predictions]))}


def mean_score(targets, scores):
    return {"mean_score": float(np.mean(scores))}


def add(name, place, vocabulary):
    seqio.TaskRegistry.add(
        name,
        source=seqio.FunctionDataSource(functools.partial(_rows, place), splits=tuple(SIZES), num_input_examples=SIZES),
        preprocessors=[seqio.preprocessors.tokenize, seqio.preprocessors.append_eos],
        output_features={feature: seqio.Feature(vocabulary) for feature in ("inputs", "targets")},
        metric_fns=[exact, letters, mean_score],
    )


if "two_words" not in seqio.MixtureRegistry.names():
    for place in ("first", "last"):
        add(f"{place}_of_two", place, seqio.ByteVocabulary())
    seqio.MixtureRegistry.add("two_words", [("first_of_two", 1), ("last_of_two", 2)])
    for kind, extra_ids in SENTINELS.items():
        path = write(FOLDER / f"{kind}.model", kind)
        add(f"{kind}_words", "first", seqio.SentencePieceVocabulary(str(path), extra_ids))
