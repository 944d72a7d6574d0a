"""GTR's layout, the encoder of a T5 in float16 with a dense layer beside it, gives the reference's vectors."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from lisax import LisaxError, Ranker
from lisax.errors import DataError
from lisax.predict.opening import is_encoder
from lisax.predict.prompt_model import PromptModel
from lisax.predict.ranker import VectorRanker
from lisax.predict.sentence_encoder import SentenceEncoder
from lisax.weights.public_models import USES
from tests.published import V1_0, V1_1, publish, vocabulary

TEXTS = ["The harbour was opened in 1907 .", "Anna", "town 7 of the harbour of town 9 ."]


@pytest.fixture(params=[V1_0, V1_1], ids=["t5_1_0", "t5_1_1"])
def folder(request, tmp_path):
    made = publish(tmp_path / "gtr", request.param, vocabulary(tmp_path).path)
    arrays = load_file(made / "model.safetensors")
    kept = {name: a.astype(np.float16) for name, a in arrays.items() if name.startswith(("shared", "encoder."))}
    save_file(kept, made / "model.safetensors")
    for name in ("1_Pooling", "2_Dense"):
        (made / name).mkdir()
    write(made / "1_Pooling", {"word_embedding_dimension": 16, "pooling_mode_mean_tokens": True})
    activation = "torch.nn.modules.linear.Identity"
    write(made / "2_Dense", {"in_features": 16, "out_features": 12, "bias": False, "activation_function": activation})
    kernel = np.random.default_rng(7).normal(0, 0.3, (12, 16)).astype(np.float16)
    save_file({"linear.weight": kernel}, made / "2_Dense" / "model.safetensors")
    return made


def write(folder, described):
    (folder / "config.json").write_text(json.dumps(described))


def test_vectors_are_the_references(folder):
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    model = transformers.T5EncoderModel.from_pretrained(folder, dtype=torch.float32).eval()
    kernel = load_file(folder / "2_Dense" / "model.safetensors")["linear.weight"].astype(np.float32)
    encoder = SentenceEncoder.open(folder)
    vectors = encoder.encode(TEXTS)
    assert vectors.shape == (3, 12)
    for text, vector in zip(TEXTS, vectors):
        with torch.no_grad():
            states = model(torch.tensor([encoder.vocabulary.encode_input(text)])).last_hidden_state[0].numpy()
        dense = kernel @ states.mean(0)
        np.testing.assert_allclose(vector, dense / np.linalg.norm(dense), atol=1e-5)


def test_it_is_a_ranker_by_vectors_and_no_monot5(folder):
    assert is_encoder(folder) and isinstance(Ranker.open(folder), VectorRanker)
    with pytest.raises(LisaxError, match="has only the encoder of a T5"):
        PromptModel.open(folder, USES["monot5"])


@pytest.mark.parametrize(
    "part, described, said",
    [
        ("2_Dense", {"bias": True}, "expected a layer without a bias"),
        ("2_Dense", {"bias": False, "activation_function": "torch.nn.Tanh"}, "without an activation"),
        ("1_Pooling", {"pooling_mode_max_tokens": True}, "expected one of pooling_mode_mean_tokens"),
    ],
)
def test_what_is_not_done_here_is_told(folder, part, described, said):
    write(folder / part, described)
    with pytest.raises(DataError, match=said):
        SentenceEncoder.open(folder)


def test_the_first_token_where_the_folder_says_so(folder):
    write(folder / "1_Pooling", {"pooling_mode_cls_token": True})
    assert SentenceEncoder.open(folder).encoder.model.pooling == "first"
