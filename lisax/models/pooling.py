"""One vector of a text from those of its tokens."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from lisax.models.attention import MASKED


def pooled(x: Array, valid: Array, query: Array | None) -> Array:
    """x [texts, length, emb], valid bool [texts, length] -> [texts, emb]: the mean of a text's tokens, or what a
    learned `query` [emb] attends to."""
    scores = jnp.zeros(x.shape[:2]) if query is None else x @ query / np.sqrt(x.shape[-1])
    weights = jax.nn.softmax(jnp.where(valid, scores, MASKED))
    return jnp.einsum("tl,tle->te", weights, x)
