"""T5 1.0 and 1.1 (Raffel et al. 2020; Shazeer 2020), every size, as T5X parametrises it.

The parameter tree is T5X's: kernels are two-dimensional with heads joined, there are no biases, and one relative
position bias is shared by the layers of a stack (`t5x.examples.t5`) or each layer has one
(`t5x.examples.scalable_t5`). Dimensions in comments as in `attention.py`.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.ad_checkpoint import checkpoint_name

from lisax.models.architectures import Backbone, T5Config
from lisax.models.attention import (
    ENCODED,
    HIDDEN,
    MIXED,
    PAST,
    RESIDUAL,
    SUM,
    Attention,
    Dense,
    RelativePositionBias,
    constrain,
    fan_in,
    pair_mask,
)

ACTIVATIONS = {
    "linear": lambda x: x,
    "relu": nn.relu,
    "gelu": nn.gelu,
    "silu": nn.silu,
    "swish": nn.swish,
    "sigmoid": nn.sigmoid,
    "tanh": nn.tanh,
}
_KEPT = ("query", "key", "wi", "wi_0", "wi_1", MIXED, SUM)
REMAT = {
    "none": None,
    "attention": None,  # see `attention.in_chunks`
    # Attention is computed again as far as its logits.
    "minimal": jax.checkpoint_policies.save_only_these_names("value", *_KEPT),
    # Values are modelled to take less time than queries or keys of the same memory: benchmarks/notes/tpu.md.
    "values": jax.checkpoint_policies.save_only_these_names(*_KEPT),
    "full": jax.checkpoint_policies.nothing_saveable,
}


def cast_kernels(config: Backbone, parameters: dict) -> dict:
    """The parameters with the layers' matrices in the type of activations, in which they are used anyway.

    Gradients with respect to these are the same numbers as with respect to the float32 originals, in half the
    memory where activations are bfloat16."""

    def cast(path, leaf):
        names = [entry.key for entry in path]
        of_layers = names[0] in ("encoder", "decoder") and "logits_dense" not in names
        return leaf.astype(config.dtype) if names[-1] == "kernel" and of_layers else leaf

    return jax.tree_util.tree_map_with_path(cast, parameters)


class LayerNorm(nn.Module):
    """Root-mean-square normalisation with a learned scale, computed in float32."""

    dtype: str
    epsilon: float = 1e-6

    @nn.compact
    def __call__(self, x: Array) -> Array:
        scale = self.param("scale", nn.initializers.ones, (x.shape[-1],), jnp.float32)
        x = x.astype(jnp.float32)
        x = x * jax.lax.rsqrt(jnp.mean(jnp.square(x), axis=-1, keepdims=True) + self.epsilon)
        return (x * scale).astype(self.dtype)


_mlp_init = nn.initializers.variance_scaling(1.0, "fan_in", "truncated_normal")


class Mlp(nn.Module):
    """Feed-forward block: the product of its activations, then back to emb_dim."""

    config: T5Config

    @nn.compact
    def __call__(self, x: Array, *, dropout: bool) -> Array:
        config = self.config
        hidden = []
        for i, activation in enumerate(config.mlp_activations):
            name = "wi" if len(config.mlp_activations) == 1 else f"wi_{i}"
            y = Dense(config.mlp_dim, config.dtype, _mlp_init, ("embed", "mlp"), name=name)(x)
            y = constrain(y, "batch", "length", "mlp")  # [batch, length, mlp]
            hidden.append(ACTIVATIONS[activation](y))
        y = functools.reduce(jnp.multiply, hidden)  # [batch, length, mlp]
        y = _dropout(config, y, dropout)
        return Dense(x.shape[-1], config.dtype, _mlp_init, ("mlp", "embed"), name="wo")(y)  # [batch, length, emb]


def _dropout(config: T5Config, x: Array, dropout: bool) -> Array:
    return nn.Dropout(config.dropout_rate, broadcast_dims=config.dropout_broadcast_dims)(x, deterministic=not dropout)


def _residual(config: T5Config, x: Array, y: Array, dropout: bool) -> Array:
    return checkpoint_name(constrain(x + _dropout(config, y, dropout), *RESIDUAL), SUM)


def _normed(config: T5Config, name: str, x: Array) -> Array:
    return constrain(LayerNorm(config.dtype, name=name)(x), *HIDDEN)


def run_layers(
    config: Backbone,
    layers: Sequence[nn.Module] | nn.Module,
    count: int,
    x: Array,
    *shared: Array | None,
    dropout: bool,
) -> Array:
    """x through all layers, or with `scan_layers` `count` times through the given one: its parameters are those of all
    layers, stacked, or of each of them if `shared_layers` is set."""

    def run(layer: nn.Module, x: Array, *shared: Array | None) -> Array:
        return layer(constrain(x, *RESIDUAL), *shared, dropout=dropout)

    if REMAT[config.remat] is not None:
        # The activations of few tokens are smaller than the matrices that would be read again to compute them.
        few = x.shape[0] * x.shape[1] < config.emb_dim
        policy = REMAT["minimal" if few else config.remat]
        run = nn.remat(run, policy=policy, prevent_cse=not config.scan_layers)
    if not config.scan_layers:
        for layer in layers:
            x = run(layer, x, *shared)
        return x
    scan = nn.scan(
        lambda layer, x, *shared: (run(layer, x, *shared), None),
        variable_axes={} if config.shared_layers else {"params": 1},
        variable_broadcast="params" if config.shared_layers else False,
        split_rngs={"params": not config.shared_layers, "dropout": True},
        in_axes=nn.broadcast,
        length=count,
    )
    return scan(layers, x, *shared)[0]


class EncoderLayer(nn.Module):
    config: T5Config

    @nn.compact
    def __call__(self, x: Array, mask: Array, bias: Array | None, *, dropout: bool) -> Array:
        """`bias` is that of the stack; None if each layer has its own."""
        config, matching = self.config, self.config.attention_init == "matching"
        if config.relative_bias_per_layer:
            bias = RelativePositionBias(config, True, matching, name="relpos_bias")(x.shape[1], x.shape[1])
        y = _normed(config, "pre_attention_layer_norm", x)  # [batch, length, emb]
        y = Attention(config, matching, name="attention")(y, y, mask, bias, dropout=dropout)
        x = _residual(config, x, y, dropout)  # [batch, length, emb]
        y = _normed(config, "pre_mlp_layer_norm", x)  # [batch, length, emb]
        y = Mlp(config, name="mlp")(y, dropout=dropout)
        return _residual(config, x, y, dropout)


def _decoder_bias(relpos_bias: RelativePositionBias, x: Array, self_mask: Array, position: Array | None) -> Array:
    """The bias of x's positions, or of the one `position` of all beams in x, to the keys of `self_mask`."""
    beams = 1 if position is None else x.shape[1]
    steps = self_mask.shape[-1] // beams
    return jnp.repeat(relpos_bias(steps, steps, position), beams, axis=-1)  # [1, heads, length, keys]


