"""Training, evaluation, inference and conversion in a bucket: real processes, an emulator of Google Cloud Storage."""

import importlib.util
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

if not all(map(importlib.util.find_spec, ("gcp_storage_emulator", "gcsfs"))):
    pytest.skip("needs gcp-storage-emulator and gcsfs: `make peers`", allow_module_level=True)

from gcs_emulator import BUCKET, bucket
from memory_task import config
from test_export import TEXTS, save_checkpoint

import lisax
from lisax.cli import main
from lisax.errors import LisaxError
from lisax.files import places
from lisax.files.places import COMMIT_NAME, exists, listing, place, remove_tree
from lisax.formats.examples import Example, Passage
from lisax.formats.vocabulary import train_vocabulary
from lisax.predict.model import Model
from lisax.training.train import train
from lisax.training.train_log import read_train_log
from lisax.weights.checkpoints import (
    CheckpointConfig,
    RestoreCheckpointConfig,
    SaveCheckpointConfig,
    best_checkpoint,
    complete_steps,
)
from lisax.weights.interop import convert
from lisax.weights.model_folder import ModelFolder
from lisax.weights.restore import load_parameters

QUERY, SENTENCES = "Who wrote in Tarn?", ["Mara Velin wrote three books.", "Tarn lies far away and is old and small."]
HERE = Path(__file__).parents[1] / "training"
ROOT = f"gs://{BUCKET}"
SCRIPT = """
import sys
sys.path.insert(0, {here!r})
from lisax.weights.checkpoints import SaveCheckpointConfig
from lisax.training.train import train
from memory_task import config
train(config(sys.argv[1], int(sys.argv[2]), save=SaveCheckpointConfig(period=2, keep=3)))
"""


@pytest.fixture(scope="module", autouse=True)
def emulator():
    with bucket() as environment:
        yield environment


def _process(*arguments) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT.format(here=str(HERE)), *map(str, arguments)],
        text=True,
        stderr=subprocess.PIPE,
        env=os.environ | {"JAX_PLATFORMS": "cpu"},
    )


def _wait_for(process: subprocess.Popen, condition) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            raise AssertionError(process.communicate()[1])
        time.sleep(0.05)


def _curve(model_dir: str) -> dict[int, float]:
    return {row["step"]: row["loss"] for row in read_train_log(model_dir) if row["kind"] == "train"}


@pytest.mark.parametrize("content", [b"", b"a\r", b"a\n", b"\r\n\n\n--==0==\n"])
def test_a_file_is_read_as_it_was_sent(content, tmp_path):
    (tmp_path / "file").write_bytes(content)
    places.send(tmp_path / "file", place(f"{ROOT}/sent"))
    assert place(f"{ROOT}/sent").read_bytes() == content


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The same training on a disk."""
    folder = tmp_path_factory.mktemp("whole")
    train(config(folder, 14, save=SaveCheckpointConfig(period=2, keep=3)))
    return folder


@pytest.mark.slow
def test_a_training_killed_at_many_moments_ends_as_one_that_was_not(whole):
    model_dir = f"{ROOT}/killed"
    for step in (1, 7):
        process = _process(model_dir, 14)
        _wait_for(process, lambda: exists(place(model_dir) / f"checkpoint_{step + step % 2}"))
        process.send_signal(signal.SIGKILL)
        process.communicate()
    process = _process(model_dir, 14)
    _, told = process.communicate(timeout=120)
    assert process.returncode == 0, told
    assert complete_steps(model_dir) == complete_steps(whole) == [10, 12, 14]
    assert _curve(model_dir) == pytest.approx(_curve(str(whole)))
    ours, theirs = load_parameters(ModelFolder.find(model_dir)), load_parameters(ModelFolder.find(whole))
    np.testing.assert_array_equal(
        ours["encoder"]["layers_0"]["mlp"]["wo"]["kernel"], theirs["encoder"]["layers_0"]["mlp"]["wo"]["kernel"]
    )
    assert not Path("gs:").exists()


def test_what_counts_and_what_is_removed():
    """A checkpoint without Orbax's last object does not count; pruning takes that object first."""
    model_dir = f"{ROOT}/counts"
    train(config(model_dir, 6, save=SaveCheckpointConfig(period=2, keep=None, best_metric="loss", best_mode="min")))
    assert complete_steps(model_dir) == [2, 4, 6]
    best = best_checkpoint(model_dir)
    (place(model_dir) / "checkpoint_6" / "state" / COMMIT_NAME).unlink()
    assert complete_steps(model_dir) == [2, 4]
    with pytest.raises(LisaxError, match="rest of an interrupted save"):
        load_parameters(ModelFolder.find(f"{model_dir}/checkpoint_6"))
    removed, system = [], places._system()
    with pytest.MonkeyPatch.context() as patch:
        rm_file = system.rm_file
        patch.setattr(system, "rm_file", lambda path: (removed.append(path), rm_file(path))[1])
        remove_tree(place(model_dir) / "checkpoint_4")
    assert removed[0].endswith(COMMIT_NAME) and len(removed) > 5
    assert complete_steps(model_dir) == [2]
    result = train(config(model_dir, 8, save=SaveCheckpointConfig(period=2, keep=1)))
    assert complete_steps(model_dir) == [8] and result.step == 8 and best is not None
    assert sorted(_curve(model_dir)) == list(range(1, 9))


