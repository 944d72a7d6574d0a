"""Table fusion: an encoder reads a claim with each of k tables, and self-attention across the tables decides.

Every (claim, table) text is encoded on its own and pooled to one vector f; one multi-head self-attention lets the
k vectors of a claim see each other; from f and the heads' outputs side by side an MLP gives the table's logits.
The network has no order of tables: permuted tables have permuted outputs. Parameters are the
backbone's, so that its checkpoint starts them, and a `fusion` head that is computed in float32.
"""

from __future__ import annotations

from typing import NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from lisax.models.architectures import FusionConfig
from lisax.models.attention import MASKED, Dense, constrain, pair_mask
from lisax.models.pooling import as_texts, pooled

# Classes of a table in `targets`; NO_TABLE is that of a place without one. Logits are of the last two or three.
NO_TABLE, IRRELEVANT, TRUE, FALSE = range(4)


class Fused(NamedTuple):
    logits: Array  # float32 [rows, k, classes]: true and false, before them irrelevant of the ternary objective
    present: Array  # bool [rows, k]: whether there is a table
    attention: Array  # float32 [rows, heads, k, k]: of each table to each; 0 to absent ones


class TableFusion(nn.Module):
    """Logits and attention of the k tables of each claim; token 0 is padding, a table without tokens is absent."""

    config: FusionConfig

    def setup(self):
        self.token_embedder = self.config.backbone.embedder()
        self.encoder = self.config.backbone.encoder()
        self.fusion = FusionHead(self.config)

    def __call__(self, tokens: Array, *, vectors: Array | None = None, enable_dropout: bool = False) -> Fused:
        """tokens int32 [rows, k, length]; all tables of all rows are one batch of the encoder, or it is left out if
        their `vectors` are given, float32 [rows, k, emb] (see `vectors_once`)."""
        rows, tables, length = tokens.shape
        if vectors is not None:
            return self.fusion(*as_texts(vectors, tokens), tables, dropout=enable_dropout)
        texts = constrain(tokens.reshape(rows * tables, length), "batch", "length")  # [rows * tables, length]
        valid = texts > 0  # [rows * tables, length]
        trained = self.config.train_encoder
        encoded = self.encoder(self.token_embedder(texts), pair_mask(valid, valid), dropout=enable_dropout and trained)
        encoded = encoded if trained else jax.lax.stop_gradient(encoded)  # [rows * tables, length, emb]
        return self.fusion(encoded, valid, tables, dropout=enable_dropout)


