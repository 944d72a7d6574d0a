"""One step of training or evaluation: loss, gradients, update. Everything here runs inside `jit`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from lisax.devices.partitioning import Partitioner
from lisax.models.architectures import BACKBONE_PARTS, Model
from lisax.models.lora import Lora, joined
from lisax.models.t5 import cast_kernels
from lisax.training.losses import Loss
from lisax.training.model_kinds import kind_of
from lisax.training.objectives import Batch
from lisax.training.optimizers import Optimizer
from lisax.weights.checkpoints import TrainState

# XLA's own generator, T5X's for `use_hardware_rng`.
HARDWARE_RNG = "unsafe_rbg"


@functools.lru_cache(maxsize=32)
def make_train_step(
    model: Model,
    loss: Loss,
    optimizer: Optimizer,
    learning_rate: Callable,
    *,
    seed: int,
    microbatches: int,
    slots_first_step: int,
    partitioner: Partitioner,
    normalize_each: bool = False,
    generator: str | None = None,
    adapter: Lora | None = None,
) -> Callable:
    """The compiled (state, batch) -> (state, metrics), or with an adapter, whose state is trained while other
    parameters are kept, (state, batch, kept) -> (state, metrics). The state given is donated: do not use it again.

    `microbatches` and `normalize_each` are `Trainer.num_microbatches` and `Trainer.normalize_each_microbatch`.

    Dropout depends only on (seed, step), so that a resumed run repeats it; `generator` is JAX's name of another way to
    draw it. Metrics are the objective's sums with `learning_rate` and `gradient_norm`. Equal arguments give the same
    function: runs alike in one process trace and compile it once."""
    objective = kind_of(model).objective

    def normalizer_of(batch):
        return loss.normalizer(objective.weights(model, batch), batch.get("decoder_segment_ids"))

    def gradients_and_sums(parameters, batch, normalizer, key, kept):
        if normalizer is None:
            normalizer = normalizer_of(batch)

        def normalized_loss(parameters):
            if adapter is not None:
                parameters = joined(cast_kernels(model.backbone, kept), parameters, adapter.scale)
            sums = objective(model, parameters, batch, loss, key)
            return sums["loss"] / normalizer, sums

        gradients, metrics = jax.grad(normalized_loss, has_aux=True)(cast_kernels(model.backbone, parameters))
        # Each device keeps its part of the sum only.
        return jax.lax.with_sharding_constraint(gradients, partitioner.state(gradients)), metrics

    def train_step(state: TrainState, batch: Batch, kept: Any = None) -> tuple[TrainState, dict[str, Array]]:
        draws = model.backbone.dropout_rate or getattr(model, "reward_weight", 0)
        # T5X's key: the first half of the seed's draws its initial parameters.
        key = (
            jax.random.fold_in(jax.random.split(jax.random.key(seed, impl=generator))[1], state.step) if draws else None
        )
        normalizer = None if normalize_each else normalizer_of(batch)
        with partitioner.constraints():
            if microbatches == 1:
                gradients, metrics = gradients_and_sums(state.parameters, batch, normalizer, key, kept)
            else:
                gradients, metrics = _accumulate(
                    functools.partial(gradients_and_sums, kept=kept),
                    state.parameters,
                    batch,
                    normalizer,
                    key,
                    microbatches,
                    partitioner,
                    same_masks=normalize_each,
                )
        rate, before = learning_rate(state.step), state.parameters
        state, norm = updated(optimizer, gradients, state, rate, state.step - slots_first_step)
        if not getattr(model, "train_encoder", True):  # no gradient is not enough: weights decay
            stays = {name: part for name, part in before.items() if name in BACKBONE_PARTS}
            state = state._replace(parameters=state.parameters | stays)
        metrics |= {"learning_rate": rate, "gradient_norm": norm}
        return jax.lax.with_sharding_constraint((state, metrics), (partitioner.state(state), partitioner.replicated))

    # Inputs come with the shardings that `place_state` and `place_batch` gave them.
    return jax.jit(train_step, donate_argnums=0)


def updated(
    optimizer: Optimizer, gradients: Any, state: TrainState, learning_rate: Array, count: Array
) -> tuple[TrainState, Array]:
    """The state after one update, and the gradients' norm, float32. `count` as in `Optimizer.update`."""
    import optax  # of the extra `train`: prediction imports this module too

    parameters, slots = optimizer.update(gradients, state.slots, state.parameters, learning_rate, count)
    norm = optax.tree.norm(jax.tree.map(lambda gradient: gradient.astype(jnp.float32), gradients))
    return TrainState(state.step + 1, parameters, slots), norm


def _accumulate(gradients_and_sums, parameters, batch, normalizer, key, microbatches, partitioner, same_masks):
    """Sums of gradients and metrics over `microbatches` slices of consecutive rows, as T5X has them, which also draws the
    `same_masks` of dropout for each."""
    slices = {
        name: jax.lax.with_sharding_constraint(
            array.reshape(microbatches, -1, *array.shape[1:]), partitioner.microbatches
        )
        for name, array in batch.items()
    }

    def body(total, indexed):
        i, part = indexed
        part_key = key
        if key is not None:
            part_key = jax.random.split(key)[1] if same_masks else jax.random.fold_in(key, i)
        return jax.tree.map(jnp.add, total, gradients_and_sums(parameters, part, normalizer, part_key)), None

    shapes = jax.eval_shape(
        lambda: gradients_and_sums(parameters, {k: v[0] for k, v in slices.items()}, normalizer, key)
    )
    # Sums in float32, whatever type a slice's gradients have.
    zeros = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, jnp.promote_types(leaf.dtype, jnp.float32)), shapes)
    return jax.lax.scan(body, zeros, (jnp.arange(microbatches), slices))[0]


@functools.lru_cache(maxsize=32)
def make_eval_step(model: Model, loss: Loss, partitioner: Partitioner) -> Callable:
    """The compiled (parameters, batch) -> the objective's sums, without dropout."""
    objective = kind_of(model).objective

    def eval_step(parameters, batch):
        with partitioner.constraints():
            return objective(model, parameters, batch, loss, None)

    return jax.jit(eval_step, out_shardings=partitioner.replicated)
