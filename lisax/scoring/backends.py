"""Texts through a model that scores or encodes them: which library computes, and its interfaces.

JAX runs every model on every device. On a CPU, onnxruntime runs T5s that score answers and encoders of the BERT family
(`onnx_t5.fits`, `onnx_encoder.fits`) without JAX, and is taken if it is installed: it is the faster one.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np

from lisax.devices.batching import Progress, Tokens
from lisax.devices.platforms import accelerated
from lisax.errors import LisaxError
from lisax.models.architectures import DualEncoderConfig, Model, PairConfig, T5Config
from lisax.scoring.onnx import encoder as onnx_encoder
from lisax.scoring.onnx import t5 as onnx_t5
from lisax.weights.checkpoints import nested
from lisax.weights.interop.opening import open_whole
from lisax.weights.interop.pieces import Checkpoint
from lisax.weights.model_folder import ModelFolder

if TYPE_CHECKING:
    from lisax.scoring.onnx.scoring import OnnxAnswers, OnnxLabels, OnnxPairs
    from lisax.scoring.texts import AnswerScorer, LabelScorer, PairScoring

JAX, ONNX, ONNX_INT8 = BACKENDS = ("jax", "onnx", "onnx-int8")
VARIABLE = "LISAX_BACKEND"  # of the environment: one of BACKENDS


class Scorer(Protocol):
    """One interface of every kind of model and backend."""

    def probabilities(self, tokens: Sequence[Any]) -> Any:
        """Computes the model's outputs for encoded inputs, in their order."""


class EncodesTexts(Protocol):
    model: DualEncoderConfig
    int8: bool  # whether it rounds to 8 bits: its vectors are others then
    rows_alone: bool  # whether a text's vector is the same, to the last digit, in every batch

    @property
    def leaves(self) -> list[Any]:
        """The parameters, in the order of a JAX tree."""

    def questions(self, texts: Sequence[Tokens]) -> np.ndarray:
        """float32 [texts, emb]."""

    def passages(self, texts: Sequence[Tokens], progress: Progress | None = None) -> np.ndarray:
        """float32 [texts, emb]."""


def softmax(logits: np.ndarray) -> np.ndarray:
    """Probabilities over the last axis."""
    odds = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return odds / odds.sum(axis=-1, keepdims=True)


class LabelWords:
    """A scorer of label words: probabilities of the words among themselves."""

    def __init__(self, scorer: LabelScorer | OnnxLabels):
        self.scorer = scorer

    def probabilities(self, tokens: Sequence[Tokens]) -> np.ndarray:
        """float32 [tokens, label words]"""
        return softmax(self.scorer.logits(tokens))


def backend_for(model: Model, given: str | None = None) -> str:
    """The one of BACKENDS that computes this model: `given`, else $LISAX_BACKEND, else onnxruntime on a CPU if it is
    installed; JAX for any model that onnxruntime has no graph of. Raises LisaxError if the requested one is not known,
    or not installed."""
    asked = given or os.environ.get(VARIABLE)
    if asked not in (None, "", *BACKENDS):
        raise LisaxError(f"expected {VARIABLE}={', '.join(BACKENDS[:-1])} or {BACKENDS[-1]}, found '{asked}'")
    installed = importlib.util.find_spec("onnxruntime") is not None
    if asked in (ONNX, ONNX_INT8) and not installed:
        raise LisaxError(f"the backend '{asked}' needs onnxruntime, which is not installed: pip install onnxruntime")
    fits = onnx_encoder.fits(model) or onnx_t5.fits(model)
    if asked == JAX or not installed or not fits or (not asked and accelerated()):
        return JAX
    return asked or ONNX


def open_pairs(model: ModelFolder, *, max_tokens: int, backend: str | None = None) -> PairScoring | OnnxPairs:
    """The pair scorer of a checkpoint or a bundle. `max_tokens`: of the longest pair; a longer one is an error.
    `backend`: see `backend_for`."""
    checkpoint = open_whole(model, PairConfig)
    if (backend := backend_for(checkpoint.architecture, backend)) == JAX:
        from lisax.scoring.texts import PairScoring

        return PairScoring.open(model, max_tokens=max_tokens)
    from lisax.scoring.onnx.scoring import OnnxPairs

    return OnnxPairs.read(checkpoint, checkpoint.architecture, max_tokens=max_tokens, int8=backend == ONNX_INT8)


