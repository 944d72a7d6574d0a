"""The loss of a target: cross-entropy, and the cross-entropy to a teacher's probabilities. It runs inside `jit`."""

from __future__ import annotations

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from lisax.errors import LisaxError

PER_REAL_TOKEN = "NUM_REAL_TARGET_TOKENS"
PER_TOKEN = "NUM_TOTAL_TARGET_TOKENS"
PER_SEQUENCE = "AVERAGE_PER_SEQUENCE"
FACTORS = (PER_REAL_TOKEN, PER_TOKEN, PER_SEQUENCE)
LEAST = 5e-4  # of a teacher's probability, which is rounded to thousandths


@dataclasses.dataclass(frozen=True)
class Loss:
    """Token cross-entropy plus `z_loss` * log(Z)^2, summed and divided by `normalizing_factor`.

    `teacher`: the share of the loss of a pair scorer's example that is the cross-entropy to a teacher's probabilities
    at `temperature`, times its square (Hinton et al. 2015, section 2), if the example has them.

    The factor is a number, NUM_REAL_TARGET_TOKENS (of the batch), NUM_TOTAL_TARGET_TOKENS (padding too),
    AVERAGE_PER_SEQUENCE (the mean over sequences of each one's mean over its tokens) or None for the plain sum."""

    z_loss: float = 1e-4
    label_smoothing: float = 0.0
    normalizing_factor: float | str | None = PER_REAL_TOKEN
    teacher: float = 0.0
    temperature: float = 1.0

    def __post_init__(self):
        if not 0 <= self.label_smoothing < 1:
            raise LisaxError(f"LABEL_SMOOTHING must be at least 0 and below 1, found {self.label_smoothing}")
        if not (0 <= self.teacher <= 1 and self.temperature > 0):
            raise LisaxError(
                f"losses.Loss.teacher is a share from 0 to 1 and its temperature above 0, found {self.teacher} and "
                f"{self.temperature}"
            )
        if isinstance(self.normalizing_factor, str) and self.normalizing_factor not in FACTORS:
            raise LisaxError(
                f"LOSS_NORMALIZING_FACTOR is '{self.normalizing_factor}': expected a number, None, "
                + " or ".join(f"'{factor}'" for factor in FACTORS)
            )

    def shares(self, weights: Array, segments: Array | None) -> Array:
        """The weights of tokens [rows, length] float32 as the loss counts them: with AVERAGE_PER_SEQUENCE those of a
        sequence add up to 1. `segments` int32 of the same shape: the sequences of packed rows, from 1."""
        if self.normalizing_factor != PER_SEQUENCE:
            return weights
        if segments is None:
            of_sequence = jnp.sum(weights, axis=-1, keepdims=True)
        else:
            sums = functools.partial(jax.ops.segment_sum, num_segments=weights.shape[-1] + 1)
            of_sequence = jax.vmap(lambda row, ids: sums(row, ids)[ids])(weights, segments)
        return weights / jnp.where(weights > 0, of_sequence, 1.0)

    def normalizer(self, weights: Array, segments: Array | None = None) -> Array | float:
        """Takes `weights` and `segments` as `shares` does; for targets other than tokens, weights of any shape."""
        if self.normalizing_factor in (PER_REAL_TOKEN, PER_SEQUENCE):
            return jnp.maximum(jnp.sum(self.shares(weights, segments)), 1.0)
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

    def taught(self, losses: Array, logits: Array, shares: Array) -> Array:
        """losses [rows], logits [rows, classes] and a teacher's probabilities of the classes, all float32 -> losses
        [rows] with the teacher's share."""
        softened = jax.nn.softmax(jnp.log(jnp.maximum(shares, LEAST)) / self.temperature)
        learned = jax.nn.log_softmax(logits / self.temperature)
        soft = -jnp.sum(softened * learned, axis=-1) * self.temperature**2
        return (1 - self.teacher) * losses + self.teacher * soft
