"""Bundles for inference: `model.safetensors` + `model.json` + vocabulary, parameters under T5X's names."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from lisax.records import DataError, LisaxError, write_json
from lisax.runtime.checkpoints import MODEL_JSON, VOCABULARY_NAME, flatten, read_card, resolve_checkpoint
from lisax.runtime.restore import load_parameters

PARAMETERS_NAME = "model.safetensors"


def export(checkpoint: str | os.PathLike, out: str | os.PathLike) -> Path:
    """Writes the bundle of a checkpoint folder to the new folder `out`, all or nothing."""
    from safetensors.numpy import save_file

    checkpoint, out = resolve_checkpoint(checkpoint), Path(out)
    if out.exists():
        raise LisaxError(f"{out} is there already: give a folder that does not exist yet")
    card, parameters = read_card(checkpoint), flatten(load_parameters(checkpoint))
    vocabulary = checkpoint / VOCABULARY_NAME
    if not vocabulary.is_file():
        raise DataError("the checkpoint has no vocabulary beside it", path=vocabulary)
    out.parent.mkdir(parents=True, exist_ok=True)
    building = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    try:
        save_file({name: np.asarray(array) for name, array in parameters.items()}, building / PARAMETERS_NAME)
        write_json(building / MODEL_JSON, card)
        shutil.copyfile(vocabulary, building / VOCABULARY_NAME)
        building.chmod(0o755)
        os.replace(building, out)
    except BaseException:
        shutil.rmtree(building, ignore_errors=True)
        raise
    return out


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
