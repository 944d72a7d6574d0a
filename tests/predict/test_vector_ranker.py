"""Ranking by BM25 and a sentence encoder's vectors, without an index of vectors."""

import dataclasses

import numpy as np
import pytest

from lisax.predict import ranker as rankers
from lisax.predict.ranker import Bm25Ranker, Ranker
from lisax.predict.sentence_encoder import SentenceEncoder
from lisax.predict.verdicts import Evidence
from lisax.retrieval import few_texts
from lisax.retrieval.fusion import WEIGHT, fused
from lisax.scoring.backends import ONNX_INT8
from lisax.weights.pretrained import MODELS

CLAIM = "The harbour was opened in 1901."
FOUND = [
    Evidence("A_0", "Anna lived in a town.", "Anna"),
    Evidence("B_0", "The harbour was opened in 1931.", "Town"),
    Evidence("C_0", "Harbour, harbour.", ""),
]


@pytest.fixture
def ranker(model) -> rankers.VectorRanker:
    return Ranker.open(model)


def test_scores_are_bm25_and_the_cosine(ranker):
    texts = ["Anna: Anna lived in a town.", "Town: The harbour was opened in 1931.", "Harbour, harbour."]
    cosines = ranker.encoder.similarities(CLAIM, texts)
    expected = fused(few_texts.scores(CLAIM, [f"{one.source} {one.text}" for one in FOUND]), cosines, WEIGHT)
    found = ranker.rank(CLAIM, FOUND)
    assert [one.unit for one in found] == [FOUND[i].unit for i in np.argsort(-expected, kind="stable")]
    np.testing.assert_allclose([one.score for one in found], sorted(expected, reverse=True), atol=1e-5)
    by_unit = {one.unit: one.similarity for one in found}
    np.testing.assert_allclose([by_unit[one.unit] for one in FOUND], cosines, atol=1e-5)


def test_many_claims_are_ranked_as_each_alone_and_texts_are_encoded_once(ranker, monkeypatch):
    alone = [ranker.rank(claim, FOUND) for claim in (CLAIM, "Anna was born.")]
    encoded = []
    encode = ranker.encoder.encode
    monkeypatch.setattr(ranker.encoder, "encode", lambda texts, progress=None: encoded.extend(texts) or encode(texts))
    together = list(ranker.rank_many([CLAIM, "Anna was born.", "x"], [FOUND, FOUND, []]))
    assert together[:2] == alone and together[2] == []
    assert encoded == [CLAIM, "Anna was born.", "x"]


@pytest.mark.skipif(not MODELS["minilm"].is_there, reason="needs MiniLM's weights: lisax models get minilm")
def test_a_vector_is_the_same_in_every_batch():
    encoder = SentenceEncoder.open("minilm")
    texts = [f"In {1900 + i} the harbour of Ostra{' and' * (i % 9)} was opened." for i in range(40)]
    whole = encoder.encode(texts)
    assert all((encoder.encode([text])[0] == vector).all() for text, vector in zip(texts, whole, strict=True))


def test_vectors_are_kept_that_are_the_same_in_every_batch(ranker, model):
    in_8_bits = rankers.VectorRanker(SentenceEncoder.open(model, backend=ONNX_INT8))
    for one, kept in ((ranker, 3), (in_8_bits, 1)):  # 8 bits depend on the batch
        one.rank(CLAIM, FOUND)
        one.rank(CLAIM, FOUND[:1])
        assert len(one._known) == kept


def test_what_an_index_knows_is_not_encoded_again(ranker):
    known = [dataclasses.replace(one, similarity=i / 4) for i, one in enumerate(FOUND)]
    assert ranker.rank(CLAIM, known) == Bm25Ranker().rank(CLAIM, known)


def test_few_vectors_are_kept(model, monkeypatch):
    monkeypatch.setattr(rankers, "VECTORS_KEPT", 2)
    ranker = Ranker.open(model)
    assert ranker.rank(CLAIM, FOUND) == Ranker.open(model).rank(CLAIM, FOUND)
    assert len(ranker._known) == 2
