"""Learning-rate schedules by factors, as T5X writes them: 'constant * linear_warmup * rsqrt_decay'."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import jax.numpy as jnp
from jax import Array

from lisax.errors import LisaxError


@dataclasses.dataclass(frozen=True)
class Schedule:
    """Learning rate of a step: the product of `factors`, never below `min_learning_rate`.

    Factors: `constant` (base_learning_rate), `linear_warmup` (0 to 1 in warmup_steps), `linear_decay` (stands
    for both and then falls by decay_factor * base_learning_rate a step), `rsqrt_decay`
    (1/sqrt(max(step, warmup_steps))), `rsqrt_normalized_decay` (the same, 1 at the end of warm-up),
    `decay_every` (decay_factor for every steps_per_decay steps), `cosine_decay` (half a cosine in each
    steps_per_cycle).
    Steps count from `step_offset`.
    """

    factors: str = "constant * linear_warmup * rsqrt_decay"
    base_learning_rate: float = 0.5
    warmup_steps: int = 1000
    decay_factor: float = 0.5
    steps_per_decay: int = 20000
    steps_per_cycle: int = 100000
    step_offset: int = 0
    min_learning_rate: float = 1e-8

    def __post_init__(self):
        unknown = [name for name in self.names if name not in _FACTORS]
        if unknown:
            raise LisaxError(
                f"unknown learning-rate factor '{unknown[0]}' in '{self.factors}': expected {', '.join(_FACTORS)}"
            )

    @property
    def names(self) -> list[str]:
        return [name.strip() for name in self.factors.split("*")]

    def __call__(self, step: Array | int) -> Array:
        """Float32 scalar for the int32 scalar `step`, which counts finished updates."""
        step = jnp.maximum(jnp.asarray(step - self.step_offset, jnp.float32), 0.0)
        rate = jnp.float32(1.0)
        for name in self.names:
            rate = rate * _FACTORS[name](self, step)
        return jnp.maximum(rate, self.min_learning_rate)


def _warmup(schedule: Schedule, step: Array) -> Array:
    return jnp.minimum(1.0, step / max(schedule.warmup_steps, 1)) if schedule.warmup_steps else jnp.float32(1.0)


def _linear_decay(schedule: Schedule, step: Array) -> Array:
    falling = 1.0 + schedule.decay_factor * (schedule.warmup_steps - step)
    return schedule.base_learning_rate * jnp.maximum(0.0, jnp.minimum(_warmup(schedule, step), falling))


def _rsqrt(schedule: Schedule, step: Array) -> Array:
    return 1.0 / jnp.sqrt(jnp.maximum(step, max(schedule.warmup_steps, 1)))


def _rsqrt_normalized(schedule: Schedule, step: Array) -> Array:
    return _rsqrt(schedule, step) * jnp.sqrt(float(max(schedule.warmup_steps, 1)))


def _decay_every(schedule: Schedule, step: Array) -> Array:
    return schedule.decay_factor ** jnp.floor(step / schedule.steps_per_decay)


def _cosine(schedule: Schedule, step: Array) -> Array:
    progress = jnp.maximum(0.0, (step - schedule.warmup_steps) / schedule.steps_per_cycle)
    return jnp.maximum(0.0, 0.5 * (1.0 + jnp.cos(jnp.pi * (progress % 1.0))))


_FACTORS: dict[str, Callable[[Schedule, Array], Array]] = {
    "constant": lambda schedule, step: jnp.float32(schedule.base_learning_rate),
    "linear_warmup": _warmup,
    "linear_decay": _linear_decay,
    "rsqrt_decay": _rsqrt,
    "rsqrt_normalized_decay": _rsqrt_normalized,
    "decay_every": _decay_every,
    "cosine_decay": _cosine,
}
