"""Models called in one compiled program: an operation at a time, each would be compiled by itself."""

import functools
from typing import Any

import jax


def applied(config: Any, parameters: dict, *inputs: Any, method: str | None = None) -> Any:
    return jax.jit(functools.partial(config.network().apply, method=method))({"params": parameters}, *inputs)
