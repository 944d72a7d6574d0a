"""T5s as graphs for onnxruntime: the network of `models/t5.py`, with the same parameters, for any number and length of
texts. One graph scores answers that are known beforehand; two, encoder and decoder, are for other programs' decoding.

A decoder runs over a few tokens. So its queries are brought to the encoder's space rather than the encoder's states to
theirs: the products with keys and values, a fifth of all elsewhere, are not made.
"""

from __future__ import annotations

from collections.abc import Sequence

from lisax.models.architectures import Model, T5Config
from lisax.scoring.onnx.graph import (
    BY_TOKEN,
    FLOAT32,
    INT32,
    INT64,
    LOGITS,
    MASKED,
    PROBABILITIES,
    ModelGraph,
    Parameters,
)
from lisax.weights.interop.architecture import is_listed

EPSILON = 1e-6  # of T5's norms
START_ID = 0  # that a decoder begins with
# Inputs and outputs of encoder and decoder, as optimum names them.
IDS, MASK, STATES = "input_ids", "attention_mask", "last_hidden_state"
READ, READ_MASK = "encoder_hidden_states", "encoder_attention_mask"


def fits(model: Model) -> bool:
    """Whether there is a graph for this model."""
    return type(model) is T5Config and is_listed(model) and model.dtype == "float32"


class T5Graph(ModelGraph):
    """The layers of a T5 that `fits`."""

    def __init__(self, model: T5Config, parameters: Parameters, *, int8: bool = False):
        super().__init__(parameters, int8=int8)
        self._config = model

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
        x = self._embedded(self._tokens)
        normed = self._normalised(x, "encoder/layers_0/pre_attention_layer_norm")
        distances, stack = self._distances(self._length(self._tokens)), "encoder"
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

    def _read_encoder(self, states: str) -> None:
        """Has the decoder read these states [texts, length, emb], as far as `_mask` is 1."""
        self._states = states
        self._columns = self._node("Transpose", states, perm=[0, 2, 1])  # [texts, emb, length]
        absent = self._node("Sub", self._one, self._mask)
        masked = self._node("Cast", self._node("Unsqueeze", absent, self._axis(1)), to=FLOAT32)
        self._masked = self._node("Mul", masked, self._graph.constant(MASKED, "float32"))  # [texts, 1, length]

    def _decoded(self, inputs: str) -> str:
        """Hidden states [texts, steps, emb], ready for the product with the vocabulary, of a decoder that is given the
        tokens `inputs` [texts or 1, steps]."""
        config, stack = self._config, "decoder"
        x, steps = self._embedded(inputs), self._length(inputs)
        distances = self._distances(steps)
        bias = None if config.relative_bias_per_layer else self._bias(stack, distances, bidirectional=False)
        for i in range(config.num_decoder_layers):
            layer = f"{stack}/layers_{i}"
            own = self._bias(layer, distances, bidirectional=False) if bias is None else bias
            normed = self._normalised(x, f"{layer}/pre_self_attention_layer_norm")
            x = self._node("Add", x, self._heads(normed, f"{layer}/self_attention", own))
            normed = self._normalised(x, f"{layer}/pre_cross_attention_layer_norm")
            x = self._node("Add", x, self._read(normed, f"{layer}/encoder_decoder_attention", steps))
            normed = self._normalised(x, f"{layer}/pre_mlp_layer_norm")
            x = self._node("Add", x, self._mlp(normed, f"{layer}/mlp"))
        x = self._normalised(x, "decoder/decoder_norm")
        if not config.logits_via_embedding:
            return x
        return self._node("Mul", x, self._graph.constant(config.emb_dim**-0.5, "float32"))

    def _read(self, x: str, name: str, steps: str) -> str:
        """Attention of `steps` queries to the encoder's states: (q K) e in the place of q (K e)."""
        heads, head_dim, emb = self._config.num_heads, self._config.head_dim, self._config.emb_dim
        steps = self._node("Unsqueeze", steps, self._axis(0))
        both = self._node("Mul", steps, self._axis(heads))

        def shaped(x: str, *shape: int | str) -> str:
            sizes = (size if isinstance(size, str) else self._axis(size) for size in shape)
            return self._node("Reshape", x, self._node("Concat", *sizes, axis=0))

        def by_head(x: str, width: int, matrix: str) -> str:
            """x as [heads, …, width], times a matrix of each head, as [texts * steps, heads, …]."""
            split = self._node("Transpose", shaped(x, -1, heads, width), perm=[1, 0, 2])
            return self._node("Transpose", self._node("MatMul", split, matrix), perm=[1, 0, 2])

        def matrices(part: str, order: Sequence[int]) -> str:
            """A kernel as a matrix of each head: the axes emb, heads and head_dim in this order."""
            kernel = shaped(self._weight(f"{name}/{part}/kernel"), emb, heads, head_dim)
            return self._node("Transpose", kernel, perm=list(order))

        query = by_head(self._product(x, f"{name}/query"), head_dim, matrices("key", (1, 2, 0)))
        logits = self._node("MatMul", shaped(query, -1, both, emb), self._columns)
        weights = self._node("Softmax", self._node("Add", logits, self._masked), axis=-1)
        mixed = by_head(self._node("MatMul", weights, self._states), emb, matrices("value", (1, 0, 2)))
        return self._product(shaped(mixed, -1, steps, heads * head_dim), f"{name}/out")

    def _every_logit(self, hidden: str) -> str:
        """[texts, steps, vocabulary]"""
        if self._config.logits_via_embedding:
            table = self._node("Transpose", self._weight("token_embedder/embedding"), perm=[1, 0])
        else:
            table = self._weight("decoder/logits_dense/kernel")
        return self._node("MatMul", hidden, table)

    def _embedded(self, tokens: str) -> str:
        return self._node("Gather", self._weight("token_embedder/embedding"), tokens, axis=0)


