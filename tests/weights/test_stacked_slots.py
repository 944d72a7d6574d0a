"""Adafactor's slots of stacked layers: T5X's shapes, the updates of separate layers, and the way there and back."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from checkpoint_files import assert_same, in_memory, random_parameters
from hypothesis import given, settings
from hypothesis import strategies as st

from lisax.errors import LisaxError
from lisax.models.architectures import T5Config
from lisax.models.stacking import stack, unstack
from lisax.training.optimizers import Adafactor, AdamW
from lisax.weights.checkpoints import flatten, nested
from lisax.weights.interop.opening import open_checkpoint
from lisax.weights.interop.t5x_native import write_native
from lisax.weights.model_folder import ModelFolder
from lisax.weights.stacked_slots import stack_slots


def model(emb_dim: int, width: int, mlp_dim: int) -> T5Config:
    return T5Config(
        vocab_size=12,
        emb_dim=emb_dim,
        num_heads=2,
        head_dim=width // 2,
        num_encoder_layers=3,
        num_decoder_layers=2,
        mlp_dim=mlp_dim,
        relative_bias_per_layer=True,
    )


def updated(optimizer, parameters, steps=3):
    """Parameters and slots after some steps; the gradients of a tree and of its stack are the same numbers."""
    slots, update = jax.jit(optimizer.init)(parameters), jax.jit(optimizer.update)
    for step in range(steps):
        gradients = jax.tree.map(jnp.asarray, nested(random_parameters(CONFIG, seed=step + 1)))
        if "encoder" in parameters["encoder"]:
            gradients = jax.jit(stack)(gradients)
        parameters, slots = update(gradients, slots, parameters, jnp.float32(0.01), jnp.int32(step))
    return parameters, slots


CONFIG = model(128, 136, 132)


@pytest.mark.parametrize(
    "optimizer",
    [Adafactor(), Adafactor(beta1=0.9), Adafactor(factored=False), AdamW()],
    ids=["adafactor", "momentum", "whole", "adamw"],
)
def test_stacked_layers_are_updated_as_separate_ones(optimizer):
    parameters = jax.tree.map(jnp.asarray, nested(random_parameters(CONFIG)))
    separate, slots = updated(optimizer, parameters)
    stacked, stacked_slots = updated(optimizer, jax.jit(stack)(parameters))
    assert_same(unstack(stacked), separate, rtol=1e-7, atol=1e-6)
    expected = flatten(stack_slots(slots, parameters, factored=getattr(optimizer, "factored", False)))
    found = {name: leaf.shape for name, leaf in expected.items()}
    assert found == {name: leaf.shape for name, leaf in flatten(stacked_slots).items()}
    for name, leaf in flatten(stacked_slots).items():
        largest = float(jnp.abs(leaf).max())
        np.testing.assert_allclose(leaf, expected[name], rtol=1e-5, atol=1e-6 * largest, err_msg=name)


def test_stacked_slots_have_t5x_shapes():
    """`standard_logical_factor_rules` over [embed, layers, joined_kv] and the like, whatever the sizes."""
    small = model(24, 16, 40)
    slots = flatten(jax.eval_shape(lambda: Adafactor().init(stack(nested(random_parameters(small))))))
    shapes = {name.removeprefix("encoder/encoder/"): leaf.shape for name, leaf in slots.items()}
    for parameter, v_row, v_col in (
        ("attention/query", (24, 3), (3, 16)),
        ("attention/out", (3, 24), (16, 3)),
        ("mlp/wi_0", (24, 3), (3, 40)),
        ("mlp/wo", (3, 24), (40, 3)),
    ):
        found = [shapes[f"{parameter}/kernel/{kind}"] for kind in ("m", "v", "v_row", "v_col")]
        assert found == [(1,), (1,), v_row, v_col]
    assert shapes["relpos_bias/rel_embedding/v"] == (2, 3, 32)
    assert shapes["pre_mlp_layer_norm/scale/v"] == (24, 3)
    assert shapes["pre_mlp_layer_norm/scale/v_row"] == (1,)


@settings(max_examples=10)
@given(
    emb_dim=st.sampled_from((24, 128, 130, 136)),
    width=st.sampled_from((16, 128, 130, 136)),
    mlp_dim=st.sampled_from((40, 128, 136)),
    seed=st.integers(0, 99),
)
def test_there_and_back(tmp_path_factory, emb_dim, width, mlp_dim, seed):
    """Separate slots -> stacked -> a file -> separate: the same but for small matrices, whose whole second moment is
    then what its means stand for."""
    config = model(emb_dim, width, mlp_dim)
    parameters = random_parameters(config, seed)
    optimizer, generator = Adafactor(beta1=0.9), np.random.default_rng(seed)
    slots = {
        name: np.square(generator.normal(size=leaf.shape)).astype(np.float32)
        for name, leaf in flatten(jax.eval_shape(optimizer.init, nested(parameters))).items()
    }
    slots |= {name: np.zeros(1, np.float32) for name, leaf in slots.items() if leaf.shape == (1,)}
    stacked = flatten(stack_slots(nested(slots), nested(parameters)))
    folder = tmp_path_factory.mktemp("native") / "checkpoint_7"
    folder.mkdir()
    write_native(folder, in_memory(flatten(stack(nested(parameters))), stacked))
    checkpoint = open_checkpoint(ModelFolder.find(folder))
    found = dict(checkpoint.read(checkpoint.slots))
    assert found.keys() == slots.keys()
    for name, leaf in slots.items():
        if name.endswith("kernel/v") and leaf.ndim == 2 and "/layers_" in name:
            for axis in (0, 1):
                np.testing.assert_allclose(found[name].mean(axis), leaf.mean(axis), rtol=1e-5, err_msg=name)
        else:
            np.testing.assert_array_equal(found[name], leaf, err_msg=name)


def test_slots_of_another_shape_are_named(tmp_path):
    parameters = nested(random_parameters(model(24, 16, 40)))
    slots = flatten(jax.tree.map(np.asarray, Adafactor().init(stack(parameters))))
    slots["encoder/encoder/mlp/wo/kernel/v_row"] = slots["encoder/encoder/mlp/wo/kernel/v_row"].T
    write_native(tmp_path, in_memory(flatten(stack(parameters)), slots))
    with pytest.raises(LisaxError, match=r"slot 'encoder/encoder/mlp/wo/kernel/v_row' of .* is \[24, 3\].* \[3, 24\]"):
        open_checkpoint(ModelFolder.find(tmp_path))
