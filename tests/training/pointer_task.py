"""Pointing in memory: of four candidates two are evidence by their mark, in the order of their marks, and the second one's
word is the label. Claims without information have neither."""

import numpy as np
from memory_task import config_of

from lisax.models.architectures import PointerConfig, T5Config
from lisax.models.pointer_loss import COLUMNS
from lisax.training.train import TrainConfig

CANDIDATES, LENGTH = 4, 5
T5 = T5Config(
    vocab_size=64, emb_dim=16, num_heads=2, num_encoder_layers=1, num_decoder_layers=1, head_dim=8, mlp_dim=32
)
MODEL = PointerConfig(T5, steps=3, hidden=16, hops=2)  # the label is the mean over steps: of two it would be a tie
FIRST, SECOND, TRUTHS = 2, 3, (4, 5)  # tokens


def batch_of(seed: int, rows: int = 16) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    tokens = rng.integers(10, 60, (rows, CANDIDATES, LENGTH)).astype(np.int32)
    tokens[:, :, -1] = 1
    targets = np.zeros((rows, CANDIDATES, COLUMNS), np.int32)
    for row in range(rows):
        label = int(rng.integers(3))
        targets[row, :, 0] = 2 + label
        if label == 2:
            continue
        first, second = rng.permutation(CANDIDATES)[:2]
        tokens[row, first, 0], tokens[row, second, :2] = FIRST, (SECOND, TRUTHS[label])
        targets[row, [first, second], 1] = 1, 2
        targets[row, [first, second], 2] = 1
    targets = targets.reshape(rows, -1)
    return {
        "encoder_input_tokens": tokens.reshape(rows, -1),
        "decoder_target_tokens": targets,
        "decoder_input_tokens": np.pad(targets[:, :-1], ((0, 0), (1, 0))),
        "decoder_loss_weights": (targets > 0).astype(np.int32),
    }


def config(model_dir, total_steps: int, **fields) -> TrainConfig:
    return config_of(batch_of, 64, model_dir, total_steps, **{"model": MODEL} | fields)
