"""Encoders of the BERT family in onnxruntime: what JAX computes, and when which of the two is taken."""

import dataclasses
import json
import subprocess
import sys

import numpy as np
import pytest
import small_tokenizers
from checkpoint_files import in_memory
from small_bundles import bundle

from lisax.devices import platforms
from lisax.errors import DataError, LisaxError
from lisax.examples import example_pages
from lisax.formats.examples import Example, Passage
from lisax.models.architectures import DualEncoderConfig, EncoderConfig, FusionConfig, PairConfig
from lisax.predict.model import Model
from lisax.predict.sentence_encoder import SentenceEncoder
from lisax.scoring.backends import JAX, ONNX, ONNX_INT8, VARIABLE, backend_for
from lisax.scoring.onnx import encoder as onnx_encoder
from lisax.scoring.onnx.scoring import OnnxPairs, OnnxVectors
from lisax.scoring.texts import PairScoring, VectorEncoder
from lisax.weights.checkpoints import flatten
from lisax.weights.interop.architecture import parameter_shapes, shapes_of_model
from lisax.weights.interop.huggingface import write_huggingface
from lisax.weights.pretrained import MODELS
from tests.references import recorded

pytest.importorskip("onnxruntime", reason="needs onnxruntime")


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr("lisax.scoring.onnx.scoring.TOKENS_PER_BATCH", 64)


# The recorded families; BERT with a separator, as its pair scorers have it, and with the other activations.
BACKBONES = recorded.ENCODERS | {
    "two segments": dataclasses.replace(recorded.BERT, separator_id=7),
    "relu": dataclasses.replace(recorded.BERT, activation="relu"),
    "silu": dataclasses.replace(recorded.BERT, activation="silu"),
}


