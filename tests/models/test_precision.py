"""What is computed in float32 although activations are bfloat16: norms, logits, and attention's softmax where asked for."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest
from applying import applied

from lisax.models.t5 import LayerNorm
from tests.references import recorded


def in_bfloat16(array):
    return np.asarray(jnp.asarray(array, jnp.bfloat16), np.float32)


def test_layer_norm_rounds_its_result_alone():
    rng = np.random.default_rng(0)
    x, scale = in_bfloat16(rng.normal(size=(4, 512)) + 1), rng.normal(size=512).astype(np.float32)
    found = LayerNorm("bfloat16").apply({"params": {"scale": scale}}, jnp.asarray(x, jnp.bfloat16))
    assert found.dtype == jnp.bfloat16
    expected = in_bfloat16(x / np.sqrt((x.astype(np.float64) ** 2).mean(-1, keepdims=True) + 1e-6) * scale)
    assert (np.asarray(found, np.float32) == expected).mean() > 0.99


@pytest.mark.parametrize("name", ["t5_1_0", "t5_1_1"])
def test_logits_are_not_rounded(name):
    config = dataclasses.replace(recorded.ARCHITECTURES[name], dtype="bfloat16")
    parameters, answers = recorded.drawn(config), recorded.answers(config)
    inputs = recorded.questions(config)
    whole = applied(config, parameters, inputs, recorded.shifted(answers), answers)
    first = applied(config, parameters, inputs, np.arange(config.vocab_size), method="first_step_logits")
    for logits in (whole, first):
        assert logits.dtype == jnp.float32 and (in_bfloat16(logits) != logits).mean() > 0.9


def test_attention_logits_are_rounded_only_where_float32_is_not_asked_for():
    config = dataclasses.replace(recorded.T5_1_1, dtype="bfloat16")
    parameters, inputs = recorded.drawn(config), recorded.questions(config)
    exact = applied(dataclasses.replace(config, dtype="float32"), parameters, inputs, method="encode")
    errors = []
    for asked in (True, False):
        encoded = applied(
            dataclasses.replace(config, float32_attention_logits=asked), parameters, inputs, method="encode"
        )
        assert encoded.dtype == jnp.bfloat16
        errors.append(np.abs(np.asarray(encoded, np.float32) - exact)[inputs > 0].mean())
    assert 0 < errors[0] < errors[1] < 0.2
