"""The vocabulary of a model, and whether the two belong together."""

from __future__ import annotations

import os
from pathlib import Path

from lisax.errors import LisaxError
from lisax.files.places import place
from lisax.formats.vocabulary import Vocabulary
from lisax.models.architectures import Backbone
from lisax.progress import say
from lisax.weights.checkpoints import MODEL_JSON
from lisax.weights.interop.huggingface import vocabulary_in_folder
from lisax.weights.interop.kinds import Kind, kind_of, vocabulary_in
from lisax.weights.model_card import ModelCard
from lisax.weights.pretrained import folder_of


def vocabulary_of(model: str | os.PathLike) -> Path | None:
    """The file of the vocabulary of a model given by its name or folder, which is fetched if it is not here; of an
    adapter that has none, its base's. None if there is none."""
    folder = folder_of(model, say) or place(model)
    found = vocabulary_in_folder(folder) if kind_of(folder) is Kind.HUGGINGFACE else vocabulary_in(folder)
    if found is not None or not (folder / MODEL_JSON).is_file():
        return found
    card = ModelCard.read(folder)
    return None if card.get("adapter") is None else vocabulary_of(*card.needed("adapter.base"))


def check_fits(vocabulary: Vocabulary, backbone: Backbone, folder: Path) -> None:
    """LisaxError where the vocabulary is not the one of the model in `folder`."""
    check_padding(vocabulary, backbone, folder)
    check_size(vocabulary.size, vocabulary.extra_ids, vocabulary.path, backbone, folder)


def check_size(pieces: int, extra_ids: int, path: Path, backbone: Backbone, folder: Path) -> None:
    """Raises LisaxError if a vocabulary of this number of pieces, sentinels among them, has more than the embedding has
    rows."""
    if pieces > backbone.vocab_size:
        raise LisaxError(
            f"{path} has {pieces} pieces (with {extra_ids} sentinels), but the embedding of {folder} has "
            f"{backbone.vocab_size} rows: it is another model's vocabulary"
        )


def check_padding(vocabulary: Vocabulary, backbone: Backbone, folder: Path) -> None:
    """LisaxError where padding has another id in the vocabulary than in the model."""
    if vocabulary.padding_id != backbone.padding_id:
        raise LisaxError(
            f"padding is {vocabulary.padding_id} in {vocabulary.path}, but {backbone.padding_id} in the model of "
            f"{folder}: it is another model's vocabulary"
        )
