"""Attention's own gradient is that of its definition."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lisax.models import attention
from lisax.models.architectures import T5Config
from lisax.models.attention import MASKED, RelativePositionBias, mixed_values

ROWS, LENGTH, KEYS, HEADS, HEAD_DIM = 3, 5, 7, 2, 4
# Of keys and values: those of each head, those of all heads alike, those that are kept while decoding.
SHAPES = {"bkhd": (ROWS, KEYS, HEADS, HEAD_DIM), "bkd": (ROWS, KEYS, HEAD_DIM), "bhdk": (ROWS, HEADS, HEAD_DIM, KEYS)}


def by_definition(attended, query, key, value, mask, bias, kept):
    value = key if value is None else value
    logits = jnp.einsum(f"bqhd,{attended}->bhqk", query, key)
    logits = jnp.where(mask, logits if bias is None else logits + bias, MASKED)
    weights = jax.nn.softmax(logits)
    return jnp.einsum(f"bhqk,{attended}->bqhd", weights if kept is None else weights * kept, value)


@pytest.mark.parametrize("with_bias, with_dropout", [(True, True), (False, False)])
@pytest.mark.parametrize("attended", SHAPES)
@pytest.mark.parametrize("values_are_keys", [False, True])
@pytest.mark.parametrize("on_cpu", [True, False])
def test_gradients_are_those_of_the_definition(attended, with_bias, with_dropout, values_are_keys, on_cpu, monkeypatch):
    monkeypatch.setattr(attention, "_on_cpu", lambda: on_cpu)
    rng = np.random.default_rng(0)

    def drawn(*shape):
        return jnp.asarray(rng.normal(size=shape), jnp.float32)

    value = None if values_are_keys else drawn(*SHAPES[attended])
    arrays = [drawn(ROWS, LENGTH, HEADS, HEAD_DIM), drawn(*SHAPES[attended]), value]
    mask = jnp.asarray(rng.random((ROWS, 1, LENGTH, KEYS)) < 0.7).at[0, 0, 0].set(False)  # one row sees nothing
    bias = drawn(1, HEADS, LENGTH, KEYS) if with_bias else None
    kept = jnp.asarray((rng.random((ROWS, HEADS, 1, KEYS)) < 0.8) / 0.8, jnp.float32) if with_dropout else None
    weights = drawn(ROWS, LENGTH, HEADS, HEAD_DIM)

    def total(function, query, key, value, bias):
        mixed = function(attended, query, key, value, mask, bias, kept)
        return jnp.sum(mixed * weights), mixed

    chosen = tuple(i for i, array in enumerate([*arrays, bias], start=1) if array is not None)
    found, expected = (
        jax.grad(total, chosen, has_aux=True)(function, *arrays, bias) for function in (mixed_values, by_definition)
    )
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-5)


def test_biases_are_the_same_on_every_device(monkeypatch):
    module = RelativePositionBias(T5Config(num_heads=HEADS), bidirectional=True)
    variables = module.init(jax.random.key(0), LENGTH, KEYS)

    def total(variables):
        bias = module.apply(variables, LENGTH, KEYS)
        return jnp.sum(bias * jnp.arange(bias.size).reshape(bias.shape)), bias

    results = []
    for on_cpu in (True, False):
        monkeypatch.setattr(attention, "_on_cpu", lambda on_cpu=on_cpu: on_cpu)
        results.append(jax.tree.leaves(jax.grad(total, has_aux=True)(variables)))
    for a, b in zip(*results, strict=True):
        np.testing.assert_array_equal(a, b)
