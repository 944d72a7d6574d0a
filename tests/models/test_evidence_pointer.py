"""The evidence pointer: its network, and its losses against plain numpy. The definition of the network and of its
beams is in `test_heads.py`."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lisax.models import pointer_loss
from lisax.models.architectures import PointerConfig, T5Config
from lisax.models.evidence_pointer import Pointed
from lisax.models.fields import RELATIONS
from lisax.models.pointer_loss import COLUMNS, Gold
from lisax.models.t5 import initialize

T5 = T5Config(
    vocab_size=48, emb_dim=16, num_heads=2, num_encoder_layers=1, num_decoder_layers=1, head_dim=8, mlp_dim=32
)
CONFIG = PointerConfig(T5, steps=3, hidden=12, hops=2, beam_size=2)


def tokens_of(seed=0, rows=3, candidates=4, length=5):
    tokens = np.random.default_rng(seed).integers(2, 48, (rows, candidates, length)).astype(np.int32)
    tokens[:, 1, 3:] = 0
    tokens[1, 2:] = 0  # two candidates, fewer than steps
    return tokens


@functools.cache
def compiled(config, method):
    return jax.jit(lambda parameters, *inputs: config.network().apply({"params": parameters}, *inputs, method=method))


parameters_of = functools.cache(initialize)


def call(config, tokens, gold=None, method=None, seed=0):
    return compiled(config, method)(parameters_of(config, seed), tokens, *(() if gold is None else (gold,)))


@pytest.mark.parametrize("relation", RELATIONS)
def test_shapes_and_sums(relation):
    config = dataclasses.replace(CONFIG, relation=relation)
    forced, own = call(config, tokens_of())
    labels = {"sequence": 3, "set": 1, "none": 0}[relation]
    for pointed in (forced, own):
        assert pointed.log_pointers.shape == (3, 3, 4) and pointed.labels.shape == (3, labels, 3)
        assert pointed.labels.dtype == pointed.log_pointers.dtype == jnp.float32
        pointers = np.asarray(pointed.pointers)
        assert (pointers[1] == [*pointers[1, :2], -1]).all() and set(pointers[1, :2]) == {0, 1}
        for row in (0, 2):  # no candidate twice, and all probability on those that are left
            assert len(set(pointers[row])) == 3
            for step in range(3):
                shares = np.exp(pointed.log_pointers[row, step])
                assert shares.sum() == pytest.approx(1, rel=1e-5) and (shares[pointers[row, :step]] == 0).all()
    found = call(config, tokens_of(), method="search")
    assert found.pointers.shape == (3, 2, 3) and found.shares.shape == (3, 2, 3) and found.labels.shape == (3, 2, 3)
    np.testing.assert_allclose(
        found.labels.sum(-1), np.zeros((3, 2)) if relation == "none" else np.ones((3, 2)), rtol=1e-5
    )
    np.testing.assert_array_equal(found.shares[1, :, 2], [0, 0])


def test_absent_candidates_and_padding_change_nothing():
    config, tokens = CONFIG, tokens_of()
    more = np.zeros((3, 6, 8), np.int32)
    more[:, :4, :5] = tokens
    few, many = (call(config, t, method="search") for t in (tokens, more))
    np.testing.assert_array_equal(few.pointers[:, 0], many.pointers[:, 0])
    np.testing.assert_allclose(few.labels[:, 0], many.labels[:, 0], atol=1e-5)
    np.testing.assert_allclose(few.scores[:, 0], many.scores[:, 0], atol=1e-4)


# --- Targets and losses ----------------------------------------------------------------------

# Of four claims: a set of two and one of one; two sentences, the second past the steps; without information; unlabelled.
SETS = [[{2, 0}, {3}], [{0, 1}], [], [{1}]]
LABELS = [0, 1, 2, -1]
POINTERS = [[2, 0, 3], [0, 1], [], [1]]


def targets():
    rows = np.zeros((4, 4, COLUMNS), np.int32)
    for row, (sets, label, pointers) in enumerate(zip(SETS, LABELS, POINTERS)):
        rows[row, :, 0] = 2 + label
        for step, place in enumerate(pointers, start=1):
            rows[row, place, 1] = step
        for number, places in enumerate(sets):
            rows[row, list(places), 2 + number] = 1
    rows[1, 2:, 0] = 0  # absent
    return rows.reshape(4, -1)


def pointed(seed, labels=3, own=False):
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(4, 3, 4)) * 2
    pointers = np.array(
        [rng.permutation(4)[:3] for _ in range(4)] if own else [[2, 0, 3], [0, 1, -1], [3, 1, 0], [1, 0, 2]]
    )
    return Pointed(
        jnp.asarray(pointers),
        jax.nn.log_softmax(jnp.asarray(logits, jnp.float32)),
        jnp.asarray(rng.normal(size=(4, labels, 3)) * 2, jnp.float32),
    )


def expected_label_loss(pointed, row, last_only):
    losses = []
    for step in range(3):
        so_far = {int(p) for p in pointed.pointers[row, : step + 1]}
        label = LABELS[row] if any(places <= so_far for places in SETS[row]) else 2
        logits = np.asarray(pointed.labels[row, 0 if last_only else step], float)
        if pointed.pointers[row, step] >= 0 or last_only:
            losses.append(-np.log(np.exp(logits[label]) / np.exp(logits).sum()))
    if LABELS[row] < 0:
        return 0.0
    return losses[-1] if last_only else np.mean(losses)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("own_steps", [True, False])
def test_losses_by_their_definitions(relation, own_steps):
    config = dataclasses.replace(CONFIG, relation=relation, own_steps=own_steps, pointer_weight=0.5)
    gold = pointer_loss.gold_of(jnp.asarray(targets()), 3)
    last_only = relation == "set"
    forced, own = pointed(1, 1 if last_only else 3), pointed(2, 1 if last_only else 3, own=True)
    losses = pointer_loss.example_loss(config, forced, own, gold)
    for row in range(4):
        steps = [-float(forced.log_pointers[row, t, p]) for t, p in enumerate(POINTERS[row])]
        expected = 0.5 * (np.mean(steps) if steps else 0.0)
        if relation != "none":
            along = [forced, own] if own_steps else [forced]
            expected += np.mean([expected_label_loss(pointed, row, last_only) for pointed in along])
        assert float(losses[row]) == pytest.approx(expected, rel=1e-5), row
    weights = pointer_loss.example_weights(config, gold)
    np.testing.assert_array_equal(weights, [1, 1, relation != "none", 1])


def test_the_gold_label_is_not_enough_until_a_set_is_complete():
    gold = pointer_loss.gold_of(jnp.asarray(targets()), 3)
    np.testing.assert_array_equal(gold.pointers, [[3, 1, 4], [1, 2, 0], [0, 0, 0], [2, 0, 0]])
    pointers = jnp.array([[2, 1, 0], [1, 0, -1], [0, 1, 2], [1, 2, 3]])
    np.testing.assert_array_equal(
        pointer_loss.complete(pointers, gold.sets), [[0, 0, 1], [0, 1, 1], [0, 0, 0], [1, 1, 1]]
    )
    np.testing.assert_array_equal(pointer_loss.complete(jnp.array([[1, 3, 0]]), gold.sets[:1]), [[0, 1, 1]])


@pytest.mark.parametrize(
    "relation, options", [("sequence", {"scan_layers": True, "remat": "full"}), ("set", {}), ("none", {})]
)
def test_gradients_reach_every_parameter_and_are_finite(relation, options):
    config = dataclasses.replace(CONFIG, relation=relation).replaced(**options)
    tokens = np.random.default_rng(3).integers(2, 48, (4, 4, 5)).astype(np.int32)
    tokens[1, 2:] = 0
    gold = pointer_loss.gold_of(jnp.asarray(targets()), 3)

    def loss(parameters):
        forced, own = config.network().apply({"params": parameters}, tokens, gold.pointers)
        return jnp.sum(pointer_loss.example_loss(config, forced, own, gold))

    for path, gradient in jax.tree_util.tree_leaves_with_path(jax.jit(jax.grad(loss))(initialize(config))):
        assert np.isfinite(gradient).all() and np.abs(gradient).max() > 0, path


def drawn_of(rewarded: PointerConfig, gold: Gold, seed: int = 0):
    """Returns parameters, the pointers drawn in a training step, and the gradients of the reward's loss."""
    parameters, key = initialize(rewarded), jax.random.key(seed)
    tokens = np.random.default_rng(3).integers(2, 48, (4, 4, 5)).astype(np.int32)
    apply = functools.partial(rewarded.network().apply, enable_dropout=True, rngs={"dropout": key})

    def loss(parameters):
        drawn = apply({"params": parameters}, tokens, gold.pointers)[2]
        return jnp.sum(pointer_loss.reward_loss(drawn, gold)), drawn

    gradients, drawn = jax.jit(jax.grad(loss, has_aux=True))(parameters)
    return parameters, drawn, gradients["pointer"]


