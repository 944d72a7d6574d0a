"""A seqio task small enough for tests: the target is the first word of the input."""

import numpy as np
import seqio
import tensorflow as tf

WORDS = ("yes", "no", "maybe")
SIZES = {"train": 50, "dev": 11, "many": 2000}


def _rows(split, shuffle_files=False, seed=None):
    count = SIZES[split]
    words = [WORDS[i % 3] for i in range(count)]
    return tf.data.Dataset.from_tensor_slices(
        {"inputs": [f"{word} {i}" for i, word in enumerate(words)], "targets": words}
    )


def exact(targets, predictions):
    return {"exact": float(np.mean([t == p for t, p in zip(targets, predictions, strict=True)]))}


def mean_score(targets, scores):
    return {"mean_score": float(np.mean(scores))}


if "first_word" not in seqio.TaskRegistry.names():
    seqio.TaskRegistry.add(
        "first_word",
        source=seqio.FunctionDataSource(_rows, splits=tuple(SIZES), num_input_examples=SIZES),
        preprocessors=[seqio.preprocessors.tokenize, seqio.preprocessors.append_eos],
        output_features={name: seqio.Feature(seqio.ByteVocabulary()) for name in ("inputs", "targets")},
        metric_fns=[exact, mean_score],
    )
