"""Loads a trained dual encoder, which maps questions and passages to vectors: format, vocabulary and network
together."""

from __future__ import annotations

import functools
import hashlib
import os
import weakref
from collections.abc import Callable, Sequence

import numpy as np

from lisax.devices.workers import Workers
from lisax.files.places import is_cluster
from lisax.files.resumable import fingerprint
from lisax.formats import reading
from lisax.formats.reading import RETRIEVE
from lisax.models.architectures import from_description
from lisax.predict.sentence_encoder import SentenceEncoder
from lisax.progress import counting
from lisax.retrieval import cluster, dense_shards
from lisax.retrieval.dense import Encodes, encode_index, to_encode
from lisax.retrieval.dense_texts import Text
from lisax.retrieval.vector_codes import Bits
from lisax.scoring.backends import VARIABLE, open_dual_encoder
from lisax.weights.interop.kinds import Kind
from lisax.weights.model_folder import ModelFolder
from lisax.weights.pretrained import sendable


class Retriever:
    """Encodes questions and passages. `digest` identifies the model by the content of its files, and `source` is its
    name or folder. `cosines`: whether its vectors have length 1; otherwise they have any."""

    def __init__(self, model: str | os.PathLike | ModelFolder):
        found = ModelFolder.find(model)
        card, self.source = found.card, found.address
        card.format_among(RETRIEVE)
        self._question_tokens, self._passage_tokens = card.needed("text.question_tokens", "text.max_tokens")
        self.vocabulary = card.open_vocabulary()
        (described,) = card.needed("architecture")
        self.cosines = from_description(described).normalized
        self._encoder = open_dual_encoder(found, max_tokens=self._passage_tokens)
        leaves = b"".join(np.asarray(leaf).tobytes() for leaf in self._encoder.leaves)
        self.digest = hashlib.sha256(leaves + (b"int8" if self._encoder.int8 else b"")).hexdigest()

    def questions(self, texts: Sequence[str]) -> np.ndarray:
        """Question vectors, float32 [texts, emb]."""
        longest, count = self._question_tokens, self.vocabulary.count
        read = [reading.encode_question(text, max_tokens=longest, count_tokens=count) for text in texts]
        return self._encoder.questions(self.vocabulary.encode_inputs(read))

    def passages(self, passages: Sequence[Text], progress: Callable[[int], None] | None = None) -> np.ndarray:
        """Passage vectors, float32 [passages, emb]."""
        longest, count = self._passage_tokens, self.vocabulary.count
        read = [reading.encode_passage(one.title, one.text, max_tokens=longest, count_tokens=count) for one in passages]
        return self._encoder.passages(self.vocabulary.encode_inputs(read), progress)


_OPEN: weakref.WeakValueDictionary[tuple, Encodes] = weakref.WeakValueDictionary()


def open_encoder(model: str | os.PathLike | ModelFolder) -> Encodes:
    """A sentence encoder, given as a name that `lisax models list` shows, as hf:OWNER/NAME@REVISION or as a Hugging
    Face folder; or a trained dual encoder. One that is still in use is shared: each has its weights in memory, and a
    page opens one for each index. Raises LisaxError for any other model."""
    found = ModelFolder.find(model)
    key = found.address, os.environ.get(VARIABLE), str(fingerprint(found.folder))
    if (encoder := _OPEN.get(key)) is None:
        encoder = SentenceEncoder.open(found) if found.kind is Kind.HUGGINGFACE else Retriever(found)
        _OPEN[key] = encoder
    return encoder


def add_vectors(
    index: str | os.PathLike, encoder: Encodes, workers: Workers | None = None, *, bits: Bits | None = None
) -> int:
    """Encodes the texts of an index (a folder, or an address of a cluster) without vectors and prints progress; returns
    the number of vectors. For a folder, `workers` encode (`devices.workers`) with the model that they find at the encoder's
    `source`; `bits`: see `encode_index`."""
    if is_cluster(index):
        return cluster.add_vectors(cluster.open_cluster(os.fspath(index)), encoder)
    opens = functools.partial(open_encoder, sendable(encoder.source))
    with counting(to_encode(index, encoder.digest, bits), "texts") as advance:
        return encode_index(index, encoder, advance, opens=opens, workers=workers, bits=bits)


def add_shard(index: str | os.PathLike, encoder: Encodes, shard: int, shards: int, *, bits: Bits | None = None) -> int:
    """Encodes a shard of these texts (`dense_shards`) and prints progress; returns its number of vectors."""
    with counting(dense_shards.to_encode(index, encoder, shard, shards, bits=bits), "texts") as advance:
        return dense_shards.encode_shard(index, encoder, shard, shards, advance, bits=bits)
