"""Whether a vocabulary and a model belong together."""

from __future__ import annotations

from pathlib import Path

from lisax.errors import LisaxError
from lisax.formats.vocabulary import Vocabulary
from lisax.models.architectures import Backbone


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