@pytest.mark.slow
def test_sigterm_saves():
    model_dir = f"{ROOT}/stopped"
    process = _process(model_dir, 100_000)
    _wait_for(process, lambda: exists(place(model_dir) / "checkpoint_2" / "state" / COMMIT_NAME))
    process.send_signal(signal.SIGTERM)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 143, told
    latest = complete_steps(model_dir)[-1]
    assert f"saved at step {latest} of 100000" in told
    assert train(config(model_dir, latest + 2)).step == latest + 2


def test_another_runs_checkpoint(tmp_path):
    model_dir = place(f"{ROOT}/second")
    train(config(f"{ROOT}/first", 4))
    restore = CheckpointConfig(restore=RestoreCheckpointConfig(path=f"{ROOT}/first"))
    assert train(config(str(model_dir), 6, checkpoint=restore)).step == 6
    assert train(config(tmp_path, 6, checkpoint=restore)).step == 6
    np.testing.assert_array_equal(
        load_parameters(ModelFolder.find(model_dir))["token_embedder"]["embedding"],
        load_parameters(ModelFolder.find(tmp_path))["token_embedder"]["embedding"],
    )


# --- The verbs --------------------------------------------------------------------------------------------------------

TINY = {
    "MIXTURE_OR_TASK_MODULE": "tiny_task",
    "MIXTURE_OR_TASK_NAME": "first_word",
    "TASK_FEATURE_LENGTHS": {"inputs": 12, "targets": 6},
    "BATCH_SIZE": 8,
    "VOCAB_SIZE": 384,
    "T5Config.num_encoder_layers": 1,
    "T5Config.num_decoder_layers": 1,
}


def _verb(verb: str, run: str, **values) -> list[str]:
    return [
        verb,
        "--gin_file=models/t5_1_1_tiny.gin",
        f"--gin_file=runs/{run}.gin",
        *(f"--gin.{name}={value}" for name, value in (TINY | values).items()),
    ]


@pytest.fixture(scope="module")
def trained():
    assert main(_verb("train", "pretrain", MODEL_DIR=f"{ROOT}/tiny", TRAIN_STEPS=4)) == 0
    return f"{ROOT}/tiny"


def test_eval_and_infer(trained, tmp_path):
    outputs = {}
    for out in (f"{ROOT}/out", str(tmp_path)):
        assert main(_verb("eval", "eval", CHECKPOINT_PATH=trained, EVAL_OUTPUT_DIR=out)) == 0
        assert main(_verb("infer", "infer", CHECKPOINT_PATH=trained, INFER_OUTPUT_DIR=out)) == 0
        files = (path.relative_to(out).as_posix() for path in Path(out).rglob("*.*") if path.is_file())
        names = sorted(listing(place(out)) if out.startswith("gs:") else files)
        outputs[out] = {name: (place(out) / name).read_bytes() for name in names}
    bucket_files, disk_files = outputs.values()
    assert bucket_files == disk_files and len(bucket_files) == 3


