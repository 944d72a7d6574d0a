"""The network of table fusion and its losses, the latter against their definitions in plain numpy. The definition of the
network is in `test_heads.py`."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lisax.models import table_fusion, table_truth
from lisax.models.architectures import FusionConfig, T5Config
from lisax.models.fields import OBJECTIVES
from lisax.models.t5 import initialize
from lisax.models.table_fusion import Fused

T5 = T5Config(
    vocab_size=48, emb_dim=16, num_heads=2, num_encoder_layers=2, num_decoder_layers=1, head_dim=8, mlp_dim=32
)
TARGETS = np.array([[1, 3, 1], [2, 1, 0], [1, 1, 1], [0, 0, 0]])


def tokens_of(seed=0, rows=4, tables=3, length=6):
    tokens = np.random.default_rng(seed).integers(2, 48, (rows, tables, length)).astype(np.int32)
    tokens[:, 1, 4:] = 0
    tokens[1, 2] = tokens[3] = 0  # absent
    return tokens


def apply(config, tokens, seed=0):
    return jax.jit(config.network().apply)({"params": initialize(config, seed)}, tokens)


@pytest.mark.parametrize(
    ("objective", "heads", "pooling"),
    [*((one, 2, "attention") for one in OBJECTIVES), ("joint", 4, "mean"), ("joint", 0, "attention")],
)
def test_shapes_and_sums(objective, heads, pooling):
    config = FusionConfig(T5, objective, heads, pooling)
    fused = apply(config, tokens_of())
    assert fused.logits.shape == (4, 3, config.classes) and fused.attention.shape == (4, heads, 3, 3)
    assert fused.logits.dtype == jnp.float32
    shares = np.asarray(table_fusion.probabilities(objective, fused))
    present = tokens_of().any(-1)
    np.testing.assert_array_equal(fused.present, present)
    assert (shares[~present] == 0).all() and (shares[present] > 0).all()
    whole = shares.sum(-1)[present] if objective == "ternary" else shares.sum((1, 2))[:3]
    np.testing.assert_allclose(whole, 1, rtol=1e-5)
    np.testing.assert_allclose(table_truth.truth(shares).sum(-1), [1, 1, 1, 0], rtol=1e-5)
    relevance = table_truth.relevance(shares)
    np.testing.assert_allclose(relevance.sum(-1), [1, 1, 1, 0], rtol=1e-5)
    assert relevance[1, 2] == 0
    if objective == "uniform":
        np.testing.assert_allclose(relevance[1], [0.5, 0.5, 0], rtol=1e-5)
    for head in np.moveaxis(np.asarray(fused.attention), 1, 0):
        np.testing.assert_allclose(head.sum(-1), present, atol=1e-6)  # of tables that are there, to such
        assert (head[:, :, :][~np.broadcast_to(present[:, None], head.shape)] == 0).all()


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_absent_tables_and_padding_change_nothing(objective):
    config, tokens = FusionConfig(T5, objective), tokens_of()[:1]
    more = np.zeros((1, 5, 9), np.int32)
    more[:, :3, :6] = tokens
    few, many = (table_fusion.probabilities(objective, apply(config, t)) for t in (tokens, more))
    np.testing.assert_allclose(many[:, :3], few, atol=1e-6)
    assert (np.asarray(many[:, 3:]) == 0).all()


def _expected_loss(objective, logits, targets):
    """Of one claim, over its tables that are there."""
    there = targets > 0
    logits, targets = logits[there].astype(float), targets[there]
    gold = np.flatnonzero(targets >= 2)
    if objective == "ternary":
        shares = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
        return np.mean([-np.log(shares[i, target - 1]) for i, target in enumerate(targets)])
    if objective == "reranking":
        return -np.log(np.exp(logits[gold[0]]).sum() / np.exp(logits).sum())
    truth = targets[gold[0]] - 2
    if objective == "joint":
        return -np.log(np.exp(logits[gold[0], truth]) / np.exp(logits).sum())
    return -np.log(np.mean(np.exp(logits[:, truth]) / np.exp(logits).sum(-1)))


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_losses_by_their_definitions(objective):
    classes = 3 if objective == "ternary" else 2
    logits = np.random.default_rng(1).normal(size=(4, 3, classes)).astype(np.float32) * 3
    fused = Fused(jnp.asarray(logits), jnp.asarray(TARGETS > 0), None)
    shares = table_fusion.log_probabilities(objective, fused)
    losses = table_fusion.example_loss(objective, shares, jnp.asarray(TARGETS))
    weights = np.asarray(table_fusion.example_weights(objective, jnp.asarray(TARGETS)))
    # The third claim has no gold table: only the ternary objective learns from it.
    np.testing.assert_array_equal(weights, [1, 1, objective == "ternary", 0])
    assert np.isfinite(losses).all()
    for loss, row, targets, weight in zip(losses, logits, TARGETS, weights):
        if weight:
            assert float(loss) == pytest.approx(_expected_loss(objective, row, targets), rel=1e-5)


@pytest.mark.parametrize(
    "objective, options",
    [*((one, {}) for one in OBJECTIVES), ("joint", {"scan_layers": True, "remat": "full", "attention_chunk": 3})],
)
def test_gradients_reach_every_parameter_and_are_finite(objective, options):
    config = FusionConfig(T5, objective).replaced(**options)
    parameters, targets = initialize(config), jnp.asarray(TARGETS)

    def loss(parameters):
        fused = config.network().apply({"params": parameters}, tokens_of())
        losses = table_fusion.example_loss(objective, table_fusion.log_probabilities(objective, fused), targets)
        return jnp.sum(losses * table_fusion.example_weights(objective, targets))

    for path, gradient in jax.tree_util.tree_leaves_with_path(jax.jit(jax.grad(loss))(parameters)):
        assert np.isfinite(gradient).all() and np.abs(gradient).max() > 0, path
