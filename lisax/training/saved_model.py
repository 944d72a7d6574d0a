"""A TensorFlow SavedModel of a scorer: the StableHLO program in a TensorFlow op, parameters as variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jax import export

from lisax.training.data import import_seqio


def save(exported: export.Exported, outputs: Sequence[str], parameters: Mapping[str, np.ndarray], folder: Path) -> None:
    """Writes the SavedModel with the signature `serving_default`: `tokens` int32 [batch, length], of table fusion and
    pointers [batch, texts, length] -> float32 arrays by the names `outputs`, see `programs`. TensorFlow 2.21 or later
    runs it, without JAX."""
    import_seqio()  # TensorFlow, kept quiet and off the accelerators
    import tensorflow as tf
    from tensorflow.compiler.tf2xla.python import xla  # the op that jax2tf writes, too

    def sizes(shape: Sequence[Any]) -> list[int | None]:
        return [size if isinstance(size, int) else None for size in shape]

    module = tf.Module()
    # In the order of the program's arguments, which is that of sorted names.
    module.parameters = [tf.Variable(parameters[name], trainable=False, name=name) for name in sorted(parameters)]

    @tf.function(
        input_signature=[tf.TensorSpec(sizes(exported.in_avals[-1].shape), tf.int32, name="tokens")], autograph=False
    )
    def score(tokens: tf.Tensor) -> dict[str, tf.Tensor]:
        arguments = [*module.parameters, tokens]
        found = xla.call_module(
            [arguments[i] for i in exported.module_kept_var_idx],
            version=exported.calling_convention_version,
            module=exported.mlir_module_serialized,
            Tout=[tf.float32] * len(exported.out_avals),
            Sout=[sizes(leaf.shape) for leaf in exported.out_avals],
            platforms=[platform.upper() for platform in exported.platforms],
        )
        return dict(zip(outputs, found, strict=True))

    module.score = score
    tf.saved_model.save(module, str(folder), signatures={"serving_default": score})
