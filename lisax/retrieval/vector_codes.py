"""Vectors on disk, in 32, 16 or 8 bits a number.

16 bits are a float16. In 8 bits a vector is int8 [width + 4]: each number divided by a factor of the vector, which makes
the greatest 127, then the four bytes of the factor, a float32. Searches compute in float32 in any case.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

Bits = Literal[32, 16, 8]
_FACTOR = 4  # bytes


def coded(vectors: np.ndarray, bits: Bits = 32) -> np.ndarray:
    """Vectors, float32 [texts, width], as they are stored."""
    if bits == 32:
        return vectors
    if bits == 16:
        return vectors.astype(np.float16)
    factors = np.maximum(np.abs(vectors).max(axis=1, keepdims=True), np.float32(1e-30)) / np.float32(127)
    codes = np.rint(vectors / factors).astype(np.int8)
    return np.concatenate([codes, factors.view(np.int8)], axis=1)


def floats(stored: np.ndarray) -> np.ndarray:
    """Stored vectors as float32 [texts, width]; those of 32 bits are not copied."""
    if stored.dtype != np.int8:
        return stored.astype(np.float32, copy=False)
    vectors = stored[:, :-_FACTOR].astype(np.float32)
    vectors *= np.ascontiguousarray(stored[:, -_FACTOR:]).view(np.float32)
    return vectors


def bits_of(stored: np.ndarray) -> Bits:
    return {4: 32, 2: 16, 1: 8}[stored.dtype.itemsize]
