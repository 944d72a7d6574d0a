"""The state that a training carries from step to step, and a checkpoint keeps."""

from __future__ import annotations

from typing import Any, NamedTuple

from jax import Array


class TrainState(NamedTuple):
    """`parameters` and `slots` are trees of arrays; T5X calls the latter the optimizer's `param_states`."""

    step: Array  # int32 scalar: finished updates, those of pretraining included
    parameters: Any
    slots: Any