class DecoderLayer(nn.Module):
    config: T5Config

    @nn.compact
    def __call__(
        self,
        x: Array,
        encoded: Array,
        self_mask: Array,
        cross_mask: Array,
        bias: Array | None,
        position: Array | None,
        *,
        dropout: bool,
    ) -> Array:
        """`bias` is that of the stack; None if each layer has its own. `position` as in `Decoder`."""
        config = self.config
        if config.relative_bias_per_layer:
            own = RelativePositionBias(config, bidirectional=False, name="relpos_bias")
            bias = _decoder_bias(own, x, self_mask, position)  # [1, heads, length, keys]
        y = _normed(config, "pre_self_attention_layer_norm", x)  # [batch, length, emb]
        y = Attention(config, cache=PAST, name="self_attention")(y, y, self_mask, bias, dropout=dropout)
        x = _residual(config, x, y, dropout)  # [batch, length, emb]
        y = _normed(config, "pre_cross_attention_layer_norm", x)  # [batch, length, emb]
        y = Attention(config, cache=ENCODED, name="encoder_decoder_attention")(
            y, encoded, cross_mask, None, dropout=dropout
        )
        x = _residual(config, x, y, dropout)  # [batch, length, emb]
        y = _normed(config, "pre_mlp_layer_norm", x)  # [batch, length, emb]
        y = Mlp(config, name="mlp")(y, dropout=dropout)
        return _residual(config, x, y, dropout)


