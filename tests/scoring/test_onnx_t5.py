"""T5s that score answers in onnxruntime: what JAX computes."""

import dataclasses

import numpy as np
import pytest

from lisax.devices.batching import padded
from lisax.models.architectures import T5Config
from lisax.scoring.backends import JAX, ONNX, VARIABLE, backend_for, softmax
from lisax.scoring.onnx import t5 as onnx_t5
from lisax.scoring.onnx.scoring import OnnxAnswers, OnnxLabels
from lisax.scoring.texts import AnswerScorer, LabelScorer
from lisax.weights.checkpoints import flatten
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
def test_label_words_have_the_logits_that_jax_gives_them(name, monkeypatch):
    monkeypatch.setattr("lisax.scoring.onnx.scoring.TOKENS_PER_BATCH", 300)
    config = CONFIGS[name]
    ours = LabelScorer(config, recorded.drawn(config), PIECES, max_tokens=200).logits(inputs(config))
    scorer, told = OnnxLabels(config, arrays(config), PIECES, max_tokens=200), []
    found = scorer.results(inputs(config), told.append)
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


def test_eight_bits_are_near_whatever_stands_in_the_batch(monkeypatch):
    config = recorded.T5_1_1
    exact = OnnxLabels(config, arrays(config), PIECES, max_tokens=200).logits(inputs(config))
    scorer = OnnxLabels(config, arrays(config), PIECES, max_tokens=200, int8=True)
    together = scorer.logits(inputs(config))
    monkeypatch.setattr("lisax.scoring.onnx.scoring.TOKENS_PER_BATCH", 1)
    np.testing.assert_allclose(together, scorer.logits(inputs(config)), atol=1e-4)
    assert 1e-4 < np.abs(together - exact).mean() < 0.2 * exact.std()


def test_what_there_is_no_graph_of_is_left_to_jax(monkeypatch):
    monkeypatch.setenv(VARIABLE, ONNX)
    assert backend_for(recorded.T5_1_0) == ONNX and backend_for(recorded.T5_1_0, JAX) == JAX
    assert backend_for(dataclasses.replace(recorded.T5_1_0, dtype="bfloat16")) == JAX
    assert onnx_t5.fits(dataclasses.replace(recorded.T5_1_0, dropout_rate=0.1))
