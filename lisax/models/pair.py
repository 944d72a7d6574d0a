"""A pair scorer: an encoder reads two texts as one, a claim and its evidence, and a linear layer on the text's vector
gives the classes (Devlin et al. 2019, section 4.1).

Parameters are the backbone's, so that its checkpoint starts them, and a `pair` head that is computed in float32.
"""

from __future__ import annotations

import flax.linen as nn
import jax
import jax.numpy as jnp
from jax import Array

from lisax.models.architectures import PairConfig
from lisax.models.attention import Dense, constrain, pair_mask
from lisax.models.pooling import pooled

# In `targets`: class c of an example is c + FIRST, a row without one has NO_CLASS. A teacher's probability of
# each class may follow, in parts of WHOLE and FIRST more, or zeros.
NO_CLASS, FIRST, WHOLE = 0, 1, 1000


class PairScorer(nn.Module):
    """Logits float32 [rows, labels]; token 0 is padding."""

    config: PairConfig

    def setup(self):
        self.token_embedder = self.config.backbone.embedder()
        self.encoder = self.config.backbone.encoder()
        self.pair = PairHead(self.config)

    def __call__(self, tokens: Array, *, enable_dropout: bool = False) -> Array:
        """tokens int32 [rows, length], both texts of a row with their special tokens."""
        valid = constrain(tokens, "batch", "length") > 0  # [rows, length]
        encoded = self.encoder(self.token_embedder(tokens), pair_mask(valid, valid), dropout=enable_dropout)
        return self.pair(encoded.astype(jnp.float32), valid, dropout=enable_dropout)


class PairHead(nn.Module):
    config: PairConfig

    @nn.compact
    def __call__(self, encoded: Array, valid: Array, *, dropout: bool) -> Array:
        """encoded float32 [rows, length, emb], valid bool [rows, length] -> [rows, labels]."""
        config = self.config
        init = nn.initializers.normal(0.02)
        if config.pooling in ("first", "pooler"):
            vectors = encoded[:, 0]  # [rows, emb]
            if config.pooling == "pooler":
                width = encoded.shape[-1]
                vectors = jnp.tanh(Dense(width, "float32", init, ("embed", "mlp"), bias=True, name="pooler")(vectors))
        else:
            query = None
            if config.pooling == "attention":
                query = self.param("pooling", nn.initializers.normal(1.0), (encoded.shape[-1],), jnp.float32)
            vectors = pooled(encoded, valid, query)  # [rows, emb]
        vectors = nn.Dropout(config.backbone.dropout_rate)(vectors, deterministic=not dropout)
        return Dense(config.labels, "float32", init, ("mlp", "classes"), bias=True, name="classes")(vectors)


def probabilities(config: PairConfig, parameters: dict, tokens: Array) -> Array:
    """float32 [rows, labels] of tokens int32 [rows, length]."""
    return jax.nn.softmax(config.network().apply({"params": parameters}, tokens))
