"""Vocabularies of the tasks as seqio wants them, found when they are first used.

Text is encoded by `lisax.formats.vocabulary.Vocabulary`, as in inference: a user's text that spells a
sentinel (`<extra_id_0>`) stays text.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import seqio
import tensorflow as tf

from lisax.formats.vocabulary import EXTRA_IDS, Vocabulary
from lisax.formats.vocabulary_file import open_vocabulary

from . import locations


class SentencePieces(seqio.SentencePieceVocabulary):
    """A SentencePiece model and `extra_ids` sentinels, or its own number of them (mT5's); without a path, the file that
    `locations` finds."""

    def __init__(self, path: str | os.PathLike | None = None, extra_ids: int = EXTRA_IDS):
        super().__init__("" if path is None else str(path), extra_ids=extra_ids)

    @property
    def sentencepiece_model_file(self) -> str:
        return self._sentencepiece_model_file or str(locations.vocabulary_path())

    def _model_context(self):
        # The parent keeps the vocabulary loaded first; the locations may have changed since, so they are asked at each
        # call.
        path = Path(self.sentencepiece_model_file)
        added = _plain(path, self._extra_ids).added
        if self._sentencepiece_model_file and added == self._extra_ids:
            return super()._model_context()
        return _located(path, added)._model_context()

    @property
    def extra_ids(self) -> int:
        return _plain(Path(self.sentencepiece_model_file), self._extra_ids).extra_ids

    def __eq__(self, other) -> bool:
        return (
            isinstance(other, seqio.SentencePieceVocabulary)
            and self._extra_ids == other._extra_ids
            and (self is other or self.sentencepiece_model_file == other.sentencepiece_model_file)
        )

    def __hash__(self) -> int:
        return hash(type(self))


@functools.lru_cache(maxsize=8)
def _located(path: Path, extra_ids: int) -> SentencePieces:
    return SentencePieces(path, extra_ids)


class Pieces(seqio.Vocabulary):
    """A vocabulary of either kind of file, SentencePiece's or `tokenizer.json`, for tasks of models on an encoder;
    without a path, the file that `locations` finds."""

    def __init__(self, path: str | os.PathLike | None = None):
        super().__init__()
        self._path = None if path is None else str(path)

    @property
    def file(self) -> str:
        return self._path or str(locations.vocabulary_path(either=True))

    @property
    def plain(self) -> Vocabulary:
        """The same without TensorFlow."""
        return _plain(Path(self.file), EXTRA_IDS)

    @property
    def eos_id(self) -> int:
        """The last token of every input: `</s>`, `[SEP]`."""
        return self.plain.encode_input("")[-1]

    @property
    def unk_id(self) -> None:
        """None: ids are taken as they are."""
        return None

    @property
    def extra_ids(self) -> int:
        return self.plain.extra_ids

    @property
    def _base_vocab_size(self) -> int:
        return self.plain.size - self.extra_ids

    def _encode(self, s: str) -> Sequence[int]:
        return self.plain.encode(s)

    def _decode(self, ids: Sequence[int]) -> str:
        return self.plain.decode(ids)

    def _encode_tf(self, s: tf.Tensor) -> tf.Tensor:
        ids = tf.py_function(lambda text: np.array(self._encode(text.numpy().decode()), np.int32), [s], tf.int32)
        ids.set_shape([None])
        return ids

    def _decode_tf(self, ids: tf.Tensor) -> tf.Tensor:
        return tf.py_function(lambda ids: self._decode(ids.numpy().tolist()), [ids], tf.string)

    def __eq__(self, other) -> bool:
        return isinstance(other, Pieces) and (self is other or self.file == other.file)

    def __hash__(self) -> int:
        return hash(type(self))


class ByteVocabulary(seqio.ByteVocabulary):
    """UTF-8 bytes after padding, EOS and UNK, then `extra_ids` sentinels. Target words are initials."""

    def __init__(self, extra_ids: int = EXTRA_IDS):
        super().__init__(extra_ids=extra_ids)


@functools.cache
def default_vocabulary() -> SentencePieces:
    """The vocabulary of every task that is not given one; one object, so that mixtures agree."""
    return SentencePieces()


@functools.cache
def encoder_vocabulary() -> Pieces:
    """The vocabulary of every task that is not given one and whose model is a head on an encoder, T5's or another: a
    pair scorer, table fusion, an evidence pointer, a dual encoder, a span reader."""
    return Pieces()


@functools.lru_cache(maxsize=8)
def _plain(path: Path, extra_ids: int) -> Vocabulary:
    return open_vocabulary(path, extra_ids)


def plain_of(vocabulary: seqio.Vocabulary) -> Vocabulary | None:
    """The same without TensorFlow; None of bytes, which have no file."""
    if isinstance(vocabulary, Pieces):
        return vocabulary.plain
    if isinstance(vocabulary, seqio.SentencePieceVocabulary):
        return _plain(Path(vocabulary.sentencepiece_model_file), vocabulary.extra_ids)
    return None


def encoder_of(vocabulary: seqio.Vocabulary) -> Callable[[str], list[int]]:
    """text -> ids without special tokens, in Python."""
    plain = plain_of(vocabulary)
    return vocabulary.encode if plain is None else plain.encode


def input_encoder_of(vocabulary: seqio.Vocabulary) -> Callable[[str], list[int]]:
    """text -> ids as a model reads them, with special tokens, in Python."""
    plain = plain_of(vocabulary)
    if plain is None:
        return lambda text: [*vocabulary.encode(text), vocabulary.eos_id]
    return plain.encode_input


def is_bytes(vocabulary: seqio.Vocabulary) -> bool:
    return isinstance(vocabulary, seqio.ByteVocabulary)


def reads_pairs(vocabulary: seqio.Vocabulary) -> bool:
    """Whether it is that of an encoder that separates two texts."""
    return isinstance(vocabulary, Pieces) and getattr(vocabulary.plain, "separator_id", None) is not None