def open_dual_encoder(model: ModelFolder, *, max_tokens: int) -> EncodesTexts:
    """Opens the encoder of a checkpoint that was trained as one, as `open_pairs`."""
    checkpoint = open_whole(model, DualEncoderConfig)
    if (backend := backend_for(checkpoint.architecture)) == JAX:
        from lisax.scoring.texts import VectorEncoder

        return VectorEncoder.open(model, max_tokens=max_tokens)
    from lisax.scoring.onnx.scoring import OnnxVectors

    return OnnxVectors.read(checkpoint, checkpoint.architecture, max_tokens=max_tokens, int8=backend == ONNX_INT8)


def encoder_of(
    checkpoint: Checkpoint,
    model: DualEncoderConfig,
    more: Mapping[str, Any],
    *,
    max_tokens: int,
    backend: str | None = None,
) -> EncodesTexts:
    """`model`, with the parameters of a pretrained encoder as it was published, and `more` parameters. `backend`: see
    `backend_for`."""
    if (backend := backend_for(model, backend)) == JAX:
        from lisax.scoring.texts import VectorEncoder
        from lisax.weights.sharing import placed

        # The backbone's parameters that a dual encoder has: neither a decoder nor a pooler.
        parameters = placed(checkpoint, lambda name: name.startswith(("token_embedder/", "encoder/")))
        return VectorEncoder(model, {**parameters, **more}, max_tokens=max_tokens, source=checkpoint.folder)
    from lisax.scoring.onnx.scoring import OnnxVectors

    return OnnxVectors.read(checkpoint, model, max_tokens=max_tokens, int8=backend == ONNX_INT8)


class T5Scoring:
    """A T5 that scores its label words or its answers. `backend`: see `backend_for`."""

    def __init__(self, checkpoint: Checkpoint, *, backend: str | None = None):
        self.model, self._source = checkpoint.architecture.for_inference(), checkpoint.folder
        self._backend = backend_for(self.model, backend)
        if self._backend == JAX:
            self._parameters: Any = nested(dict(checkpoint.read(checkpoint.parameters)))
        else:
            from lisax.scoring.onnx.scoring import read_parameters

            self._parameters = read_parameters(checkpoint, self.model)

    @classmethod
    def open(cls, model: ModelFolder, *, backend: str | None = None) -> Self:
        return cls(open_whole(model, T5Config), backend=backend)

    def labels(self, pieces: Sequence[int], max_tokens: int) -> LabelScorer | OnnxLabels:
        """A scorer of label words, given by their vocabulary ids. `max_tokens`: of the longest input; a longer one is
        an error."""
        if self._backend == JAX:
            from lisax.scoring.texts import LabelScorer

            return LabelScorer(self.model, self._parameters, pieces, max_tokens=max_tokens, source=self._source)
        from lisax.scoring.onnx.scoring import OnnxLabels

        return OnnxLabels(self.model, self._parameters, pieces, **self._options(max_tokens))

    def answers(self, answers: Sequence[Tokens], max_tokens: int) -> AnswerScorer | OnnxAnswers:
        """A scorer of whole answers, given without EOS. `max_tokens`: as of `labels`."""
        if self._backend == JAX:
            from lisax.scoring.texts import AnswerScorer

            return AnswerScorer(self.model, self._parameters, answers, max_tokens=max_tokens, source=self._source)
        from lisax.scoring.onnx.scoring import OnnxAnswers

        return OnnxAnswers(self.model, self._parameters, answers, **self._options(max_tokens))

    def _options(self, max_tokens: int) -> dict[str, Any]:
        return {"int8": self._backend == ONNX_INT8, "max_tokens": max_tokens, "source": self._source}
