import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from memory_task import MODEL, batch_of

from lisax.devices.partitioning import Partitioner
from lisax.errors import LisaxError
from lisax.models.t5 import initialize
from lisax.training.losses import Loss
from lisax.training.optimizers import AdamW
from lisax.training.step import make_train_step
from lisax.weights.checkpoints import TrainState


def _log_softmax(logits):
    shifted = logits - logits.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_loss_by_its_definition(smoothing):
    rng = np.random.default_rng(0)
    logits, targets = rng.normal(size=(2, 3, 7)).astype(np.float32) * 3, rng.integers(0, 7, (2, 3))
    spread = np.full((2, 3, 7), smoothing / 6)
    np.put_along_axis(spread, targets[..., None], 1 - smoothing, axis=-1)
    entropy = -(spread * np.log(np.maximum(spread, 1e-30))).sum(-1)
    log_z = np.log(np.exp(logits).sum(-1))
    expected = -(spread * _log_softmax(logits)).sum(-1) - entropy + 1e-2 * log_z**2
    loss = Loss(z_loss=1e-2, label_smoothing=smoothing).per_token(jnp.asarray(logits), jnp.asarray(targets))
    np.testing.assert_allclose(loss, expected, rtol=1e-4, atol=1e-5)


def test_normalizers():
    weights = jnp.array([[1.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    assert float(Loss().normalizer(weights)) == 3
    assert Loss(normalizing_factor="NUM_TOTAL_TARGET_TOKENS").normalizer(weights) == 6
    assert Loss(normalizing_factor=233472).normalizer(weights) == 233472
    assert Loss(normalizing_factor=None).normalizer(weights) == 1
    with pytest.raises(LisaxError, match="LOSS_NORMALIZING_FACTOR is 'tokens'"):
        Loss(normalizing_factor="tokens")


@pytest.mark.parametrize("packed", [False, True])
def test_each_sequence_counts_the_same(packed):
    """AVERAGE_PER_SEQUENCE: the mean over sequences of each one's mean over its tokens, packed or not."""
    losses = np.random.default_rng(0).random((2, 6)).astype(np.float32)
    segments = np.array([[1, 1, 1, 2, 2, 0], [1, 1, 1, 1, 1, 1]]) if packed else None
    weights = np.array([[1, 0, 1, 1, 1, 0], [1, 1, 1, 1, 1, 1]], np.float32)
    parts = [losses[0, [0, 2]], losses[0, 3:5], losses[1]] if packed else [losses[0, [0, 2, 3, 4]], losses[1]]
    loss = Loss(normalizing_factor="AVERAGE_PER_SEQUENCE")
    shares = loss.shares(jnp.asarray(weights), None if segments is None else jnp.asarray(segments))
    total = float((losses * shares).sum() / loss.normalizer(weights, segments))
    assert total == pytest.approx(np.mean([part.mean() for part in parts]))
    empty = jnp.zeros((1, 6))  # a row that fills the batch
    assert not loss.shares(empty, None).any() and float(loss.normalizer(empty)) == 1


def made(model, learning_rate, microbatches, **options):
    """A function of (parameters, batch, step) that gives the state after the step, and its metrics."""
    # AdamW, because Adafactor hides a gradient that is wrong by a factor.
    optimizer, options = AdamW(epsilon=1.0, global_norm_clip_threshold=None), {"seed": 0} | options
    partitioner = Partitioner.over_all_devices()
    run = make_train_step(
        *(model, Loss(), optimizer, learning_rate),
        **options,
        microbatches=microbatches,
        slots_first_step=0,
        partitioner=partitioner,
    )

    def step(parameters, batch, number=0):
        copied = jax.tree.map(jnp.copy, parameters)
        return run(TrainState(jnp.int32(number), copied, optimizer.init(copied)), batch)

    return step


def one(_):
    return jnp.float32(1.0)


def thousandth(step):
    return step / 1000


def test_microbatches_equal_the_full_batch():
    model = dataclasses.replace(MODEL, dropout_rate=0.0)
    parameters, batch = initialize(model), batch_of(3, rows=8)
    batch["decoder_loss_weights"][:4, 2:] = 0  # microbatches of unequal weight
    whole, whole_metrics = made(model, one, 1)(parameters, batch)
    parts, parts_metrics = made(model, one, 4)(parameters, batch)
    for a, b in zip(jax.tree.leaves(whole.parameters), jax.tree.leaves(parts.parameters)):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    for name, value in whole_metrics.items():
        assert float(parts_metrics[name]) == pytest.approx(float(value), rel=1e-5), name


def test_microbatches_normalized_each_are_t5x_s():
    """The gradient is the sum of those of consecutive slices, each a mean over its own target tokens."""
    model, rows, parts = dataclasses.replace(MODEL, dropout_rate=0.0), 8, 4
    parameters, batch = initialize(model), batch_of(3, rows=rows)
    batch["decoder_loss_weights"][:3, 1:] = 0  # the slices' numbers of tokens differ

    def gradients(batch, microbatches, **options):
        """Adam's first moment after a step is a tenth of the gradient."""
        state, _ = made(model, one, microbatches, **options)(parameters, batch)
        return [np.asarray(slot["mu"]) for slot in jax.tree.leaves(state.slots, is_leaf=lambda x: "mu" in x)]

    found = gradients(batch, parts, normalize_each=True)
    size = rows // parts
    slices = [{name: array[i : i + size] for name, array in batch.items()} for i in range(0, rows, size)]
    expected = [sum(leaves) for leaves in zip(*(gradients(part, 1) for part in slices))]
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-7)
    assert any(not np.allclose(a, parts * b, rtol=1e-2) for a, b in zip(found, gradients(batch, parts)))


def test_dropout_is_drawn_anew_at_each_step_and_repeats_with_its_seed():
    parameters = initialize(MODEL)

    def losses(seed, steps, microbatches=1):
        """Of one batch, `microbatches` times over, with the same parameters at each of these steps."""
        rows = {name: np.concatenate([array] * microbatches) for name, array in batch_of(3).items()}
        run, found = made(MODEL, thousandth, microbatches, seed=seed), []
        for step in steps:
            state, metrics = run(parameters, rows, step)
            found.append(float(metrics["loss"]) / microbatches)
            # The rate is that of the updates that are finished: the first is of rate 0 here.
            assert int(state.step) == step + 1 and float(metrics["learning_rate"]) == pytest.approx(step / 1000)
            leaves = zip(jax.tree.leaves(state.parameters), jax.tree.leaves(parameters), strict=True)
            assert any(np.any(np.asarray(new) != np.asarray(old)) for new, old in leaves) == (step > 0)
        return found

    first, other = losses(0, (0, 1, 7, 1)), losses(1, (0, 1, 7))
    assert first[1] == first[3] and len({*first, *other}) == 6
    # Each slice of a batch has masks of its own.
    assert len({first[0], *losses(0, (0,), microbatches=2), *losses(0, (0,), microbatches=4)}) == 3