def test_groups_of_lines_go_on_after_a_kill(tmp_path):
    path = f"{ROOT}/lines/out.jsonl"
    code = f"""if True:
        import sys, time
        from lisax.files.places import place
        from lisax.files.resumable import resumable_groups
        def work(n):
            time.sleep(0.3 if sys.argv[1] == "slow" else 0)
            print(n, flush=True)
            return [f"line {{n}} {{i}}" for i in range(3)]
        resumable_groups(place({path!r}), lambda done: map(work, range(done, 8)), made_from=sys.argv[2])"""

    def start(*arguments):
        return subprocess.Popen([sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, text=True)

    for made_from, first in (("a", "0"), ("a", "2"), ("b", "0")):
        process = start("slow", made_from)
        assert process.stdout.readline() == f"{first}\n"
        for _ in range(2):
            process.stdout.readline()
        process.kill()
        process.communicate()
        assert not exists(place(path))
    assert start("quick", "b").communicate()[0].split() == [str(n) for n in range(2, 8)]
    assert place(path).read_text().splitlines() == [f"line {n} {i}" for n in range(8) for i in range(3)]
    assert list(listing(place(f"{ROOT}/lines"))) == ["out.jsonl"]


def test_checkpoints_and_bundles(trained, tmp_path, capsys):
    assert main(["checkpoint", "show", trained]) == 0
    assert f"{ROOT}/tiny/checkpoint_4" in capsys.readouterr().out
    expected = load_parameters(ModelFolder.find(trained))["token_embedder"]["embedding"]
    for kind in ("t5x-native", "t5x-orbax", "huggingface"):
        out = f"{ROOT}/converted/{kind}"
        assert main(["checkpoint", "export", trained, "--format", kind, "--out", out]) == 0
        np.testing.assert_array_equal(load_parameters(ModelFolder.find(out))["token_embedder"]["embedding"], expected)
        with pytest.raises(LisaxError, match="is there already"):
            convert.export_checkpoint(ModelFolder.find(trained), out, kind)
        again = f"{ROOT}/imported/{kind}"
        assert main(["checkpoint", "import", out, "--out", again]) == 0
        assert complete_steps(again) == [0 if kind == "huggingface" else 4]
        np.testing.assert_array_equal(load_parameters(ModelFolder.find(again))["token_embedder"]["embedding"], expected)
    assert not list(tmp_path.iterdir()) and not Path("gs:").exists()


def relevance(path) -> list[float]:
    given = [Example(str(i), QUERY, (Passage(str(i), "", text),)) for i, text in enumerate(SENTENCES)]
    return Model.open(path).probabilities(given)[:, 0].tolist()


def test_a_bundle_is_written_to_a_bucket_and_read_there(tmp_path, monkeypatch):
    vocabulary = train_vocabulary(TEXTS, tmp_path / "spiece.model", 120).path
    checkpoint, bundle = f"{ROOT}/text/checkpoint_0", f"{ROOT}/bundle"
    save_checkpoint(place(f"{ROOT}/text"), vocabulary)
    sent, send = [], places.send
    with monkeypatch.context() as patch:
        patch.setattr(places, "send", lambda source, target: (sent.append(target.name), send(source, target)))
        assert main(["export", "--model", f"{ROOT}/text", "--out", bundle, "--format", "stablehlo"]) == 0
    assert sent[-1] == "model.safetensors" and "model.json" in sent  # until then it is no bundle
    save_checkpoint(tmp_path / "here", vocabulary)
    expected = relevance(tmp_path / "here")
    for path in (bundle, checkpoint, f"{ROOT}/text"):
        assert relevance(path) == pytest.approx(expected, abs=1e-5)
    ranked = lisax.load(bundle).rank(QUERY, SENTENCES)
    assert [one.score for one in sorted(ranked, key=lambda one: one.unit)] == pytest.approx(expected, abs=1e-5)
    assert main(["export", "--model", bundle, "--out", str(tmp_path / "again")]) == 0
    assert (tmp_path / "again/model.safetensors").read_bytes() == (place(bundle) / "model.safetensors").read_bytes()


@pytest.mark.parametrize(
    "command",
    [
        ["export", "--model", f"{ROOT}/missing", "--out", "o"],
        ["checkpoint", "show", "gs://no-such-bucket/x"],
        ["rerank", f"--model={ROOT}/missing", f"--claims={ROOT}/missing.jsonl", "--run=r", "--index=i", "--out=o"],
    ],
)
def test_what_is_not_there_is_told(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(command) == 1
    told = capsys.readouterr().err
    assert told.startswith("lisax: there is no") and told.count("\n") == 1 and "gs://" in told
    assert not list(tmp_path.iterdir())