@pytest.mark.parametrize("relation", ["sequence", "set"])
def test_a_reward_teaches_the_pointers_that_are_drawn_and_its_critic(relation):
    rewarded = dataclasses.replace(CONFIG, relation=relation, reward_weight=1.0)
    parameters, drawn, gradients = drawn_of(rewarded, pointer_loss.gold_of(jnp.asarray(targets()), 3))
    assert drawn.labels.shape == (*drawn.pointed.pointers.shape, 3)
    np.testing.assert_allclose(drawn.labels[:, -1], drawn.pointed.labels[:, -1], atol=1e-6)
    assert all(np.any(gradients[name]["kernel"]) for name in ("value", "value_hidden", "pointer_keys", "lstm_state"))
    # The reward itself has no gradient: labels learn by the other losses alone.
    assert not np.any(gradients["classes"]["kernel"])
    # Without training, and without a reward, nothing is drawn; the rest of the parameters are the same.
    assert len(jax.eval_shape(rewarded.network().apply, {"params": parameters}, tokens_of())) == 2
    plain = jax.eval_shape(lambda: initialize(dataclasses.replace(rewarded, reward_weight=0.0)))
    assert parameters["pointer"].keys() - plain["pointer"].keys() == {"value", "value_hidden"}
    with pytest.raises(ValueError, match="reward_weight is above 0, and the reward is of labels"):
        PointerConfig(T5, relation="none", reward_weight=1.0)


