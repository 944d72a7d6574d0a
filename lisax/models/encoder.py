"""Encoders of the BERT family: BERT (Devlin et al. 2019), MiniLM (Wang et al. 2020), RoBERTa (Liu et al. 2019), ALBERT
(Lan et al. 2020) and MPNet (Song et al. 2020), as configurations of one module.

Unlike T5's, their layers normalise after each residual sum, have biases, and learn absolute positions; MPNet has T5's
biases of relative positions as well. Dimensions in comments as in `attention.py`.
"""

from __future__ import annotations

from typing import NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
from jax import Array
from jax.ad_checkpoint import checkpoint_name

from lisax.errors import LisaxError
from lisax.models.architectures import EncoderConfig
from lisax.models.attention import (
    HIDDEN,
    MASKED,
    RESIDUAL,
    SUM,
    Dense,
    RelativePositionBias,
    constrain,
    in_chunks,
    pair_mask,
)
from lisax.models.t5 import run_layers

ACTIVATIONS = {
    "gelu_exact": lambda x: nn.gelu(x, approximate=False),
    "gelu_tanh": lambda x: nn.gelu(x, approximate=True),
    "relu": nn.relu,
    "silu": nn.silu,
}

_init = nn.initializers.normal(0.02)


class LayerNorm(nn.Module):
    """Normalisation to mean 0 and variance 1 with a learned scale and bias, computed in float32."""

    dtype: str
    epsilon: float

    @nn.compact
    def __call__(self, x: Array) -> Array:
        scale = self.param("scale", nn.initializers.ones, (x.shape[-1],), jnp.float32)
        bias = self.param("bias", nn.initializers.zeros, (x.shape[-1],), jnp.float32)
        x = x.astype(jnp.float32)
        x -= jnp.mean(x, axis=-1, keepdims=True)
        x *= jax.lax.rsqrt(jnp.mean(jnp.square(x), axis=-1, keepdims=True) + self.epsilon)
        return (x * scale + bias).astype(self.dtype)


def _norm(config: EncoderConfig, name: str) -> LayerNorm:
    return LayerNorm(config.dtype, config.layer_norm_epsilon, name=name)


def _dense(config: EncoderConfig, features: int, axes: tuple[str, str], name: str | None = None) -> Dense:
    return Dense(features, config.dtype, _init, axes, bias=True, name=name)


def _dropout(config: EncoderConfig, x: Array, dropout: bool) -> Array:
    # One mask for all tokens of a text, as T5X has it: drawing one for each is a good part of a step on a CPU.
    return nn.Dropout(config.dropout_rate, broadcast_dims=(-2,))(x, deterministic=not dropout)


class TokenEmbedder(nn.Module):
    """The normalised sum of the embeddings of a token, its position and its type."""

    config: EncoderConfig

    @nn.compact
    def __call__(self, tokens: Array, token_types: Array | None = None) -> Array:
        """tokens int32 [batch, length] -> [batch, length, embedding width].

        `token_types` int32 of the same shape, which a model without types ignores; None: derived from the config's
        separator, else all 0. Raises LisaxError for texts longer than the model has positions."""
        config, length = self.config, tokens.shape[1]

        def table(name: str, rows: int, axis: str) -> Array:
            table = self.param(name, _init, (rows, config.embedding_width), jnp.float32)
            return constrain(table.astype(config.dtype), axis, "embed")

        if isinstance(length, int) and length > config.max_length:  # that of an exported program is a symbol
            raise LisaxError(
                f"a text of {length} tokens, but the model has {config.max_length} positions: shorten the texts, or "
                "lower TASK_FEATURE_LENGTHS"
            )
        positions = table("positions", config.max_positions, "positions")[config.position_offset + jnp.arange(length)]
        x = table("embedding", config.vocab_size, "vocab")[tokens] + positions  # [batch, length, width]
        if config.token_types:
            types = segments(tokens, config.separator_id) if token_types is None else token_types
            x += table("token_types", config.token_types, "token_types")[types]
        return _norm(config, "norm")(constrain(x, *HIDDEN))


def segments(tokens: Array, separator_id: int | None) -> Array:
    """int32 [batch, length]: 0 up to the first separator and at it, 1 after it; all 0 without a separator."""
    if separator_id is None:
        return jnp.zeros_like(tokens)
    separators, places = tokens == separator_id, jnp.arange(tokens.shape[-1])  # [batch, length], [length]
    # Not by a cumulative sum, which a program for any length cannot carry.
    first = jnp.min(jnp.where(separators, places, tokens.shape[-1]), axis=-1, keepdims=True)  # [batch, 1]
    return (places > first).astype(jnp.int32)


