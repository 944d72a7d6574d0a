"""The same mathematics as the reference T5 of Hugging Face transformers, in float32, on the same random weights."""

from __future__ import annotations

import functools

import jax
import numpy as np
import pytest

from lisax.models.architectures import T5Config
from lisax.models.decoding import Decoding, generate
from lisax.models.t5 import Transformer, initialize
from lisax.training.objectives import Loss, apply_model, sums
from tests.models.reference import torch_t5

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

SMALL = {
    "emb_dim": 32,
    "num_encoder_layers": 2,
    "num_decoder_layers": 2,
    "num_heads": 4,
    "head_dim": 8,
    "mlp_dim": 48,
    "vocab_size": 128,
}
V1_0 = {"mlp_activations": ("relu",), "logits_via_embedding": True}
V1_1 = {"mlp_activations": ("gelu", "linear"), "logits_via_embedding": False}
MODELS = {
    "1.0": T5Config(**SMALL, **V1_0),
    "1.0 with heads wider than the embedding": T5Config(**SMALL | V1_0 | {"num_heads": 8, "head_dim": 16}),
    "1.1": T5Config(**SMALL, **V1_1),
    "1.1 with three heads and a shallow decoder": T5Config(
        **SMALL | V1_1 | {"num_heads": 3, "num_encoder_layers": 3, "num_decoder_layers": 1}
    ),
    "bytes": T5Config(**SMALL | V1_1 | {"vocab_size": 384, "num_encoder_layers": 3, "num_decoder_layers": 1}),
}
# (rows, longest input, longest target); the last reaches the widest bucket on both sides.
SHAPES = [(1, 1, 1), (3, 17, 5), (2, 300, 150)]


@functools.cache
def both(name: str):
    config = MODELS[name]
    parameters = initialize(config, seed=7)
    # A fresh embedding gives logits of 1.0 so large that one token has all the probability.
    parameters["token_embedder"]["embedding"] *= 0.3 if config.logits_via_embedding else 1.0
    head = (
        parameters["token_embedder"]["embedding"].T
        if config.logits_via_embedding
        else (parameters["decoder"]["logits_dense"]["kernel"])
    )
    ends_often = head.at[:, 1].multiply(2.0)  # so that hypotheses are of many lengths
    if config.logits_via_embedding:
        parameters["token_embedder"]["embedding"] = ends_often.T
    else:
        parameters["decoder"]["logits_dense"]["kernel"] = ends_often
    for stack in ("encoder", "decoder"):  # so that the buckets matter
        parameters[stack]["relpos_bias"]["rel_embedding"] *= 4.0
    return config, parameters, torch_t5(config, parameters)


def tokens(config, rows, length, *, padded, seed):
    rng = np.random.default_rng(seed)
    batch = rng.integers(2, config.vocab_size, (rows, length)).astype(np.int32)
    for row in range(rows):
        end = rng.integers(1, length + 1) if padded and row else length
        batch[row, end - 1], batch[row, end:] = 1, 0
    return batch


def as_torch(array):
    return torch.from_numpy(np.array(array)).long()


