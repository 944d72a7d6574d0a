"""Training of the evidence pointer: its targets, and the losses of DeSePtion's equations 3, 5, 6 and 7."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from lisax.formats.pointing import COLUMNS, FIRST_LABEL, NO_CANDIDATE
from lisax.models.architectures import PointerConfig
from lisax.models.evidence_pointer import LABEL_COUNT, Drawn, Pointed, one_hot

DISCOUNT = 0.95  # of rewards a step later (Chen and Bansal 2018)


class Gold(NamedTuple):
    present: Array  # bool [rows, k]
    label: Array  # int32 [rows]: place in `records.LABELS`, or -1
    pointers: Array  # int32 [rows, steps]: numbers from 1, 0 past the last
    sets: Array  # bool [rows, k, sets]


def gold_of(targets: Array, steps: int) -> Gold:
    """The content of `targets` int32 [rows, k * COLUMNS]."""
    columns = targets.reshape(targets.shape[0], -1, COLUMNS)  # [rows, k, COLUMNS]
    at_step = columns[:, None, :, 1] == jnp.arange(1, steps + 1)[:, None]  # [rows, steps, k]
    pointers = jnp.where(at_step.any(axis=-1), jnp.argmax(at_step, axis=-1) + 1, 0)
    return Gold(
        columns[..., 0] != NO_CANDIDATE,
        jnp.max(columns[..., 0], axis=-1, initial=0) - FIRST_LABEL,
        pointers.astype(jnp.int32),
        columns[..., 2:] > 0,
    )


def complete(pointers: Array, sets: Array) -> Array:
    """bool [rows, steps]: whether the candidates pointed to up to each step, pointers [rows, steps], holds a whole one
    of the sets [rows, k, sets]."""
    so_far = jnp.cumsum(one_hot(pointers, sets.shape[1]), axis=1) > 0  # [rows, steps, k]
    missing = jnp.einsum("rtk,rks->rts", (~so_far).astype(jnp.int32), sets.astype(jnp.int32))  # [rows, steps, sets]
    return jnp.any((missing == 0) & sets.any(axis=1)[:, None], axis=-1)


def pointer_loss(log_pointers: Array, gold: Array) -> Array:
    """Equation 3, float32 [rows]: -1/k * the sum of log p(gold pointer | those before); 0 without gold pointers."""
    there = gold > 0  # [rows, steps]
    chosen = jnp.take_along_axis(log_pointers, jnp.maximum(gold - 1, 0)[..., None], axis=-1)[..., 0]
    return -jnp.sum(jnp.where(there, chosen, 0.0), axis=-1) / jnp.maximum(jnp.sum(there, axis=-1), 1)


def label_loss(labels: Array, pointers: Array, gold: Gold) -> Array:
    """Equation 5, float32 [rows]: the mean over steps of -log p(label given the evidence so far), which is not enough
    until a set is complete; 0 of claims without a label. `labels` of one step are those of the last."""
    there = pointers >= 0  # [rows, steps]
    label = jnp.where(complete(pointers, gold.sets), gold.label[:, None], LABEL_COUNT - 1)
    if labels.shape[1] == 1:
        there, label = there[:, :1], label[:, -1:]
    chosen = jnp.take_along_axis(jax.nn.log_softmax(labels), jnp.maximum(label, 0)[..., None], axis=-1)[..., 0]
    there &= gold.label[:, None] >= 0
    return -jnp.sum(jnp.where(there, chosen, 0.0), axis=-1) / jnp.maximum(jnp.sum(there, axis=-1), 1)


def reward_loss(drawn: Drawn, gold: Gold) -> Array:
    """L(rl) of equation 7, float32 [rows]: REINFORCE with a critic (advantage actor-critic, as Chen and Bansal 2018
    have it), the mean over steps. A step's reward is the FEVER score of the candidates pointed to up to it, labelled by
    the model; 0 of claims without a label."""
    pointers, (steps,) = drawn.pointed.pointers, drawn.pointed.pointers.shape[1:]
    there = (pointers >= 0) & (gold.label >= 0)[:, None]
    right = jnp.argmax(drawn.labels, axis=-1) == gold.label[:, None]  # [rows, steps]
    proven = complete(pointers, gold.sets) | (gold.label == LABEL_COUNT - 1)[:, None]
    rewards = jnp.where(there & right & proven, 1.0, 0.0)  # [rows, steps]
    discounts = jnp.tril(DISCOUNT ** jnp.abs(jnp.arange(steps) - jnp.arange(steps)[:, None]).astype(jnp.float32))
    returns = jax.lax.stop_gradient(rewards @ discounts)  # of each step and those after it
    chosen = jnp.take_along_axis(drawn.pointed.log_pointers, jnp.maximum(pointers, 0)[..., None], axis=-1)[..., 0]
    advantage = jax.lax.stop_gradient(returns - drawn.values)  # [rows, steps]
    loss = jnp.square(returns - drawn.values) - chosen * advantage
    return jnp.sum(jnp.where(there, loss, 0.0), axis=-1) / jnp.maximum(jnp.sum(there, axis=-1), 1)


def example_loss(config: PointerConfig, forced: Pointed, own: Pointed, gold: Gold, drawn: Drawn | None = None) -> Array:
    """Equation 6, float32 [rows]: lambda * L(ptr) + L(rel seq), the latter along gold and own pointers. Where pointers
    were drawn, equation 7: these are the own ones, and the reward's loss is added."""
    loss = config.pointer_weight * pointer_loss(forced.log_pointers, gold.pointers)
    if config.relation == "none":
        return loss
    if drawn is not None:
        own, loss = drawn.pointed, loss + config.reward_weight * reward_loss(drawn, gold)
    relation = label_loss(forced.labels, forced.pointers, gold)
    if config.own_steps:
        relation = (relation + label_loss(own.labels, own.pointers, gold)) / 2
    return loss + relation


def example_weights(config: PointerConfig, gold: Gold) -> Array:
    """float32 [rows]: 1 if there is something to learn: a gold pointer, or a label."""
    labelled = (gold.label >= 0) & gold.present.any(axis=-1) & (config.relation != "none")
    return (labelled | (gold.pointers > 0).any(axis=-1)).astype(jnp.float32)
