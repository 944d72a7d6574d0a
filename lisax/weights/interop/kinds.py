"""Which kind of checkpoint a folder is, only from the names of its files."""

from __future__ import annotations

import enum
import hashlib
import os
from pathlib import Path

from lisax.errors import LisaxError
from lisax.files.places import place

STATE_NAME = "state"
NATIVE_INDEX = "checkpoint"
MODEL_JSON = "model.json"
VOCABULARY_NAME, TOKENIZER_NAME = "spiece.model", "tokenizer.json"  # a vocabulary's file, of which there is one
KINDS = {VOCABULARY_NAME: "sentencepiece", TOKENIZER_NAME: "tokenizers"}  # of vocabularies, by their file
HF_CONFIG = "config.json"
SAFETENSORS = "model.safetensors"
SAFETENSORS_INDEX = "model.safetensors.index.json"


class Kind(enum.StrEnum):
    ORBAX = "t5x-orbax"
    NATIVE = "t5x-native"
    HUGGINGFACE = "huggingface"
    BUNDLE = "bundle"


def vocabulary_in(folder: Path) -> Path | None:
    """The vocabulary's file of a checkpoint; None if there is none."""
    return next((folder / name for name in (VOCABULARY_NAME, TOKENIZER_NAME) if (folder / name).is_file()), None)


def vocabulary_name(path: str | os.PathLike) -> str:
    """The name that a vocabulary's file has next to a checkpoint, given the file."""
    return TOKENIZER_NAME if Path(path).suffix == ".json" else VOCABULARY_NAME


def digest(path: str | os.PathLike) -> str:
    """sha256 of a file, hexadecimal."""
    with place(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def kind_of(folder: Path) -> Kind | None:
    """None if `folder` is not a checkpoint; raises an error if its weights are pickled."""
    if (folder / STATE_NAME).is_dir():
        return Kind.ORBAX
    if (folder / NATIVE_INDEX).is_file():
        return Kind.NATIVE
    if (folder / SAFETENSORS).is_file() or (folder / SAFETENSORS_INDEX).is_file():
        return Kind.HUGGINGFACE if (folder / HF_CONFIG).is_file() else Kind.BUNDLE
    if (folder / HF_CONFIG).is_file():
        raise LisaxError(
            f"{folder} has no {SAFETENSORS}, and other weights (.bin is pickled Python) are not loaded. Convert "
            f'them where you trust them, with transformers and torch installed: python -c "from transformers '
            f"import T5ForConditionalGeneration as T5; T5.from_pretrained('{folder}').save_pretrained('NEW')\", "
            "and for the BERT family AutoModel in the place of T5ForConditionalGeneration"
        )
    return None
