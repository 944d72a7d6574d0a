"""Vectors of an encoder that is not trained: each text is encoded once, and models learn and answer as without them."""

import dataclasses

import fusion_task
import jax
import numpy as np
import pointer_task
import pytest

from lisax.models.architectures import EncoderConfig
from lisax.models.lora import Lora, joined, merged
from lisax.models.t5 import initialize
from lisax.scoring import kept_vectors
from lisax.scoring.claims import FusionScorer, PointerScorer
from lisax.scoring.kept_vectors import KeptVectors, kept_for
from lisax.training import train
from lisax.training.optimizers import AdamW
from lisax.weights.checkpoints import flatten
from lisax.weights.model_folder import ModelFolder

ENCODER = EncoderConfig(vocab_size=64, emb_dim=16, num_heads=2, num_encoder_layers=2, mlp_dim=32, max_positions=16)
MODELS = {"pointer": (pointer_task, pointer_task.T5), "fusion": (fusion_task, fusion_task.T5)}


def counted(width: int = 2, limit: int = 1 << 20, **options: bool) -> tuple[KeptVectors, list[int]]:
    """Vectors (first token, length), and how many texts each call encoded."""
    calls: list[int] = []

    def encode(texts):
        calls.append(len(texts))
        return np.array([[text[0], len(text)] for text in texts], np.float32)

    return KeptVectors(encode, width, limit, **options), calls


def test_a_text_is_encoded_once():
    kept, calls = counted()
    tokens = np.array([[[3, 4, 0], [5, 0, 0]], [[3, 4, 0], [0, 0, 0]]], np.int32)
    np.testing.assert_array_equal(kept.of(tokens), [[[3, 2], [5, 1]], [[3, 2], [0, 0]]])
    # Padding is not part of a text.
    np.testing.assert_array_equal(kept.of(np.array([[[5, 0], [7, 0]]], np.int32)), [[[5, 1], [7, 1]]])
    assert calls == [2, 1]
    assert kept.of(np.zeros((1, 2, 3), np.int32)).tolist() == [[[0, 0], [0, 0]]] and calls == [2, 1]


@pytest.mark.parametrize(("rows_alone", "expected"), [(True, [1]), (False, [1, 1])])
def test_vectors_that_depend_on_their_batch_last_for_one_call(rows_alone, expected):
    kept, calls = counted(rows_alone=rows_alone)
    for _ in range(2):
        kept.begin()
        kept.of(np.array([[[3]], [[3]]], np.int32))
    assert calls == expected


def test_what_does_not_fit_begins_anew():
    kept, calls = counted(limit=3 * 8)
    of = [kept.of(np.array([[[a], [b]]], np.int32))[0, :, 0].tolist() for a, b in ((1, 2), (3, 4), (3, 4), (1, 3))]
    assert of == [[1, 2], [3, 4], [3, 4], [1, 3]] and calls == [2, 2, 1]
    assert kept.of(np.arange(1, 9, dtype=np.int32).reshape(1, 8, 1))[0, :, 0].tolist() == list(range(1, 9))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("backbone", ["t5", "encoder", "scanned"])
def test_vectors_are_what_the_model_itself_computes(name, backbone):
    task, t5 = MODELS[name]
    backbone = {"t5": t5, "encoder": ENCODER, "scanned": ENCODER.replaced(scan_layers=True)}[backbone]
    model = dataclasses.replace(task.MODEL, backbone=backbone, train_encoder=False, pooling="mean")
    parameters = initialize(model, 1)
    # An adapter that is not fresh, beside its kernels.
    lora = Lora(rank=2, alpha=4.0)
    base, trained = lora.split(parameters)
    trained = jax.tree.map(lambda leaf: leaf + 0.1, trained)
    whole = joined(base, trained, lora.scale)
    texts = np.array([[[2, 9, 1, 0], [3, 1, 0, 0]]], np.int32)
    vectors = kept_for(model, whole).of(texts)
    encode = type(model.network()).apply
    states = encode(
        model.network(), {"params": whole}, texts[0],
        method=lambda net, t: net.encoder(net.token_embedder(t), (t > 0)[:, None, None] & (t > 0)[:, None, :, None],
                                          dropout=False),
    )  # fmt: skip
    expected = [np.asarray(state)[row > 0].mean(axis=0) for state, row in zip(states, texts[0])]
    np.testing.assert_allclose(vectors[0], expected, atol=2e-5)
    # The same encoder with its adapter added to its kernels is known again.
    assert kept_for(model, merged(whole)) is kept_for(model, whole)
    assert kept_for(dataclasses.replace(model, train_encoder=True), whole) is None
    assert kept_for(dataclasses.replace(model, pooling="attention"), whole) is None


@pytest.mark.parametrize("name", MODELS)
def test_models_learn_and_answer_as_without_them(name, tmp_path, monkeypatch):
    """And the encoder stays as it is, where weights decay too."""
    task, _ = MODELS[name]
    model = dataclasses.replace(task.MODEL, train_encoder=False, pooling="mean")
    options = {"model": model, "optimizer": AdamW(weight_decay=0.1), "eval_period": 3}
    quick = train.train(task.config(tmp_path / "quick", 6, **options))
    scorer = {"pointer": PointerScorer, "fusion": FusionScorer}[name]
    texts = {"pointer": pointer_task.CANDIDATES, "fusion": fusion_task.TABLES}[name]
    claims = task.batch_of(7)["encoder_input_tokens"].reshape(16, texts, -1).tolist()
    with_vectors = scorer.open(ModelFolder.find(quick.model_dir), texts=texts, max_tokens=8)
    assert with_vectors._kept is not None
    found = with_vectors.run(claims)
    for module in (train, kept_vectors):
        monkeypatch.setattr(module, "kept_for", lambda *_: None)
    monkeypatch.setattr("lisax.scoring.claims.kept_for", lambda *_: None)
    plain = train.train(task.config(tmp_path / "plain", 6, **options))
    assert quick.metrics == pytest.approx(plain.metrics, abs=1e-4)
    fresh = flatten(initialize(model))
    for path, leaf in flatten(plain.parameters).items():
        np.testing.assert_allclose(flatten(quick.parameters)[path], leaf, atol=2e-4, err_msg=path)
        if path.startswith(("encoder/", "token_embedder/")):
            np.testing.assert_array_equal(leaf, fresh[path])
    for a, b in zip(
        scorer.open(ModelFolder.find(quick.model_dir), texts=texts, max_tokens=8).run(claims), found, strict=True
    ):
        np.testing.assert_allclose(a, b, atol=1e-4)
