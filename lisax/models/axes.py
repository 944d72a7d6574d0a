"""Names of the parameters' dimensions, as T5X has them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

# Dimensions of the parameters by the end of their path, as T5X names them; a scan inserts "layers" as the second.
LOGICAL_AXES = {
    ("token_embedder", "embedding"): ("vocab", "embed"),
    ("logits_dense", "kernel"): ("embed", "vocab"),
    ("relpos_bias", "rel_embedding"): ("heads", "relpos_buckets"),
    **{(name, "kernel"): ("embed", "joined_kv") for name in ("query", "key", "value")},
    ("out", "kernel"): ("joined_kv", "embed"),
    **{(name, "kernel"): ("embed", "mlp") for name in ("wi", "wi_0", "wi_1")},
    ("wo", "kernel"): ("mlp", "embed"),
    # Of table fusion and of the evidence pointer.
    ("hidden", "kernel"): ("embed", "mlp"),
    ("classes", "kernel"): ("mlp", "classes"),
    **{
        (name, "kernel"): ("embed", "mlp")
        for name in ("lstm_input", "lstm_state", "keys", "hop", "pointer_keys", "pointer_state")
    },
    ("span", "kernel"): ("embed", "ends"),  # of the pointing reader
    # Of the BERT family.
    ("token_embedder", "positions"): ("positions", "embed"),
    ("token_embedder", "token_types"): ("token_types", "embed"),
    ("projection", "kernel"): ("factor", "embed"),
    ("pooler", "kernel"): ("embed", "mlp"),
}


# Next to a kernel: a low-rank adapter (see `lora`).
LORA_A, LORA_B = "lora_a", "lora_b"

# Where a stacked parameter has its layers.
LAYERS_AXIS = 1


def logical_axes(path: Sequence[str]) -> tuple[str, ...] | None:
    """Names of a parameter's dimensions; None if none of them is ever split."""
    axes = LOGICAL_AXES.get(tuple(path[-2:]))
    if axes is None or not is_stacked(path):
        return axes
    return axes[0], "layers", axes[1]


def apart_axes(path: Sequence[str]) -> tuple[str, ...] | None:
    """Names of an attention kernel's dimensions as T5X's `scalable_t5` has them: heads apart, layers second. None of
    other parameters."""
    axes = LOGICAL_AXES.get(tuple(path[-2:]), ())
    if "joined_kv" not in axes:
        return None
    place = axes.index("joined_kv")
    apart = (*axes[:place], "heads", "kv", *axes[place + 1 :])
    return (apart[0], "layers", *apart[1:]) if is_stacked(path) else apart


def is_stacked(path: Sequence[str]) -> bool:
    """Whether a parameter holds all layers of a stack (`scan_layers`), as its second dimension."""
    return any(pair in (("encoder", "encoder"), ("decoder", "decoder")) for pair in itertools.pairwise(path))


def factored_axes(path: Sequence[str]) -> tuple[int, int] | None:
    """(row, column) axes of a layer's or of stacked layers' matrices by T5X's `standard_logical_factor_rules`: the
    embedding is the row. None of parameters whose second moment T5X keeps whole: scales and relative biases."""
    axes = logical_axes(path)
    if axes is None or "embed" not in axes:
        return None
    row = axes.index("embed")
    return row, next(axis for axis, name in enumerate(axes) if name not in ("embed", "layers"))
