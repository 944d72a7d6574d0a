"""Adafactor (Shazeer & Stern 2018) with T5's defaults and T5X's slots, AdamW and Adagrad.

An optimizer has `init(parameters) -> slots` and `update(...) -> (parameters, slots)`. Slots are a tree like
the parameters' whose leaves are dicts of arrays, so that a checkpoint names them as T5X does:
`encoder/layers_0/attention/query/kernel/v_row`. Each layer of a parameter that stacks the layers of a scan is updated
separately; Adafactor's slots of it are shaped as T5X's logical factor rules shape them (`stacked_slots`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from lisax.models.axes import LAYERS_AXIS, factored_axes, is_stacked

Tree = Any


class Optimizer(Protocol):
    def init(self, parameters: Tree) -> Tree: ...

    def update(
        self, gradients: Tree, slots: Tree, parameters: Tree, learning_rate: Array, count: Array
    ) -> tuple[Tree, Tree]:
        """New parameters and slots. `count`: int32, updates made since the slots were fresh."""


@dataclasses.dataclass(frozen=True)
class Adafactor:
    """Defaults are T5's. Parameters with two dimensions of at least `min_dim_size_to_factor` keep row and
    column means of the squared gradient instead of all of it; `beta1` adds a momentum of full size.

    `step_offset` shifts the decay schedule of the second moment, for slots that were restored."""

    decay_rate: float = 0.8
    step_offset: int = 0
    clipping_threshold: float | None = 1.0
    multiply_by_parameter_scale: bool = True
    beta1: float | None = None
    weight_decay_rate: float | None = None
    factored: bool = True
    min_dim_size_to_factor: int = 128
    epsilon1: float = 1e-30
    epsilon2: float = 1e-3
    global_norm_clip_threshold: float | None = None

    def init(self, parameters: Tree) -> Tree:
        return _map_parameters(self._init_one, parameters)

    def update(
        self, gradients: Tree, slots: Tree, parameters: Tree, learning_rate: Array, count: Array
    ) -> tuple[Tree, Tree]:
        gradients = _clip_by_global_norm(gradients, self.global_norm_clip_threshold)
        decay = 1.0 - (jnp.asarray(count - self.step_offset, jnp.float32) + 1.0) ** -self.decay_rate
        return _unzip(
            _map_parameters(
                lambda path, p, g, s: self._update_one(path, g, s, p, learning_rate, decay),
                parameters,
                gradients,
                slots,
            )
        )

    def _factored_axes(self, path: Sequence[str], shape: tuple[int, ...]) -> tuple[int, int] | None:
        """The axes that `v_row` and `v_col` keep, or None if the second moment is kept whole.

        Of a matrix the smaller and the larger, if both are large; of stacked matrices, whatever their size, the axes
        that T5X calls row and column."""
        if not self.factored or len(shape) < 2:
            return None
        if is_stacked(path):
            return factored_axes(path)
        smaller, larger = (int(axis) for axis in np.argsort(shape, kind="stable")[-2:])
        return (smaller, larger) if shape[smaller] >= self.min_dim_size_to_factor else None

    def _init_one(self, path: Sequence[str], parameter: Array) -> dict[str, Array]:
        shape, axes = parameter.shape, self._factored_axes(path, parameter.shape)
        shapes = {"m": shape if self.beta1 is not None else (1,), "v": (1,), "v_row": (1,), "v_col": (1,)}
        if axes is None:
            shapes["v"] = shape
        else:
            shapes["v_row"], shapes["v_col"] = (tuple(np.delete(shape, axis)) for axis in reversed(axes))
        return {name: jnp.zeros(shape, jnp.float32) for name, shape in shapes.items()}

    def _update_one(
        self,
        path: Sequence[str],
        gradient: Array,
        slot: dict[str, Array],
        parameter: Array,
        learning_rate: Array,
        decay: Array,
    ) -> tuple[Array, dict[str, Array]]:
        gradient, new = gradient.astype(jnp.float32), dict(slot)
        squared = jnp.square(gradient) + self.epsilon1
        axes = self._factored_axes(path, parameter.shape)
        of_one = tuple(axis for axis in range(parameter.ndim) if axis != LAYERS_AXIS or not is_stacked(path))
        if axes is None:
            new["v"] = decay * slot["v"] + (1.0 - decay) * squared
            update = gradient * jax.lax.rsqrt(new["v"])
        else:
            row, column = axes
            new["v_row"] = decay * slot["v_row"] + (1.0 - decay) * jnp.mean(squared, axis=column)
            new["v_col"] = decay * slot["v_col"] + (1.0 - decay) * jnp.mean(squared, axis=row)
            kept = row - (column < row)  # the axis of `row` once `column` is averaged away
            rows = new["v_row"] / jnp.mean(new["v_row"], axis=kept, keepdims=True)
            update = gradient * (
                jnp.expand_dims(jax.lax.rsqrt(rows), column) * jnp.expand_dims(jax.lax.rsqrt(new["v_col"]), row)
            )
        if self.clipping_threshold is not None:
            update /= jnp.maximum(1.0, _root_mean_square(update, of_one) / self.clipping_threshold)
        scale = learning_rate
        if self.multiply_by_parameter_scale:
            scale = scale * jnp.maximum(_root_mean_square(parameter, of_one), self.epsilon2)
        update = scale * update
        if self.beta1 is not None:
            update = new["m"] = self.beta1 * slot["m"] + (1.0 - self.beta1) * update
        kept_share = 1.0 if self.weight_decay_rate is None else 1.0 - self.weight_decay_rate
        return (kept_share * parameter - update).astype(parameter.dtype), new


@dataclasses.dataclass(frozen=True)
class AdamW:
    """optax's AdamW; slots `mu` and `nu` per parameter."""

    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    weight_decay: float = 0.0
    global_norm_clip_threshold: float | None = 1.0

    def init(self, parameters: Tree) -> Tree:
        return _map_parameters(lambda _, p: {"mu": jnp.zeros_like(p), "nu": jnp.zeros_like(p)}, parameters)

    def update(
        self, gradients: Tree, slots: Tree, parameters: Tree, learning_rate: Array, count: Array
    ) -> tuple[Tree, Tree]:
        gradients = _clip_by_global_norm(gradients, self.global_norm_clip_threshold)
        import optax

        adam = optax.scale_by_adam(self.beta1, self.beta2, self.epsilon)

        def update_one(_, parameter, gradient, slot):
            state = optax.ScaleByAdamState(count=count, mu=slot["mu"], nu=slot["nu"])
            direction, state = adam.update(gradient, state)
            step = learning_rate * (direction + self.weight_decay * parameter)
            return parameter - step, {"mu": state.mu, "nu": state.nu}

        return _unzip(_map_parameters(update_one, parameters, gradients, slots))