class Encoder(nn.Module):
    config: T5Config

    @nn.compact
    def __call__(self, x: Array, mask: Array, *, dropout: bool) -> Array:
        """x [batch, length, emb], mask [batch, 1, length, length] -> [batch, length, emb]."""
        config = self.config
        length = x.shape[1]
        bias = None
        if not config.relative_bias_per_layer:
            matching = config.attention_init == "matching"
            bias = RelativePositionBias(config, True, matching, name="relpos_bias")(length, length)
        x = constrain(_dropout(config, x.astype(config.dtype), dropout), *RESIDUAL)  # [batch, length, emb]
        count = config.num_encoder_layers
        layers = (
            EncoderLayer(config, name="encoder")
            if config.scan_layers
            else [EncoderLayer(config, name=f"layers_{i}") for i in range(count)]
        )
        x = run_layers(config, layers, count, x, mask, bias, dropout=dropout)  # [batch, length, emb]
        x = LayerNorm(config.dtype, name="encoder_norm")(x)
        if dropout and config.dropout_rate:
            # T5X draws a mask for each position here, and shares one over positions everywhere else. Behind a barrier,
            # because XLA draws it again for every product that reads it.
            drawn = nn.Dropout(config.dropout_rate)(jnp.ones_like(x), deterministic=False) > 0
            kept = jax.lax.optimization_barrier(drawn)  # [batch, length, emb]
            x = jax.lax.optimization_barrier(jnp.where(kept, x / (1.0 - config.dropout_rate), 0))
        return constrain(constrain(x, *RESIDUAL), *HIDDEN)


class Decoder(nn.Module):
    config: T5Config

    def setup(self):
        config = self.config
        if not config.relative_bias_per_layer:
            self.relpos_bias = RelativePositionBias(config, bidirectional=False)
        if config.scan_layers:
            self.decoder = DecoderLayer(config)
        else:
            self.layers = [DecoderLayer(config) for _ in range(config.num_decoder_layers)]
        self.decoder_norm = LayerNorm(config.dtype)
        # Of the input and the output. Masks are drawn by a module's name: these are T5X's.
        self.Dropout_0 = nn.Dropout(config.dropout_rate, broadcast_dims=config.dropout_broadcast_dims)
        self.Dropout_1 = nn.Dropout(config.dropout_rate, broadcast_dims=config.dropout_broadcast_dims)
        if not config.logits_via_embedding:
            # Logits in float32 even where activations are not: the loss needs their precision.
            self.logits_dense = Dense(config.vocab_size, "float32", fan_in, ("embed", "vocab"))

    def __call__(
        self,
        x: Array,
        encoded: Array,
        self_mask: Array,
        cross_mask: Array,
        *,
        dropout: bool,
        position: Array | None = None,
    ) -> Array:
        """x [batch, length, emb], encoded [batch, keys, emb] -> hidden states [batch, length, emb].

        Where `position` is given, x [batch, beams, emb] are tokens of that position only, and the keys are those of all
        beams of each step."""
        config = self.config
        bias = None
        if not config.relative_bias_per_layer:
            bias = _decoder_bias(self.relpos_bias, x, self_mask, position)  # [1, heads, length, keys]
        x = self.Dropout_0(x.astype(config.dtype), deterministic=not dropout)  # [batch, length, emb]
        layers = self.decoder if config.scan_layers else self.layers
        x = run_layers(
            config,
            layers,
            config.num_decoder_layers,
            x,
            encoded,
            self_mask,
            cross_mask,
            bias,
            position,
            dropout=dropout,
        )
        return constrain(self.Dropout_1(self.decoder_norm(x), deterministic=not dropout), *HIDDEN)

    def logits(self, hidden: Array, embedding: Array, pieces: Array | None) -> Array:
        """Logits [batch, length, vocab], or [batch, length, pieces] of those vocabulary ids only."""
        if self.config.logits_via_embedding:
            rows = embedding if pieces is None else embedding[pieces]  # [vocab or pieces, emb]
            hidden = hidden.astype(jnp.float32) / np.sqrt(hidden.shape[-1])  # [batch, length, emb]
            return constrain(jnp.dot(hidden, rows.astype(jnp.float32).T), "batch", "length", "vocab")
        if pieces is None:
            return constrain(self.logits_dense(hidden), "batch", "length", "vocab")
        kernel = self.logits_dense.variables["params"]["kernel"]  # [emb, vocab]
        return jnp.dot(hidden.astype(jnp.float32), kernel[:, pieces])  # [batch, length, pieces]