class AnswersGraph(T5Graph):
    """Tokens -> scores of answers, `logits`."""

    def __init__(
        self,
        model: T5Config,
        parameters: Parameters,
        answers: Sequence[Sequence[int]],
        *,
        first_step: bool,
        int8: bool = False,
    ):
        """`first_step`: an answer is one piece, and its score the logit at the first decoder step, of which there are
        `probabilities` too. Otherwise it is all its pieces, with EOS, and its score their log-probability."""
        super().__init__(model, parameters, int8=int8)
        self._read_tokens()
        self._read_encoder(self._encoded())
        shape = "texts", len(answers)
        if first_step:
            logits = self._pieces([piece for (piece,) in answers])
            self._output(LOGITS, logits, shape)
            self._output(PROBABILITIES, self._node("Softmax", logits, axis=-1), shape)
        else:
            self._output(LOGITS, self._node("Concat", *map(self._log_probability, answers), axis=-1), shape)

    def _pieces(self, pieces: Sequence[int]) -> str:
        """Logits [texts, pieces] of the first step."""
        hidden = self._node("Squeeze", self._given([START_ID]), self._axis(1))
        if self._config.logits_via_embedding:
            columns = self._parameters["token_embedder/embedding"][list(pieces)].T
        else:
            columns = self._parameters["decoder/logits_dense/kernel"][:, list(pieces)]
        return self._node("MatMul", hidden, self._graph.weight("pieces", columns))

    def _log_probability(self, answer: Sequence[int]) -> str:
        """[texts, 1] of an answer with its EOS."""
        log = self._node("LogSoftmax", self._every_logit(self._given([START_ID, *answer[:-1]])), axis=-1)
        every = self._node("Reshape", log, self._graph.constant([-1, len(answer) * self._config.vocab_size], "int64"))
        chosen = [step * self._config.vocab_size + piece for step, piece in enumerate(answer)]
        picked = self._node("Gather", every, self._graph.constant(chosen, "int64"), axis=1)
        return self._node("ReduceSum", picked, self._axis(1), keepdims=1)

    def _given(self, inputs: Sequence[int]) -> str:
        """`_decoded` of the same inputs for all texts: the part that does not depend on texts is computed once, when the
        graph is read."""
        return self._decoded(self._graph.constant([inputs], "int32"))


class EncoderHalf(T5Graph):
    """`input_ids` and `attention_mask` int64 [texts, length] -> `last_hidden_state` [texts, length, emb]."""

    def __init__(self, model: T5Config, parameters: Parameters):
        super().__init__(model, parameters)
        self._tokens = self._input(IDS, INT64, BY_TOKEN)
        self._mask = self._node("Cast", self._input(MASK, INT64, BY_TOKEN), to=INT32)
        self._output(STATES, self._encoded(), (*BY_TOKEN, model.emb_dim))


class DecoderHalf(T5Graph):
    """`input_ids` int64 [texts, steps], which begin with `START_ID`, and the encoder's output with its mask ->
    `logits` [texts, steps, vocabulary] of each next token."""

    def __init__(self, model: T5Config, parameters: Parameters):
        super().__init__(model, parameters)
        inputs = self._input(IDS, INT64, ("texts", "steps"))
        self._mask = self._node("Cast", self._input(READ_MASK, INT64, BY_TOKEN), to=INT32)
        self._read_encoder(self._input(READ, FLOAT32, (*BY_TOKEN, model.emb_dim)))
        self._output(LOGITS, self._every_logit(self._decoded(inputs)), ("texts", "steps", model.vocab_size))
