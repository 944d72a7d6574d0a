"""Generation step by step against the whole decoder at every step, and the invariants of search. What searches find is
compared in `test_references.py`."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from applying import applied

from lisax.errors import LisaxError
from lisax.models.architectures import T5Config
from lisax.models.attention import ENCODED, PAST
from lisax.models.decoding import Decoding, generate, restrict
from lisax.models.t5 import Transformer, initialize

TINY = T5Config(
    vocab_size=96, emb_dim=16, num_heads=2, num_encoder_layers=2, num_decoder_layers=2, head_dim=8, mlp_dim=32
)
LENGTH = 9


@pytest.fixture(scope="module")
def parameters():
    # EOS is likelier than in a fresh model, so that some targets end and others are cut.
    fresh = initialize(TINY, seed=1)
    head = fresh["decoder"]["logits_dense"]
    head["kernel"] = head["kernel"].at[:, 1].multiply(3.0)
    return fresh


def inputs(rows=6, width=11, seed=0):
    rng = np.random.default_rng(seed)
    tokens = rng.integers(2, 96, (rows, width)).astype(np.int32)
    for row in range(rows):
        tokens[row, rng.integers(2, width + 1) :] = 0
    return tokens


def decode(parameters, tokens, numbers=None, length=LENGTH, **settings):
    numbers = np.arange(len(tokens), dtype=np.int32) if numbers is None else numbers
    found = jax.jit(lambda p, t, n: generate(TINY, p, t, n, length, Decoding(**settings)))(parameters, tokens, numbers)
    return np.asarray(found.tokens), np.asarray(found.scores)


def test_steps_with_a_cache_give_the_logits_of_the_whole_decoder():
    config = TINY
    variables, model, tokens = {"params": initialize(config, seed=2)}, Transformer(config), inputs()
    # Two beams with pasts of their own, over distances beyond the exact buckets.
    targets = np.random.default_rng(1).integers(1, 96, (6, 2, 40)).astype(np.int32)
    encoded = applied(config, variables["params"], tokens, method="encode")
    step = jax.jit(functools.partial(model.apply, method="next_logits"), static_argnums=5, static_argnames="mutable")
    kept, steps = {}, []
    for position in range(40):
        logits, updated = step(
            {**variables, **kept},
            encoded,
            tokens,
            targets[:, :, position],
            jnp.int32(position),
            40,
            mutable=(PAST,) if kept else (PAST, ENCODED),
        )
        kept = {**kept, **updated}
        steps.append(logits)
    for beam in range(2):
        whole = applied(
            config,
            variables["params"],
            encoded,
            tokens,
            targets[:, beam],
            np.ones_like(targets[:, beam]),
            method="decode",
        )
        np.testing.assert_allclose(np.stack(steps, 2)[:, beam], whole, atol=2e-5)


@pytest.mark.parametrize("settings", [{}, {"beam_size": 3}, {"temperature": 1.0, "seed": 5}])
def test_a_row_does_not_depend_on_the_rows_beside_it(parameters, settings):
    tokens = inputs()
    together, scores = decode(parameters, np.concatenate([tokens, np.zeros_like(tokens[:2])]), **settings)
    assert (together[6:] == 0).all()
    for row in (0, 4):
        alone, score = decode(parameters, tokens[row : row + 1], np.array([row], np.int32), **settings)
        np.testing.assert_array_equal(alone[0], together[row])
        np.testing.assert_allclose(score[0], scores[row], atol=1e-5)


def test_sampling_repeats_with_its_seed_and_follows_the_probabilities(parameters):
    tokens, numbers = np.repeat(inputs(1), 4000, 0), np.arange(4000, dtype=np.int32)
    first, _ = decode(parameters, tokens, numbers, length=1, temperature=1.5, top_k=5, seed=3)
    again, _ = decode(parameters, tokens, numbers, length=1, temperature=1.5, top_k=5, seed=3)
    other, _ = decode(parameters, tokens, numbers, length=1, temperature=1.5, top_k=5, seed=4)
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    logits = applied(TINY, parameters, tokens[:1], np.zeros((1, 1), np.int32), np.ones((1, 1), np.int32))[0, 0]
    likeliest = np.argsort(-logits)[:5]
    expected = np.asarray(jax.nn.softmax(logits[likeliest] / 1.5))
    shares = np.array([(first == token).mean() for token in likeliest])
    assert shares.sum() == 1
    np.testing.assert_allclose(shares, expected, atol=5 * np.sqrt(0.25 / 4000))


def test_restricting_keeps_the_fewest_tokens_that_reach_top_p():
    logits = jnp.log(jnp.array([[0.1, 0.5, 0.25, 0.15]]))

    def kept(**limits):
        return np.isfinite(restrict(logits, **limits))[0].tolist()

    assert kept(top_k=0, top_p=0.49) == [False, True, False, False]
    assert kept(top_k=0, top_p=0.6) == [False, True, True, False]
    assert kept(top_k=2, top_p=1.0) == [False, True, True, False]
    assert kept(top_k=2, top_p=0.6) == [False, True, False, False]
    assert kept(top_k=9, top_p=1.0) == [True] * 4


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"beam_size": 0}, "BEAM_SIZE"),
        ({"temperature": -1}, "temperature"),
        ({"top_k": 3}, "for sampling"),
        ({"temperature": 1.0, "top_p": 0.0}, "top_p"),
        ({"temperature": 1.0, "beam_size": 2}, "not both"),
        ({"early_stopping": "soon"}, "early_stopping"),
    ],
)
def test_settings_that_mean_nothing(settings, message):
    with pytest.raises(LisaxError, match=message):
        Decoding(**settings)


@pytest.mark.parametrize("settings", [{}, {"beam_size": 3}, {"temperature": 1.0}])
def test_a_token_can_be_kept_out(parameters, settings):
    free, _ = decode(parameters, inputs(), **settings)
    likely = int(np.bincount(free[free > 1]).argmax())
    tokens, scores = decode(parameters, inputs(), without=(likely,), **settings)
    assert likely in free and likely not in tokens and np.all(scores > -1e6)