@pytest.mark.parametrize("padded", [False, True], ids=["whole", "padded"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", MODELS)
def test_logits_and_loss(name, shape, padded):
    config, parameters, reference = both(name)
    rows, length, target_length = shape
    inputs = tokens(config, rows, length, padded=padded, seed=1)
    targets = tokens(config, rows, target_length, padded=padded, seed=2)
    batch = {
        "encoder_input_tokens": inputs,
        "decoder_target_tokens": targets,
        "decoder_input_tokens": np.pad(targets, ((0, 0), (1, 0)))[:, :-1],
        "decoder_loss_weights": (targets > 0).astype(np.int32),
    }
    logits = jax.jit(apply_model, static_argnums=0)(config, parameters, batch)
    with torch.no_grad():
        expected = reference(
            input_ids=as_torch(inputs),
            attention_mask=as_torch(inputs > 0),
            labels=as_torch(np.where(targets > 0, targets, -100)),
        )
    real = targets > 0
    np.testing.assert_allclose(np.asarray(logits)[real], expected.logits.numpy()[real], atol=1e-4)
    total = sums(Loss(z_loss=0.0).per_token(logits, targets), logits, batch)
    assert float(total["loss"] / total["target_tokens"]) == pytest.approx(float(expected.loss), abs=1e-4)


@pytest.mark.parametrize("name", MODELS)
def test_label_scores(name):
    config, parameters, reference = both(name)
    inputs = tokens(config, 4, 150, padded=True, seed=5)
    pieces = np.array([40, 7, 99])
    logits = Transformer(config).apply({"params": parameters}, inputs, pieces, method="first_step_logits")
    with torch.no_grad():
        expected = reference(
            input_ids=as_torch(inputs),
            attention_mask=as_torch(inputs > 0),
            decoder_input_ids=torch.zeros((4, 1), dtype=torch.long),
        ).logits
    np.testing.assert_allclose(logits, expected[:, 0].numpy()[:, pieces], atol=1e-4)


SEARCHES = [(1, 1.0, False), (4, 1.0, False), (10, 1.0, False)]
OTHER_SEARCHES = [(4, 0.0, "never"), (4, 2.0, "never"), (4, 0.6, True), (10, -1.0, False)]


@pytest.mark.parametrize(
    ("name", "beams", "penalty", "early"),
    [
        *((name, *search) for name in ("1.0", "1.1", "bytes") for search in SEARCHES),
        *(("1.1", *search) for search in OTHER_SEARCHES),
    ],
)
def test_greedy_and_beams(name, beams, penalty, early):
    config, parameters, reference = both(name)
    length = 24
    inputs = tokens(config, 4, 19, padded=True, seed=3)
    found = jax.jit(generate, static_argnums=(0, 4, 5))(
        config,
        parameters,
        inputs,
        np.arange(4),
        length,
        Decoding(beam_size=beams, length_penalty=penalty, early_stopping=early),
    )
    search = {"length_penalty": penalty, "early_stopping": early, "num_return_sequences": beams} if beams > 1 else {}
    expected = reference.generate(
        input_ids=as_torch(inputs),
        attention_mask=as_torch(inputs > 0),
        max_new_tokens=length,
        do_sample=False,
        num_beams=beams,
        output_scores=True,
        return_dict_in_generate=True,
        **search,
    )
    sequences = expected.sequences.numpy()[:, 1:].reshape(4, beams, -1)
    if name == "1.1" and beams > 1 and penalty <= 1:  # otherwise the comparison would not see the length penalty
        assert len({len(until_end(hypothesis)) for row in sequences for hypothesis in row}) > 2
    for row in range(4):
        for beam in range(beams):
            assert until_end(found.tokens[row, beam]) == until_end(sequences[row, beam])
    if beams > 1:
        np.testing.assert_allclose(
            found.scores, expected.sequences_scores.numpy().reshape(4, beams), rtol=1e-6, atol=1e-4
        )


def until_end(row) -> list[int]:
    row = [int(token) for token in row]
    return row[: row.index(1) + 1] if 1 in row else row


@pytest.mark.parametrize(("top_k", "top_p"), [(0, 1.0), (7, 1.0), (0, 0.6), (20, 0.9)])
def test_sampling_is_restricted_as_in_the_reference(top_k, top_p):
    from transformers.generation.logits_process import TopKLogitsWarper, TopPLogitsWarper

    from lisax.models.decoding import restrict

    logits = np.random.default_rng(4).normal(size=(5, 90)).astype(np.float32) * 2
    expected = torch.from_numpy(logits)
    if top_k:
        expected = TopKLogitsWarper(top_k)(None, expected)
    if top_p < 1:
        expected = TopPLogitsWarper(top_p)(None, expected)
    np.testing.assert_allclose(restrict(logits, top_k, top_p), expected.numpy())
