"""The checkpoints that runs begin with whose results under T5X are in `t5x_runs.json`."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import jax
import jax.numpy as jnp

from lisax.models.architectures import T5Config, describe
from lisax.training.optimizers import Adafactor
from lisax.weights.checkpoints import CheckpointWriter, SaveCheckpointConfig, TrainState
from tests.references import recorded

SMALL = T5Config(
    vocab_size=384, emb_dim=16, num_heads=2, head_dim=8, mlp_dim=32, num_encoder_layers=1, num_decoder_layers=1
)  # of the files in `t5x/`
TWO_LAYERS = dataclasses.replace(SMALL, num_encoder_layers=2, num_decoder_layers=2)
# With embeddings of the published sizes; T5X's umT5 is scanned.
PUBLISHED = {
    "mt5": dataclasses.replace(TWO_LAYERS, vocab_size=250112),
    "umt5": dataclasses.replace(TWO_LAYERS, vocab_size=256384, relative_bias_per_layer=True, scan_layers=True),
}


def write_start(folder: Path, config: T5Config = SMALL) -> Path:
    """A checkpoint of parameters that are drawn, step 0."""
    parameters = jax.tree.map(jnp.asarray, recorded.drawn(config))
    if config in PUBLISHED.values():  # so that pieces of a small vocabulary are generated, and others too
        head = parameters["decoder"]["logits_dense"]
        head["kernel"] = head["kernel"].at[:, 400:].multiply(0.4)
    with CheckpointWriter(folder, SaveCheckpointConfig(), {"architecture": describe(config)}, {}) as writer:
        writer.save(TrainState(jnp.int32(0), parameters, Adafactor().init(parameters)), {})
    return folder / "checkpoint_0"
