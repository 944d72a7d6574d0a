"""Texts through onnxruntime: encoders of the BERT family, and T5s that score answers, on a CPU without JAX.

It starts faster: nothing is compiled, neither for a model nor for a shape of batch, and JAX is not imported.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from lisax.devices.batching import Progress, Tokens, by_tokens, padded
from lisax.devices.finite import check_finite
from lisax.errors import LisaxError
from lisax.formats.vocabulary import EOS_ID
from lisax.models.architectures import DualEncoderConfig, Model, PairConfig, T5Config
from lisax.scoring.onnx.encoder import EncoderGraph
from lisax.scoring.onnx.graph import TOKENS, ModelGraph, Parameters
from lisax.scoring.onnx.t5 import AnswersGraph
from lisax.weights.checkpoints import nested
from lisax.weights.interop.architecture import shapes_of_model
from lisax.weights.interop.pieces import Checkpoint

TOKENS_PER_BATCH = 1024  # padding included: a batch's states stay in a core's cache


class OnnxTexts:
    """A model's graph and parameters in onnxruntime, and batches of texts for it."""

    def __init__(
        self,
        graph: ModelGraph,
        parameters: Parameters,
        *,
        max_tokens: int,
        source: str | os.PathLike = "the model",
    ):
        """`max_tokens`: of the longest text; a longer one is an error: formats shorten, this does not. `source`: where
        the `parameters`, of which the graph is, are from."""
        import onnxruntime as ort

        self._parameters, self._max_tokens, self._source = parameters, max_tokens, source
        options = ort.SessionOptions()
        options.intra_op_num_threads = len(os.sched_getaffinity(0))
        # Threads that wait sleep: where others use the machine too, spinning would slow all of them.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 3  # errors, which are raised too
        # The arrays are used in place, and have to stay as long as the session.
        self._weights = [ort.OrtValue.ortvalue_from_numpy(array) for array in graph.weights.values()]
        options.add_external_initializers(list(graph.weights), self._weights)
        self._session = ort.InferenceSession(graph.proto(), options, providers=["CPUExecutionProvider"])

    def results(self, texts: Sequence[Tokens], progress: Progress | None = None) -> np.ndarray:
        """float32 [texts, outputs] of the token ids of texts with their special tokens."""
        result = self._session.get_outputs()[0]
        found = np.zeros((len(texts), *result.shape[1:]), np.float32)
        lengths = [len(text) for text in texts]
        # A text has the same result, to the last digit, in every batch of one width.
        for rows, _, width in by_tokens(lengths, self._max_tokens, TOKENS_PER_BATCH, 1, of_one_width=True):
            (found[rows],) = self._session.run(
                [result.name], {TOKENS: padded([texts[row] for row in rows], len(rows), width)}
            )
            if progress is not None:
                progress(len(rows))
        check_finite([found], nested(self._parameters), self._source)
        return found


def read_parameters(checkpoint: Checkpoint, model: Model) -> Parameters:
    """The parameters of a checkpoint that the model has, with a name for each layer."""
    wanted = shapes_of_model(model.for_inference()).keys()
    return dict(checkpoint.read(piece for piece in checkpoint.parameters if piece.shapes.keys() <= wanted))


# --- Encoders -------------------------------------------------------------------------------


class OnnxEncoder(OnnxTexts):
    """A model on an encoder of the BERT family. `int8`: see `ModelGraph`."""

    def __init__(
        self,
        model: PairConfig | DualEncoderConfig,
        parameters: Parameters,
        *,
        int8: bool = False,
        **options: Any,
    ):
        super().__init__(EncoderGraph(model, parameters, int8=int8), parameters, **options)
        self.model, self.int8 = model, int8

    @classmethod
    def read(cls, checkpoint: Checkpoint, model: PairConfig | DualEncoderConfig, **options: Any) -> Self:
        return cls(model, read_parameters(checkpoint, model), source=checkpoint.folder, **options)

    def results(self, texts: Sequence[Tokens], progress: Progress | None = None) -> np.ndarray:
        longest = max(map(len, texts), default=0)
        if longest > (positions := self.model.backbone.max_length):
            raise LisaxError(f"a text of {longest} tokens, but the model has {positions} positions: shorten the texts")
        return super().results(texts, progress)


class OnnxPairs(OnnxEncoder):
    """Scores pairs as `scoring.texts.PairScoring` does in JAX."""

    probabilities = OnnxEncoder.results


class OnnxVectors(OnnxEncoder):
    """`scoring.backends.EncodesTexts`; questions and passages have one tower."""

    @property
    def rows_alone(self) -> bool:
        return not self.int8  # whose step of rounding is of the whole batch

    @property
    def leaves(self) -> list[np.ndarray]:
        # JAX orders a tree's leaves by the names at each level.
        return [array for _, array in sorted(self._parameters.items(), key=lambda item: item[0].split("/"))]

    questions = passages = OnnxEncoder.results


# --- T5 -------------------------------------------------------------------------------------


class OnnxLabels(OnnxTexts):
    """Scores label words as `scoring.texts.LabelScorer` does in JAX. `int8`: see `ModelGraph`."""

    def __init__(
        self, config: T5Config, parameters: Parameters, pieces: Sequence[int], *, int8: bool = False, **options: Any
    ):
        graph = AnswersGraph(config, parameters, [[piece] for piece in pieces], first_step=True, int8=int8)
        super().__init__(graph, parameters, **options)

    logits = OnnxTexts.results


class OnnxAnswers(OnnxTexts):
    """Scores answers as `scoring.texts.AnswerScorer` does in JAX. `int8`: see `ModelGraph`."""

    def __init__(
        self, config: T5Config, parameters: Parameters, answers: Sequence[Tokens], *, int8: bool = False, **options: Any
    ):
        graph = AnswersGraph(config, parameters, [[*ids, EOS_ID] for ids in answers], first_step=False, int8=int8)
        super().__init__(graph, parameters, **options)

    log_likelihoods = OnnxTexts.results
