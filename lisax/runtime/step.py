"""One step of training or evaluation: loss, gradients, update. Everything here runs inside `jit`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array

from lisax.models.t5 import T5Config, Transformer, cast_kernels
from lisax.records import LisaxError
from lisax.runtime.optimizers import Optimizer
from lisax.runtime.partitioning import Partitioner

Batch = dict[str, Array]  # arrays [rows, length] int32, named as seqio's EncDecFeatureConverter names them

MODEL_FEATURES = ("encoder_input_tokens", "decoder_input_tokens", "decoder_target_tokens", "encoder_segment_ids",
                  "decoder_segment_ids", "encoder_positions", "decoder_positions")
PER_REAL_TOKEN = "NUM_REAL_TARGET_TOKENS"
PER_TOKEN = "NUM_TOTAL_TARGET_TOKENS"


class TrainState(NamedTuple):
    step: Array  # int32 scalar: finished updates, those of pretraining included
    parameters: Any
    slots: Any


@dataclasses.dataclass(frozen=True)
class Loss:
    """Token cross-entropy plus `z_loss` * log(Z)^2, summed and divided by `normalizing_factor`.

    The factor is a number, NUM_REAL_TARGET_TOKENS (of the batch), NUM_TOTAL_TARGET_TOKENS (padding too) or
    None for the plain sum."""

    z_loss: float = 1e-4
    label_smoothing: float = 0.0
    normalizing_factor: float | str | None = PER_REAL_TOKEN

    def __post_init__(self):
        if isinstance(self.normalizing_factor, str) and self.normalizing_factor not in (PER_REAL_TOKEN, PER_TOKEN):
            raise LisaxError(f"LOSS_NORMALIZING_FACTOR is '{self.normalizing_factor}': expected a number, None, "
                             f"'{PER_REAL_TOKEN}' or '{PER_TOKEN}'")

    def normalizer(self, weights: Array) -> Array | float:
        if self.normalizing_factor == PER_REAL_TOKEN:
            return jnp.maximum(jnp.sum(weights), 1.0)
        if self.normalizing_factor == PER_TOKEN:
            return float(np.prod(weights.shape))
        return 1.0 if self.normalizing_factor is None else float(self.normalizing_factor)

    def per_token(self, logits: Array, targets: Array) -> Array:
        """logits [rows, length, vocab] float32, targets [rows, length] -> loss [rows, length] float32.

        With smoothing the lowest reachable loss is subtracted, so that a perfect model still reaches zero."""
        log_z = jax.nn.logsumexp(logits, axis=-1)
        loss = log_z - jnp.take_along_axis(logits, targets[..., None], axis=-1)[..., 0]
        if self.label_smoothing:
            vocabulary = logits.shape[-1]
            right, wrong = 1.0 - self.label_smoothing, self.label_smoothing / (vocabulary - 1)
            of_all = vocabulary * log_z - jnp.sum(logits, axis=-1)
            lowest = -(right * np.log(right) + (vocabulary - 1) * wrong * np.log(wrong + 1e-20))
            loss = right * loss + wrong * (of_all - loss) - lowest
        return loss + self.z_loss * jnp.square(log_z)


def apply_model(model: T5Config, parameters: Any, batch: Batch, dropout_key: Array | None = None) -> Array:
    """Teacher-forced logits float32 [rows, target length, vocab]; dropout only where a key is given."""
    features = {name: batch[name] for name in MODEL_FEATURES if name in batch}
    return Transformer(model).apply({"params": parameters}, **features, enable_dropout=dropout_key is not None,
                                    rngs={} if dropout_key is None else {"dropout": dropout_key})


def sums(loss: Array, logits: Array, batch: Batch) -> dict[str, Array]:
    """Float32 sums over a batch: of loss (given per token), tokens, right tokens, sequences, right sequences."""
    targets = batch["decoder_target_tokens"]
    weights = batch["decoder_loss_weights"].astype(jnp.float32)
    wrong = (jnp.argmax(logits, axis=-1) != targets) * weights
    real = jnp.sum(weights, axis=-1) > 0
    segments = batch.get("decoder_segment_ids")
    examples = jnp.sum(real) if segments is None else jnp.sum(jnp.max(segments, axis=-1))
    return {
        "loss": jnp.sum(loss * weights),
        "target_tokens": jnp.sum(weights),
        "input_tokens": jnp.sum(batch["encoder_input_tokens"] > 0).astype(jnp.float32),
        "right_tokens": jnp.sum(weights) - jnp.sum(wrong),
        "rows": jnp.sum(real).astype(jnp.float32),
        "right_rows": jnp.sum(real & (jnp.sum(wrong, axis=-1) == 0)).astype(jnp.float32),
        "examples": examples.astype(jnp.float32),
    }


def make_train_step(model: T5Config, loss: Loss, optimizer: Optimizer, learning_rate: Callable, *, seed: int,
                    microbatches: int, slots_first_step: int, partitioner: Partitioner) -> Callable:
    """The compiled (state, batch) -> (state, metrics). The state given is donated: do not use it again.

    Dropout depends on (seed, step) alone, so that a resumed run repeats it. Metrics are `sums` with
    `learning_rate` and `gradient_norm`."""

    def gradients_and_sums(parameters, batch, normalizer, key):
        def objective(parameters):
            logits = apply_model(model, parameters, batch, key)
            per_token = loss.per_token(logits, batch["decoder_target_tokens"])
            weights = batch["decoder_loss_weights"].astype(jnp.float32)
            return jnp.sum(per_token * weights) / normalizer, sums(per_token, logits, batch)

        gradients, metrics = jax.grad(objective, has_aux=True)(cast_kernels(model, parameters))
        # Each device keeps its part of the sum only.
        return jax.lax.with_sharding_constraint(gradients, partitioner.state(gradients)), metrics

    def train_step(state: TrainState, batch: Batch) -> tuple[TrainState, dict[str, Array]]:
        key = jax.random.fold_in(jax.random.key(seed), state.step) if model.dropout_rate else None
        normalizer = loss.normalizer(batch["decoder_loss_weights"].astype(jnp.float32))
        with partitioner.constraints():
            if microbatches == 1:
                gradients, metrics = gradients_and_sums(state.parameters, batch, normalizer, key)
            else:
                gradients, metrics = _accumulate(gradients_and_sums, state.parameters, batch, normalizer, key,
                                                 microbatches, partitioner)
        rate = learning_rate(state.step)
        parameters, slots = optimizer.update(gradients, state.slots, state.parameters, rate,
                                             state.step - slots_first_step)
        norm = optax.tree.norm(jax.tree.map(lambda gradient: gradient.astype(jnp.float32), gradients))
        metrics |= {"learning_rate": rate, "gradient_norm": norm}
        state = TrainState(state.step + 1, parameters, slots)
        return jax.lax.with_sharding_constraint((state, metrics), (partitioner.state(state), partitioner.replicated))

    # Inputs come with the shardings that `place_state` and `place_batch` gave them.
    return jax.jit(train_step, donate_argnums=0)


def _accumulate(gradients_and_sums, parameters, batch, normalizer, key, microbatches, partitioner):
    """Sums of gradients and metrics over `microbatches` slices; each takes its rows from every device."""
    slices = {name: jax.lax.with_sharding_constraint(
        jnp.swapaxes(array.reshape(-1, microbatches, *array.shape[1:]), 0, 1), partitioner.microbatches)
        for name, array in batch.items()}

    def body(total, indexed):
        i, part = indexed
        part_key = None if key is None else jax.random.fold_in(key, i)
        return jax.tree.map(jnp.add, total, gradients_and_sums(parameters, part, normalizer, part_key)), None

    shapes = jax.eval_shape(lambda: gradients_and_sums(parameters, {k: v[0] for k, v in slices.items()},
                                                       normalizer, key))
    # Sums in float32, whatever type a slice's gradients have.
    zeros = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, jnp.promote_types(leaf.dtype, jnp.float32)), shapes)
    return jax.lax.scan(body, zeros, (jnp.arange(microbatches), slices))[0]


def make_eval_step(model: T5Config, loss: Loss, partitioner: Partitioner) -> Callable:
    """The compiled (parameters, batch) -> `sums`, without dropout."""

    def eval_step(parameters, batch):
        with partitioner.constraints():
            logits = apply_model(model, parameters, batch)
            return sums(loss.per_token(logits, batch["decoder_target_tokens"]), logits, batch)

    return jax.jit(eval_step, out_shardings=partitioner.replicated)
