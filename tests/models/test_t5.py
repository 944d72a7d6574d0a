"""The network's invariants; `weights/test_t5x_checkpoints.py` compares its logits with T5X's."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from applying import applied

from lisax.models.architectures import T5Config
from lisax.models.fields import REMATS
from lisax.models.relative_positions import relative_position_bucket
from lisax.models.t5 import Transformer, initialize

TINY = T5Config(
    vocab_size=96, emb_dim=16, num_heads=2, num_encoder_layers=2, num_decoder_layers=2, head_dim=8, mlp_dim=32
)


def test_packed_examples_do_not_see_each_other():
    params = initialize(TINY)
    a = applied(TINY, params, jnp.array([[5, 6, 1]]), jnp.array([[0, 7]]), jnp.array([[7, 1]]))
    b = applied(TINY, params, jnp.array([[8, 1]]), jnp.array([[0, 9]]), jnp.array([[9, 1]]))
    packed = applied(
        TINY,
        params,
        jnp.array([[5, 6, 1, 8, 1, 0]]),
        jnp.array([[0, 7, 0, 9]]),
        jnp.array([[7, 1, 9, 1]]),
        jnp.array([[1, 1, 1, 2, 2, 0]]),
        jnp.array([[1, 1, 2, 2]]),
    )
    np.testing.assert_allclose(packed[0, :2], a[0], atol=1e-4)
    np.testing.assert_allclose(packed[0, 2:], b[0], atol=1e-4)


def _kept(remat: str, length: int, targets: int) -> tuple[int, dict]:
    """The numbers that a backward pass keeps, and the gradients."""
    config = dataclasses.replace(TINY, remat=remat)
    tokens, few = jnp.ones((8, length), jnp.int32), jnp.ones((8, targets), jnp.int32)

    def loss(parameters):
        return jnp.sum(jnp.square(Transformer(config).apply({"params": parameters}, tokens, few, few)))

    gradients = jax.vjp(loss, initialize(config))[1]
    return sum(x.size for x in jax.tree.leaves(gradients)), gradients(1.0)[0]


def test_each_remat_keeps_less_than_the_one_before_and_gives_the_same_gradients():
    found = {remat: _kept(remat, 32, 16) for remat in REMATS}
    kept = [numbers for numbers, _ in found.values()]
    assert kept == sorted(set(kept), reverse=True)
    # Values [8 rows, tokens, 16]: those of two layers of the encoder, and of self- and cross-attention in the decoder's.
    assert found["minimal"][0] - found["values"][0] == 8 * 16 * 2 * (32 + 16 + 32)
    for _, gradients in found.values():
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-3), gradients, found["none"][1])


def test_a_decoder_of_few_tokens_keeps_its_products():
    """One target in each of 8 rows is fewer tokens than emb_dim, two are not."""
    assert _kept("full", 32, 1)[0] > _kept("full", 32, 2)[0]
    assert _kept("minimal", 32, 1)[0] < _kept("minimal", 32, 2)[0]


def test_relative_buckets():
    relative = np.array([-200, -20, -8, -1, 0, 1, 7, 8, 200])
    both = relative_position_bucket(relative, bidirectional=True)
    np.testing.assert_array_equal(both, [15, 10, 8, 1, 0, 17, 23, 24, 31])
    past = relative_position_bucket(relative, bidirectional=False)
    np.testing.assert_array_equal(past, [31, 17, 8, 1, 0, 0, 0, 0, 0])


def test_matching_heads_find_other_occurrences_of_their_token():
    params = initialize(T5Config(**{**TINY.__dict__, "attention_init": "matching"}))
    attention = params["encoder"]["layers_1"]["attention"]
    query, key = attention["query"]["kernel"] * np.sqrt(8), attention["key"]["kernel"]
    np.testing.assert_allclose(key[:, :8], query[:, :8], rtol=1e-6)
    assert not np.allclose(key[:, 8:], query[:, 8:])
    np.testing.assert_array_equal(params["encoder"]["relpos_bias"]["rel_embedding"][:, 0] < -5, [True, False])
    assert (params["decoder"]["relpos_bias"]["rel_embedding"] > -5).all()
    with pytest.raises(ValueError, match="attention_init"):
        T5Config(attention_init="other")