class SelfAttention(nn.Module):
    """Multi-head attention; logits and softmax are float32 whatever `dtype` is."""

    config: EncoderConfig

    @nn.compact
    def __call__(self, x: Array, mask: Array, bias: Array | None, *, dropout: bool) -> Array:
        """x [batch, length, emb], mask bool [batch, 1, length, length], bias [1, heads, length, length] ->
        [batch, length, emb]."""
        config, (batch, length, emb_dim) = self.config, x.shape
        heads, head_dim = config.num_heads, emb_dim // config.num_heads

        def project(name: str) -> Array:
            # [batch, length, emb] -> [batch, length, heads, head_dim]
            y = _dense(config, emb_dim, ("embed", "joined_kv"), name)(x)
            return constrain(y.reshape(batch, length, heads, head_dim), "batch", "length", "heads", "kv")

        query, key, value = project("query") * head_dim**-0.5, project("key"), project("value")
        kept = None
        if dropout and config.dropout_rate:
            keep = 1.0 - config.dropout_rate  # one mask for all queries of a head, as T5's has it
            drawn = jax.random.bernoulli(self.make_rng("dropout"), keep, (batch, heads, 1, length))
            kept = drawn * jnp.asarray(1 / keep, config.dtype)  # [batch, heads, 1, length]

        def attend(query: Array, mask: Array, bias: Array | None) -> Array:
            logits = jnp.einsum("bqhd,bkhd->bhqk", query, key, preferred_element_type=jnp.float32)
            logits = logits if bias is None else logits + bias.astype(logits.dtype)
            weights = jax.nn.softmax(jnp.where(mask, logits, MASKED)).astype(config.dtype)
            return jnp.einsum("bhqk,bkhd->bqhd", weights if kept is None else weights * kept, value)

        mixed = constrain(in_chunks(config, attend, query, mask, bias), "batch", "length", "heads", "kv")
        return _dense(config, emb_dim, ("joined_kv", "embed"), "out")(mixed.reshape(x.shape))


class Mlp(nn.Module):
    config: EncoderConfig

    @nn.compact
    def __call__(self, x: Array) -> Array:
        config = self.config
        y = _dense(config, config.mlp_dim, ("embed", "mlp"), "wi")(x)  # [batch, length, mlp]
        y = ACTIVATIONS[config.activation](constrain(y, "batch", "length", "mlp"))
        return _dense(config, x.shape[-1], ("mlp", "embed"), "wo")(y)  # [batch, length, emb]


class EncoderLayer(nn.Module):
    config: EncoderConfig

    @nn.compact
    def __call__(self, x: Array, mask: Array, bias: Array | None, *, dropout: bool) -> Array:
        config = self.config

        def added(name: str, y: Array) -> Array:
            y = checkpoint_name(constrain(x + _dropout(config, y, dropout), *RESIDUAL), SUM)
            return constrain(_norm(config, name)(y), *RESIDUAL)

        attention = SelfAttention(config, name="attention")
        x = added("attention_norm", attention(constrain(x, *HIDDEN), mask, bias, dropout=dropout))
        return added("mlp_norm", Mlp(config, name="mlp")(constrain(x, *HIDDEN)))


class Encoder(nn.Module):
    """All layers; of factorised embeddings (ALBERT's) first the projection to their width."""

    config: EncoderConfig

    @nn.compact
    def __call__(self, x: Array, mask: Array, *, dropout: bool) -> Array:
        """x [batch, length, embedding width], mask bool [batch, 1, length, length] -> [batch, length, emb]."""
        config, count = self.config, self.config.num_encoder_layers
        x = _dropout(config, x.astype(config.dtype), dropout)  # [batch, length, embedding width]
        if config.embedding_dim is not None:
            x = _dense(config, config.emb_dim, ("factor", "embed"), "projection")(x)  # [batch, length, emb]
        bias = None  # [1, heads, length, length]
        if config.relative_bias:
            bias = RelativePositionBias(config, bidirectional=True, name="relpos_bias")(x.shape[1], x.shape[1])
        if config.shared_layers:
            layer = EncoderLayer(config, name="layer")
            layers = layer if config.scan_layers else [layer] * count
            return run_layers(config, layers, count, x, mask, bias, dropout=dropout)
        layers = (
            EncoderLayer(config, name="encoder")
            if config.scan_layers
            else [EncoderLayer(config, name=f"layers_{i}") for i in range(count)]
        )
        return run_layers(config, layers, count, x, mask, bias, dropout=dropout)


class Encoded(NamedTuple):
    states: Array  # [batch, length, emb] of `dtype`
    pooled: Array | None  # [batch, emb] of `dtype`: a layer on the first token; None without one


class TextEncoder(nn.Module):
    """An encoder without a head. Token 0 is padding."""

    config: EncoderConfig

    def setup(self):
        self.token_embedder, self.encoder = self.config.embedder(), self.config.encoder()
        if self.config.pooler:
            self.pooler = _dense(self.config, self.config.emb_dim, ("embed", "mlp"))

    def __call__(self, tokens: Array, token_types: Array | None = None, *, enable_dropout: bool = False) -> Encoded:
        """tokens int32 [batch, length]; `token_types` as in `TokenEmbedder`. States of padding mean nothing."""
        valid = constrain(tokens, "batch", "length") > 0  # [batch, length]
        states = self.encoder(self.token_embedder(tokens, token_types), pair_mask(valid, valid), dropout=enable_dropout)
        return Encoded(states, jnp.tanh(self.pooler(states[:, 0])) if self.config.pooler else None)
