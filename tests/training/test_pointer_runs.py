"""The evidence pointer through the engine: trained, resumed, stopped early, started from a T5, searched, exported."""

import dataclasses

import jax
import numpy as np
import pytest
from memory_task import restoring, saved
from pointer_task import CANDIDATES, LENGTH, MODEL, T5, batch_of, config

from lisax.errors import LisaxError
from lisax.models.architectures import EncoderConfig, from_description
from lisax.models.t5 import initialize
from lisax.scoring.claims import PointerScorer
from lisax.training import programs
from lisax.training.losses import Loss
from lisax.training.model_kinds import kind_of
from lisax.training.optimizers import AdamW
from lisax.training.schedules import Schedule
from lisax.training.train import Trainer, train
from lisax.weights.checkpoints import CheckpointConfig, SaveCheckpointConfig, flatten
from lisax.weights.model_folder import ModelFolder


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """Trained until it knows the task."""
    return train(
        config(
            tmp_path_factory.mktemp("learned"),
            400,
            optimizer=AdamW(),
            log_period=100,
            trainer=Trainer(learning_rate_fn=Schedule("constant", 0.01)),
        )
    )


def test_a_toy_task_is_learned(learned):
    assert set(learned.metrics) == {"loss", "recall", "accuracy", "score"}
    assert learned.metrics["loss"] < 0.1
    assert min(learned.metrics[name] for name in ("recall", "accuracy", "score")) > 0.95
    assert from_description(ModelFolder.find(learned.model_dir).card["architecture"]) == MODEL


def test_training_ends_when_it_does_not_become_better(tmp_path, capfd):
    fields = {
        "trainer": Trainer(learning_rate_fn=lambda step: 0.0),
        "eval_period": 1,
        "patience": 2,
        "checkpoint": CheckpointConfig(SaveCheckpointConfig(period=100, keep=1, best_metric="score")),
    }
    result = train(config(tmp_path, 9, **fields))
    assert result.step == 3 and result.best.name == "checkpoint_1"
    assert "ends at step 3 of 9: not better since step 1" in capfd.readouterr().err
    assert train(config(tmp_path, 9, **fields)).step == 3
    assert "3 of 9 steps and was not better since 1: nothing to train" in capfd.readouterr().err
    with pytest.raises(LisaxError, match="PATIENCE is 2: .* BEST_METRIC"):
        train(config(tmp_path / "other", 9, patience=2))


def test_a_plain_t5_starts_encoder_and_embedding_and_stays_where_it_is_not_trained(tmp_path, capfd):
    plain, model = saved(tmp_path / "t5", T5), dataclasses.replace(MODEL, train_encoder=False)
    result = train(config(tmp_path / "out", 8, model=model, checkpoint=restoring(tmp_path / "t5")))
    assert "has only the backbone: pointer begins fresh" in capfd.readouterr().err
    fresh = flatten(initialize(MODEL))
    for name, leaf in flatten(result.parameters).items():
        if name.startswith("pointer/"):
            assert np.abs(leaf - fresh[name]).max() > 0, name
        else:
            np.testing.assert_allclose(leaf, plain[name], rtol=1e-6, err_msg=name)


def test_searching_is_the_forward_pass_of_training_in_any_order(learned, tmp_path):
    batch = batch_of(5, rows=24)
    claims = [
        [[*map(int, text)] for text in claim] for claim in batch["encoder_input_tokens"].reshape(24, CANDIDATES, LENGTH)
    ]
    claims[3] = claims[3][:1]
    claims[4] = []
    scorer = PointerScorer.open(ModelFolder.find(learned.model_dir), texts=CANDIDATES, max_tokens=LENGTH)
    found, backwards = scorer.probabilities(claims), scorer.probabilities(claims[::-1])
    for name in found._fields:
        np.testing.assert_allclose(getattr(backwards, name)[::-1], getattr(found, name), atol=1e-5)
    assert (found.pointers[3] == [0, -1, -1]).all() and (found.pointers[4] == -1).all()
    gold = batch["decoder_target_tokens"].reshape(24, CANDIDATES, -1)
    for row in set(range(24)) - {3, 4}:
        assert found.labels[row].argmax() == gold[row, 0, 0] - 2
        if gold[row, 0, 0] < 4:
            assert gold[row, found.pointers[row, :2], 1].tolist() == [1, 2]
    assert scorer.probabilities([]).pointers.shape == (0, 3)
    with pytest.raises(LisaxError, match="a claim with 5 candidates was given to a scorer of at most 4"):
        scorer.probabilities([[[1]] * 5])


def test_a_program_on_an_encoder_of_two_segments_is_read_at_any_length():
    sizes = {"vocab_size": 64, "emb_dim": 16, "num_heads": 2, "num_encoder_layers": 1, "mlp_dim": 32}
    model = dataclasses.replace(MODEL, backbone=EncoderConfig(**sizes, max_positions=16, separator_id=7))
    parameters, tokens = initialize(model, 2), np.zeros((2, CANDIDATES, 6), np.int32)
    tokens[0, :2, :4], tokens[1, 0] = [[5, 7, 9, 7], [6, 8, 7, 0]], [4, 7, 2, 3, 9, 7]
    flat = flatten(jax.tree.map(np.asarray, parameters))
    exported = programs.export_claim_scorer(PointerScorer.outputs, model, flat, CANDIDATES)
    found = jax.export.deserialize(exported.serialize()).call(flat, tokens)
    outputs = jax.jit(PointerScorer.outputs, static_argnums=0)
    for ours, program in zip(outputs(model, parameters, tokens), found, strict=True):
        np.testing.assert_allclose(program, ours, atol=1e-5)


@pytest.mark.parametrize(
    ("lengths", "pack", "loss", "message"),
    [
        ({"inputs": 20, "targets": 30}, False, Loss(z_loss=0.0), "8 numbers of each"),
        ({"inputs": 21, "targets": 32}, False, Loss(z_loss=0.0), "must divide 'inputs'"),
        ({"inputs": 20, "targets": 32}, True, Loss(z_loss=0.0), "batches of the evidence pointer cannot be packed"),
        ({"inputs": 20, "targets": 32}, False, Loss(), "neither Z_LOSS nor LABEL_SMOOTHING"),
    ],
)
def test_mistakes_are_sentences(lengths, pack, loss, message):
    with pytest.raises(LisaxError, match=message):
        kind_of(MODEL).objective.check(MODEL, loss, lengths, pack)
