"""Encoders of the BERT family against recorded outputs of the reference implementation; needs neither torch nor a
download. `tests/references/write_references.py` writes the records."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from applying import applied
from safetensors.numpy import load_file

from lisax.errors import LisaxError
from lisax.models.architectures import EncoderConfig
from lisax.models.attention import product
from lisax.models.axes import logical_axes
from lisax.models.encoder import segments
from lisax.models.fields import FieldError
from lisax.models.stacking import stack, unstack
from lisax.models.t5 import cast_kernels, initialize
from lisax.weights.checkpoints import flatten
from tests.references import recorded

ENCODERS = recorded.ENCODERS
FORMS = {
    "unrolled": {},
    "scanned": {"scan_layers": True, "remat": "full"},
    "in chunks": {"attention_chunk": 1, "remat": "minimal"},
}


@functools.cache
def record():
    return load_file(recorded.file_of("encoders"))


def encoded(config, parameters, **fields):
    tokens = recorded.questions(config)
    return applied(dataclasses.replace(config, **fields), parameters, tokens, recorded.token_types(config, tokens))


def states(found, config):
    tokens = recorded.questions(config)
    return recorded.stored(found.states, tokens, tuple(range(tokens.shape[1])))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ENCODERS)
def test_states(name, form):
    config = ENCODERS[name]
    parameters = recorded.drawn(config)
    if FORMS[form].get("scan_layers"):
        stacked = stack(parameters)
        assert ("encoder" in stacked["encoder"]) == (name != "albert")
        jax.tree.map(np.testing.assert_array_equal, unstack(stacked), parameters)
        parameters = stacked
    found = encoded(config, parameters, **FORMS[form])
    np.testing.assert_allclose(states(found, config), record()[f"{name}.states"], atol=1e-5)
    if config.pooler:
        np.testing.assert_allclose(found.pooled, record()[f"{name}.pooled"], atol=1e-5)
    else:
        assert found.pooled is None


@pytest.mark.parametrize("name", ENCODERS)
def test_bfloat16(name):
    config, parameters = ENCODERS[name], recorded.drawn(ENCODERS[name])
    found = encoded(config, cast_kernels(dataclasses.replace(config, dtype="bfloat16"), parameters), dtype="bfloat16")
    assert found.states.dtype == jnp.bfloat16
    error = np.abs(states(found, config).astype(np.float32) - record()[f"{name}.states"])
    assert error.mean() < 0.03


@pytest.mark.parametrize("name", ENCODERS)
def test_padding_changes_nothing(name):
    config, parameters = ENCODERS[name], recorded.drawn(ENCODERS[name])
    tokens = recorded.questions(config)[2:3, :5]
    assert (tokens > 0).all()
    alone, padded = (applied(config, parameters, np.pad(tokens, ((0, 0), (0, n)))).states for n in (0, 7))
    np.testing.assert_allclose(alone, padded[:, :5], atol=1e-5)


def test_types_from_the_separator():
    tokens = jnp.array([[2, 7, 3, 8, 3, 9, 3, 0], [2, 7, 7, 7, 7, 7, 7, 7]])
    assert segments(tokens, 3).tolist() == [[0, 0, 0, 1, 1, 1, 1, 1], [0] * 8]
    assert segments(tokens, None).tolist() == [[0] * 8] * 2
    config, parameters = ENCODERS["bert"], recorded.drawn(ENCODERS["bert"])
    by_hand = applied(config, parameters, tokens, segments(tokens, 3)).states
    derived = applied(dataclasses.replace(config, separator_id=3), parameters, tokens).states
    np.testing.assert_array_equal(by_hand, derived)


def test_dropout_is_drawn_in_training_alone():
    config = dataclasses.replace(ENCODERS["albert"], dropout_rate=0.3)
    parameters, tokens = recorded.drawn(config), recorded.questions(config)
    run = jax.jit(functools.partial(config.network().apply, enable_dropout=True))
    drawn = [run({"params": parameters}, tokens, rngs={"dropout": jax.random.key(seed)}).states for seed in (0, 0, 1)]
    np.testing.assert_array_equal(drawn[0], drawn[1])
    plain = applied(config, parameters, tokens).states
    assert np.abs(drawn[0] - drawn[2]).max() > 0.1 and np.abs(drawn[0] - plain).max() > 0.1


def test_fresh_parameters_and_their_axes():
    for config in ENCODERS.values():
        for scanned in (False, True):
            begun = functools.partial(initialize, dataclasses.replace(config, scan_layers=scanned))
            parameters = flatten(jax.eval_shape(begun))
            for name, leaf in parameters.items():
                axes = logical_axes(name.split("/"))
                if axes is None:  # biases and scales, the same on all devices
                    assert name.endswith(("bias", "scale")), name
                else:
                    assert len(axes) == leaf.ndim and {"embed", "relpos_buckets"} & {*axes}, name
    assert parameters["token_embedder/embedding"].shape == (40, 8)  # ALBERT's


def test_a_text_longer_than_the_positions_is_told():
    config = ENCODERS["roberta"]
    assert config.max_length == 24
    with pytest.raises(LisaxError, match="a text of 25 tokens, but the model has 24 positions"):
        jax.eval_shape(config.network().init, jax.random.key(0), jnp.zeros((1, 25), jnp.int32))


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"emb_dim": 10, "num_heads": 3}, "num_heads"),
        ({"position_offset": 512}, "position_offset"),
        ({"separator_id": 30522}, "separator_id"),
        ({"padding_id": 40, "vocab_size": 40}, "padding_id"),
        ({"activation": "gelu"}, "activation"),
    ],
)
def test_fields_that_do_not_fit_each_other(fields, field):
    with pytest.raises(FieldError) as told:
        EncoderConfig(**fields)
    assert told.value.field == field


def test_products_of_bfloat16_and_their_gradients():
    """Those of XLA's CPU backend have a form of their own."""
    x, kernel, gradient = (
        jax.random.normal(jax.random.key(i), shape) for i, shape in enumerate([(64, 48), (48, 32), (64, 32)])
    )
    half = [array.astype(jnp.bfloat16) for array in (x, kernel)]
    (found, pull), expected = jax.vjp(product, *half), jnp.dot(*(array.astype(jnp.float32) for array in half))
    assert found.dtype == jnp.bfloat16
    np.testing.assert_allclose(found.astype(jnp.float32), expected, rtol=0.01, atol=0.01)
    of_x, of_kernel = pull(gradient.astype(jnp.bfloat16))
    np.testing.assert_allclose(of_x.astype(jnp.float32), gradient @ half[1].T, rtol=0.02, atol=0.1)
    np.testing.assert_allclose(of_kernel.astype(jnp.float32), half[0].T @ gradient, rtol=0.02, atol=0.1)


@pytest.mark.parametrize("name", ENCODERS)
def test_types_and_positions_count(name):
    """Otherwise the records would say little of them."""
    config, parameters = ENCODERS[name], recorded.drawn(ENCODERS[name])
    for table in ("positions", "token_types")[: max(config.token_types, 1)]:
        other = parameters["token_embedder"] | {table: parameters["token_embedder"][table][::-1]}
        found = states(encoded(config, parameters | {"token_embedder": other}), config)
        assert np.abs(found - record()[f"{name}.states"]).max() > 0.05
