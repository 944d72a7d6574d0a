"""An encoder that brings questions and passages to vectors whose dot product scores their relevance (Karpukhin et al.
2020).

Parameters are the backbone's, so that its checkpoint starts them. With towers that are not tied, questions have an
encoder of their own (`question`), which begins as the other does.
"""

from __future__ import annotations

from typing import NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
from jax import Array

from lisax.models.architectures import Backbone, DualEncoderConfig
from lisax.models.attention import Dense, constrain, fan_in, pair_mask
from lisax.models.pooling import pooled

# Classes of a passage in `targets`; NO_PASSAGE is that of a place without one.
NO_PASSAGE, NEGATIVE, POSITIVE = range(3)
LEAST_LENGTH = 1e-12  # of a vector, so that one of zeros stays that


class DualEncoder(nn.Module):
    """Vectors float32 [texts, width] of token ids [texts, length]; token 0 is padding."""

    config: DualEncoderConfig

    def setup(self):
        self.token_embedder = self.config.backbone.embedder()
        self.encoder = self.config.backbone.encoder()
        if not self.config.tied:
            self.question = _Tower(self.config.backbone)
        if self.config.projection is not None:
            self.projection = Dense(self.config.projection, "float32", fan_in, ("embed", "mlp"))

    def questions(self, tokens: Array, *, enable_dropout: bool = False) -> Array:
        return self._vectors(self.encoder if self.config.tied else self.question, tokens, enable_dropout)

    def passages(self, tokens: Array, *, enable_dropout: bool = False) -> Array:
        return self._vectors(self.encoder, tokens, enable_dropout)

    def __call__(self, questions: Array, passages: Array, *, enable_dropout: bool = False) -> tuple[Array, Array]:
        return (
            self.questions(questions, enable_dropout=enable_dropout),
            self.passages(passages, enable_dropout=enable_dropout),
        )

    def _vectors(self, encoder: nn.Module, tokens: Array, dropout: bool) -> Array:
        valid = constrain(tokens, "batch", "length") > 0  # [texts, length]
        encoded = encoder(self.token_embedder(tokens), pair_mask(valid, valid), dropout=dropout).astype(jnp.float32)
        vectors = encoded[:, 0] if self.config.pooling == "first" else pooled(encoded, valid, None)  # [texts, emb]
        if self.config.projection is not None:
            vectors = self.projection(vectors)  # [texts, width]
        if self.config.normalized:
            return vectors / jnp.maximum(jnp.linalg.norm(vectors, axis=-1, keepdims=True), LEAST_LENGTH)
        # The dot product of two vectors is then scaled as attention's logits are.
        return vectors * vectors.shape[-1] ** -0.25


class _Tower(nn.Module):
    backbone: Backbone

    def setup(self):
        self.encoder = self.backbone.encoder()

    def __call__(self, x: Array, mask: Array, *, dropout: bool) -> Array:
        return self.encoder(x, mask, dropout=dropout)


# --- Batches and losses --------------------------------------------------------------------


class Texts(NamedTuple):
    questions: Array  # [rows, room]
    passages: Array  # [rows, passages, 2 * room]


def split(inputs: Array, passages: int) -> Texts:
    """A batch's inputs: the question, then its passages, each with twice the question's room, all end to end."""
    room = question_room(inputs.shape[-1], passages)
    return Texts(inputs[:, :room], inputs[:, room:].reshape(inputs.shape[0], passages, 2 * room))


def question_room(inputs: int, passages: int) -> int:
    return inputs // (2 * passages + 1)


def contrast(questions: Array, passages: Array, tokens: Array, targets: Array, temperature: float = 1.0) -> Array:
    """Log-probabilities float32 [rows, rows * passages] of each question's passages among those of all rows, by their
    dot products divided by the temperature.

    questions [rows, emb], passages [rows * passages, emb], tokens [rows, passages, length], targets [rows, passages].
    Passages that are not there have none, nor has another row's copy of a question's positive."""
    rows, count = targets.shape
    flat, own = tokens.reshape(rows * count, -1), jnp.arange(rows) * count
    copies = jnp.all(flat[None] == tokens[:, :1], axis=-1) & (jnp.arange(rows * count)[None] != own[:, None])
    left_out = copies | (targets.reshape(1, -1) == NO_PASSAGE)  # [rows, rows * passages]
    scores = constrain(questions, "batch", "embed") @ passages.T / temperature  # [rows, rows * passages]
    return jax.nn.log_softmax(jnp.where(left_out, -1e9, scores))
