"""Vectors of sentences: of a small encoder by hand, and of MiniLM where its weights are here, as the reference has them."""

import numpy as np
import pytest
import small_tokenizers
from applying import applied
from checkpoint_files import in_memory
from safetensors.numpy import load_file

from lisax.errors import DataError, LisaxError
from lisax.formats.vocabulary_file import open_vocabulary
from lisax.models.architectures import EncoderConfig
from lisax.models.encoder import segments
from lisax.predict.sentence_encoder import SentenceEncoder
from lisax.weights.checkpoints import flatten
from lisax.weights.interop.huggingface import write_huggingface
from lisax.weights.model_folder import ModelFolder
from lisax.weights.pretrained import MODELS
from lisax.weights.restore import load_model
from tests.references import recorded

TEXTS = ["The harbour was opened in 1907.", "Anna", "number 7 of the harbour of the town of Anna Müller " * 4]
SIZES = {"emb_dim": 16, "num_heads": 2, "num_encoder_layers": 2, "mlp_dim": 24, "max_positions": 34}
FAMILIES = {
    "bert": (EncoderConfig(vocab_size=220, pooler=True, **SIZES), small_tokenizers.wordpiece),
    "roberta": (
        EncoderConfig(vocab_size=400, position_offset=2, padding_id=1, token_types=1, **SIZES),
        small_tokenizers.bpe,
    ),
}


@pytest.fixture(params=FAMILIES)
def folder(request, tmp_path):
    config, tokenizer = FAMILIES[request.param]
    write_huggingface(tmp_path, in_memory(flatten(recorded.drawn(config))), config)
    tokenizer(tmp_path / "tokenizer.json")
    return tmp_path


def test_the_mean_of_the_tokens_at_length_1(folder):
    encoder, vocabulary = SentenceEncoder.open(folder, max_tokens=30), open_vocabulary(folder / "tokenizer.json")
    vectors = encoder.encode(TEXTS)
    assert vectors.dtype == np.float32 and vectors.shape == (3, 16)
    config, parameters = load_model(ModelFolder.find(folder), EncoderConfig)
    for text, vector in zip(TEXTS, vectors):
        ids = np.array([vocabulary.encode_input(text, 30)])
        assert ids.shape[1] <= 30
        mean = np.asarray(applied(config, parameters, ids, segments(ids, None)).states)[0].mean(0)
        np.testing.assert_allclose(vector, mean / np.linalg.norm(mean), atol=1e-5)
    np.testing.assert_allclose(encoder.similarities(TEXTS[0], TEXTS), vectors @ vectors[0], atol=1e-5)
    assert encoder.encode([]).shape == (0, 16)


def test_a_vocabulary_that_is_missing_or_another_models_is_told(folder):
    (folder / "tokenizer.json").unlink()
    with pytest.raises(DataError, match="tokenizer.json: no such file: the vocabulary belongs next to the weights"):
        SentenceEncoder.open(folder)
    other = small_tokenizers.bpe if "bert" in (folder / "config.json").read_text().split("model_type")[1][:9] else None
    (other or small_tokenizers.wordpiece)(folder / "tokenizer.json")
    with pytest.raises(LisaxError, match="padding is . in .*tokenizer.json, but . in the model of .* another model's"):
        SentenceEncoder.open(folder)


def test_minilm_as_the_reference_has_it():
    if not MODELS["minilm"].is_there:
        pytest.skip("needs MiniLM's weights: lisax models get minilm")
    encoder = SentenceEncoder.open("minilm")
    record = load_file(recorded.file_of("minilm"))
    np.testing.assert_allclose(encoder.encode(recorded.SENTENCES), record["vectors"], atol=1e-5)
    config, parameters = load_model(ModelFolder.find("minilm"), EncoderConfig)
    assert (config.emb_dim, config.num_encoder_layers, config.num_heads, config.vocab_size) == (384, 6, 12, 30522)
    ids, types = encoder.vocabulary.encode_pair(*recorded.SENTENCES[:2])
    np.testing.assert_array_equal([ids, types], record["pair"])
    states = applied(config, parameters, np.array([ids]), np.array([types])).states[0]
    np.testing.assert_allclose(states[recorded.MINILM_AT,], record["states"], atol=1e-5)
