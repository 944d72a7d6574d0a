"""Bundles for inference: `model.safetensors` + `model.json` + vocabulary, parameters under T5X's names."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from lisax.records import DataError, write_json
from lisax.runtime.checkpoints import MODEL_JSON, VOCABULARY_NAME, read_card
from lisax.runtime.interop.convert import card_of, new_folder, opened
from lisax.runtime.interop.kinds import SAFETENSORS as PARAMETERS_NAME
from lisax.runtime.interop.pieces import shapes_of
from lisax.runtime.interop.safetensors_files import write_arrays


def export(checkpoint: str | os.PathLike, out: str | os.PathLike) -> Path:
    """Writes the bundle of a checkpoint of any kind to the new folder `out`, all or nothing."""
    source, architecture = opened(checkpoint)
    if source.vocabulary is None:
        raise DataError("the checkpoint has no vocabulary beside it; `lisax checkpoint import --vocabulary FILE` "
                        "writes it with one", path=source.folder / VOCABULARY_NAME)
    card = card_of(source, architecture)
    with new_folder(out) as folder:
        write_arrays(folder, shapes_of(source.parameters), source.read(source.parameters), shard_bytes=None)
        write_json(folder / MODEL_JSON, card)
        shutil.copyfile(source.vocabulary, folder / VOCABULARY_NAME)
    return Path(out)


def read(folder: str | os.PathLike) -> tuple[dict[str, Any], dict[str, Any]]:
    """(`model.json`, nested parameters) of a bundle."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    path = Path(folder) / PARAMETERS_NAME
    try:
        arrays = load_file(path)
    except SafetensorError as error:
        raise DataError(f"not a whole safetensors file: {error}", path=path) from None
    nested: dict[str, Any] = {}
    for name, array in arrays.items():
        *parents, leaf = name.split("/")
        place = nested
        for parent in parents:
            place = place.setdefault(parent, {})
        place[leaf] = array
    return read_card(Path(folder)), nested
