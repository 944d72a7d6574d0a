"""Runs by gin files of T5X's dialect against what T5X's scripts made of the same files; it need not be installed.

`tests/references/t5x_runs.json` has what `python -m t5x.train` and `t5x.infer` wrote, called as here, with the files in
`tests/references/t5x/`, the tasks of `two_tasks` and the checkpoints of `t5x_starts.write_start`.
"""

import json
from pathlib import Path

import pytest
import tensorflow as tf
import two_tasks

from lisax.cli import invoke
from lisax.training.train_log import read_train_log
from tests.references import recorded, t5x_starts

GIN = recorded.FOLDER / "t5x"
RECORD = json.loads((recorded.FOLDER / "t5x_runs.json").read_text())
TASKS = ("first_of_two", "last_of_two")


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    return t5x_starts.write_start(tmp_path_factory.mktemp("start"))


def call(verb, *files, **macros):
    flags = [f"--gin_file={name}.gin" for name in files]
    assert invoke([verb, f"--gin_search_paths={GIN}", *flags, *(f"--gin.{k}={v}" for k, v in macros.items())]) == 0


@pytest.fixture(scope="module")
def run(start, tmp_path_factory):
    """Four steps on a mixture of two tasks, in microbatches, with dropout, evaluated twice."""
    folder, set_seed = tmp_path_factory.mktemp("run"), tf.random.set_seed
    with pytest.MonkeyPatch.context() as patch:
        # T5X leaves TensorFlow's global seed as it is: this one, of which the order of a mixture depends.
        patch.setattr(tf.random, "set_seed", lambda seed: set_seed(87654321))
        call("train", "model", "train", MODEL_DIR=folder, INITIAL_CHECKPOINT_PATH=start)
    return folder


def test_the_steps_of_a_run(run):
    """T5X logs the sum of two microbatches' means, LisaX the mean of all tokens, which are about as many in both."""
    found = [row["loss"] for row in read_train_log(run) if row["kind"] == "train"]
    assert found == pytest.approx([loss / 2 for loss in RECORD["train"]["loss"]], rel=0.05)


def test_each_task_of_a_mixture_is_evaluated_by_itself(run):
    rows = [row for row in read_train_log(run) if row["kind"] == "dev"]
    for task in TASKS:
        for name in ("loss", "accuracy"):
            found = [row[f"{task}/{name}"] for row in rows]
            assert found == pytest.approx(RECORD["training_eval"][task][name], rel=1e-4)
        assert list((run / "training_eval" / task).glob("events.out.tfevents.*"))
    assert rows[0]["loss"] == pytest.approx(
        sum(rows[0][f"{task}/loss"] for task in TASKS) / 2, rel=1e-6
    )  # their targets are of the same lengths
    assert list((run / "training_eval/two_words").glob("events.out.tfevents.*"))


@pytest.mark.parametrize("task", TASKS)
def test_the_metrics_of_each_task_are_written_as_t5x_writes_them(run, task):
    lines = (run / f"inference_eval/{task}-metrics.jsonl").read_text().splitlines()
    found, expected = [json.loads(line) for line in lines], RECORD["inference_eval"][task]
    assert [line.keys() for line in found] == [line.keys() for line in expected]
    for line, theirs in zip(found, expected, strict=True):
        assert line == pytest.approx(theirs, rel=1e-4)


@pytest.mark.parametrize("mode", ["predict", "score"])
def test_inference(start, tmp_path, mode, capsys):
    call("infer", "model", "infer", CHECKPOINT_PATH=start, OUT=tmp_path, MODE=mode)
    lines = [json.loads(line) for line in Path(capsys.readouterr().out.splitlines()[-1]).read_text().splitlines()]
    assert lines[0]["inputs"] == {"inputs_pretokenized": "yes 0", "targets_pretokenized": "yes"}
    if mode == "score":
        assert [line["score"] for line in lines] == pytest.approx(RECORD["score"], abs=2e-4)
    else:
        assert [line["prediction"] for line in lines] == RECORD["predict"]


@pytest.mark.parametrize("kind", t5x_starts.PUBLISHED)
def test_predictions_in_the_vocabularies_of_mt5_and_umt5(kind, tmp_path, capsys):
    """Sentinels, UNK, BOS, and rows of the embedding that have no piece."""
    checkpoint = t5x_starts.write_start(tmp_path / "start", t5x_starts.PUBLISHED[kind])
    file = two_tasks.FOLDER / f"{kind}.model"
    given = {"CHECKPOINT_PATH": checkpoint, "OUT": tmp_path / "out", "TASK": f"{kind}_words"}
    given["SentencePieceVocabulary.sentencepiece_model_file"] = file
    call("infer", kind, "infer", **given)
    lines = Path(capsys.readouterr().out.splitlines()[-1]).read_text().splitlines()
    assert [json.loads(line)["prediction"] for line in lines] == RECORD[kind]
