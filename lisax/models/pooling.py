"""One vector of a text from those of its tokens."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from lisax.models.attention import MASKED


def pooled(x: Array, valid: Array, query: Array | None) -> Array:
    """x [texts, length, emb], valid bool [texts, length] -> [texts, emb]: the mean of a text's tokens, or the output of
    attention with a learned `query` [emb]."""
    scores = jnp.zeros(x.shape[:2]) if query is None else x @ query / np.sqrt(x.shape[-1])
    weights = jax.nn.softmax(jnp.where(valid, scores, MASKED))  # [texts, length]
    return jnp.einsum("tl,tle->te", weights, x)


def as_texts(vectors: Array, tokens: Array) -> tuple[Array, Array]:
    """(encoded [rows * k, 1, emb], valid bool [rows * k, 1]) of texts whose means are known: vectors [rows, k, emb] of
    tokens [rows, k, length]. Each is a text of one token, which is its own mean; a text without tokens is absent."""
    return vectors.reshape(-1, 1, vectors.shape[-1]), (tokens > 0).any(axis=-1).reshape(-1, 1)
