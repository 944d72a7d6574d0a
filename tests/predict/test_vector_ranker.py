"""Ranking by BM25 and a sentence encoder's vectors, without an index of vectors."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import small_tokenizers
from checkpoint_files import in_memory, random_parameters

from lisax.errors import LisaxError
from lisax.models.architectures import EncoderConfig
from lisax.models.t5 import initialize
from lisax.predict import ranker as rankers
from lisax.predict.ranker import Bm25Ranker, Ranker
from lisax.predict.sentence_encoder import SentenceEncoder
from lisax.predict.verdicts import Evidence
from lisax.retrieval import few_texts
from lisax.retrieval.fusion import WEIGHT, fused
from lisax.scoring.backends import ONNX_INT8
from lisax.weights.checkpoints import flatten
from lisax.weights.interop.huggingface import write_huggingface
from lisax.weights.pretrained import MODELS
from tests.references import recorded

CONFIG = EncoderConfig(
    vocab_size=220, emb_dim=32, num_heads=2, num_encoder_layers=1, mlp_dim=32, max_positions=64, separator_id=3
)
CLAIM = "The harbour was opened in 1901."
FOUND = [
    Evidence("A_0", "Anna lived in a town.", "Anna"),
    Evidence("B_0", "The harbour was opened in 1931.", "Town"),
    Evidence("C_0", "Harbour, harbour.", ""),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("encoder")
    write_huggingface(folder, in_memory(flatten(initialize(CONFIG, 3))), CONFIG)
    small_tokenizers.wordpiece(folder / "tokenizer.json")
    return folder


@pytest.fixture
def ranker(folder) -> rankers.VectorRanker:
    return Ranker.open(folder)


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


def test_vectors_are_kept_that_are_the_same_in_every_batch(ranker, folder):
    in_8_bits = rankers.VectorRanker(SentenceEncoder.open(folder, backend=ONNX_INT8))
    for one, kept in ((ranker, 3), (in_8_bits, 1)):  # 8 bits depend on the batch
        one.rank(CLAIM, FOUND)
        one.rank(CLAIM, FOUND[:1])
        assert len(one._known) == kept


def test_what_an_index_knows_is_not_encoded_again(ranker):
    known = [dataclasses.replace(one, similarity=i / 4) for i, one in enumerate(FOUND)]
    assert ranker.rank(CLAIM, known) == Bm25Ranker().rank(CLAIM, known)


def test_a_published_t5_is_no_ranker_without_its_prompt(tmp_path):
    write_huggingface(tmp_path, in_memory(random_parameters(recorded.T5_1_1)), recorded.T5_1_1)
    with pytest.raises(LisaxError, match="its prompt is not known here"):
        Ranker.open(tmp_path)


def test_few_vectors_are_kept(folder, monkeypatch):
    monkeypatch.setattr(rankers, "VECTORS_KEPT", 2)
    ranker = Ranker.open(folder)
    assert ranker.rank(CLAIM, FOUND) == Ranker.open(folder).rank(CLAIM, FOUND)
    assert len(ranker._known) == 2
