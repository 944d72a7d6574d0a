"""Heads on an encoder of the BERT family: what they compute of its states, and that nothing else of it is asked."""

import dataclasses

import jax
import numpy as np
import pytest
from applying import applied

from lisax.models.architectures import (
    DualEncoderConfig,
    EncoderConfig,
    FusionConfig,
    PairConfig,
    PointerConfig,
    ReaderConfig,
    SpanReaderConfig,
    T5Config,
    describe,
    from_description,
)
from lisax.models.fields import FieldError
from tests.references import recorded

ENCODERS = {name: dataclasses.replace(config, separator_id=3) for name, config in recorded.ENCODERS.items()}
HEADS = (DualEncoderConfig, FusionConfig, PairConfig, PointerConfig, SpanReaderConfig)


@pytest.mark.parametrize("head", HEADS)
def test_every_head_takes_an_encoder(head):
    model = head(ENCODERS["albert"], **({"passages": recorded.PASSAGES} if head is SpanReaderConfig else {}))
    assert from_description(describe(model)) == model
    parameters, texts = recorded.drawn(model), recorded.passages(model.backbone)
    inputs = {
        DualEncoderConfig: (texts[:4], texts),
        PairConfig: (texts,),
        SpanReaderConfig: (texts.reshape(4, -1),),
    }.get(head, (texts.reshape(4, recorded.PASSAGES, -1),))
    assert {"token_embedder", "encoder"} < parameters.keys() or head is DualEncoderConfig
    leaves = jax.tree.leaves(applied(model, parameters, *inputs))
    assert leaves and all(np.isfinite(leaf).all() for leaf in leaves)


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("name", ["bert", "minilm"])
def test_vectors_of_a_dual_encoder(name, normalized):
    config = recorded.ENCODERS[name]
    model = DualEncoderConfig(dataclasses.replace(config, token_types=1), normalized=normalized)
    parameters, tokens = recorded.drawn(model), recorded.questions(config)
    # The records are of two types of tokens: with both rows the same there is one.
    own = parameters["token_embedder"] | {"token_types": np.zeros((1, config.emb_dim), np.float32)}
    vectors, _ = applied(model, parameters | {"token_embedder": own}, tokens, tokens)
    states = applied(
        dataclasses.replace(config, token_types=1, pooler=False), parameters | {"token_embedder": own}, tokens
    ).states
    for vector, row, text in zip(vectors, np.asarray(states), tokens):
        mean = row[text > 0].mean(0)
        expected = mean / np.linalg.norm(mean) if normalized else mean * config.emb_dim**-0.25
        np.testing.assert_allclose(vector, expected, atol=1e-5)


def test_separate_towers_share_the_embedding_alone():
    model = DualEncoderConfig(ENCODERS["bert"], tied=False)
    parameters = recorded.drawn(model)
    assert parameters["question"].keys() == {"encoder"} and model.copies == {"question": ("encoder", "encoder")}
    tokens = recorded.questions(model.backbone)
    question, passage = applied(model, parameters, tokens, tokens)
    assert np.abs(question - passage).max() > 0.01


def test_what_decodes_takes_a_t5_alone():
    with pytest.raises(FieldError, match="backbone must be a T5, found"):
        ReaderConfig(EncoderConfig())
    assert ReaderConfig(T5Config()).backbone == T5Config()
