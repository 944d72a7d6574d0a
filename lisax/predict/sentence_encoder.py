"""Vectors of sentences, whose dot product is their cosine, from a pretrained encoder as it was published."""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Callable, Sequence

import numpy as np

from lisax.errors import DataError
from lisax.formats.vocabulary import Vocabulary
from lisax.formats.vocabulary_file import open_vocabulary
from lisax.models.architectures import DualEncoderConfig
from lisax.retrieval.dense_texts import Text
from lisax.scoring.backends import EncodesTexts, encoder_of
from lisax.weights.interop import sentence_transformers
from lisax.weights.interop.kinds import TOKENIZER_NAME
from lisax.weights.interop.opening import open_checkpoint
from lisax.weights.model_folder import ModelFolder
from lisax.weights.pretrained import MODELS
from lisax.weights.vocabulary_check import check_fits

MAX_TOKENS = 256  # of a text, unless the model's files set it


class SentenceEncoder:
    """A text's vector is the mean of its tokens' states, at length 1, as in sentence-transformers, whose settings of a
    model (`1_Pooling`, `2_Dense`) are followed.

    It encodes indexes (`retrieval.dense.Encodes`). `source` is its name or folder."""

    cosines = True

    def __init__(self, encoder: EncodesTexts, vocabulary: Vocabulary, max_tokens: int, source: str):
        self.encoder, self.vocabulary, self.max_tokens, self.source = encoder, vocabulary, max_tokens, source

    @classmethod
    def open(
        cls,
        model: str | os.PathLike | ModelFolder = "minilm",
        *,
        max_tokens: int | None = None,
        backend: str | None = None,
    ) -> SentenceEncoder:
        """Opens a name of `lisax models list`, fetched if it is not here yet, or the folder of an encoder.
        `max_tokens`: texts are cut to this length; None: the length that the model was trained on. `backend`:
        which library computes, see `scoring.backends.backend_for`."""
        found = ModelFolder.find(model)
        checkpoint = open_checkpoint(found)
        backbone = checkpoint.architecture.backbone.for_inference()
        if checkpoint.vocabulary is None:
            raise DataError(
                "no such file: the vocabulary belongs next to the weights", path=checkpoint.folder / TOKENIZER_NAME
            )
        vocabulary = open_vocabulary(checkpoint.vocabulary)
        check_fits(vocabulary, backbone, checkpoint.folder)
        known = MODELS.get(found.name) or found.family
        max_tokens = max_tokens or (known.max_tokens if known else min(MAX_TOKENS, backbone.max_length or MAX_TOKENS))
        kernel = sentence_transformers.dense(checkpoint.folder, backbone.emb_dim)
        network = DualEncoderConfig(
            backbone,
            pooling=sentence_transformers.pooling(checkpoint.folder),
            normalized=True,
            projection=None if kernel is None else kernel.shape[1],
        )
        more = {} if kernel is None else {"projection": {"kernel": kernel}}
        encoder = encoder_of(checkpoint, network, more, max_tokens=max_tokens, backend=backend)
        return cls(encoder, vocabulary, max_tokens, found.address)

    @functools.cached_property
    def digest(self) -> str:
        """Identifies the vectors: SHA-256 of weights, vocabulary, the length at which texts are cut, and whether they
        are computed in 8 bits."""
        eight = " int8" if self.encoder.int8 else ""
        whole = hashlib.sha256(f"{self.vocabulary.digest} {self.max_tokens}{eight}".encode())
        for leaf in self.encoder.leaves:
            whole.update(np.asarray(leaf).tobytes())
        return whole.hexdigest()

    def encode(self, texts: Sequence[str], progress: Callable[[int], None] | None = None) -> np.ndarray:
        """float32 [texts, width], each vector of length 1. `progress` is called with each batch's number of texts."""
        tokens = [self.vocabulary.encode_input(text, self.max_tokens) for text in texts]
        return self.encoder.passages(tokens, progress)

    def questions(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors of questions or claims."""
        return self.encode(texts)

    def passages(self, passages: Sequence[Text], progress: Callable[[int], None] | None = None) -> np.ndarray:
        """Vectors of texts, each read after its title."""
        return self.encode([f"{one.title}: {one.text}" if one.title else one.text for one in passages], progress)

    def similarities(self, text: str, others: Sequence[str]) -> np.ndarray:
        """float32 [others]: the cosine of a text with each of the others."""
        vectors = self.encode([text, *others])
        return vectors[1:] @ vectors[0]
