"""T5's buckets of relative positions, each with a bias of its own. JAX is not imported."""

from __future__ import annotations

import numpy as np

from lisax.models.architectures import RELATIVE_BUCKETS, RELATIVE_MAX_DISTANCE


def relative_position_bucket(relative: np.ndarray, *, bidirectional: bool) -> np.ndarray:
    """Bucket of each key position minus query position, int32, same shape.

    Half of the buckets are exact, the other half logarithmic up to RELATIVE_MAX_DISTANCE; with
    `bidirectional` each sign has half of all, otherwise future keys share bucket 0.
    """
    bucket = np.zeros_like(relative, dtype=np.int32)
    buckets, distance = RELATIVE_BUCKETS, -relative
    if bidirectional:
        buckets //= 2
        bucket += (distance < 0).astype(np.int32) * buckets
        distance = np.abs(distance)
    else:
        distance = np.maximum(distance, 0)
    exact = buckets // 2
    # float32 throughout: the reference rounds there, and a bucket's edge depends on it.
    scaled = (
        np.log(distance.astype(np.float32) / exact + np.finfo(np.float32).eps)
        / np.log(RELATIVE_MAX_DISTANCE / exact)
        * (buckets - exact)
    )
    far = np.minimum(exact + scaled.astype(np.int32), buckets - 1)
    return bucket + np.where(distance < exact, distance, far).astype(np.int32)
