"""Checkpoints that hold a low-rank adapter: read as the whole model, with the adapter's products added to the matrices
of its backbone."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from lisax.errors import LisaxError
from lisax.models.axes import LORA_A, LORA_B
from lisax.models.lora import Lora
from lisax.weights.interop.architecture import shapes_of_model
from lisax.weights.interop.kinds import SAFETENSORS, digest
from lisax.weights.interop.pieces import Checkpoint, Piece, shapes_of

MOST = 8  # adapters that may be stacked


def weights_digest(folder: Path) -> str | None:
    """sha256, in hexadecimal, of a model's weights if they are one file; None for other layouts."""
    path = folder / SAFETENSORS
    return digest(path) if path.is_file() else None


def check_base(checkpoint: Checkpoint, base: Path) -> None:
    """Raises DataError if the folder `base` has other weights than the adapter's backbone."""
    wanted = checkpoint.card["adapter"].get("base_sha256")
    if wanted is not None and weights_digest(base) != wanted:
        raise checkpoint.card.error(
            "adapter.base",
            f"the adapter was trained on weights with the sha256 {wanted}, and those of {base} are others",
        )


def with_adapter(base: Checkpoint, own: Checkpoint) -> Checkpoint:
    """`own`, with the parameters of the whole model in the place of its adapter's. Optimizer slots, which are those of
    the adapter, are left out. LisaxError where the two do not fit each other."""
    lora, there = lora_of(own), shapes_of(base.parameters)
    adapters: dict[str, dict[str, tuple[Piece, str]]] = {}  # kernel -> its two matrices' pieces and names
    for piece in own.parameters:
        for name in piece.shapes:
            stem, _, last = name.rpartition("/")
            if last in (LORA_A, LORA_B):
                adapters.setdefault(f"{stem}/kernel", {})[last] = piece, name
    for kernel, pair in adapters.items():
        found = {which: piece.shapes[name] for which, (piece, name) in pair.items()}
        a, b = (found.get(which, ()) for which in (LORA_A, LORA_B))
        if not (len(a) == len(b) == 2 and a[1] == b[0] and (a[0], b[1]) == there.get(kernel)):
            shapes = sorted(map(list, {*found.values()}))
            wanted = f"its {list(there[kernel])}" if kernel in there else "as there is no such matrix"
            raise LisaxError(
                f"{own.folder} has an adapter for '{kernel}' of the shapes {shapes}, which does not fit {wanted} in "
                f"{base.folder}"
            )
        if a[1] != lora.rank:
            raise own.card.error(
                "adapter.rank", f"the card has {lora.rank}, and the weights for '{kernel}' have rank {a[1]}"
            )

    def adapted(piece: Piece) -> Piece:
        kernels = piece.shapes.keys() & adapters.keys()

        def convert(stored: np.ndarray) -> Mapping[str, np.ndarray]:
            arrays = dict(piece.convert(stored))
            for kernel in kernels:
                a, b = (dict(own.read([of]))[name] for of, name in (adapters[kernel][x] for x in (LORA_A, LORA_B)))
                # By numpy itself: for thin matrices the threads of its BLAS wait for each other longer than they work.
                arrays[kernel] = arrays[kernel] + np.einsum("ir,ro->io", a * np.float32(lora.scale), b)
            return arrays

        return dataclasses.replace(piece, convert=convert) if kernels else piece

    thin = {name for pair in adapters.values() for _, name in pair.values()}
    whole = [piece for piece in own.parameters if not thin & piece.shapes.keys()]
    # Parameters that the model does not have, such as the pooler of its base, are left out.
    wanted = shapes_of_model(own.architecture.replaced(scan_layers=False)).keys() - shapes_of(whole).keys()
    kept = [adapted(piece) for piece in base.parameters if piece.shapes.keys() <= wanted]
    card = dataclasses.replace(own.card, content={k: v for k, v in own.card.content.items() if k != "adapter"})
    vocabulary = own.vocabulary or base.vocabulary
    return dataclasses.replace(
        own, parameters=(*kept, *whole), slots=(), stacked=None, card=card, vocabulary=vocabulary
    )


def lora_of(checkpoint: Checkpoint) -> Lora:
    """How the adapter of a checkpoint is made."""
    described = checkpoint.card["adapter"]
    names = [field.name for field in dataclasses.fields(Lora)]
    checkpoint.card.needed(*(f"adapter.{name}" for name in names))
    return Lora(**{name: described[name] for name in names})
