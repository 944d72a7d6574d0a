"""The files that sentence-transformers adds to an encoder: how its states become a text's vector."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from lisax.errors import DataError, shown
from lisax.files.json_file import read_object
from lisax.weights.interop.kinds import HF_CONFIG, SAFETENSORS
from lisax.weights.interop.safetensors_files import stored_arrays

POOLING, DENSE = "1_Pooling", "2_Dense"
WEIGHT = "linear.weight"
MODES = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "first"}


def pooling(folder: Path) -> str:
    """`DualEncoderConfig.pooling` of a model; "mean" by default."""
    path = folder / POOLING / HF_CONFIG
    described = read_object(path) if path.is_file() else {"pooling_mode_mean_tokens": True}
    chosen = [name for name, value in described.items() if name.startswith("pooling_mode_") and value is True]
    if len(chosen) != 1 or chosen[0] not in MODES:
        raise DataError(f"expected one of {', '.join(MODES)} to be true, found {shown(chosen)}", path=path)
    return MODES[chosen[0]]


def dense(folder: Path, width: int) -> np.ndarray | None:
    """The matrix float32 [width, out] that pooled states are multiplied by; None if there is none."""
    path = folder / DENSE / HF_CONFIG
    if not path.is_file():
        return None
    described = read_object(path)
    if described.get("bias") is not False:
        raise DataError("expected a layer without a bias", path=path, field="bias")
    if not str(described.get("activation_function", "")).endswith("Identity"):
        found = shown(described.get("activation_function"))
        raise DataError(
            f"expected a layer without an activation, found {found}", path=path, field="activation_function"
        )
    arrays = stored_arrays(path.parent)
    if WEIGHT not in arrays or arrays[WEIGHT].shape[1:] != (width,):
        found = list(arrays[WEIGHT].shape) if WEIGHT in arrays else "no such array"
        raise DataError(f"expected {WEIGHT} [out, {width}], found {found}", path=path.parent / SAFETENSORS)
    return np.ascontiguousarray(arrays[WEIGHT].read().T, np.float32)
