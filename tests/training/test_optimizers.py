import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from lisax.training.optimizers import Adafactor, Adagrad, AdamW

SHAPES = {"square": (128, 128), "wide": (130, 200), "tall": (200, 130), "thin": (127, 200), "scale": (64,)}


def _tree(seed, scale=1.0):
    return {
        name: jnp.asarray(np.random.default_rng([seed, i]).normal(size=shape, scale=scale), jnp.float32)
        for i, (name, shape) in enumerate(SHAPES.items())
    }


def _follow(optimizer, reference, steps=4, rate=0.01):
    """Largest difference after some steps between ours and optax's."""
    ours = theirs = _tree(0)
    slots, state = jax.jit(optimizer.init)(ours), jax.jit(reference.init)(theirs)
    update, update_theirs = jax.jit(optimizer.update), jax.jit(reference.update)
    for step in range(steps):
        gradients = _tree(step + 1, scale=10.0**-step)
        ours, slots = update(gradients, slots, ours, jnp.float32(rate), jnp.int32(step))
        updates, state = update_theirs(gradients, state, theirs)
        theirs = optax.apply_updates(theirs, updates)
    assert _difference(theirs, _tree(0)) > rate / 10
    return _difference(ours, theirs)


def _difference(one, other):
    return max(np.abs(np.subtract(a, b)).max() for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other)))


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [({}, {}), ({"beta1": 0.9}, {"momentum": 0.9}), ({"weight_decay_rate": 0.01}, {"weight_decay_rate": 0.01})],
    ids=["defaults", "momentum", "weight decay"],
)
def test_adafactor_is_optax_adafactor(ours, theirs):
    assert _follow(Adafactor(**ours), optax.adafactor(0.01, **theirs)) < 1e-6


def test_adamw_is_optax_adamw():
    ours = AdamW(weight_decay=0.1, global_norm_clip_threshold=1.0)
    theirs = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(0.01, weight_decay=0.1))
    assert _follow(ours, theirs) < 1e-6


def test_adagrad_is_optax_adagrad():
    theirs = optax.chain(optax.clip_by_global_norm(2.0), optax.adagrad(0.01))
    assert _follow(Adagrad(global_norm_clip_threshold=2.0), theirs) < 1e-6


def test_slots_have_t5x_shapes():
    slots = Adafactor().init(
        {
            "query": jnp.zeros((512, 384)),
            "embedding": jnp.zeros((2000, 512)),
            "relative": jnp.zeros((6, 32)),
            "scale": jnp.zeros((512,)),
        }
    )
    shapes = jax.tree.map(lambda leaf: leaf.shape, slots, is_leaf=lambda x: hasattr(x, "shape"))
    assert shapes["query"] == {"m": (1,), "v": (1,), "v_row": (384,), "v_col": (512,)}
    assert shapes["embedding"] == {"m": (1,), "v": (1,), "v_row": (512,), "v_col": (2000,)}
    assert shapes["relative"] == {"m": (1,), "v": (6, 32), "v_row": (1,), "v_col": (1,)}
    assert shapes["scale"]["v"] == (512,)


def test_adafactor_by_hand():
    """One step of a vector: v = (1 - 1) * 0 + g^2, update g / |g| = sign, scaled by the parameter's own size."""
    parameters, gradients = {"scale": jnp.array([3.0, -4.0])}, {"scale": jnp.array([0.5, -0.001])}
    optimizer = Adafactor()
    slots = optimizer.init(parameters)
    updated, _ = optimizer.update(gradients, slots, parameters, jnp.float32(0.1), jnp.int32(0))
    size = np.sqrt(12.5)
    np.testing.assert_allclose(updated["scale"], [3 - 0.1 * size, -4 + 0.1 * size], rtol=1e-6)
    # What is next to nothing moves as if its size were 0.001.
    updated, _ = optimizer.update(gradients, slots, {"scale": jnp.array([1e-5, 0.0])}, jnp.float32(0.1), jnp.int32(0))
    np.testing.assert_allclose(updated["scale"], [1e-5 - 0.1 * 1e-3, 0.1 * 1e-3], rtol=1e-5)
