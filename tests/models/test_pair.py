"""Pair scorers on either backbone: plain numpy from the backbone's own states on."""

import dataclasses

import jax
import numpy as np
import pytest
from applying import applied

from lisax.models.architectures import PairConfig
from lisax.models.pair import probabilities
from lisax.models.t5 import initialize
from tests.references import recorded

BACKBONES = {"t5": recorded.T5_1_1, **recorded.ENCODERS}


def states(config, parameters, tokens):
    """The backbone's own states [rows, length, emb]."""
    if "decoder" in config.stacks:
        parameters = parameters | {"decoder": recorded.drawn(config)["decoder"]}
        return applied(config, parameters, tokens, method="encode")
    return applied(dataclasses.replace(config, pooler=False), parameters, tokens).states


@pytest.mark.parametrize(
    ("name", "pooling"),
    [
        *((name, "mean") for name in BACKBONES),
        *(("bert", one) for one in ("first", "pooler", "attention")),
        ("t5", "attention"),
    ],
)
def test_logits_by_hand(name, pooling):
    config = PairConfig(BACKBONES[name], labels=3, pooling=pooling)
    parameters, tokens = recorded.drawn(config), recorded.questions(config.backbone)
    head, found = parameters["pair"], applied(config, parameters, tokens)
    assert found.shape == (4, 3) and found.dtype == np.float32
    backbone = {name: tree for name, tree in parameters.items() if name != "pair"}
    for row, text in enumerate(np.asarray(states(config.backbone, backbone, tokens))):
        real = text[tokens[row] > 0]
        if pooling == "attention":
            odds = np.exp(real @ head["pooling"] / 4)
            vector = (odds / odds.sum()) @ real
        else:
            vector = real.mean(0) if pooling == "mean" else real[0]
        if pooling == "pooler":
            vector = np.tanh(vector @ head["pooler"]["kernel"] + head["pooler"]["bias"])
        expected = vector @ head["classes"]["kernel"] + head["classes"]["bias"]
        np.testing.assert_allclose(found[row], expected, atol=1e-4)
    shares = np.asarray(jax.jit(probabilities, static_argnums=0)(config, parameters, tokens))
    np.testing.assert_allclose(shares.sum(1), 1, atol=1e-5)
    np.testing.assert_array_equal(shares.argmax(1), np.asarray(found).argmax(1))


@pytest.mark.parametrize("name", ["t5", "bert", "albert"])
def test_parameters_are_the_backbones_and_a_head(name):
    config = PairConfig(BACKBONES[name])
    parameters = initialize(config)
    assert set(parameters) == {"token_embedder", "encoder", "pair"}
    own = initialize(config.backbone)
    for part in ("token_embedder", "encoder"):
        assert parameters[part].keys() == own[part].keys()