def texts(config: EncoderConfig, count: int = 40) -> list[list[int]]:
    """Of all lengths; a separator, if there is one, comes twice in most."""
    draws = np.random.default_rng(0)
    lengths = [1, 24, *draws.integers(1, 25, count - 2)]
    found = [draws.integers(2, config.vocab_size, length).tolist() for length in lengths]
    for text in found:
        if config.separator_id and len(text) > 4:
            text[len(text) // 2] = text[-1] = config.separator_id
    return found


def both(jax_scorer, onnx_scorer, model, **options):
    parameters = recorded.drawn(model)
    of_onnx = {name: np.asarray(array) for name, array in flatten(parameters).items()}
    options = {"max_tokens": 24, **options}
    return jax_scorer(model, parameters, **options), onnx_scorer(model, of_onnx, **options)


# Pooling is of the head, which asks not which encoder it is on.
@pytest.mark.parametrize(
    ("name", "pooling"), [*((name, "mean") for name in BACKBONES), ("bert", "first"), ("bert", "attention")]
)
def test_pairs_have_the_probabilities_that_jax_gives_them(name, pooling):
    model = PairConfig(BACKBONES[name], labels=4, pooling=pooling)
    ours, found = both(PairScoring, OnnxPairs, model)
    told = []
    of_onnx = found.results(texts(model.backbone), told.append)
    np.testing.assert_allclose(of_onnx, ours.probabilities(texts(model.backbone)), atol=1e-5)
    assert of_onnx.dtype == np.float32 and sum(told) == 40 and len(told) > 5
    assert np.ptp(of_onnx, axis=0).max() > 1e-3  # texts differ
    assert found.probabilities([]).shape == (0, 4)


@pytest.mark.parametrize(
    ("name", "pooling", "normalized"),
    [*((name, "mean", True) for name in recorded.ENCODERS), ("bert", "mean", False), ("bert", "first", True)],
)
def test_vectors_are_those_that_jax_gives(name, pooling, normalized):
    model = DualEncoderConfig(BACKBONES[name], pooling=pooling, normalized=normalized)
    ours, found = both(VectorEncoder, OnnxVectors, model)
    some = texts(model.backbone)
    np.testing.assert_allclose(found.passages(some), ours.passages(some), atol=1e-5)
    np.testing.assert_allclose(found.questions(some), ours.questions(some), atol=1e-5)
    for one, other in zip(ours.leaves, found.leaves, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_texts_result_does_not_depend_on_its_batch(monkeypatch):
    """Neither in 8 bits, where each token has a scale of its own."""
    model = PairConfig(recorded.BERT)
    parameters = {name: np.asarray(array) for name, array in flatten(recorded.drawn(model)).items()}
    some = texts(recorded.BERT)
    scorers = [OnnxPairs(model, parameters, max_tokens=24, int8=int8) for int8 in (False, True)]
    together = [scorer.probabilities(some) for scorer in scorers]
    monkeypatch.setattr("lisax.scoring.onnx.scoring.TOKENS_PER_BATCH", 1)
    for scorer, expected in zip(scorers, together):
        np.testing.assert_allclose(scorer.probabilities(some), expected, atol=1e-6)


@pytest.mark.parametrize("name", ["bert", "albert", "mpnet"])
def test_eight_bits_are_near(name):
    model = PairConfig(BACKBONES[name])
    ours, found = both(PairScoring, lambda *given, **options: OnnxPairs(*given, int8=True, **options), model)
    some = texts(model.backbone)
    differences = np.abs(found.probabilities(some) - ours.probabilities(some))
    assert 1e-5 < differences.mean() < 0.02


def test_what_is_too_long_is_an_error_as_in_jax():
    model = PairConfig(recorded.BERT)
    _, found = both(PairScoring, OnnxPairs, model, max_tokens=20)
    with pytest.raises(LisaxError, match="an input of 21 tokens was given to a scorer of at most 20"):
        found.probabilities([[2] * 21])
    _, found = both(PairScoring, OnnxPairs, model, max_tokens=99)
    with pytest.raises(LisaxError, match="a text of 25 tokens, but the model has 24 positions"):
        found.probabilities([[2] * 25])


def test_weights_that_are_no_numbers_are_named():
    model = PairConfig(recorded.BERT)
    parameters = {name: np.array(array) for name, array in flatten(recorded.drawn(model)).items()}
    parameters["encoder/layers_1/mlp/wi/kernel"][0, 0] = np.nan
    with pytest.raises(
        DataError, match="encoder/layers_1/mlp/wi/kernel.: these weights hold values that are not numbers"
    ):
        OnnxPairs(model, parameters, max_tokens=24, source="here").probabilities([[2, 3]])


@pytest.mark.parametrize(
    "backbone",
    [*recorded.ENCODERS.values(), dataclasses.replace(recorded.BERT, pooler=True), *recorded.ARCHITECTURES.values()],
)
def test_shapes_are_known_without_tracing_the_network(backbone):
    heads = [PairConfig(backbone, 2, pooling) for pooling in ("mean", "attention")]
    heads += [DualEncoderConfig(backbone), DualEncoderConfig(backbone, tied=False)]
    for model in (backbone, *(heads if isinstance(backbone, EncoderConfig) else ())):
        traced = {name: tuple(leaf.shape) for name, leaf in flatten(parameter_shapes(model)).items()}
        assert shapes_of_model(model) == traced


def test_a_model_with_more_on_it_is_left_to_jax():
    assert onnx_encoder.fits(PairConfig(recorded.BERT)) and onnx_encoder.fits(DualEncoderConfig(recorded.BERT))
    more = [PairConfig(recorded.BERT, pooling="pooler"), DualEncoderConfig(recorded.BERT, tied=False)]
    assert not any(map(onnx_encoder.fits, (recorded.BERT, FusionConfig(recorded.BERT), *more)))


# --- Which of the two -----------------------------------------------------------------------


def test_onnxruntime_is_taken_on_a_cpu(monkeypatch):
    pair = PairConfig(recorded.BERT)
    monkeypatch.delenv(VARIABLE, raising=False)
    trained = PairConfig(dataclasses.replace(recorded.BERT, dtype="bfloat16"))
    assert backend_for(trained) == ONNX  # the type of activations was that of training
    assert backend_for(pair) == ONNX and backend_for(pair, JAX) == JAX and backend_for(pair, ONNX_INT8) == ONNX_INT8
    monkeypatch.setenv(VARIABLE, JAX)
    assert backend_for(pair) == JAX and backend_for(pair, ONNX) == ONNX
    monkeypatch.setenv(VARIABLE, "mkl")
    with pytest.raises(LisaxError, match="expected LISAX_BACKEND=jax, onnx or onnx-int8, found 'mkl'"):
        backend_for(pair)


@pytest.mark.parametrize("model", [PairConfig(recorded.T5_1_1), DualEncoderConfig(recorded.BERT, tied=False)])
def test_jax_runs_what_there_is_no_graph_of(model, monkeypatch):
    monkeypatch.setenv(VARIABLE, ONNX)
    assert backend_for(model) == JAX


def test_an_accelerator_is_jaxs(monkeypatch):
    pair = PairConfig(recorded.BERT)
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("JAX_PLATFORMS", "tpu,cpu")
    assert backend_for(pair) == JAX and backend_for(pair, ONNX) == ONNX
    monkeypatch.delenv("JAX_PLATFORMS")
    monkeypatch.setattr(platforms, "_plugins", lambda: False)
    for attached in (False, True):
        monkeypatch.setattr(platforms, "tpu_attached", lambda attached=attached: attached)
        monkeypatch.setattr(platforms.importlib.util, "find_spec", lambda name: name)
        # JAX itself, which is asked then, has a CPU alone here.
        assert not platforms.accelerated() and backend_for(pair) == ONNX


def test_where_it_is_not_installed_jax_does_it_all(monkeypatch):
    pair = PairConfig(recorded.BERT)
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr("lisax.scoring.backends.importlib.util.find_spec", lambda name: None)
    assert backend_for(pair) == JAX
    with pytest.raises(LisaxError, match="'onnx' needs onnxruntime, which is not installed: pip install onnxruntime"):
        backend_for(pair, ONNX)


# --- Models of users ------------------------------------------------------------------------


def test_bundles_and_a_sentence_encoder_give_what_they_give_in_jax(tmp_path):
    folder = bundle(tmp_path / "pairs", "pair listwise")
    pairs = [[3, 9, 4, 12, 4], [3, 8, 4, 5, 6, 7, 4]]
    ours, found = (Model.open(folder, backend=backend)._scorer for backend in (JAX, ONNX))
    assert (type(ours), type(found)) == (PairScoring, OnnxPairs)
    np.testing.assert_allclose(found.probabilities(pairs), ours.probabilities(pairs), atol=1e-5)
    config = dataclasses.replace(recorded.BERT, vocab_size=220)
    (tmp_path / "hf").mkdir()
    write_huggingface(tmp_path / "hf", in_memory(flatten(recorded.drawn(config))), config)
    small_tokenizers.wordpiece(tmp_path / "hf" / "tokenizer.json")
    ours, found = (SentenceEncoder.open(tmp_path / "hf", max_tokens=20, backend=backend) for backend in (JAX, ONNX))
    assert ours.digest == found.digest and type(found.encoder) is OnnxVectors
    assert SentenceEncoder.open(tmp_path / "hf", max_tokens=20, backend=ONNX_INT8).digest != ours.digest
    some = ["The harbour was opened in 1907.", "Anna"]
    np.testing.assert_allclose(found.encode(some), ours.encode(some), atol=1e-5)
    folder = bundle(tmp_path / "ranker", "ranker")
    examples = [Example("q", "Vova", (Passage("p", "", text),)) for text in ("Vova Brugard was born.", "The Red Mill")]
    ours, found = (Model.open(folder, backend=backend).probabilities(examples) for backend in (JAX, ONNX))
    np.testing.assert_allclose(found, ours, atol=1e-5)


def test_minilm_and_the_shipped_labeller_give_what_they_give_in_jax():
    if not MODELS["minilm"].is_there:
        pytest.skip("needs MiniLM's weights: lisax models get minilm")
    from lisax import shipped

    ours, found = (SentenceEncoder.open("minilm", backend=backend) for backend in (JAX, ONNX))
    np.testing.assert_allclose(found.encode(recorded.SENTENCES), ours.encode(recorded.SENTENCES), atol=1e-5)
    draws = np.random.default_rng(0)
    pairs = [[101, *draws.integers(1000, 30000, 8), 102, *draws.integers(1000, 30000, n), 102] for n in (5, 40, 80)]
    ours, found = (Model.open(shipped.labeller(), backend=backend)._scorer for backend in (JAX, ONNX))
    np.testing.assert_allclose(found.probabilities(pairs), ours.probabilities(pairs), atol=1e-5)


CHECK = """
import json, sys
from lisax.cli import main
assert main(json.loads(sys.argv[1])) == 0
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""


@pytest.mark.parametrize("shipped", [False, True])
def test_a_claim_is_checked_without_jax_or_numba(shipped, tmp_path):
    if shipped and not MODELS["minilm"].is_there:
        pytest.skip("needs MiniLM's weights: lisax models get minilm")
    given = ["check", "Vova Brugard was born in Torimoor.", "--corpus", str(example_pages())]
    if not shipped:
        given += ["--model", str(bundle(tmp_path / "pairs", "pair listwise"))]
        given += ["--ranker", str(bundle(tmp_path / "ranker", "ranker"))]
    done = subprocess.run(
        [sys.executable, "-c", CHECK, json.dumps(given)], capture_output=True, text=True, cwd=tmp_path, check=True
    )
    imported = json.loads(done.stdout.splitlines()[-1])
    assert "onnxruntime" in imported
    assert not {"jax", "jaxlib", "flax", "numba", "torch", "tensorflow"} & set(imported)