class TokenEmbedder(nn.Module):
    config: T5Config

    def setup(self):
        self.embedding = self.param(
            "embedding", nn.initializers.normal(1.0), (self.config.vocab_size, self.config.emb_dim), jnp.float32
        )

    def __call__(self, tokens: Array, token_types: None = None) -> Array:
        """[batch, length] -> [batch, length, emb]. A T5 has no token types."""
        embedding = constrain(self.embedding.astype(self.config.dtype), "vocab", "embed")  # [vocab, emb]
        return constrain(embedding[tokens], *RESIDUAL)


class Transformer(nn.Module):
    """Encoder-decoder T5. Token 0 is padding; all token arrays are int32."""

    config: T5Config

    def setup(self):
        self.token_embedder = TokenEmbedder(self.config)
        self.encoder = Encoder(self.config)
        self.decoder = Decoder(self.config)

    def encode(
        self,
        encoder_input_tokens: Array,
        encoder_segment_ids: Array | None = None,
        *,
        embedded: Array | None = None,
        enable_dropout: bool = False,
    ) -> Array:
        """[batch, length] -> [batch, length, emb]. Segments are those of packed examples; `embedded` are the tokens'
        embeddings, if they are known."""
        valid = encoder_input_tokens > 0  # [batch, length]
        mask = pair_mask(valid, valid)  # [batch, 1, length, length]
        if encoder_segment_ids is not None:
            mask &= pair_mask(encoder_segment_ids, encoder_segment_ids, jnp.equal)
        embedded = self.token_embedder(encoder_input_tokens) if embedded is None else embedded
        return self.encoder(embedded, mask, dropout=enable_dropout)

    def decode(
        self,
        encoded: Array,
        encoder_input_tokens: Array,
        decoder_input_tokens: Array,
        decoder_target_tokens: Array,
        encoder_segment_ids: Array | None = None,
        decoder_segment_ids: Array | None = None,
        *,
        pieces: Array | None = None,
        embedded: Array | None = None,
        enable_dropout: bool = False,
    ) -> Array:
        """Logits float32 [batch, target length, vocab or len(pieces)] given `encoded` inputs; `embedded` are the input
        tokens' embeddings, if they are known."""
        valid = decoder_target_tokens > 0  # [batch, length]
        length = decoder_input_tokens.shape[1]
        self_mask = pair_mask(valid, valid) & np.tril(np.ones((length, length), bool))  # [batch, 1, length, length]
        cross_mask = pair_mask(valid, encoder_input_tokens > 0)  # [batch, 1, length, keys]
        if decoder_segment_ids is not None:
            self_mask &= pair_mask(decoder_segment_ids, decoder_segment_ids, jnp.equal)
            cross_mask &= pair_mask(decoder_segment_ids, encoder_segment_ids, jnp.equal)
        embedded = self.token_embedder(decoder_input_tokens) if embedded is None else embedded
        hidden = self.decoder(embedded, encoded, self_mask, cross_mask, dropout=enable_dropout)
        return self.decoder.logits(hidden, self.token_embedder.embedding, pieces)

    def next_logits(
        self,
        encoded: Array,
        encoder_input_tokens: Array,
        tokens: Array,
        position: Array,
        steps: int,
        ancestors: Array | None = None,
    ) -> Array:
        """Logits float32 [batch, beams, vocab] after `tokens` [batch, beams], at `position` of `steps`.

        Attends to the positions before through the collection PAST, which is extended, and to the inputs through
        ENCODED if it is there: `decoding.py` makes their initial values. `ancestors` int32 [batch, beams, steps]: which
        beam of each earlier step a beam continues; None: always the one in its own place.
        """
        beams = jnp.arange(tokens.shape[1])
        came_from = jnp.zeros((1, 1, steps), jnp.int32) + beams[:, None] if ancestors is None else ancestors
        came_from = jnp.where(jnp.arange(steps) == position, beams[:, None], came_from)
        # [batch, beams, steps, beams]
        past = (came_from[..., None] == beams) & (jnp.arange(steps) <= position)[:, None]
        past = past.reshape(past.shape[0], 1, tokens.shape[1], -1)  # [batch, 1, beams, steps * beams]
        hidden = self.decoder(
            self.token_embedder(tokens),
            encoded,
            past,
            encoder_input_tokens[:, None, None, :] > 0,
            dropout=False,
            position=position,
        )
        return self.decoder.logits(hidden, self.token_embedder.embedding, None)

    def __call__(
        self,
        encoder_input_tokens: Array,
        decoder_input_tokens: Array,
        decoder_target_tokens: Array,
        encoder_segment_ids: Array | None = None,
        decoder_segment_ids: Array | None = None,
        encoder_positions: Array | None = None,
        decoder_positions: Array | None = None,
        *,
        enable_dropout: bool = False,
    ) -> Array:
        """Teacher-forced logits float32 [batch, target length, vocab].

        Positions are accepted because packed batches carry them, and unused: relative biases depend on
        differences only, which packing keeps within a segment.
        """
        del encoder_positions, decoder_positions
        # At once, for one gradient as large as the vocabulary.
        embedded = self.token_embedder(jnp.concatenate([encoder_input_tokens, decoder_input_tokens], axis=1))
        inputs, targets = jnp.split(embedded, [encoder_input_tokens.shape[1]], axis=1)
        encoded = self.encode(encoder_input_tokens, encoder_segment_ids, embedded=inputs, enable_dropout=enable_dropout)
        return self.decode(
            encoded,
            encoder_input_tokens,
            decoder_input_tokens,
            decoder_target_tokens,
            encoder_segment_ids,
            decoder_segment_ids,
            embedded=targets,
            enable_dropout=enable_dropout,
        )

    def first_step_logits(self, encoder_input_tokens: Array, pieces: Array) -> Array:
        """Logits float32 [batch, len(pieces)] of the first decoded token, for those vocabulary ids only.

        The label-word scorer of monoT5 (Nogueira et al. 2020): one decoder step from the start token.
        """
        encoded = self.encode(encoder_input_tokens)  # [batch, length, emb]
        start = jnp.zeros((encoder_input_tokens.shape[0], 1), jnp.int32)  # [batch, 1]
        return self.decode(encoded, encoder_input_tokens, start, start + 1, pieces=pieces)[:, 0]


def initialize(config: Any, seed: int = 0) -> dict:
    """Fresh float32 parameters of a model (a T5's are in T5X's layout), a nested dict."""
    # One program for each shape of parameter: a single one's time to compile grows with the number of layers.
    variables = config.network().lazy_init(jax.random.key(seed), *config.example())
    return jax.tree.map(lambda x: x, dict(variables["params"]))
