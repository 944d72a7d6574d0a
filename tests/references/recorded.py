"""The models whose outputs are recorded beside this file: their architectures, weights and inputs.

Weights come from numpy's RandomState, whose streams numpy never changes, so only outputs are stored. They are large
enough for every part to show in the outputs: attention is neither uniform nor all on one key, each bucket of the
relative positions counts, and the scales of LayerNorm differ from 1.
"""

from __future__ import annotations

import dataclasses
import zlib
from pathlib import Path
from typing import Any

import jax
import numpy as np

from lisax.models.architectures import EncoderConfig, T5Config
from lisax.models.decoding import Decoding
from lisax.models.t5 import initialize

FOLDER = Path(__file__).parent
SEED = 44  # chosen so that hypotheses end at many lengths

T5_1_0 = T5Config(
    vocab_size=40,
    emb_dim=16,
    num_heads=3,
    num_encoder_layers=2,
    num_decoder_layers=2,
    head_dim=8,
    mlp_dim=24,
    mlp_activations=("relu",),
    logits_via_embedding=True,
)
T5_1_1 = T5Config(
    vocab_size=40, emb_dim=16, num_heads=2, num_encoder_layers=2, num_decoder_layers=2, head_dim=8, mlp_dim=24
)
MT5 = T5Config(
    vocab_size=56, emb_dim=12, num_heads=3, num_encoder_layers=3, num_decoder_layers=1, head_dim=4, mlp_dim=20
)
UMT5 = T5Config(
    vocab_size=40,
    emb_dim=16,
    num_heads=2,
    num_encoder_layers=2,
    num_decoder_layers=3,
    head_dim=8,
    mlp_dim=24,
    relative_bias_per_layer=True,
)
ARCHITECTURES = {"t5_1_0": T5_1_0, "t5_1_1": T5_1_1, "mt5": MT5, "umt5": UMT5}

BERT = EncoderConfig(
    vocab_size=40,
    emb_dim=16,
    num_heads=2,
    num_encoder_layers=3,
    mlp_dim=24,
    max_positions=24,
    token_types=2,
    pooler=True,
)
ENCODERS = {
    "bert": BERT,
    "minilm": dataclasses.replace(BERT, num_heads=4, num_encoder_layers=2, activation="gelu_tanh", pooler=False),
    "roberta": dataclasses.replace(
        BERT, max_positions=26, position_offset=2, padding_id=1, token_types=1, layer_norm_epsilon=1e-5
    ),
    "mpnet": dataclasses.replace(
        BERT,
        max_positions=26,
        position_offset=2,
        padding_id=1,
        token_types=0,
        relative_bias=True,
        layer_norm_epsilon=1e-5,
    ),
    "albert": dataclasses.replace(
        BERT, embedding_dim=8, shared_layers=True, activation="gelu_tanh", num_encoder_layers=4
    ),
}

# Positions of which outputs are stored: both sides of the exact buckets, and past the last bucket's first distance.
ENCODED_AT = (0, 1, 7, 8, 9, 40, 90, 149)
LOGITS_AT = (0, 1, 2, 3, 15, 16, 17, 60, 139)

SEARCH_LENGTH = 12
SEARCHES = {
    "greedy": Decoding(),
    "beams": Decoding(beam_size=4),
    "long": Decoding(beam_size=4, length_penalty=2.0, early_stopping="never"),
    "early": Decoding(beam_size=4, length_penalty=0.6, early_stopping=True),
    "short": Decoding(beam_size=6, length_penalty=-1.0),
}

# Whole answers, whose log-probabilities are recorded.
ANSWERS = ((7, 12, 3), (9,), (5, 30))

# What MiniLM's real weights are compared on; of the pair of the first two, the states at some tokens.
SENTENCES = [
    "Paris is the capital of France.",
    "A recipe for soup, with 12 onions; it serves four people on a cold day in Zürich.",
    "x",
]
MINILM_AT = [0, 5, 8, 12]

PASSAGES = 3  # of a row of `passages`, for models that read several texts


def file_of(name: str) -> Path:
    return FOLDER / f"{name}.safetensors"


def drawn(config: Any) -> dict:
    """The parameters of a model of any kind, each array drawn from a seed that is its name."""
    shapes = jax.eval_shape(lambda: initialize(config))
    return jax.tree_util.tree_map_with_path(
        lambda path, leaf: _array("/".join(entry.key for entry in path), leaf.shape), shapes
    )


def _array(name: str, shape: tuple[int, ...]) -> np.ndarray:
    array = np.random.RandomState(zlib.crc32(f"{SEED}/{name}".encode())).standard_normal(shape)
    last = name.rpartition("/")[2]
    if last == "kernel":
        array *= shape[0] ** -0.5 * (0.7 if "/query/" in name else 1.5)
    if last == "scale":
        array = 1 + array / 3
    if last == "embedding":
        array[[0, 2, 3, 4]] /= 500  # so small that the epsilon of LayerNorm counts
        array[1] *= 1.5
    if name.endswith("logits_dense/kernel"):
        array[:, 1] *= 2  # hypotheses of many lengths end
    return array.astype(np.float32)


def inputs(config: T5Config) -> np.ndarray:
    """int32 [4, 150]: one row fills the length, two are padded, and one holds EOS alone."""
    return _rows(config, (150, 41, 10, 1), seed=1)


def targets(config: T5Config) -> np.ndarray:
    """int32 [4, 140]"""
    return _rows(config, (140, 17, 3, 1), seed=2)


def questions(config: T5Config | EncoderConfig) -> np.ndarray:
    """int32 [4, 19]: inputs of which targets are searched for."""
    return _rows(config, (19, 12, 5, 2), seed=3)


def token_types(config: EncoderConfig, tokens: np.ndarray) -> np.ndarray:
    """int32 of the tokens' shape: a first segment of 3 tokens and a second one, where the model has two types."""
    return np.minimum(np.arange(tokens.shape[1]) >= 3, max(config.token_types, 1) - 1).astype(np.int32) + 0 * tokens


def passages(config: T5Config) -> np.ndarray:
    """int32 [4 * PASSAGES, 9]: rows of PASSAGES texts; the second row lacks its last text."""
    return _rows(config, (9, 4, 7, 6, 9, 0, 2, 8, 3, 9, 5, 1), seed=4)


def answers(config: T5Config) -> np.ndarray:
    """int32 [4, 6]"""
    return _rows(config, (6, 3, 5, 2), seed=5)


def _rows(config: T5Config | EncoderConfig, lengths: tuple[int, ...], seed: int) -> np.ndarray:
    rng = np.random.RandomState(seed)
    rows = rng.randint(2, config.vocab_size, (len(lengths), max(lengths))).astype(np.int32)
    for row, length in zip(rows, lengths):
        row[length:] = 0
        if length:
            row[length - 1] = 1
    return rows


def shifted(targets: np.ndarray) -> np.ndarray:
    """The decoder's inputs for these targets."""
    return np.pad(targets, ((0, 0), (1, 0)))[:, :-1]


def stored(array: Any, tokens: np.ndarray, at: tuple[int, ...]) -> np.ndarray:
    """What is stored of outputs [rows, length, …] for `tokens` [rows, length]: those at `at` that are no padding."""
    real = np.zeros(tokens.shape, bool)
    real[:, [place for place in at if place < tokens.shape[1]]] = True
    return np.asarray(array)[real & (tokens > 0)]
