"""Hugging Face folders as others publish them: tiny T5s of the shapes of T5 1.0 and 1.1, with random weights."""

import dataclasses
import shutil
from pathlib import Path

import numpy as np

from lisax.formats.vocabulary import SentencePieceVocabulary, train_vocabulary
from lisax.models.architectures import T5Config
from lisax.weights.checkpoints import flatten
from lisax.weights.interop.architecture import parameter_shapes
from lisax.weights.interop.huggingface import write_huggingface
from lisax.weights.interop.kinds import Kind
from lisax.weights.interop.pieces import Checkpoint, Stored, whole

WORDS = ("true", "false", "yes", "no", "Yes", "No", "0", "1", "2")
TEXTS = [
    f"Query: Document: Relevant: premise: hypothesis: predict: The harbour of town {n} was opened in {1900 + n} ."
    for n in range(200)
]
V1_1 = T5Config(
    vocab_size=512, emb_dim=16, num_heads=2, num_encoder_layers=2, num_decoder_layers=2, head_dim=8, mlp_dim=24
)
V1_0 = dataclasses.replace(V1_1, mlp_activations=("relu",), logits_via_embedding=True)
UMT5 = dataclasses.replace(V1_1, relative_bias_per_layer=True)


def vocabulary(folder: Path) -> SentencePieceVocabulary:
    """One in which each of WORDS is a piece."""
    return train_vocabulary(TEXTS, folder / "spiece.model", 300, required_words=WORDS)


def publish(folder: Path, config: T5Config, pieces: Path, seed: int = 0) -> Path:
    """The folder with `config.json`, weights and the vocabulary of the file `pieces`."""
    folder.mkdir(parents=True)
    write_huggingface(folder, random_checkpoint(config, seed), config)
    shutil.copyfile(pieces, folder / "spiece.model")
    return folder


def random_checkpoint(config: T5Config, seed: int = 0) -> Checkpoint:
    generator = np.random.default_rng(seed)
    arrays = {
        name: generator.normal(0.0, 0.3, leaf.shape).astype(np.float32)
        for name, leaf in flatten(parameter_shapes(config)).items()
    }
    pieces = tuple(whole(name, Stored(array.shape, lambda a=array: a)) for name, array in arrays.items())
    return Checkpoint(Kind.NATIVE, Path("memory"), 0, pieces, ())