def test_the_rewards_loss_by_its_definition():
    rewarded = dataclasses.replace(CONFIG, relation="sequence", reward_weight=1.0)
    gold = pointer_loss.gold_of(jnp.asarray(targets()), 3)
    _, drawn, _ = drawn_of(rewarded, gold, seed=1)
    losses = pointer_loss.reward_loss(drawn, gold)
    for row, pointers in enumerate(np.asarray(drawn.pointed.pointers)):
        proven = np.asarray(pointer_loss.complete(drawn.pointed.pointers, gold.sets))[row] | (gold.label[row] == 2)
        right = np.argmax(drawn.labels[row], axis=-1) == gold.label[row]
        steps = [step for step in range(3) if pointers[step] >= 0]
        rewards = [float(right[step] and proven[step]) for step in steps]
        parts = []
        for i, step in enumerate(steps):
            value, wanted = float(drawn.values[row, step]), sum(r * 0.95**j for j, r in enumerate(rewards[i:]))
            chosen = float(drawn.pointed.log_pointers[row, step, pointers[step]])
            parts.append((wanted - value) ** 2 - chosen * (wanted - value))
        expected = np.mean(parts) if gold.label[row] >= 0 else 0.0
        np.testing.assert_allclose(losses[row], expected, rtol=1e-4)


def test_known_vectors_stand_for_their_tokens():
    assert not dataclasses.replace(CONFIG, pooling="attention", train_encoder=False).vectors_once
    config = dataclasses.replace(CONFIG, pooling="mean", train_encoder=False)
    assert config.vectors_once
    network, tokens = config.network(), tokens_of()

    @jax.jit
    def read(parameters):
        given = {"params": parameters}
        memory = network.apply(given, tokens, method=lambda net, t: net._read(t, None, False))
        vectors = memory.vectors + 0 * memory.present[..., None]
        return network.apply(given, tokens), network.apply(given, tokens, vectors=vectors)

    whole, known = read(parameters_of(config))
    for a, b in zip(jax.tree.leaves(whole), jax.tree.leaves(known), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)


def test_an_encoder_that_is_not_trained_has_no_gradient():
    config = dataclasses.replace(CONFIG, train_encoder=False)
    gold = Gold(*(x[:1] for x in pointer_loss.gold_of(jnp.asarray(targets()), 3)))

    def loss(parameters):
        forced, own = config.network().apply({"params": parameters}, tokens_of()[:1], gold.pointers)
        return jnp.sum(pointer_loss.example_loss(config, forced, own, gold))

    gradients = jax.jit(jax.grad(loss))(initialize(config))
    assert all(not np.any(leaf) for name in ("encoder", "token_embedder") for leaf in jax.tree.leaves(gradients[name]))
    assert all(np.any(leaf) for leaf in jax.tree.leaves(gradients["pointer"]))
