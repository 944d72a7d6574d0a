"""Encoders of the BERT family, and the heads on them, as graphs for onnxruntime: the networks of `models/encoder.py`,
`models/pair.py` and `models/dual_encoder.py`, with the same parameters, for any number and length of texts.
"""

from __future__ import annotations

import numpy as np

from lisax.models.architectures import DualEncoderConfig, Model, PairConfig
from lisax.scoring.onnx.graph import (
    FLOAT32,
    INT32,
    LEAST_LENGTH,
    LOGITS,
    MASKED,
    PROBABILITIES,
    VECTORS,
    ModelGraph,
    Parameters,
)
from lisax.weights.interop.architecture import is_listed


def fits(model: Model) -> bool:
    """Whether there is a graph for this model. Its activations are float32: those of training may have been bfloat16,
    which saves time there and costs digits."""
    return type(model) in (PairConfig, DualEncoderConfig) and is_listed(model)


class EncoderGraph(ModelGraph):
    """The graph of a model that `fits`: tokens -> a pair scorer's `probabilities` and `logits`, or a dual encoder's
    `vectors`. `padding_id`: see `ModelGraph._read_tokens`."""

    def __init__(
        self,
        model: PairConfig | DualEncoderConfig,
        parameters: Parameters,
        *,
        int8: bool = False,
        padding_id: int = 0,
    ):
        super().__init__(parameters, int8=int8)
        self._config = model.backbone
        self._read_tokens(padding_id)
        states = self._encoded()
        if type(model) is PairConfig:
            logits, shape = self._logits(model, states), ("texts", model.labels)
            self._output(PROBABILITIES, self._node("Softmax", logits, axis=-1), shape)
            self._output(LOGITS, logits, shape)
        else:
            self._output(VECTORS, self._vectors(model, states), ("texts", model.backbone.emb_dim))

    # --- The encoder --------------------------------------------------------------------------

    def _encoded(self) -> str:
        """Hidden states [texts, length, emb]."""
        config, x = self._config, self._embedded()
        distances = self._distances(self._length(self._tokens)) if config.relative_bias else ""
        self._relative_bias = self._bias("encoder", distances) if config.relative_bias else ""
        if config.embedding_dim is not None:
            x = self._node("Add", self._product(x, "encoder/projection"), self._weight("encoder/projection/bias"))
        for i in range(config.num_encoder_layers):
            layer = "encoder/layer" if config.shared_layers else f"encoder/layers_{i}"
            x = self._normalised(self._attended(x, f"{layer}/attention"), x, layer, "attention_norm", "attention/out")
            x = self._normalised(self._mlp(x, f"{layer}/mlp"), x, layer, "mlp_norm", "mlp/wo")
        return x

    def _embedded(self) -> str:
        config, start = self._config, self._config.position_offset
        name = "token_embedder/positions"
        # A text's first token has the first row.
        rows = self._graph.weight("positions", self._parameters[name][start:]) if start else self._weight(name)
        tables = self._weight("token_embedder/embedding"), rows
        norm = self._weight("token_embedder/norm/scale"), self._weight("token_embedder/norm/bias")
        types, of_types = "", ""
        if config.token_types:
            types = self._node("Sub", self._mask, self._mask) if config.separator_id is None else self._types()
            of_types = self._weight("token_embedder/token_types")
        embedded, _ = self._fused(
            "EmbedLayerNormalization", self._tokens, types, *tables, of_types, *norm, outputs=2, epsilon=self._epsilon
        )
        return embedded

    def _types(self) -> str:
        """1 after the first separator, else 0."""
        separator = self._graph.constant(self._config.separator_id, "int32")
        found = self._node("Cast", self._node("Equal", self._tokens, separator), to=INT32)
        before = self._node("CumSum", found, self._graph.constant(1, "int64"), exclusive=1)
        return self._node("Min", before, self._one)

    def _attended(self, x: str, name: str) -> str:
        """Attention without its last bias."""
        inputs = [self._product(x, f"{name}/{part}") for part in ("query", "key", "value")]
        bias = np.concatenate([self._parameters[f"{name}/{part}/bias"] for part in ("query", "key", "value")])
        heads = self._fused(
            "MultiHeadAttention",
            *inputs,
            self._graph.weight(f"{name}/bias", bias),
            self._mask,
            self._relative_bias,
            num_heads=self._config.num_heads,
            mask_filter_value=MASKED,
        )
        return self._product(heads, f"{name}/out")

    def _mlp(self, x: str, name: str) -> str:
        """The layer without its last bias."""
        y, bias = self._product(x, f"{name}/wi"), self._weight(f"{name}/wi/bias")
        match self._config.activation:
            case "gelu_exact":
                y = self._fused("BiasGelu", y, bias)
            case "gelu_tanh":
                y = self._fused("FastGelu", y, bias)
            case "relu":
                y = self._node("Relu", self._node("Add", y, bias))
            case "silu":
                y = self._fused("QuickGelu", self._node("Add", y, bias), alpha=1.0)
        return self._product(y, f"{name}/wo")

    def _normalised(self, y: str, x: str, layer: str, norm: str, dense: str) -> str:
        """The norm of x + y + the bias of the dense layer that y is of."""
        parts = (f"{layer}/{norm}/scale", f"{layer}/{norm}/bias", f"{layer}/{dense}/bias")
        return self._fused("SkipLayerNormalization", y, x, *map(self._weight, parts), epsilon=self._epsilon)

    # --- Heads --------------------------------------------------------------------------------

    def _logits(self, model: PairConfig, states: str) -> str:
        query = self._parameters.get("pair/pooling") if model.pooling == "attention" else None
        vectors = self._first(states) if model.pooling == "first" else self._pooled(states, query)
        head = self._weight("pair/classes/kernel"), self._weight("pair/classes/bias")
        return self._node("Gemm", vectors, *head)

    def _vectors(self, model: DualEncoderConfig, states: str) -> str:
        vectors = self._first(states) if model.pooling == "first" else self._pooled(states, None)
        if not model.normalized:
            return self._node("Mul", vectors, self._graph.constant(model.backbone.emb_dim**-0.25, "float32"))
        length = self._node("ReduceL2", vectors, axes=[-1], keepdims=1)
        return self._node("Div", vectors, self._node("Max", length, self._graph.constant(LEAST_LENGTH, "float32")))

    def _first(self, states: str) -> str:
        return self._node("Gather", states, self._graph.constant(0, "int64"), axis=1)

    def _pooled(self, states: str, query: np.ndarray | None) -> str:
        """[texts, emb]: the mean of each text's tokens, or the output of attention with a learned query [emb]."""
        axis = self._graph.constant([1], "int64")
        valid = self._node("Cast", self._mask, to=FLOAT32)
        if query is None:
            weights = self._node("Div", valid, self._node("ReduceSum", valid, axis, keepdims=1))
        else:
            scaled = (query / np.sqrt(len(query))).astype(np.float32)
            scores = self._node("MatMul", states, self._graph.weight("pooling", scaled))
            there = self._node("Equal", self._mask, self._one)
            masked = self._node("Where", there, scores, self._graph.constant(MASKED, "float32"))
            weights = self._node("Softmax", masked, axis=-1)
        return self._node("Squeeze", self._node("MatMul", self._node("Unsqueeze", weights, axis), states), axis)

    @property
    def _epsilon(self) -> float:
        return float(self._config.layer_norm_epsilon)
