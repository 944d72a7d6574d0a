"""Loads a trained dual encoder, which maps questions and passages to vectors: format, vocabulary and network
together."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from lisax.formats import reading
from lisax.formats.reading import RETRIEVE
from lisax.models.architectures import from_description
from lisax.predict.dense_search import DenseSearch
from lisax.predict.sentence_encoder import SentenceEncoder, opened_from
from lisax.progress import counting
from lisax.records import LisaxError
from lisax.retrieval.dense import DenseIndex, Encodes, encode_index, fused, to_encode
from lisax.retrieval.dense_texts import Text
from lisax.retrieval.mixed import Hits, MixedIndex
from lisax.runtime.checkpoints import resolve_checkpoint
from lisax.runtime.interop.kinds import Kind, kind_of
from lisax.runtime.model_card import ModelCard
from lisax.runtime.text_scoring import open_dual_encoder

METHODS = ("bm25", "dense", "fused")


class Retriever:
    """Encodes questions and passages. `digest` identifies the model by the content of its files, and `source` is where
    it was opened from. `cosines`: whether its vectors have length 1; otherwise they have any."""

    def __init__(self, path: str | os.PathLike):
        """Loads a bundle, a checkpoint folder, or a MODEL_DIR (its best checkpoint, else its newest)."""
        folder, self.source = resolve_checkpoint(path), opened_from(path)
        card = ModelCard.read(folder)
        card.format_among(RETRIEVE)
        self._question_tokens, self._passage_tokens = card.needed("text.question_tokens", "text.max_tokens")
        self.vocabulary = card.open_vocabulary()
        (described,) = card.needed("architecture")
        self.cosines = from_description(described).normalized
        self._encoder = open_dual_encoder(folder, max_tokens=self._passage_tokens)
        leaves = b"".join(np.asarray(leaf).tobytes() for leaf in self._encoder.leaves)
        self.digest = hashlib.sha256(leaves + (b"int8" if self._encoder.int8 else b"")).hexdigest()

    @classmethod
    def open(cls, path: str | os.PathLike) -> Retriever:
        return cls(path)

    def questions(self, texts: Sequence[str]) -> np.ndarray:
        """Question vectors, float32 [texts, emb]."""
        return self._encoder.questions(
            self.vocabulary.encode_inputs(
                [
                    reading.encode_question(text, max_tokens=self._question_tokens, count_tokens=self.vocabulary.count)
                    for text in texts
                ]
            )
        )

    def passages(self, passages: Sequence[Text], progress: Callable[[int], None] | None = None) -> np.ndarray:
        """Passage vectors, float32 [passages, emb]."""
        return self._encoder.passages(
            self.vocabulary.encode_inputs(
                [
                    reading.encode_passage(
                        passage.title, passage.text, max_tokens=self._passage_tokens, count_tokens=self.vocabulary.count
                    )
                    for passage in passages
                ]
            ),
            progress,
        )


def open_encoder(path: str | os.PathLike) -> Encodes:
    """A sentence encoder, given as a name that `lisax models list` shows, as hf:OWNER/NAME@REVISION or as a Hugging Face
    folder; or a trained dual encoder. Raises LisaxError for any other model."""
    folder = resolve_checkpoint(path)
    return SentenceEncoder.open(path) if kind_of(folder) is Kind.HUGGINGFACE else Retriever.open(path)


def add_vectors(index: str | os.PathLike, encoder: Encodes) -> int:
    """Encodes what an index holds and has no vectors for yet, and tells how far it is; returns the number of vectors."""
    with counting(to_encode(index, encoder.digest), "texts") as advance:
        return encode_index(index, encoder, advance)


class PassageSearch:
    """An open index with its search method: BM25, vectors, or both fused: by score where the vectors' dot products are
    cosines, otherwise by reciprocal rank, each contributing the same number of hits. `index` is the index itself."""

    def __init__(
        self, folder: str | os.PathLike, *, method: str = "bm25", retriever: Encodes | None = None, exact: bool = True
    ):
        if method not in METHODS:
            raise LisaxError(f"expected a method of {', '.join(METHODS)}; found '{method}'")
        self._method, self._retriever, self._exact = method, retriever, exact
        if method == "bm25":
            self.index = MixedIndex.open(folder)
            return
        if retriever is None:
            raise LisaxError(f"the method '{method}' needs a retriever")
        self._vectors = DenseIndex.open(folder)
        if self._vectors.models != {retriever.digest}:
            raise LisaxError(
                f"{folder} has vectors of another retriever: make them with this one by `lisax index vectors`"
            )
        self.index = MixedIndex.open(folder)

    def __call__(self, questions: Mapping[str, str], k: int) -> dict[str, Hits]:
        """Up to `k` (passage id, score) hits for each question {id: text}."""
        texts, runs = list(questions.values()), []
        if self._method == "fused" and self._retriever.cosines:
            both = DenseSearch(self._vectors, self._retriever, self.index.search, exact=self._exact)
            return dict(zip(questions, both.search(texts, k)))
        if self._method != "dense":
            runs.append(dict(zip(questions, self.index.search(texts, k))))
        if self._method != "bm25":
            found = self._vectors.search(self._retriever.questions(texts), k, exact=self._exact)
            runs.append(dict(zip(questions, found)))
        if len(runs) == 1:
            return runs[0]
        return fused([{query: [hit for hit, _ in hits] for query, hits in run.items()} for run in runs], k)


def retrieve(
    folder: str | os.PathLike,
    questions: Mapping[str, str],
    k: int,
    *,
    method: str = "bm25",
    retriever: Encodes | None = None,
    exact: bool = True,
) -> dict[str, Hits]:
    """Up to `k` (passage id, score) hits for each question {id: text}: see `PassageSearch`."""
    return PassageSearch(folder, method=method, retriever=retriever, exact=exact)(questions, k)
