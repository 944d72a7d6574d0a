"""Fusion training data in memory: three tables, of which one has the gold mark, and the others the word of truth.

The gold table alone does not show whether the claim is true: it has to see the others.
"""

import numpy as np
from memory_task import config_of

from lisax.models.architectures import FusionConfig, T5Config
from lisax.training.train import TrainConfig

TABLES, LENGTH = 3, 6
T5 = T5Config(
    vocab_size=64, emb_dim=16, num_heads=2, num_encoder_layers=1, num_decoder_layers=1, head_dim=8, mlp_dim=32
)
MODEL = FusionConfig(T5)
GOLD, TRUTHS = 2, (3, 4)  # tokens


def batch_of(seed: int, rows: int = 16) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    gold, truth = rng.integers(0, TABLES, (rows, 1)), rng.integers(0, 2, (rows, 1))
    tables = rng.integers(10, 60, (rows, TABLES, LENGTH)).astype(np.int32)
    is_gold = np.arange(TABLES) == gold
    tables[:, :, 0] = np.where(is_gold, GOLD, np.take(TRUTHS, truth))
    tables[:, :, -1] = 1
    targets = np.where(is_gold, 2 + truth, 1).astype(np.int32)
    return {
        "encoder_input_tokens": tables.reshape(rows, -1),
        "decoder_target_tokens": targets,
        "decoder_input_tokens": np.pad(targets[:, :-1], ((0, 0), (1, 0))),
        "decoder_loss_weights": np.ones_like(targets),
    }


def config(model_dir, total_steps: int, **fields) -> TrainConfig:
    return config_of(batch_of, 256, model_dir, total_steps, **{"model": MODEL} | fields)
