"""The content of a checkpoint, as text for a terminal."""

from __future__ import annotations

import math

from lisax.weights.interop.opening import open_checkpoint
from lisax.weights.interop.pieces import shapes_of
from lisax.weights.model_folder import ModelFolder


def described(source: ModelFolder) -> str:
    """Kind, step, parameters with their shapes, vocabulary and optimizer slots; no array is read."""
    checkpoint = open_checkpoint(source)
    shapes, slots = shapes_of(checkpoint.parameters), shapes_of(checkpoint.slots)
    count = sum(map(math.prod, shapes.values()))
    known = (checkpoint.card or {}).get("vocabulary") or {}
    kinds = sorted({name.rsplit("/", 1)[1] for name in slots})
    width = max(map(len, shapes), default=0)
    facts = {
        "checkpoint": checkpoint.folder,
        "kind": checkpoint.kind + (", layers stacked (scanned)" if checkpoint.scanned else ""),
        "step": "unknown" if checkpoint.step is None else checkpoint.step,
        "parameters": f"{count:,} in {len(shapes)} arrays",
        "vocabulary": ", ".join(
            filter(
                None,
                (f"{known['kind']} of {known['pieces']} pieces" if known else "", str(checkpoint.vocabulary or "")),
            )
        )
        or "none",
        "optimizer slots": f"{sum(map(math.prod, slots.values())):,} values: {', '.join(kinds)}" if slots else "none",
    }
    return "\n".join(
        [
            *(f"{name:16}{value}" for name, value in facts.items()),
            "",
            *(f"{name:{width}}  {list(shape)}" for name, shape in shapes.items()),
        ]
    )
