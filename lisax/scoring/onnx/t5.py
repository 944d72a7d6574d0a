"""T5s that score answers, as graphs for onnxruntime: the network of `models/t5.py`, with the same parameters, for any
number and length of texts.

The decoder only runs over answers that are known beforehand, a few tokens. So its queries are brought to the encoder's
space rather than the encoder's states to theirs: the products with keys and values, a fifth of all elsewhere, are not
made.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lisax.models.architectures import Model, T5Config
from lisax.scoring.onnx.file import FLOAT32
from lisax.scoring.onnx.graph import MASKED, TOKENS, ModelGraph, Parameters
from lisax.weights.interop.architecture import is_listed

EPSILON = 1e-6  # of T5's norms
START_ID = 0  # that a decoder begins with


def fits(model: Model) -> bool:
    """Whether there is a graph for this model."""
    return type(model) is T5Config and is_listed(model) and model.dtype == "float32"


class T5Graph(ModelGraph):
    """The graph of a T5 that `fits`, whose results are scores of answers."""

    def __init__(
        self,
        model: T5Config,
        parameters: Parameters,
        answers: Sequence[Sequence[int]],
        *,
        first_step: bool,
        int8: bool = False,
    ):
        """`first_step`: an answer is one piece, and its score the logit at the first decoder step. Otherwise it is all
        its pieces, with EOS, and its score their log-probability."""
        super().__init__(parameters, int8=int8)
        self._config, self._answers = model, answers
        self._states = self._encoded()
        self._columns = self._node("Transpose", self._states, perm=[0, 2, 1])  # [texts, emb, length]
        absent = self._node("Sub", self._one, self._mask)
        masked = self._node("Cast", self._node("Unsqueeze", absent, self._axis(1)), to=FLOAT32)
        self._masked = self._node("Mul", masked, self._graph.constant(MASKED, "float32"))  # [texts, 1, length]
        if first_step:
            result = self._pieces([piece for (piece,) in answers])
        else:
            result = self._node("Concat", *map(self._log_probability, answers), axis=-1)
        self._finish(result, len(answers))

    # --- Layers -------------------------------------------------------------------------------

    def _normalised(self, x: str, name: str) -> str:
        return self._node("SimplifiedLayerNormalization", x, self._weight(f"{name}/scale"), axis=-1, epsilon=EPSILON)

    def _added(self, x: str, y: str, name: str) -> tuple[str, str]:
        """x + y, and the norm of this."""
        scale, names = self._weight(f"{name}/scale"), (f"{name}/result", "", "", f"{name}/sum")
        self._fused("SkipSimplifiedLayerNormalization", x, y, scale, names=names, epsilon=EPSILON)
        return names[3], names[0]

    def _heads(self, x: str, name: str, bias: str, *mask: str) -> str:
        """Self-attention; T5 does not scale its logits."""
        inputs = [self._product(x, f"{name}/{part}") for part in ("query", "key", "value")]
        options = {"num_heads": self._config.num_heads, "scale": 1.0, "mask_filter_value": MASKED}
        heads = self._fused("MultiHeadAttention", *inputs, "", *(mask or ("",)), bias, **options)
        return self._product(heads, f"{name}/out")

    def _mlp(self, x: str, name: str) -> str:
        activations = self._config.mlp_activations
        names = ["wi"] if len(activations) == 1 else [f"wi_{i}" for i in range(len(activations))]
        hidden = None
        for part, activation in zip(names, activations):
            y = self._activated(self._product(x, f"{name}/{part}"), activation)
            hidden = y if hidden is None else self._node("Mul", hidden, y)
        return self._product(hidden, f"{name}/wo")

    def _activated(self, x: str, activation: str) -> str:
        match activation:
            case "relu":
                return self._node("Relu", x)
            case "gelu":
                return self._fused("FastGelu", x)
            case "silu" | "swish":
                return self._fused("QuickGelu", x, alpha=1.0)
            case "sigmoid":
                return self._node("Sigmoid", x)
            case "tanh":
                return self._node("Tanh", x)
        return x

    # --- The encoder --------------------------------------------------------------------------

    def _encoded(self) -> str:
        """Hidden states [texts, length, emb]."""
        config = self._config
        x = self._node("Gather", self._weight("token_embedder/embedding"), TOKENS, axis=0)
        normed = self._normalised(x, "encoder/layers_0/pre_attention_layer_norm")
        distances, stack = self._distances(), "encoder"
        bias = None if config.relative_bias_per_layer else self._bias(stack, distances)
        for i in range(config.num_encoder_layers):
            layer = f"{stack}/layers_{i}"
            own = self._bias(layer, distances) if bias is None else bias
            y = self._heads(normed, f"{layer}/attention", own, self._mask)
            x, normed = self._added(x, y, f"{layer}/pre_mlp_layer_norm")
            last = i + 1 == config.num_encoder_layers
            after = "encoder/encoder_norm" if last else f"{stack}/layers_{i + 1}/pre_attention_layer_norm"
            x, normed = self._added(x, self._mlp(normed, f"{layer}/mlp"), after)
        return normed

    # --- The decoder --------------------------------------------------------------------------

    def _pieces(self, pieces: Sequence[int]) -> str:
        """Logits [texts, pieces] of the first step."""
        hidden = self._node("Squeeze", self._decoded([START_ID]), self._axis(1))
        if self._config.logits_via_embedding:
            columns = self._parameters["token_embedder/embedding"][list(pieces)].T
        else:
            columns = self._parameters["decoder/logits_dense/kernel"][:, list(pieces)]
        return self._node("MatMul", hidden, self._graph.weight("pieces", columns))

    def _log_probability(self, answer: Sequence[int]) -> str:
        """[texts, 1] of an answer with its EOS."""
        hidden = self._decoded([START_ID, *answer[:-1]])
        if self._config.logits_via_embedding:
            table = self._node("Transpose", self._weight("token_embedder/embedding"), perm=[1, 0])
        else:
            table = self._weight("decoder/logits_dense/kernel")
        log = self._node("LogSoftmax", self._node("MatMul", hidden, table), axis=-1)
        every = self._node("Reshape", log, self._graph.constant([-1, len(answer) * self._config.vocab_size], "int64"))
        chosen = [step * self._config.vocab_size + piece for step, piece in enumerate(answer)]
        picked = self._node("Gather", every, self._graph.constant(chosen, "int64"), axis=1)
        return self._node("ReduceSum", picked, self._axis(1), keepdims=1)

    def _decoded(self, inputs: Sequence[int]) -> str:
        """Hidden states [texts, inputs, emb] of a decoder that is given these, ready for the product with the
        vocabulary. As far as these do not depend on texts they are those of one."""
        config, stack = self._config, "decoder"
        x = self._graph.weight(f"inputs {inputs}", self._parameters["token_embedder/embedding"][None, list(inputs)])
        for i in range(config.num_decoder_layers):
            layer = f"{stack}/layers_{i}"
            bias = self._past(layer if config.relative_bias_per_layer else stack, len(inputs))
            normed = self._normalised(x, f"{layer}/pre_self_attention_layer_norm")
            x = self._node("Add", x, self._heads(normed, f"{layer}/self_attention", bias))
            normed = self._normalised(x, f"{layer}/pre_cross_attention_layer_norm")
            x = self._node("Add", x, self._read(normed, f"{layer}/encoder_decoder_attention", len(inputs)))
            normed = self._normalised(x, f"{layer}/pre_mlp_layer_norm")
            x = self._node("Add", x, self._mlp(normed, f"{layer}/mlp"))
        x = self._normalised(x, "decoder/decoder_norm")
        if not config.logits_via_embedding:
            return x
        return self._node("Mul", x, self._graph.constant(config.emb_dim**-0.5, "float32"))

    def _past(self, name: str, steps: int) -> str:
        """The decoder's relative position bias [1, heads, steps, steps], by which no step sees later ones."""
        relative = np.arange(steps)[None, :] - np.arange(steps)[:, None]
        bias = np.where(relative > 0, np.float32(MASKED), self._relative(name, relative, bidirectional=False))
        return self._graph.weight(f"{name}/past {steps}", bias[None])

    def _read(self, x: str, name: str, steps: int) -> str:
        """Attention of `steps` queries to the encoder's states: (q K) e in the place of q (K e)."""
        heads, head_dim, emb = self._config.num_heads, self._config.head_dim, self._config.emb_dim
        keys, values = (self._parameters[f"{name}/{part}/kernel"].reshape(emb, heads, -1) for part in ("key", "value"))

        def by_head(x: str, shape: Sequence[int], matrix: str) -> str:
            """x as [heads, …, width], times a matrix of each head, as [texts * steps, heads, …]."""
            split = self._node("Reshape", x, self._graph.constant([-1, heads, shape[-1]], "int64"))
            product = self._node("MatMul", self._node("Transpose", split, perm=[1, 0, 2]), matrix)
            return self._node("Transpose", product, perm=[1, 0, 2])

        def shaped(x: str, *shape: int) -> str:
            return self._node("Reshape", x, self._graph.constant(list(shape), "int64"))

        into = self._graph.weight(f"{name}/keys", keys.transpose(1, 2, 0))
        out = self._graph.weight(f"{name}/values", values.transpose(1, 0, 2))
        queries = shaped(by_head(self._product(x, f"{name}/query"), [head_dim], into), -1, steps * heads, emb)
        logits = self._node("Add", self._node("MatMul", queries, self._columns), self._masked)
        mixed = self._node("MatMul", self._node("Softmax", logits, axis=-1), self._states)
        return self._product(shaped(by_head(mixed, [emb], out), -1, steps, heads * head_dim), f"{name}/out")
