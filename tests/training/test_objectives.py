"""What is summed over a batch, by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from fusion_task import LENGTH, MODEL, TABLES, batch_of

from lisax.errors import LisaxError
from lisax.models.architectures import EncoderConfig, PairConfig
from lisax.models.t5 import initialize
from lisax.training import objectives
from lisax.training.losses import Loss
from lisax.training.objectives import Classes, Fusion, sums


@pytest.mark.parametrize("packed", [False, True])
def test_sums_over_tokens_and_sequences(packed):
    targets = np.array([[5, 1, 0], [6, 7, 1], [8, 1, 0], [0, 0, 0]], np.int32)
    guesses = np.array([[5, 1, 9], [6, 9, 1], [9, 9, 0], [9, 9, 9]])
    batch = {
        "decoder_target_tokens": targets,
        "decoder_loss_weights": (targets > 0).astype(np.int32),
        "encoder_input_tokens": np.array([[3, 1, 0, 0], [3, 3, 3, 1], [1, 0, 0, 0], [0, 0, 0, 0]], np.int32),
    }
    if packed:
        batch["decoder_segment_ids"] = np.array([[1, 2, 0], [1, 1, 1], [1, 1, 0], [0, 0, 0]], np.int32)
    loss = np.arange(12.0).reshape(4, 3)
    learned = jnp.asarray(batch["decoder_loss_weights"], jnp.float32)
    found = sums(jnp.asarray(loss), learned, jnp.eye(10)[guesses], jax.tree.map(jnp.asarray, batch))
    assert {name: float(value) for name, value in found.items()} == {
        "loss": 0 + 1 + 3 + 4 + 5 + 6 + 7,
        "learned": 7,
        "target_tokens": 7,
        "input_tokens": 7,
        "right_tokens": 4,
        "rows": 3,
        "right_rows": 1,
        "examples": 4 if packed else 3,
    }


def test_a_pair_scorer_learns_from_its_teacher_and_its_label(monkeypatch):
    logits = np.array([[2.0, 0.0, -1.0], [0.5, 0.5, 0.0], [1.0, 2.0, 3.0]])
    monkeypatch.setattr(objectives, "_applied", lambda *_: jnp.asarray(logits))
    shares = np.array([0.7, 0.2, 0.1])
    targets = np.array([[2, 701, 201, 101], [1, 0, 0, 0], [0, 0, 0, 0]], np.int32)
    batch = {"encoder_input_tokens": np.ones((3, 2), np.int32), "decoder_target_tokens": targets}
    loss = Loss(z_loss=0.0, teacher=0.25, temperature=2.0)

    def log_softmax(values):
        return values - np.log(np.exp(values).sum())

    softened = shares**0.5 / (shares**0.5).sum()
    soft = -4 * (softened * log_softmax(logits[0] / 2)).sum()
    expected = 0.75 * -log_softmax(logits[0])[1] + 0.25 * soft - log_softmax(logits[1])[0]
    found = Classes()(PairConfig(EncoderConfig()), None, batch, loss, None)
    assert float(found["loss"]) == pytest.approx(expected, rel=1e-5) and found["learned"] == 2
    with pytest.raises(LisaxError, match="a share from 0 to 1"):
        Loss(teacher=1.5)


def test_fusion_reads_no_table_without_a_class():
    batch, parameters = batch_of(0, rows=4), initialize(MODEL)
    targets = batch["decoder_target_tokens"]
    lost = np.argmin(targets, axis=1)  # one that is not gold
    targets[np.arange(4), lost] = 0
    emptied = batch["encoder_input_tokens"].reshape(4, TABLES, LENGTH).copy()
    emptied[np.arange(4), lost] = 0
    summed = jax.jit(Fusion().__call__, static_argnums=(0, 3))
    found, expected = (
        summed(MODEL, parameters, batch | {"encoder_input_tokens": inputs}, Loss(z_loss=0.0), None)
        for inputs in (batch["encoder_input_tokens"], emptied.reshape(4, -1))
    )
    seen = {name: float(value) for name, value in found.items()}
    assert seen == pytest.approx({name: float(value) for name, value in expected.items()})
    assert found["input_tokens"] == 4 * 2 * LENGTH and found["target_tokens"] == 8 and found["decided"] == 4
