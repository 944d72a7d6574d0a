"""Texts through an encoder: which library computes, and what it is asked for.

JAX runs every model on every device. On a CPU, onnxruntime runs those of the BERT family (`onnx_encoder.fits`) without
JAX, and is taken where it is installed.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from lisax.models.architectures import DualEncoderConfig, Model, PairConfig
from lisax.records import LisaxError
from lisax.runtime import onnx_encoder
from lisax.runtime.batching import Progress, Tokens
from lisax.runtime.interop.opening import open_whole
from lisax.runtime.interop.pieces import Checkpoint
from lisax.runtime.platforms import accelerated

JAX, ONNX, ONNX_INT8 = BACKENDS = ("jax", "onnx", "onnx-int8")
VARIABLE = "LISAX_BACKEND"  # of the environment: one of BACKENDS


class ScoresPairs(Protocol):
    model: PairConfig

    def probabilities(self, pairs: Sequence[Tokens], progress: Progress | None = None) -> np.ndarray:
        """float32 [pairs, labels] of the token ids of both texts with their special tokens."""


class EncodesTexts(Protocol):
    model: DualEncoderConfig
    int8: bool  # whether it rounds to 8 bits: its vectors are others then

    @property
    def leaves(self) -> list[Any]:
        """The parameters, in the order of a JAX tree."""

    def questions(self, texts: Sequence[Tokens], progress: Progress | None = None) -> np.ndarray:
        """float32 [texts, emb]."""

    def passages(self, texts: Sequence[Tokens], progress: Progress | None = None) -> np.ndarray:
        """float32 [texts, emb]."""


def backend_for(model: Model, given: str | None = None) -> str:
    """The one of BACKENDS that computes this model: `given`, else $LISAX_BACKEND, else onnxruntime on a CPU where it is
    installed; JAX for any model that onnxruntime has no graph of. LisaxError where one that is asked for is not known,
    or not installed."""
    asked = given or os.environ.get(VARIABLE)
    if asked not in (None, "", *BACKENDS):
        raise LisaxError(f"expected {VARIABLE}={', '.join(BACKENDS[:-1])} or {BACKENDS[-1]}, found '{asked}'")
    installed = importlib.util.find_spec("onnxruntime") is not None
    if asked in (ONNX, ONNX_INT8) and not installed:
        raise LisaxError(f"the backend '{asked}' needs onnxruntime, which is not installed: pip install onnxruntime")
    if asked == JAX or not installed or not onnx_encoder.fits(model) or (not asked and accelerated()):
        return JAX
    return asked or ONNX


def open_pairs(path: str | os.PathLike, *, max_tokens: int, backend: str | None = None) -> ScoresPairs:
    """The pair scorer of a checkpoint of any layout, a MODEL_DIR (its best checkpoint, else its newest), or a bundle.
    `max_tokens`: of the longest pair; a longer one is an error. `backend`: see `backend_for`."""
    checkpoint = open_whole(path, PairConfig)
    if (backend := backend_for(checkpoint.architecture, backend)) == JAX:
        from lisax.runtime.pair_scoring import PairScoring

        return PairScoring.open(path, max_tokens=max_tokens)
    from lisax.runtime.onnx_scoring import OnnxPairs

    return OnnxPairs.read(checkpoint, checkpoint.architecture, max_tokens=max_tokens, int8=backend == ONNX_INT8)


def open_dual_encoder(path: str | os.PathLike, *, max_tokens: int, backend: str | None = None) -> EncodesTexts:
    """As `open_pairs`, the encoder of a checkpoint that was trained as one."""
    checkpoint = open_whole(path, DualEncoderConfig)
    if (backend := backend_for(checkpoint.architecture, backend)) == JAX:
        from lisax.runtime.passage_scoring import VectorEncoder

        return VectorEncoder.open(path, max_tokens=max_tokens)
    from lisax.runtime.onnx_scoring import OnnxVectors

    return OnnxVectors.read(checkpoint, checkpoint.architecture, max_tokens=max_tokens, int8=backend == ONNX_INT8)


def encoder_of(
    checkpoint: Checkpoint,
    model: DualEncoderConfig,
    more: Mapping[str, Any],
    *,
    max_tokens: int,
    backend: str | None = None,
) -> EncodesTexts:
    """`model`, with the parameters of a pretrained encoder as it was published, and `more` of what it has besides.
    `backend`: see `backend_for`."""
    if (backend := backend_for(model, backend)) == JAX:
        from lisax.runtime.passage_scoring import VectorEncoder
        from lisax.runtime.sharing import placed

        # Of the backbone's parameters, those that a dual encoder has: neither a decoder nor a pooler.
        parameters = placed(checkpoint, lambda name: name.startswith(("token_embedder/", "encoder/")))
        return VectorEncoder(model, {**parameters, **more}, max_tokens=max_tokens, source=checkpoint.folder)
    from lisax.runtime.onnx_scoring import OnnxVectors

    return OnnxVectors.read(checkpoint, model, max_tokens=max_tokens, int8=backend == ONNX_INT8)