@dataclasses.dataclass(frozen=True)
class Adagrad:
    """optax's Adagrad (Duchi et al. 2011); the slot `v` is the sum of squared gradients."""

    initial_accumulator_value: float = 0.1
    epsilon: float = 1e-7
    global_norm_clip_threshold: float | None = None

    def init(self, parameters: Tree) -> Tree:
        return _map_parameters(lambda _, p: {"v": jnp.full_like(p, self.initial_accumulator_value)}, parameters)

    def update(
        self, gradients: Tree, slots: Tree, parameters: Tree, learning_rate: Array, count: Array
    ) -> tuple[Tree, Tree]:
        gradients = _clip_by_global_norm(gradients, self.global_norm_clip_threshold)
        import optax

        adagrad = optax.scale_by_rss(self.initial_accumulator_value, self.epsilon)

        def update_one(_, parameter, gradient, slot):
            direction, state = adagrad.update(gradient, optax.ScaleByRssState(slot["v"]))
            return parameter - learning_rate * direction, {"v": state.sum_of_squares}

        return _unzip(_map_parameters(update_one, parameters, gradients, slots))


def _map_parameters(function: Callable, parameters: Tree, *trees: Tree) -> Tree:
    """`function(path, parameter, ...)` over trees like the parameters', whose leaves may be trees."""
    return jax.tree_util.tree_map_with_path(
        lambda path, *leaves: function([entry.key for entry in path], *leaves), parameters, *trees
    )


def _unzip(pairs: Tree) -> tuple[Tree, Tree]:
    """A tree of (parameter, slot) as two trees."""
    first, second = (
        jax.tree.map(lambda pair, i=i: pair[i], pairs, is_leaf=lambda x: isinstance(x, tuple)) for i in (0, 1)
    )
    return first, second


def _clip_by_global_norm(gradients: Tree, threshold: float | None) -> Tree:
    if not threshold:
        return gradients
    import optax

    scale = jnp.minimum(1.0, threshold / optax.tree.norm(gradients))
    return jax.tree.map(lambda gradient: gradient * scale, gradients)


def _root_mean_square(x: Array, axes: tuple[int, ...]) -> Array:
    return jnp.sqrt(jnp.mean(jnp.square(x), axis=axes, keepdims=True))
