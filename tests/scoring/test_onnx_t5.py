"""T5s that score answers in onnxruntime: what JAX computes."""

import dataclasses
import json
import subprocess
import sys

import numpy as np
import pytest
from small_bundles import bundle

from lisax.devices.batching import padded
from lisax.formats.examples import Example, Passage
from lisax.models.architectures import T5Config
from lisax.predict.model import Model
from lisax.scoring.answers import AnswerScorer
from lisax.scoring.backends import JAX, ONNX, VARIABLE, backend_for, softmax
from lisax.scoring.labels import LabelScorer
from lisax.scoring.onnx import t5 as onnx_t5
from lisax.scoring.onnx.scoring import OnnxAnswers, OnnxLabels
from lisax.weights.checkpoints import flatten
from lisax.weights.interop.architecture import parameter_shapes, shapes_of_model
from tests.references import recorded

InferenceSession = pytest.importorskip("onnxruntime", reason="needs onnxruntime").InferenceSession

# The recorded families, and activations that none of them has.
CONFIGS = recorded.ARCHITECTURES | {
    "three gates": dataclasses.replace(recorded.T5_1_1, mlp_activations=("silu", "tanh", "sigmoid"))
}
PIECES = [5, 9, 7]


def inputs(config: T5Config, count: int = 20) -> list[list[int]]:
    """Of all lengths, some beyond the distance of the last bucket."""
    draws = np.random.default_rng(0)
    lengths = [0, 180, *draws.integers(1, 40, count - 2)]
    return [[*draws.integers(2, config.vocab_size, length).tolist(), 1] for length in lengths]


def arrays(config: T5Config) -> dict[str, np.ndarray]:
    return {name: np.array(array) for name, array in flatten(recorded.drawn(config)).items()}


@pytest.mark.parametrize("name", CONFIGS)
def test_label_words_have_the_logits_that_jax_gives_them(name):
    config = CONFIGS[name]
    ours = LabelScorer(config, recorded.drawn(config), PIECES, max_tokens=200).logits(inputs(config))
    scorer, told = OnnxLabels(config, arrays(config), PIECES, max_tokens=200, tokens_per_batch=300), []
    found = scorer.logits(inputs(config), told.append)
    np.testing.assert_allclose(found, ours, atol=5e-5)
    assert found.dtype == np.float32 and np.ptp(found, axis=0).min() > 0.01
    assert sum(told) == 20 and len(told) > 2
    assert scorer.logits([]).shape == (0, 3)


@pytest.mark.parametrize("name", ["t5_1_0", "umt5"])
def test_whole_answers_have_the_log_likelihoods_that_jax_gives_them(name):
    config = CONFIGS[name]
    ours = AnswerScorer(config, recorded.drawn(config), recorded.ANSWERS, max_tokens=200)
    found = OnnxAnswers(config, arrays(config), recorded.ANSWERS, max_tokens=200)
    np.testing.assert_allclose(found.log_likelihoods(inputs(config)), ours.log_likelihoods(inputs(config)), atol=2e-4)


@pytest.mark.parametrize("name", CONFIGS)
def test_encoder_and_decoder_apart_score_an_answer_as_one_graph_does(name):
    config, parameters, rows = CONFIGS[name], arrays(CONFIGS[name]), inputs(CONFIGS[name], 4)
    tokens = padded(rows, len(rows), max(map(len, rows))).astype(np.int64)
    encoder, decoder = (
        InferenceSession(half(config, parameters).proto({}), providers=["CPUExecutionProvider"])
        for half in (onnx_t5.EncoderHalf, onnx_t5.DecoderHalf)
    )
    mask = (tokens > 0).astype(np.int64)
    (states,) = encoder.run(None, {"input_ids": tokens, "attention_mask": mask})
    given = {"encoder_hidden_states": states, "encoder_attention_mask": mask}
    (logits,) = decoder.run(None, {"input_ids": np.array([[0, 5, 9]] * len(rows)), **given})
    found = np.log(softmax(logits))[:, range(3), [5, 9, 1]].sum(axis=1)
    wanted = OnnxAnswers(config, parameters, [[5, 9]], max_tokens=200).log_likelihoods(rows)
    np.testing.assert_allclose(found, wanted[:, 0], atol=1e-4)


def test_eight_bits_are_near_whatever_stands_in_the_batch():
    config = recorded.T5_1_1
    exact = OnnxLabels(config, arrays(config), PIECES, max_tokens=200).logits(inputs(config))
    together, alone = (
        OnnxLabels(config, arrays(config), PIECES, max_tokens=200, int8=True, tokens_per_batch=tokens).logits(
            inputs(config)
        )
        for tokens in (None, 1)
    )
    np.testing.assert_allclose(together, alone, atol=1e-4)
    assert 1e-4 < np.abs(together - exact).mean() < 0.2 * exact.std()


@pytest.mark.parametrize("name", recorded.ARCHITECTURES)
def test_shapes_are_known_without_tracing_the_network(name):
    config = recorded.ARCHITECTURES[name]
    traced = {name: tuple(leaf.shape) for name, leaf in flatten(parameter_shapes(config)).items()}
    assert shapes_of_model(config) == traced


def test_what_there_is_no_graph_of_is_left_to_jax(monkeypatch):
    monkeypatch.setenv(VARIABLE, ONNX)
    assert backend_for(recorded.T5_1_0) == ONNX and backend_for(recorded.T5_1_0, JAX) == JAX
    assert backend_for(dataclasses.replace(recorded.T5_1_0, dtype="bfloat16")) == JAX
    assert onnx_t5.fits(dataclasses.replace(recorded.T5_1_0, dropout_rate=0.1))


def test_a_bundle_gives_what_it_gives_in_jax(tmp_path):
    folder = bundle(tmp_path / "ranker", "ranker")
    examples = [Example("q", "Vova", (Passage("p", "", text),)) for text in ("Vova Brugard was born.", "The Red Mill")]
    ours, found = (Model.open(folder, backend=backend).probabilities(examples) for backend in (JAX, ONNX))
    np.testing.assert_allclose(found, ours, atol=1e-5)


RANK = """
import json, sys
import lisax
print(lisax.Ranker.open(sys.argv[1]).rank("Vova", ["Vova Brugard", "The Red Mill"])[0].score)
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""


def test_sentences_are_ranked_without_jax(tmp_path):
    folder = bundle(tmp_path / "ranker", "ranker")
    done = subprocess.run([sys.executable, "-c", RANK, str(folder)], capture_output=True, text=True, check=True)
    imported = set(json.loads(done.stdout.splitlines()[-1]))
    assert "onnxruntime" in imported and not {"jax", "jaxlib", "flax", "torch", "tensorflow"} & imported
