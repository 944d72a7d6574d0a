"""The dual encoder and the readers through the engine: trained, resumed, started from a T5, used."""

import dataclasses

import jax
import numpy as np
import pytest

from lisax.devices.partitioning import Partitioner
from lisax.errors import LisaxError
from lisax.models import dual_encoder
from lisax.models.architectures import DualEncoderConfig, ReaderConfig, SpanReaderConfig, T5Config
from lisax.models.t5 import initialize
from lisax.scoring.generating import AnswerGenerator
from lisax.scoring.texts import SpanScorer, VectorEncoder
from lisax.training.losses import Loss
from lisax.training.model_kinds import kind_of
from lisax.training.optimizers import AdamW
from lisax.training.schedules import Schedule
from lisax.training.train import TrainConfig, Trainer, train
from lisax.training.train_config import check_batch
from lisax.weights.checkpoints import (
    CheckpointConfig,
    CheckpointWriter,
    RestoreCheckpointConfig,
    SaveCheckpointConfig,
    TrainState,
    flatten,
)
from lisax.weights.model_folder import ModelFolder

T5 = T5Config(
    vocab_size=64, emb_dim=16, num_heads=2, num_encoder_layers=1, num_decoder_layers=1, head_dim=8, mlp_dim=32
)
ROOM, PASSAGES, ROWS = 4, 2, 8
DUAL, READER, POINTER = DualEncoderConfig(T5), ReaderConfig(T5, PASSAGES), SpanReaderConfig(T5, PASSAGES)


def dual_batch(seed, rows=ROWS):
    """A question is a word; its passage holds that word among others, its negative does not."""
    rng = np.random.default_rng(seed)
    inputs = rng.integers(40, 60, (rows, (2 * PASSAGES + 1) * ROOM)).astype(np.int32)
    words = rng.permutation(np.arange(4, 38))[:rows]
    inputs[:, :ROOM] = 0
    inputs[:, 0], inputs[:, ROOM + 3] = words, words
    return _batch(inputs, np.tile(np.array([2, 1], np.int32), (rows, 1)))


def pointer_batch(seed, rows=ROWS):
    """The answer is the token after the 3 in one of the passages."""
    rng = np.random.default_rng(seed)
    inputs = rng.integers(10, 60, (rows, PASSAGES * 8)).astype(np.int32)
    place = rng.integers(1, 6, rows) + 8 * rng.integers(0, PASSAGES, rows)
    inputs[np.arange(rows), place] = 3
    spans = np.stack([place + 1, place + 1, np.zeros_like(place), np.zeros_like(place)], axis=1)
    return _batch(inputs, spans.astype(np.int32))


def reader_batch(seed, rows=ROWS):
    batch = pointer_batch(seed, rows)
    answer = np.take_along_axis(batch["encoder_input_tokens"], batch["decoder_target_tokens"][:, :1], axis=1)
    return _batch(batch["encoder_input_tokens"], np.concatenate([answer, np.ones_like(answer)], axis=1))


def _batch(inputs, targets):
    return {
        "encoder_input_tokens": inputs,
        "decoder_target_tokens": targets,
        "decoder_input_tokens": np.pad(targets[:, :-1], ((0, 0), (1, 0))),
        "decoder_loss_weights": (targets > 0).astype(np.int32),
    }


@pytest.mark.parametrize("place, right", [(0, 0), (5, 1)])
def test_pointing_at_the_first_token_is_right_of_no_question(place, right):
    class Points:
        def network(self):
            return self

        def apply(self, variables, tokens, **_):
            return jax.nn.one_hot(np.full((len(tokens), 2), place), tokens.shape[1], axis=1)

    batch = _batch(np.ones((1, 16), np.int32), np.array([[5, 5, 0, 0]], np.int32))
    found = kind_of(POINTER).objective(Points(), {}, batch, Loss(z_loss=0.0), None)
    assert (float(found["right"]), float(found["learned"])) == (right, 1)


def config(folder, model, batch, steps, **fields):
    def source(skip):
        while True:
            yield batch(skip)
            skip += 1

    fields = {
        "trainer": Trainer(learning_rate_fn=Schedule("constant", 0.01)),
        "optimizer": AdamW(),
        "log_period": 100,
        "checkpoint": CheckpointConfig(SaveCheckpointConfig(period=1000)),
    } | fields
    return TrainConfig(
        model_dir=str(folder),
        total_steps=steps,
        model=model,
        train_data=source,
        dev_data=lambda: [batch(10_000, 32)],
        eval_period=1000,
        loss=Loss(z_loss=0.0),
        **fields,
    )


