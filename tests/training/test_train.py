import dataclasses
import functools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import jax
import numpy as np
import pytest
from checkpoint_files import assert_same, parameters_of
from memory_task import MODEL, config, restoring, source

from lisax.errors import LisaxError
from lisax.files.writing import write_json
from lisax.papers.base import used_step
from lisax.training.optimizers import AdamW
from lisax.training.schedules import Schedule
from lisax.training.train import Trainer, train
from lisax.training.train_log import read_train_log
from lisax.weights.checkpoints import (
    CheckpointConfig,
    SaveCheckpointConfig,
    best_checkpoint,
    complete_steps,
    read_metrics,
    resolve_checkpoint,
    write_chosen,
)
from lisax.weights.model_folder import ModelFolder

HERE = Path(__file__).parent
no_dev = functools.partial(config, dev_data=None)


def curve(model_dir, kind="train"):
    return [(row["step"], row["loss"]) for row in read_train_log(model_dir) if row["kind"] == kind]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Ten steps without interruption."""
    folder = tmp_path_factory.mktemp("whole")
    return train(config(folder, 10))


def test_a_run_learns_logs_and_saves(whole):
    assert whole.step == 10
    assert [step for step, _ in curve(whole.model_dir)] == list(range(1, 11))
    assert [step for step, _ in curve(whole.model_dir, "dev")] == [4, 8, 10]
    assert complete_steps(whole.model_dir) == [9, 10]  # period 3 and the last step, newest two kept
    assert set(whole.metrics) == {"loss", "accuracy", "sequence_accuracy"}
    assert whole.best is None and whole.checkpoint == whole.latest
    assert list((whole.model_dir / "train").glob("events.out.tfevents.*"))
    card = ModelFolder.find(whole.model_dir).card
    assert card["step"] == 10 and card["architecture"]["emb_dim"] == 16
    assert card["optimizer"]["name"] == "Adafactor"
    assert "examples_per_second" not in read_train_log(whole.model_dir)[0]  # the step that was compiled
    row = read_train_log(whole.model_dir)[2]
    assert {"learning_rate", "examples_per_second", "tokens_per_second", "gradient_norm"} <= set(row)


def test_resumed_equals_uninterrupted_bit_for_bit(whole, tmp_path):
    train(config(tmp_path, 5))
    resumed = train(config(tmp_path, 10))
    assert curve(tmp_path) == curve(whole.model_dir)
    assert_same(resumed.parameters, whole.parameters)


def test_an_evaluation_that_fails_costs_no_steps(whole, tmp_path):
    def missing():
        raise LisaxError("dev.jsonl does not exist")

    with pytest.raises(LisaxError, match="does not exist"):
        train(config(tmp_path, 10, dev_data=missing))
    assert complete_steps(tmp_path)[-1] == 4  # the first evaluation
    train(config(tmp_path, 10))
    assert curve(tmp_path, "dev") == curve(whole.model_dir, "dev")
    assert curve(tmp_path) == curve(whole.model_dir)


def test_finished_run_is_left_alone(whole):
    assert train(config(whole.model_dir, 10)).step == 10
    assert len(curve(whole.model_dir)) == 10


def test_saved_parameters_are_those_of_the_run(whole):
    loaded = parameters_of(whole.model_dir)
    assert_same(loaded, whole.parameters)
    assert loaded["encoder/layers_0/attention/query/kernel"].dtype == np.float32


def test_best_checkpoint_stays(tmp_path):
    figures, losses = {2: 0.1, 4: 0.9, 6: 0.5, 8: 0.9}, {2: 0.1, 4: 0.2, 6: 0.3, 8: 0.4}
    saved = SaveCheckpointConfig(period=100, keep=1, best_metric="figure")
    result = train(
        config(
            tmp_path,
            8,
            save=saved,
            eval_period=2,
            dev_data=None,
            evaluate=lambda parameters, step: {"figure": figures[step], "loss": losses[step]},
        )
    )
    assert complete_steps(tmp_path) == [4, 8]
    assert result.best == best_checkpoint(tmp_path) == tmp_path / "checkpoint_4"
    assert read_metrics(result.best)["best"] == {"metric": "figure", "mode": "max", "value": 0.9}
    assert used_step(result) == "step 4, the best of 8, figure 0.9000, loss 0.2000"
    write_chosen(tmp_path, 8, {"metric": "recall@5", "value": 0.5})
    assert best_checkpoint(tmp_path) == resolve_checkpoint(tmp_path) == tmp_path / "checkpoint_8"
    write_chosen(tmp_path, 6, {"metric": "recall@5", "value": 0.5})  # which is gone
    assert best_checkpoint(tmp_path) == tmp_path / "checkpoint_4"
    for loss, step in ((0.2, 4), (0.1, 8)):  # of equal figures and losses the earlier step is best
        write_json(tmp_path / "checkpoint_8/metrics.json", read_metrics(result.best) | {"metrics": {"loss": loss}})
        assert best_checkpoint(tmp_path).name == f"checkpoint_{step}"


def test_the_lowest_loss_is_best_and_values_of_another_metric_do_not_count(tmp_path):
    def run(steps, metric, **figures):
        save = SaveCheckpointConfig(period=100, keep=1, best_metric=metric)
        evaluate = lambda parameters, step: {name: of_step[step] for name, of_step in figures.items()}  # noqa: E731
        return train(config(tmp_path, steps, save=save, eval_period=2, dev_data=None, evaluate=evaluate, patience=2))

    result = run(6, "loss", loss={2: 3.0, 4: 2.0, 6: 2.5})
    assert result.best == tmp_path / "checkpoint_4" and complete_steps(tmp_path) == [4, 6]
    assert read_metrics(result.best)["best"] == {"metric": "loss", "mode": "min", "value": 2.0}
    result = run(12, "accuracy", accuracy={8: 0.5, 10: 0.4, 12: 0.4})
    assert result.step == 12 and result.best == tmp_path / "checkpoint_8" and complete_steps(tmp_path) == [8, 12]
    assert SaveCheckpointConfig(best_metric="first/loss").mode == "min"
    assert SaveCheckpointConfig(best_metric="loss", best_mode="max").mode == "max"


def test_a_metric_that_is_not_a_number_once_is_not_the_best(tmp_path, capfd):
    figures = {2: 0.5, 4: float("nan"), 6: 0.4}
    save = SaveCheckpointConfig(period=4, keep=None, best_metric="figure")
    evaluate = lambda parameters, step: {"figure": figures[step]}  # noqa: E731
    result = train(config(tmp_path, 6, save=save, eval_period=2, dev_data=None, evaluate=evaluate, patience=3))
    assert "step 4: figure is not a finite number and does not count" in capfd.readouterr().err
    assert result.best == tmp_path / "checkpoint_2" and complete_steps(tmp_path) == [2, 4, 6]


def test_damaged_checkpoint_is_passed_over(whole, tmp_path, capfd):
    train(no_dev(tmp_path, 6))
    for part in (tmp_path / "checkpoint_6" / "state" / "ocdbt.process_0" / "d").iterdir():
        part.write_bytes(part.read_bytes()[:20])
    (tmp_path / "checkpoint_8").mkdir()  # the rest of a save that was killed
    result = train(no_dev(tmp_path, 10))
    said = capfd.readouterr().err
    assert "checkpoint_6 cannot be read and is passed over" in said
    assert "from step 3" in said and result.step == 10
    assert curve(tmp_path) == curve(whole.model_dir)


def test_a_folder_that_lisax_has_not_saved_stays(tmp_path):
    mine = tmp_path / "checkpoint_8"
    mine.mkdir()
    (mine / "notes.txt").write_text("mine")
    with pytest.raises(LisaxError, match="checkpoint_8 is in the place of a checkpoint, and LisaX has not saved it"):
        train(config(tmp_path, 10, save=SaveCheckpointConfig(period=4)))
    result = train(no_dev(tmp_path, 6, save=SaveCheckpointConfig(period=2, keep=1)))
    assert result.step == 6 and complete_steps(tmp_path) == [6]
    assert (mine / "notes.txt").read_text() == "mine"


def test_all_damaged_is_an_error(tmp_path):
    train(no_dev(tmp_path, 3))
    for part in (tmp_path / "checkpoint_3" / "state").rglob("manifest.ocdbt"):
        part.write_bytes(b"")
    with pytest.raises(LisaxError, match="no checkpoint in .* can be read"):
        train(config(tmp_path, 6))


def test_fewer_steps_than_those_of_the_initial_checkpoint_are_an_error(whole, tmp_path):
    for steps in (4, 10):
        with pytest.raises(
            LisaxError, match=f"TRAIN_STEPS is {steps}, and the initial .* is at step 10.*above 10, TRAIN"
        ):
            train(config(tmp_path, steps, checkpoint=restoring(whole.model_dir)))
    result = train(no_dev(tmp_path, 4, checkpoint=restoring(whole.model_dir, restore_step=False)))
    assert result.step == 4


def test_initial_checkpoint_gives_step_and_slots(whole, tmp_path, capfd):
    result = train(no_dev(tmp_path, 12, checkpoint=restoring(whole.model_dir)))
    assert "starts at step 10" in capfd.readouterr().err
    assert [step for step, _ in curve(tmp_path)] == [11, 12]
    assert ModelFolder.find(result.latest).card["training"]["slots_first_step"] == 0
    # Its own checkpoint is continued, not the initial one; the data goes on from where this run began it.
    train(no_dev(tmp_path, 13, checkpoint=restoring("/nowhere")))
    again = tmp_path / "again"
    train(no_dev(again, 13, checkpoint=restoring(whole.latest)))
    assert curve(again) == curve(tmp_path)


@pytest.mark.parametrize("from_zero", [False, True])
def test_initial_checkpoint_with_fresh_slots(whole, tmp_path, from_zero):
    restore = restoring(whole.latest / "state", restore_optimizer=False, restore_step=not from_zero)
    result = train(no_dev(tmp_path, None, relative_steps=2, checkpoint=restore))
    assert result.step == (2 if from_zero else 12)
    assert ModelFolder.find(tmp_path).card["training"]["slots_first_step"] == result.step - 2


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"mlp_dim": 64}, r"of another shape: decoder/layers_0/mlp/wi_0/kernel is \[16, 32\], expected \[16, 64\]"),
        ({"num_encoder_layers": 2}, "missing encoder/layers_1/attention/key/kernel"),
        ({"logits_via_embedding": True}, "extra decoder/logits_dense/kernel"),
    ],
)
def test_another_architecture_is_named(whole, tmp_path, changed, message):
    model = dataclasses.replace(MODEL, **changed)
    with pytest.raises(LisaxError, match=message):
        train(config(tmp_path, 12, model=model, checkpoint=restoring(whole.model_dir)))


def test_changed_optimizer_is_refused_on_resume(whole):
    with pytest.raises(LisaxError, match="optimizer slots .* same optimizer"):
        train(config(whole.model_dir, 12, optimizer=AdamW()))


def test_not_a_number(tmp_path):
    poisoned = Trainer(learning_rate_fn=Schedule("constant", float("inf")))
    with pytest.raises(LisaxError, match="the loss of step 2 is nan"):
        train(config(tmp_path, 10, trainer=poisoned, save=SaveCheckpointConfig(period=2)))
    assert complete_steps(tmp_path) == []
    with pytest.raises(LisaxError) as raised:
        train(config(tmp_path, 10, trainer=poisoned, save=SaveCheckpointConfig(period=1), log_period=5))
    assert f"; if that fails too, delete {tmp_path / 'checkpoint_1'}, whose parameters may" in str(raised.value)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"total_steps": None}, "TRAIN_STEPS or TRAIN_STEPS_RELATIVE must be given"),
        ({"relative_steps": 3}, "give either"),
        ({"total_steps": -1}, "TRAIN_STEPS must be at least 0, found -1"),
        ({"eval_steps": 0}, "EVAL_STEPS must be at least 1 batch, or None for all, found 0"),
        ({"model_dir": __file__}, "MODEL_DIR is .*, which is a file"),
        ({"eval_period": 0}, "eval_period must be at least 1"),
        ({"trainer": Trainer(num_microbatches=-1)}, "num_microbatches must be at least 1"),
        ({"trainer": Trainer(num_microbatches=3)}, "BATCH_SIZE is 8, which 1 devices times 3 microbatches"),
        ({"checkpoint": CheckpointConfig(SaveCheckpointConfig(best_metric="f1"))}, "chosen by 'f1', which nothing"),
        ({"checkpoint": restoring("/nowhere")}, "no checkpoint at /nowhere: no such folder"),
        ({"train_data": lambda skip: iter(list(zip(range(2), source(skip)))[1][1:])}, "ended after 1 batches"),
        ({"model": dataclasses.replace(MODEL, vocab_size=40)}, "but the model's vocabulary has 40 entries"),
    ],
)
def test_mistakes_are_sentences(tmp_path, fields, message):
    with pytest.raises(LisaxError, match=message):
        train(dataclasses.replace(config(tmp_path, 5), **fields))


def test_configs_refuse_nonsense():
    with pytest.raises(LisaxError, match="period must be at least 1"):
        SaveCheckpointConfig(period=0)
    with pytest.raises(LisaxError, match="keep must be at least 1"):
        SaveCheckpointConfig(keep=0)


# --- Other processes -----------------------------------------------------------------------

CHILD = """
import sys
sys.path.insert(0, {here!r})
import jax
jax.config.update("jax_compilation_cache_dir", {cache!r})
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
from memory_task import config
from lisax.training.train import train
train(config({folder!r}, {steps}))
"""


def _child(folder, steps, environment=None):
    cache = jax.config.jax_compilation_cache_dir
    code = CHILD.format(here=str(HERE), cache=cache, folder=str(folder), steps=steps)
    return subprocess.Popen(
        [sys.executable, "-c", code],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "JAX_PLATFORMS": "cpu", **(environment or {})},
    )


def _wait_for_step(child, folder, step):
    log = folder / "train_log.jsonl"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and child.poll() is None:
        if log.exists() and any(row["step"] >= step for row in read_train_log(folder)):
            return
        time.sleep(0.02)
    raise AssertionError(f"step {step} was not reached: {child.stderr.read()}")


@pytest.mark.slow
def test_eight_devices_give_the_losses_of_one(whole, tmp_path):
    child = _child(tmp_path, 4, {"JAX_NUM_CPU_DEVICES": "8"})
    _, said = child.communicate(timeout=120)
    assert child.returncode == 0, said
    assert "8 cpu device(s)" in said
    for (_, one), (_, eight) in zip(curve(whole.model_dir)[:4], curve(tmp_path), strict=True):
        assert eight == pytest.approx(one, rel=1e-5)


# Of Ctrl-C see test_preemption.py.
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGKILL, -signal.SIGKILL)])
def test_signals(tmp_path, number, code):
    child = _child(tmp_path, 100_000)
    _wait_for_step(child, tmp_path, 7)
    child.send_signal(number)
    _, said = child.communicate(timeout=60)
    assert child.returncode == code, said
    latest = complete_steps(tmp_path)[-1]
    if number != signal.SIGKILL:
        assert f"stopped by {number.name} and saved at step {latest} of 100000" in said
    logged = curve(tmp_path)[:latest]
    result = train(config(tmp_path, latest + 4))
    assert result.step == latest + 4
    assert curve(tmp_path)[:latest] == logged
    assert [step for step, _ in curve(tmp_path)] == list(range(1, latest + 5))
