"""Encoders of the BERT family on a CPU without JAX: texts through onnxruntime.

It starts faster: nothing is compiled, neither for a model nor for a shape of batch, and JAX is not imported.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from lisax.models.architectures import DualEncoderConfig, PairConfig
from lisax.records import LisaxError
from lisax.runtime.batching import Progress, Tokens, by_tokens, padded
from lisax.runtime.checkpoints import nested
from lisax.runtime.finite import check_finite
from lisax.runtime.interop.architecture import shapes_of_model
from lisax.runtime.interop.pieces import Checkpoint
from lisax.runtime.onnx_encoder import RESULT, TOKENS, EncoderGraph, Parameters

TOKENS_PER_BATCH = 1024  # padding included: a batch's states stay in a core's cache


class OnnxTexts:
    """A model's graph and parameters in onnxruntime, and batches of texts for it."""

    def __init__(
        self,
        model: PairConfig | DualEncoderConfig,
        parameters: Parameters,
        *,
        max_tokens: int,
        tokens_per_batch: int | None = None,
        source: str | os.PathLike = "the model",
        int8: bool = False,
    ):
        """`max_tokens`: of the longest text; a longer one is an error: formats shorten, this does not. `source`: where
        the parameters are from. `int8`: see `EncoderGraph`."""
        import onnxruntime as ort

        self.model, self.int8, self._max_tokens, self._source = model, int8, max_tokens, source
        self._tokens_per_batch = tokens_per_batch or TOKENS_PER_BATCH
        graph = EncoderGraph(model, parameters, int8=int8)
        options = ort.SessionOptions()
        options.intra_op_num_threads = len(os.sched_getaffinity(0))
        # Threads that wait sleep: where others use the machine too, spinning would slow all of them.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 3  # errors, which are raised too
        # The arrays are used where they lie, and have to stay there as long as the session.
        self._weights = [ort.OrtValue.ortvalue_from_numpy(array) for array in graph.weights.values()]
        options.add_external_initializers(list(graph.weights), self._weights)
        self._session = ort.InferenceSession(graph.model, options, providers=["CPUExecutionProvider"])
        self._parameters = parameters

    @classmethod
    def read(cls, checkpoint: Checkpoint, model: PairConfig | DualEncoderConfig, **options: Any) -> Self:
        """Of those parameters of a checkpoint that the model has."""
        wanted = shapes_of_model(model).keys()
        pieces = (piece for piece in checkpoint.parameters if piece.shapes.keys() <= wanted)
        return cls(model, dict(checkpoint.read(pieces)), source=checkpoint.folder, **options)

    def results(self, texts: Sequence[Tokens], progress: Progress | None = None) -> np.ndarray:
        """float32 [texts, outputs] of the token ids of texts with their special tokens."""
        (width,) = self._session.get_outputs()[0].shape[1:]
        found, longest = np.zeros((len(texts), width), np.float32), max(map(len, texts), default=0)
        if longest > (positions := self.model.backbone.max_length):
            raise LisaxError(f"a text of {longest} tokens, but the model has {positions} positions: shorten the texts")
        for rows, _, _ in by_tokens([len(text) for text in texts], self._max_tokens, self._tokens_per_batch, 1):
            some = [texts[row] for row in rows]
            (found[rows],) = self._session.run([RESULT], {TOKENS: padded(some, len(some), max(map(len, some)))})
            if progress is not None:
                progress(len(rows))
        check_finite([found], nested(self._parameters), self._source)
        return found


class OnnxPairs(OnnxTexts):
    """`text_scoring.ScoresPairs`."""

    def probabilities(self, pairs: Sequence[Tokens], progress: Progress | None = None) -> np.ndarray:
        return self.results(pairs, progress)


class OnnxVectors(OnnxTexts):
    """`text_scoring.EncodesTexts`; questions and passages have one tower."""

    @property
    def leaves(self) -> list[np.ndarray]:
        # JAX orders a tree's leaves by the names at each level.
        return [array for _, array in sorted(self._parameters.items(), key=lambda item: item[0].split("/"))]

    def questions(self, texts: Sequence[Tokens], progress: Progress | None = None) -> np.ndarray:
        return self.results(texts, progress)

    def passages(self, texts: Sequence[Tokens], progress: Progress | None = None) -> np.ndarray:
        return self.results(texts, progress)