def test_a_dual_encoder_learns_which_passage_has_the_questions_word(tmp_path):
    result = train(config(tmp_path, DUAL, dual_batch, 300))
    assert set(result.metrics) == {"loss", "accuracy"} and result.metrics["accuracy"] > 0.9
    batch = dual_batch(3)
    texts = dual_encoder.split(batch["encoder_input_tokens"], PASSAGES)
    encoder = VectorEncoder.open(ModelFolder.find(tmp_path), max_tokens=2 * ROOM)
    questions = encoder.questions([[int(token) for token in row if token] for row in texts.questions])
    told = []
    passages = encoder.passages([list(map(int, row[0])) for row in texts.passages], told.append)
    assert sum(told) == ROWS
    assert (np.argmax(questions @ passages.T, axis=1) == np.arange(ROWS)).mean() > 0.8
    with pytest.raises(LisaxError, match="is not a pointing reader"):
        SpanScorer.open(ModelFolder.find(tmp_path), max_tokens=8)
    again = train(config(tmp_path, DUAL, dual_batch, 300))
    np.testing.assert_array_equal(
        flatten(again.parameters)["token_embedder/embedding"], flatten(result.parameters)["token_embedder/embedding"]
    )


def test_a_pointing_reader_learns_where_the_answer_stands(tmp_path):
    assert train(config(tmp_path, POINTER, pointer_batch, 120)).metrics["accuracy"] > 0.9
    batch = pointer_batch(5)
    texts = [list(map(int, row)) for row in batch["encoder_input_tokens"].reshape(-1, 8)]
    ends = np.concatenate(SpanScorer.open(ModelFolder.find(tmp_path), max_tokens=8).ends(texts)).reshape(ROWS, 16, 2)
    assert (ends.argmax(1)[:, 0] == batch["decoder_target_tokens"][:, 0]).mean() > 0.8


def test_a_generating_reader_scores_as_it_learned(tmp_path):
    train(config(tmp_path, READER, reader_batch, 4))
    batch = reader_batch(5, 4)
    questions = [[list(map(int, text)) for text in row.reshape(PASSAGES, 8)] for row in batch["encoder_input_tokens"]]
    generator = AnswerGenerator.open(ModelFolder.find(tmp_path), max_tokens=8)
    found = generator.answers(questions, length=2)
    assert len(found) == 4 and found[0][0].shape == (1, 2)
    alone = generator.answers(questions[:1], length=2)
    np.testing.assert_array_equal(alone[0][0], found[0][0])
    np.testing.assert_allclose(alone[0][1], found[0][1], rtol=1e-4)


@pytest.mark.parametrize("tied", [True, False])
def test_towers_begin_as_a_plain_t5s_encoder(tmp_path, capfd, tied):
    state = TrainState(np.int32(0), initialize(T5, 3), {})
    card = {"architecture": dataclasses.asdict(T5)}
    with CheckpointWriter(tmp_path / "t5", SaveCheckpointConfig(), card, {}) as writer:
        writer.save(state, {})
    plain = flatten(jax.tree.map(np.asarray, state.parameters))
    restoring = CheckpointConfig(SaveCheckpointConfig(period=100), RestoreCheckpointConfig(path=str(tmp_path / "t5")))
    result = train(
        config(
            tmp_path / "out",
            DualEncoderConfig(T5, tied=tied),
            dual_batch,
            1,
            checkpoint=restoring,
            trainer=Trainer(learning_rate_fn=lambda step: 0.0),
        )
    )
    assert tied or "question begins as its encoder" in capfd.readouterr().err
    found = {name.split("/")[0] for name in flatten(result.parameters)}
    assert found == {"encoder", "token_embedder"} | (set() if tied else {"question"})
    for name, leaf in flatten(result.parameters).items():
        np.testing.assert_array_equal(leaf, plain[name.removeprefix("question/")], err_msg=name)


@pytest.mark.parametrize(
    ("model", "lengths", "message"),
    [
        (DUAL, {"inputs": 21, "targets": 2}, "2 n [+] 1 must divide"),
        (READER, {"inputs": 15, "targets": 2}, "PASSAGES, which is 2, must divide"),
        (POINTER, {"inputs": 16, "targets": 3}, "an even number"),
    ],
)
def test_lengths_that_do_not_fit_are_named(model, lengths, message):
    with pytest.raises(LisaxError, match=message):
        kind_of(model).objective.check(model, Loss(z_loss=0.0), lengths, False)
    good = {"inputs": 80, "targets": 2}
    kind_of(model).objective.check(model, Loss(z_loss=0.0), good, False)
    with pytest.raises(LisaxError, match="PACK"):
        kind_of(model).objective.check(model, Loss(z_loss=0.0), good, True)
    assert kind_of(model).objective.text_length(model, good) == (32 if model is DUAL else 40)


def test_the_targets_of_a_reader_that_points_are_no_tokens():
    """Places and classes may be above the vocabulary, tokens not."""
    partitioner, batch = Partitioner.over_all_devices(), pointer_batch(1)
    high = {"decoder_target_tokens": batch["decoder_target_tokens"] + 64}

    def check(model, batch):
        check_batch(batch, TrainConfig(model=model, model_dir="out", total_steps=1, train_data=None), partitioner, 1)

    check(POINTER, batch | high)
    for model, wrong in ((READER, high), (POINTER, {"encoder_input_tokens": batch["encoder_input_tokens"] + 64})):
        with pytest.raises(LisaxError, match="but the model's vocabulary has 64 entries"):
            check(model, batch | wrong)
