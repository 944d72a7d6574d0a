"""Vocabularies of the tasks as seqio wants them, found when they are first used.

Text is encoded by `lisax.formats.vocabulary.Vocabulary`, as in inference: a user's text that spells a
sentinel (`<extra_id_0>`) stays text.
"""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import seqio

from lisax.formats.vocabulary import EXTRA_IDS, Vocabulary, train_vocabulary

from . import locations

__all__ = ["ByteVocabulary", "SentencePieces", "default_vocabulary", "digest_of", "encoder_of", "train_vocabulary"]


class SentencePieces(seqio.SentencePieceVocabulary):
    """A SentencePiece model and `extra_ids` sentinels; without a path, the one that `locations` finds."""

    def __init__(self, path: str | os.PathLike | None = None, extra_ids: int = EXTRA_IDS):
        super().__init__("" if path is None else str(path), extra_ids=extra_ids)

    @property
    def sentencepiece_model_file(self) -> str:
        return self._sentencepiece_model_file or str(locations.vocabulary_path())

    def _model_context(self):
        # The parent keeps what it loaded first; the locations may have changed since, so they are asked at each call.
        if self._sentencepiece_model_file:
            return super()._model_context()
        return _located(locations.vocabulary_path(), self.extra_ids)._model_context()

    def __eq__(self, other) -> bool:
        return (
            isinstance(other, seqio.SentencePieceVocabulary)
            and self.extra_ids == other.extra_ids
            and (self is other or self.sentencepiece_model_file == other.sentencepiece_model_file)
        )

    def __hash__(self) -> int:
        return hash(type(self))


@functools.lru_cache(maxsize=8)
def _located(path: Path, extra_ids: int) -> SentencePieces:
    return SentencePieces(path, extra_ids)


class ByteVocabulary(seqio.ByteVocabulary):
    """UTF-8 bytes after padding, EOS and UNK, then `extra_ids` sentinels. Target words are initials."""

    def __init__(self, extra_ids: int = EXTRA_IDS):
        super().__init__(extra_ids=extra_ids)


@functools.cache
def default_vocabulary() -> SentencePieces:
    """The vocabulary of every task that is not given one; one object, so that mixtures agree."""
    return SentencePieces()


@functools.lru_cache(maxsize=8)
def _plain(path: Path, extra_ids: int) -> Vocabulary:
    return Vocabulary(path, extra_ids)


def encoder_of(vocabulary: seqio.Vocabulary) -> Callable[[str], list[int]]:
    """text -> ids without EOS, in Python."""
    if isinstance(vocabulary, seqio.SentencePieceVocabulary):
        return _plain(Path(vocabulary.sentencepiece_model_file), vocabulary.extra_ids).encode
    return vocabulary.encode


def is_bytes(vocabulary: seqio.Vocabulary) -> bool:
    return isinstance(vocabulary, seqio.ByteVocabulary)


def digest_of(vocabulary: seqio.Vocabulary) -> str:
    """What a checkpoint is compared by: sha256 of the model file, or the name of the byte vocabulary."""
    if isinstance(vocabulary, seqio.SentencePieceVocabulary):
        return _plain(Path(vocabulary.sentencepiece_model_file), vocabulary.extra_ids).digest
    return hashlib.sha256(f"{type(vocabulary).__name__} {vocabulary.vocab_size}".encode()).hexdigest()
