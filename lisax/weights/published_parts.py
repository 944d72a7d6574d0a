"""Published scorers of table rows and columns (RCI's ALBERT), as bundles in the cache."""

from __future__ import annotations

import shutil
from pathlib import Path

from lisax.files.places import cache_folder
from lisax.files.writing import write_json
from lisax.formats.parts import TABLE_PARTS
from lisax.formats.presets import PAPER
from lisax.weights.checkpoints import MODEL_JSON
from lisax.weights.interop.classifier import open_classifier
from lisax.weights.interop.convert import card_of, new_folder
from lisax.weights.interop.kinds import vocabulary_name
from lisax.weights.interop.pieces import shapes_of
from lisax.weights.interop.safetensors_files import write_arrays
from lisax.weights.model_folder import ModelFolder

# RCI's classes are (not relevant, relevant); ours begin with relevant. Its authors apply it at 128 tokens.
ORDER, LABELS, MAX_TOKENS = (1, 0), list(TABLE_PARTS.answer.classes.values()), 128


def bundle_of(model: ModelFolder) -> Path:
    """The bundle of a published model of rows or columns, which is made of it the first time. It holds the same
    numbers, with the description of the texts that LisaX needs."""
    source = model.folder
    name = model.name.partition("@")[0].replace(":", "--").replace("/", "--")
    out = cache_folder() / "published" / f"{name}--{source.name}"
    if out.is_dir():
        return out
    checkpoint = open_classifier(source, ORDER)
    text = {"family": TABLE_PARTS.name, "preset": PAPER.name, "max_tokens": MAX_TOKENS, "labels": LABELS}
    with new_folder(out) as folder:
        write_arrays(folder, shapes_of(checkpoint.parameters), checkpoint.read(checkpoint.parameters), shard_bytes=None)
        write_json(folder / MODEL_JSON, card_of(checkpoint, checkpoint.architecture) | {"text": text})
        shutil.copyfile(checkpoint.vocabulary, folder / vocabulary_name(checkpoint.vocabulary))
    return out
