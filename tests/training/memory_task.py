"""Training data in memory for tests, without TensorFlow: the targets are the first tokens of the inputs."""

import jax
import numpy as np

from lisax.models.architectures import Model, T5Config, describe
from lisax.models.t5 import initialize
from lisax.training.losses import Loss
from lisax.training.train import TrainConfig
from lisax.weights.checkpoints import (
    CheckpointConfig,
    CheckpointWriter,
    RestoreCheckpointConfig,
    SaveCheckpointConfig,
    TrainState,
    flatten,
)

MODEL = T5Config(
    vocab_size=64,
    emb_dim=16,
    num_heads=2,
    num_encoder_layers=1,
    num_decoder_layers=1,
    head_dim=8,
    mlp_dim=32,
    dropout_rate=0.1,
)


def batch_of(seed: int, rows: int = 8) -> dict[str, np.ndarray]:
    inputs = np.random.default_rng(seed).integers(2, 60, (rows, 8)).astype(np.int32)
    targets = inputs[:, :3].copy()
    shifted = np.pad(targets[:, :-1], ((0, 0), (1, 0)))
    return {
        "encoder_input_tokens": inputs,
        "decoder_target_tokens": targets,
        "decoder_input_tokens": shifted,
        "decoder_loss_weights": np.ones_like(targets),
    }


def source_of(batch_of):
    def source(skip: int):
        while True:
            yield batch_of(skip)
            skip += 1

    return source


source = source_of(batch_of)


def dev():
    return [batch_of(10_000 + i) for i in range(2)]


def config(model_dir, total_steps: int | None, *, save: SaveCheckpointConfig | None = None, **fields) -> TrainConfig:
    fields = {
        "model": MODEL,
        "train_data": source,
        "dev_data": dev,
        "eval_period": 4,
        "log_period": 1,
        "checkpoint": CheckpointConfig(save or SaveCheckpointConfig(period=3)),
    } | fields
    return TrainConfig(model_dir=str(model_dir), total_steps=total_steps, **fields)


def restoring(path, **fields) -> CheckpointConfig:
    """Of a run that starts from the checkpoint at `path`."""
    return CheckpointConfig(SaveCheckpointConfig(period=100), RestoreCheckpointConfig(path=str(path), **fields))


def saved(folder, model: Model, step: int = 7) -> dict[str, np.ndarray]:
    """Writes a checkpoint of a fresh model without optimizer slots; returns its parameters by name."""
    state = TrainState(np.int32(step), initialize(model, 3), {})
    with CheckpointWriter(folder, SaveCheckpointConfig(), {"architecture": describe(model)}, {}) as writer:
        writer.save(state, {})
    return flatten(jax.tree.map(np.asarray, state.parameters))


def config_of(batch_of, dev_rows: int, model_dir, total_steps: int, **fields) -> TrainConfig:
    """The configuration of another task, whose dev data is one batch."""
    fields = {
        "train_data": source_of(batch_of),
        "dev_data": lambda: [batch_of(10_000, rows=dev_rows)],
        "eval_period": 1000,
        "loss": Loss(z_loss=0.0),
    } | fields
    return config(model_dir, total_steps, save=SaveCheckpointConfig(period=100), **fields)
