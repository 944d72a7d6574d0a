"""The label-word scorer: what is scored beside an input changes nothing."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.numpy import load_file

from lisax.devices.loop import TOKENS_PER_BATCH
from lisax.errors import LisaxError
from lisax.models.architectures import T5Config
from lisax.models.t5 import Transformer, initialize
from lisax.scoring.backends import softmax
from lisax.scoring.texts import AnswerScorer, LabelScorer
from tests.references import recorded

TINY = T5Config(
    vocab_size=96, emb_dim=16, num_heads=2, num_encoder_layers=1, num_decoder_layers=1, head_dim=8, mlp_dim=32
)
PIECES = [5, 9, 7]


def inputs(count=23, seed=0):
    rng = np.random.default_rng(seed)
    return [[*map(int, rng.integers(3, 90, rng.integers(0, 30))), 1] for _ in range(count)]


def test_scores_are_those_of_each_input_alone_in_any_order(monkeypatch):
    monkeypatch.setitem(TOKENS_PER_BATCH, "cpu", 64)
    parameters = initialize(TINY)
    scorer = LabelScorer(TINY, parameters, PIECES, max_tokens=32)
    tokens = inputs()
    logits = scorer.logits(tokens)
    assert logits.shape == (23, 3)
    apply = jax.jit(
        lambda ids: Transformer(TINY).apply({"params": parameters}, ids, jnp.array(PIECES), method="first_step_logits")
    )
    alone = [apply(np.array([ids + [0] * (32 - len(ids))]))[0] for ids in tokens]
    np.testing.assert_allclose(logits, np.stack(alone), atol=2e-5)
    np.testing.assert_allclose(scorer.logits(tokens[::-1])[::-1], logits, atol=2e-5)
    assert scorer.logits([]).shape == (0, 3)


def test_an_input_above_the_limit_is_an_error():
    scorer = LabelScorer(TINY, initialize(TINY), PIECES, max_tokens=8)
    with pytest.raises(LisaxError, match="9 tokens"):
        scorer.logits([[4] * 8 + [1]])


def test_softmax_sums_to_one():
    np.testing.assert_allclose(softmax(np.array([[1e4, 0.0], [0.0, 0.0]])), [[1, 0], [0.5, 0.5]])


@pytest.mark.parametrize("name", recorded.ARCHITECTURES)
def test_log_likelihoods_of_whole_answers_are_the_references(name):
    config, rows = recorded.ARCHITECTURES[name], recorded.questions(recorded.ARCHITECTURES[name])
    scorer = AnswerScorer(config, recorded.drawn(config), recorded.ANSWERS, max_tokens=rows.shape[1])
    found = scorer.log_likelihoods([row[: np.count_nonzero(row)].tolist() for row in rows])
    np.testing.assert_allclose(found, load_file(recorded.file_of("answers"))[name], atol=1e-4)
