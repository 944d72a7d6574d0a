"""RCI's layout, ALBERT with a pooler and two classes, gives the reference's probabilities as a pair scorer."""

import numpy as np
import pytest
import small_tokenizers
from safetensors.numpy import load_file, save_file

from lisax import Ranker
from lisax.errors import DataError, LisaxError
from lisax.formats.parts import TABLE_PARTS
from lisax.predict.opening import find_model, open_model
from lisax.weights import hub
from lisax.weights.published_parts import open_classifier

ROW = "hf:michaelrglass/albert-base-rci-wtq-row"
PAIRS = [("Who was born in 1907?", "town : Anna * opened : 1907"), ("the harbour", "x"), ("a", "town 7 * number " * 8)]


@pytest.fixture
def published(tmp_path, monkeypatch):
    """A folder as the Hub's, and the reference model of it."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    torch.manual_seed(3)
    config = transformers.AlbertConfig(
        vocab_size=220,
        embedding_size=8,
        hidden_size=16,
        num_hidden_layers=3,
        num_attention_heads=2,
        intermediate_size=24,
        max_position_embeddings=128,
        num_labels=2,
    )
    model = transformers.AlbertForSequenceClassification(config).eval()
    for parameter in model.parameters():
        parameter.data.normal_(0, 0.3)
    folder = tmp_path / "snapshot"
    model.save_pretrained(folder)
    small_tokenizers.wordpiece(folder / "tokenizer.json")
    monkeypatch.setattr(hub, "get", lambda name, say=None: folder)
    monkeypatch.setenv("LISAX_CACHE", str(tmp_path / "cache"))
    return folder, model


def test_probabilities_are_the_references(published):
    import torch

    _, theirs = published
    model = open_model(ROW)
    assert model.pairs and model.format is TABLE_PARTS and find_model(ROW).format is TABLE_PARTS
    assert model.card["text"]["labels"] == ["relevant", "not relevant"]
    pairs = [model.vocabulary.encode_pair(*pair, 128) for pair in PAIRS]
    found = model._scorer.probabilities([pair.ids for pair in pairs])
    for pair, shares in zip(pairs, found):
        with torch.no_grad():
            logits = theirs(torch.tensor([pair.ids]), token_type_ids=torch.tensor([pair.types])).logits[0]
        np.testing.assert_allclose(shares, logits.softmax(-1).numpy()[[1, 0]], atol=1e-5)


def test_it_is_no_ranker_of_texts(published):
    with pytest.raises(LisaxError, match="use it with `lisax ask`"):
        Ranker.open(ROW)


def test_the_bundle_is_made_once(published, tmp_path):
    open_model(ROW)
    (bundle,) = (tmp_path / "cache" / "published").iterdir()
    changed = (bundle / "model.safetensors").stat().st_mtime_ns
    open_model(ROW)
    assert (bundle / "model.safetensors").stat().st_mtime_ns == changed


def test_what_is_no_such_classifier_is_told(published):
    folder, _ = published
    arrays = load_file(folder / "model.safetensors")
    three = {"classifier.weight": np.zeros((3, arrays["classifier.weight"].shape[1]), np.float32)}
    save_file(arrays | three, folder / "model.safetensors")
    with pytest.raises(DataError, match="expected 2 classes"):
        open_classifier(folder)
    save_file(
        {name: array for name, array in arrays.items() if name != "classifier.bias"}, folder / "model.safetensors"
    )
    with pytest.raises(DataError, match=r"it has no classifier\.bias"):
        open_classifier(folder)