class FusionHead(nn.Module):
    """The layers after the encoder, in float32."""

    config: FusionConfig

    @nn.compact
    def __call__(self, encoded: Array, valid: Array, tables: int, *, dropout: bool) -> Fused:
        """encoded [rows * tables, length, emb], valid bool [rows * tables, length]."""
        config, emb_dim = self.config, encoded.shape[-1]
        query = None
        if config.pooling == "attention":
            query = self.param("pooling", nn.initializers.normal(1.0), (emb_dim,), jnp.float32)
        vectors = pooled(encoded.astype(jnp.float32), valid, query).reshape(-1, tables, emb_dim)  # [rows, tables, emb]
        present = valid.any(axis=-1).reshape(-1, tables)  # [rows, tables]
        rows = vectors.shape[0]
        mixed, attention = jnp.zeros((rows, tables, 0)), jnp.zeros((rows, 0, tables, tables))
        if config.heads:
            mixed, attention = self._across(vectors, present)
        x = jnp.concatenate([vectors, mixed], axis=-1)  # [rows, tables, 2 emb]
        x = nn.Dropout(config.backbone.dropout_rate)(x, deterministic=not dropout)
        x = jnp.tanh(Dense(emb_dim, "float32", _kernel_init, ("embed", "mlp"), name="hidden")(x))
        logits = Dense(config.classes, "float32", _kernel_init, ("mlp", "classes"), name="classes")(x)
        return Fused(logits, present, attention)

    def _across(self, vectors: Array, present: Array) -> tuple[Array, Array]:
        """vectors [rows, tables, emb] -> the output of each table's heads [rows, tables, emb], and their weights."""
        rows, tables, emb_dim = vectors.shape
        heads = self.config.heads

        def project(name: str) -> Array:
            dense = Dense(emb_dim, "float32", _kernel_init, ("embed", "joined_kv"), name=name)
            return dense(vectors).reshape(rows, tables, heads, emb_dim // heads)

        query, key, value = project("query"), project("key"), project("value")
        logits = jnp.einsum("rihd,rjhd->rhij", query, key) / np.sqrt(emb_dim // heads)  # [rows, heads, tables, tables]
        weights = jax.nn.softmax(jnp.where(present[:, None, None], logits, MASKED))
        weights = jnp.where(present[:, None, :, None] & present[:, None, None], weights, 0.0)
        return jnp.einsum("rhij,rjhd->rihd", weights, value).reshape(vectors.shape), weights


_kernel_init = nn.initializers.variance_scaling(1.0, "fan_in", "normal")


# --- Probabilities and losses --------------------------------------------------------------


def log_probabilities(objective: str, fused: Fused) -> Array:
    """Log-probabilities float32 [rows, k, classes]: of (table, truth) pairs, whose probabilities sum to 1 in a row, or,
    of the ternary objective, of each table's classes. Absent tables have MASKED or less."""
    present, logits = fused.present[..., None], fused.logits  # [rows, k, 1], [rows, k, classes]
    if objective in ("joint", "reranking"):
        pairs = jnp.where(present, logits, MASKED)  # [rows, k, classes]
        return pairs - jax.nn.logsumexp(pairs, axis=(-2, -1), keepdims=True)
    own = jax.nn.log_softmax(logits)  # [rows, k, classes]
    if objective == "uniform":
        own -= jnp.log(jnp.maximum(jnp.sum(present, axis=-2, keepdims=True), 1))
    return jnp.where(present, own, MASKED)


def probabilities(objective: str, fused: Fused) -> Array:
    """float32 [rows, k, classes]; absent tables have none."""
    return jnp.where(fused.present[..., None], jnp.exp(log_probabilities(objective, fused)), 0.0)


def example_loss(objective: str, log_probabilities: Array, targets: Array) -> Array:
    """Loss float32 [rows] of `targets` int32 [rows, k], classes of tables; see `example_weights` for rows without.

    Joint: -log p(gold table, truth). Reranking: -log p(gold table). Uniform: -log of the mean over tables of p(truth |
    table). Ternary: the mean over tables of -log p(class of the table)."""
    if objective == "ternary":
        there = targets != NO_TABLE  # [rows, k]
        place = jnp.maximum(targets - IRRELEVANT, 0)[..., None]  # [rows, k, 1]
        chosen = jnp.take_along_axis(log_probabilities, place, axis=-1)[..., 0]  # [rows, k]
        return -jnp.sum(jnp.where(there, chosen, 0.0), axis=-1) / jnp.maximum(jnp.sum(there, axis=-1), 1)
    right = targets[..., None] == jnp.array([TRUE, FALSE])  # the gold table's truth, [rows, k, 2]
    if objective == "reranking":
        right = jnp.any(right, axis=-1, keepdims=True)  # either truth, [rows, k, 1]
    if objective == "uniform":
        right = jnp.any(right, axis=-2, keepdims=True)  # the same of every table, [rows, 1, 2]
    return -jax.nn.logsumexp(jnp.where(right, log_probabilities, MASKED), axis=(-2, -1))


def example_weights(objective: str, targets: Array) -> Array:
    """float32 [rows]: 1 if there is something to learn: a gold table, or any for the ternary objective."""
    least = IRRELEVANT if objective == "ternary" else TRUE
    return jnp.any(targets >= least, axis=-1).astype(jnp.float32)
