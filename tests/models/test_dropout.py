"""Where dropout's masks differ and where they are shared, and that they leave the mean as it is."""

import dataclasses

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lisax.models import t5
from lisax.models.architectures import T5Config
from lisax.models.attention import Attention
from lisax.models.t5 import Transformer, initialize, run_layers

CONFIG = T5Config(emb_dim=4, num_heads=2, head_dim=2, dropout_rate=0.5, num_encoder_layers=3)


def test_attention_drops_keys_of_each_row_and_head_alike_for_all_queries():
    rows, keys = 400, 8
    weights = {name: {"kernel": jnp.eye(4) * (name in ("value", "out"))} for name in ("query", "key", "value", "out")}
    ones = jnp.ones((rows, keys, 4))
    seen, rngs = jnp.ones((1, 1, 1, keys), bool), {"dropout": jax.random.key(0)}
    mixed = Attention(CONFIG).apply({"params": weights}, ones, ones, seen, None, dropout=True, rngs=rngs)
    heads = np.asarray(mixed).reshape(rows, keys, 2, 2)  # each query attends to all keys alike, whose values are 1
    assert (heads == heads[:, :1, :, :1]).all()
    found = heads[:, 0, :, 0]
    assert set((found * keys / 2).ravel().tolist()) <= set(range(keys + 1)) and len(set(found.ravel().tolist())) > 5
    assert abs(found.mean() - 1) < 0.07
    assert (found[:, 0] != found[:, 1]).mean() > 0.5 and (found[1:] != found[:-1]).mean() > 0.5


class AddsOne(nn.Module):
    """A layer that adds dropout's mask to what it is given."""

    @nn.compact
    def __call__(self, x, *, dropout):
        return x + nn.Dropout(0.5)(jnp.ones_like(x), deterministic=not dropout)


@pytest.mark.parametrize(
    "options", [{}, {"scan_layers": True}, {"remat": "full"}, {"scan_layers": True, "remat": "full"}], ids=str
)
def test_each_layer_has_masks_of_its_own(options):
    config = dataclasses.replace(CONFIG, **options)

    class Stack(nn.Module):
        @nn.compact
        def __call__(self, x, dropout):
            layers = AddsOne() if config.scan_layers else [AddsOne() for _ in range(3)]
            return run_layers(config, layers, 3, x, dropout=dropout)

    x = jnp.zeros((2, 50, 4))
    found = np.asarray(Stack().apply({}, x, True, rngs={"dropout": jax.random.key(0)}))
    assert set(found.ravel().tolist()) == {0.0, 2.0, 4.0, 6.0} and abs(found.mean() - 3) < 0.5
    np.testing.assert_array_equal(Stack().apply({}, x, False), np.full(x.shape, 3.0))


def test_masks_are_shared_over_positions_where_t5x_shares_them():
    """T5X's network draws a mask for each position of the encoder's output, and shares all others over positions."""
    config = dataclasses.replace(CONFIG, vocab_size=16, mlp_dim=8, num_encoder_layers=1, num_decoder_layers=1)
    tokens, masks = jnp.ones((2, 5), jnp.int32), {}

    def recorded(call, arguments, options, context):
        if not isinstance(context.module, nn.Dropout):
            return call(*arguments, **options)
        ones = jnp.ones_like(arguments[0])
        masked = call(ones, *arguments[1:], **options)
        masks["/".join(context.module.path)] = bool((masked == masked[:, :1]).all())
        return masked * arguments[0]

    with nn.intercept_methods(recorded):
        given, rngs = {"params": initialize(config)}, {"dropout": jax.random.key(0)}
        Transformer(config).apply(given, tokens, tokens, tokens, enable_dropout=True, rngs=rngs)
    own = [name for name, shared in masks.items() if not shared]
    assert own == ["encoder/Dropout_1"] and len(masks) == 2 + 3 + 2 + 4, masks


@pytest.mark.parametrize("dims", [(), (-2,), (-1,), (-3, -2)])
def test_a_mask_is_shared_along_the_dimensions_that_the_model_names(dims):
    config = dataclasses.replace(CONFIG, dropout_broadcast_dims=list(dims))

    class Dropped(nn.Module):
        @nn.compact
        def __call__(self, x):
            return t5._dropout(config, x, True)

    found = np.asarray(Dropped().apply({}, jnp.ones((5, 6, 40)), rngs={"dropout": jax.random.key(0)}))
    for axis in (-3, -2, -1):
        assert (found == np.take(found, [0], axis)).all() == (axis in dims)
