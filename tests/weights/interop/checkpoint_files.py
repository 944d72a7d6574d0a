"""A tiny T5 with random parameters and slots, as a checkpoint in memory; what a folder holds, compared."""

import dataclasses
import os
from pathlib import Path
from typing import Any

import jax
import numpy as np

from lisax.models.architectures import T5Config
from lisax.training.objectives import apply_model
from lisax.weights.checkpoints import flatten, nested
from lisax.weights.interop.architecture import parameter_shapes
from lisax.weights.interop.kinds import Kind
from lisax.weights.interop.pieces import Checkpoint, Stored, whole
from lisax.weights.model_folder import ModelFolder
from lisax.weights.restore import load_parameters

T5_1_1 = T5Config(
    vocab_size=96, emb_dim=24, num_heads=2, num_encoder_layers=3, num_decoder_layers=2, head_dim=8, mlp_dim=40
)
T5_1_0 = dataclasses.replace(T5_1_1, mlp_activations=("relu",), logits_via_embedding=True)


def random_parameters(config: T5Config, seed: int = 0) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(seed)
    return {
        name: generator.normal(0.0, 0.3, leaf.shape).astype(np.float32)
        for name, leaf in flatten(parameter_shapes(config)).items()
    }


def slots_of(parameters: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Adafactor's, of which only `v` is in use."""
    return {
        f"{name}/{slot}": np.square(array) if slot == "v" else np.zeros(1, np.float32)
        for name, array in parameters.items()
        for slot in ("m", "v", "v_row", "v_col")
    }


def in_memory(
    parameters: dict[str, np.ndarray], slots: dict[str, np.ndarray] | None = None, step: int | None = 7
) -> Checkpoint:
    def pieces(arrays):
        return tuple(whole(name, Stored(array.shape, lambda a=array: a)) for name, array in arrays.items())

    return Checkpoint(Kind.NATIVE, Path("memory"), step, pieces(parameters), pieces(slots or {}))


def parameters_of(folder: str | os.PathLike) -> dict[str, np.ndarray]:
    """The parameters of a checkpoint, a bundle or a MODEL_DIR by their names."""
    return flatten(load_parameters(ModelFolder.find(folder)))


def assert_same(found: Any, expected: Any, **near: float) -> None:
    """Two trees, or arrays by name, have the same names, types and numbers, or numbers as `near` as numpy's `assert_allclose`
    takes them."""
    found, expected = flatten(found), flatten(expected)
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert np.asarray(found[name]).dtype == np.asarray(array).dtype, name
        np.testing.assert_allclose(found[name], array, err_msg=name, **{"rtol": 0} | near)


def logits(config: T5Config, parameters: dict, batch: dict[str, np.ndarray]) -> np.ndarray:
    tree = nested(parameters) if any("/" in name for name in parameters) else parameters
    return np.asarray(jax.jit(apply_model, static_argnums=0)(config, tree, batch))


def batch_of(vocab_size: int) -> dict[str, np.ndarray]:
    """Two rows, one of them padded."""
    generator = np.random.default_rng(1)
    inputs, targets = (generator.integers(2, vocab_size, (2, length)).astype(np.int32) for length in (9, 5))
    inputs[1, 6:] = 0
    return {
        "encoder_input_tokens": inputs,
        "decoder_target_tokens": targets,
        "decoder_input_tokens": np.pad(targets[:, :-1], ((0, 0), (1, 0))),
    }


def small_vocabulary(folder: Path) -> Path:
    """A SentencePiece model of a few dozen pieces."""
    import sentencepiece

    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(f"word{i % 7} number{i}" for i in range(200)),
        model_prefix=str(folder / "small"),
        vocab_size=60,
        hard_vocab_limit=False,
        pad_id=0,
        eos_id=1,
        unk_id=2,
        bos_id=-1,
        minloglevel=2,
    )
    return folder / "small.model"
