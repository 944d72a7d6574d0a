"""T5 over many passages at once (Izacard and Grave 2021) and a reader that points at spans (UnitedQA-E's part of
UDT-QA, section 2).

Each (question, passage) is encoded on its own. The generating reader decodes over all of them; its parameters are a
T5's. The pointing one scores every token as the first and the last of an answer, over all passages together.
"""

from __future__ import annotations

import flax.linen as nn
import jax
import jax.numpy as jnp
from jax import Array

from lisax.models.architectures import SpanReaderConfig
from lisax.models.attention import MASKED, Dense, constrain, fan_in, pair_mask
from lisax.models.t5 import Transformer


def texts_of(tokens: Array, passages: int) -> Array:
    """[rows, passages * length] -> [rows * passages, length]"""
    return tokens.reshape(tokens.shape[0] * passages, -1)


class FusionInDecoder(Transformer):
    """A `Transformer` that encodes each of its `passages` texts separately and decodes over all of them."""

    passages: int = 1

    def encode(
        self,
        encoder_input_tokens: Array,
        encoder_segment_ids: Array | None = None,
        *,
        embedded: Array | None = None,
        enable_dropout: bool = False,
    ) -> Array:
        """[rows, passages * length] -> [rows, passages * length, emb]"""
        if encoder_segment_ids is not None:
            raise ValueError("texts of many passages cannot be packed")
        texts = constrain(texts_of(encoder_input_tokens, self.passages), "batch", "length")  # [rows * passages, length]
        valid = texts > 0
        embedded = self.token_embedder(texts) if embedded is None else embedded.reshape(*texts.shape, -1)
        encoded = self.encoder(embedded, pair_mask(valid, valid), dropout=enable_dropout)
        return encoded.reshape(*encoder_input_tokens.shape, -1)


class SpanReader(nn.Module):
    """Logits float32 [rows, passages * length, 2] of each token as the first and the last of an answer."""

    config: SpanReaderConfig

    def setup(self):
        self.token_embedder = self.config.backbone.embedder()
        self.encoder = self.config.backbone.encoder()
        self.span = Dense(2, "float32", fan_in, ("embed", "ends"))

    def __call__(self, tokens: Array, *, enable_dropout: bool = False) -> Array:
        """tokens int32 [rows, passages * length]; padding has logits MASKED."""
        texts = constrain(texts_of(tokens, self.config.passages), "batch", "length")  # [rows * passages, length]
        valid = texts > 0
        encoded = self.encoder(self.token_embedder(texts), pair_mask(valid, valid), dropout=enable_dropout)
        logits = self.span(encoded.astype(jnp.float32)).reshape(*tokens.shape, 2)
        return jnp.where(tokens[..., None] > 0, logits, MASKED)


def span_log_likelihood(logits: Array, spans: Array) -> Array:
    """Log of the probability float32 [rows] of all the `spans` int32 [rows, n, 2] (first and last place) together.

    A span's is that of its first times that of its last token, each of all tokens of all passages. (0, 0) is not a
    span: a text does not begin with an answer. MASKED or less where a row has none."""
    shares = jax.nn.log_softmax(logits, axis=1)  # [rows, passages * length, 2]
    ends = jnp.take_along_axis(shares, spans, axis=1)  # [rows, n, 2]
    there = jnp.any(spans > 0, axis=-1)  # [rows, n]
    return jax.nn.logsumexp(jnp.where(there, ends.sum(-1), MASKED), axis=-1)
