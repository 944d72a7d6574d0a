"""The dual encoder and the readers against their definitions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from applying import applied

from lisax.models import dual_encoder
from lisax.models.architectures import DualEncoderConfig, ReaderConfig, SpanReaderConfig, T5Config
from lisax.models.decoding import Decoding, generate
from lisax.models.reader import span_log_likelihood
from lisax.models.stacking import stack, unstack
from lisax.models.t5 import initialize

T5 = T5Config(
    vocab_size=48, emb_dim=16, num_heads=2, num_encoder_layers=2, num_decoder_layers=1, head_dim=8, mlp_dim=32
)
RNG = np.random.default_rng(0)


def texts(rows, length, seed=0):
    tokens = np.random.default_rng(seed).integers(2, 48, (rows, length)).astype(np.int32)
    tokens[:, -2:] *= np.arange(rows)[:, None] % 2  # every other text is shorter
    return tokens


def test_padding_changes_no_vector_and_towers_differ_where_they_are_not_tied():
    config, tokens = DualEncoderConfig(T5, tied=False), texts(3, 6)
    parameters = initialize(config)
    questions, passages = applied(config, parameters, tokens, tokens)
    wider, _ = applied(config, parameters, np.pad(tokens, ((0, 0), (0, 5))), tokens)
    np.testing.assert_allclose(wider, questions, atol=1e-6)
    assert np.abs(questions - passages).max() > 0.1
    scanned = jax.eval_shape(lambda: initialize(config.replaced(scan_layers=True)))
    separate = jax.eval_shape(unstack, scanned)
    assert jax.tree.structure(jax.eval_shape(stack, separate)) == jax.tree.structure(scanned)
    assert jax.tree.structure(separate) == jax.tree.structure(parameters)


def test_contrast_by_its_definition():
    rows, count, length = 3, 2, 4
    tokens = RNG.integers(2, 48, (rows, count, length))
    targets = np.array([[2, 1], [2, 0], [2, 1]])
    tokens[2, 0] = tokens[0, 0]  # two questions with one positive
    questions, passages = RNG.normal(size=(rows, 5)), RNG.normal(size=(rows * count, 5))
    found = np.asarray(dual_encoder.contrast(*map(jnp.asarray, (questions, passages, tokens, targets))))
    for row, left_out in enumerate([{3, 4}, {3}, {3, 0}]):
        scores = [questions[row] @ passages[j] if j not in left_out else -np.inf for j in range(6)]
        np.testing.assert_allclose(found[row, 2 * row], scores[2 * row] - np.log(np.exp(scores).sum()), rtol=1e-5)


def test_a_batch_is_split_into_questions_and_passages():
    inputs = np.arange(10)[None] + 1
    questions, passages = dual_encoder.split(jnp.asarray(inputs), 2)
    np.testing.assert_array_equal(questions, [[1, 2]])
    np.testing.assert_array_equal(passages, [[[3, 4, 5, 6], [7, 8, 9, 10]]])


@pytest.mark.parametrize("beams", [1, 3])
def test_generation_from_passages_scores_as_teacher_forcing_does(beams):
    config, parameters, inputs = ReaderConfig(T5, 2), initialize(T5, 3), texts(4, 12)
    decoding = Decoding(beam_size=beams, length_penalty=0.0)
    found = jax.jit(lambda given: generate(config, given, inputs, np.arange(4), 5, decoding))(parameters)
    tokens = np.asarray(found.tokens[:, 0])
    before = np.pad(tokens, ((0, 0), (1, 0)))[:, :-1]
    logits = applied(config, parameters, inputs, before, tokens)
    shares = np.take_along_axis(np.asarray(jax.nn.log_softmax(logits)), tokens[..., None], axis=-1)[..., 0]
    np.testing.assert_allclose(found.scores[:, 0], (shares * (tokens > 0)).sum(-1), rtol=1e-3)


def test_ends_of_answers_are_of_all_passages_together():
    config, inputs = SpanReaderConfig(T5, 2), texts(3, 12)
    logits = np.asarray(applied(config, initialize(config), inputs))
    assert logits.shape == (3, 12, 2) and (logits[inputs == 0] < -1e9).all()
    spans = np.array([[[1, 3], [7, 7]], [[2, 2], [0, 0]], [[0, 0], [0, 0]]])
    found = np.asarray(span_log_likelihood(jnp.asarray(logits), spans))
    odds = np.exp(logits.astype(np.float64))
    shares = odds / odds.sum(1, keepdims=True)
    np.testing.assert_allclose(
        found[0], np.log(shares[0, 1, 0] * shares[0, 3, 1] + shares[0, 7, 0] * shares[0, 7, 1]), rtol=1e-4
    )
    np.testing.assert_allclose(found[1], np.log(shares[1, 2, 0] * shares[1, 2, 1]), rtol=1e-4)
    assert found[2] < -1e9
