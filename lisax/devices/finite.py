"""Raises an error for NaN or infinite scores and names the weights.

Scores are checked each time, not the weights when they are loaded: reading 11 GB of weights takes as long as loading
them. Only after such a score are the weights searched for the array to name.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from lisax.errors import DataError

LARGEST = 1e9  # of weights; published models stay below 1e4
LARGEST_SCORE = 1e6


def _saturated(scores: np.ndarray) -> bool:
    """Whether scores are such as weights without measure give: huge, or the same for all labels of a text."""
    several = scores.ndim > 1 and scores.shape[-1] > 1 and scores.size > 0
    return bool((np.abs(scores) > LARGEST_SCORE).any() or (several and (np.ptp(scores, axis=-1) == 0).any()))


def check_finite(scores: Iterable[np.ndarray], parameters: Any, source: str | os.PathLike) -> None:
    """DataError where an array of `scores` holds NaN or an infinity, or scores that weights above `LARGEST` explain.
    `source` is where `parameters` are from."""
    scores = list(scores)
    finite = all(np.isfinite(array).all() for array in scores)
    if finite and not any(map(_saturated, scores)):
        return
    import jax
    import jax.numpy as jnp

    for path, leaf in jax.tree_util.tree_leaves_with_path(parameters):
        if not (jnp.abs(leaf) < LARGEST).all():
            raise DataError(
                f"these weights hold values that are not numbers (NaN or infinite) or larger than {LARGEST:g}: the file is "
                "damaged, or the training failed",
                path=source,
                field="/".join(str(entry.key) for entry in path),
            )
    if finite:
        return
    raise DataError(
        "the scores are not numbers (NaN or infinite), though all weights are: they are too large for the "
        "type of activations (`dtype`)",
        path=source,
    )


def check_hypotheses(scores: np.ndarray, impossible: float, parameters: Any, source: str | os.PathLike) -> None:
    """`check_finite` of generation: scores [rows, beams] of inputs that are there, the best of which always has a
    likelihood above `impossible`; a NaN is not among the best that a beam search keeps."""
    check_finite([np.where(scores[:, 0] > impossible, 0.0, np.nan)], parameters, source)
