"""The synthetic task of `fusion_task` as a seqio task, with a metric of the predicted probabilities."""

import numpy as np
import seqio
import tensorflow as tf
from fusion_task import batch_of

SIZES = {"train": 50, "dev": 11}


def _rows(split, shuffle_files=False, seed=None):
    batch = batch_of(len(split), SIZES[split])
    return tf.data.Dataset.from_tensor_slices(
        {"inputs": batch["encoder_input_tokens"], "targets": batch["decoder_target_tokens"]}
    )


def shares(targets, predictions):
    return {"shares": float(np.mean([np.sum(prediction) for prediction in predictions]))}


if "tiny_fusion" not in seqio.TaskRegistry.names():
    seqio.TaskRegistry.add(
        "tiny_fusion",
        source=seqio.FunctionDataSource(_rows, splits=tuple(SIZES), num_input_examples=SIZES),
        preprocessors=[],
        metric_fns=[shares],
        output_features={
            "inputs": seqio.Feature(seqio.ByteVocabulary(), add_eos=False),
            "targets": seqio.Feature(seqio.PassThroughVocabulary(4), add_eos=False),
        },
    )
