"""Bundles for inference: `model.safetensors` + `model.json` + vocabulary, parameters under T5X's names.

Where the checkpoint says its text format, the label scorer is there as StableHLO too (see `program`), so that
`lisax.load` needs jax, numpy and sentencepiece alone.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lisax.records import DataError, LisaxError, write_json
from lisax.runtime import program, safetensors_file
from lisax.runtime.checkpoints import MODEL_JSON, VOCABULARY_NAME, flatten, read_card, resolve_checkpoint

PARAMETERS_NAME, SAVED_MODEL_NAME = "model.safetensors", "saved_model"
FORMATS = ("bundle", "stablehlo", "savedmodel")


def export(checkpoint: str | os.PathLike, out: str | os.PathLike, formats: Sequence[str] = ("bundle",)) -> Path:
    """Writes the bundle of a checkpoint folder to the new folder `out`, all or nothing.

    `formats` besides "bundle", which is always written: "stablehlo" adds `scorer.jax_export`, which
    `jax.export.deserialize` reads; "savedmodel" adds the folder `saved_model` for TensorFlow, parameters included."""
    from safetensors.numpy import save_file

    from lisax.runtime.restore import load_parameters

    checkpoint, out = resolve_checkpoint(checkpoint), Path(out)
    if unknown := set(formats) - set(FORMATS):
        raise LisaxError(f"no export format is named '{min(unknown)}'; there are {', '.join(FORMATS)}")
    if out.exists():
        raise LisaxError(f"{out} is there already: give a folder that does not exist yet")
    card = read_card(checkpoint)
    vocabulary = checkpoint / VOCABULARY_NAME
    if not vocabulary.is_file():
        raise DataError("the checkpoint has no vocabulary beside it", path=vocabulary)
    words = (card.get("text") or {}).get("words")
    if words is None and set(formats) != {"bundle"}:
        raise DataError("`text` with the label words is missing: without it there is nothing to score, and only "
                        "--format bundle can be written", path=checkpoint / MODEL_JSON)
    parameters = {name: np.asarray(array) for name, array in flatten(load_parameters(checkpoint)).items()}
    out.parent.mkdir(parents=True, exist_ok=True)
    building = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    try:
        save_file(parameters, building / PARAMETERS_NAME)
        (building / PARAMETERS_NAME).chmod(0o644)  # safetensors lets its owner alone read it
        write_json(building / MODEL_JSON, card)
        shutil.copyfile(vocabulary, building / VOCABULARY_NAME)
        if words is not None:
            _write_programs(building, card, parameters, words, formats)
        building.chmod(0o755)
        os.replace(building, out)
    except BaseException:
        shutil.rmtree(building, ignore_errors=True)
        raise
    return out


def _write_programs(folder: Path, card: dict[str, Any], parameters: dict[str, np.ndarray], words: Sequence[str],
                    formats: Sequence[str]) -> None:
    from lisax.formats.vocabulary import Vocabulary
    from lisax.models.t5 import T5Config

    vocabulary = Vocabulary(folder / VOCABULARY_NAME)
    pieces = [vocabulary.piece_id(word) for word in words]
    exported = program.export_scorer(T5Config(**card["architecture"]), parameters, pieces)
    program.save(exported, folder, words, pieces)
    if "stablehlo" in formats:
        (folder / program.EXPORTED_NAME).write_bytes(exported.serialize())
    if "savedmodel" in formats:
        from lisax.runtime.saved_model import save

        save(exported, parameters, folder / SAVED_MODEL_NAME)


def read(folder: str | os.PathLike) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """(`model.json`, parameters by path) of a bundle; arrays are views of the file."""
    return read_card(Path(folder)), safetensors_file.read(Path(folder) / PARAMETERS_NAME)
