"""Two real processes that train one model together, against one process with as many devices."""

import importlib.util
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

HERE = Path(__file__).parents[1] / "training"

from addresses import free_address

from lisax.training.train_log import read_train_log
from lisax.weights.checkpoints import complete_steps

GIN = [
    *"MIXTURE_OR_TASK_MODULE=tiny_task MIXTURE_OR_TASK_NAME=first_word BATCH_SIZE=8 VOCAB_SIZE=384".split(),
    *"T5Config.num_encoder_layers=1 T5Config.num_decoder_layers=1 DROPOUT_RATE=0.1 train.log_period=1".split(),
    "TASK_FEATURE_LENGTHS={'inputs': 12, 'targets': 6}",
]


def _start(
    model_dir: Path | str, steps: int, *, devices: int, among: tuple = (), layout: tuple = ()
) -> subprocess.Popen:
    command = [
        sys.executable,
        *"-P -m lisax train --gin_file=models/t5_1_1_tiny.gin --gin_file=runs/pretrain.gin".split(),
        f"--gin.MODEL_DIR={model_dir}",
        f"--gin.TRAIN_STEPS={steps}",
        *(f"--gin.{line}" for line in (*GIN, *layout)),
        *among,
    ]
    environment = os.environ | {
        "JAX_NUM_CPU_DEVICES": str(devices),
        "JAX_PLATFORMS": "cpu",
        "PYTHONPATH": os.pathsep.join([str(HERE), *sys.path]),
    }
    return subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)


def _start_two(model_dir: Path | str, steps: int, **options) -> list[subprocess.Popen]:
    address = free_address()
    among = [(f"--coordinator_address={address}", "--process_count=2", f"--process_index={i}") for i in range(2)]
    return [_start(model_dir, steps, devices=2, **options, among=one) for one in among]


def _ends(processes: list[subprocess.Popen]) -> list[tuple[int, str]]:
    return [(process.returncode, texts[1]) for process in processes for texts in [process.communicate(timeout=240)]]


def _wait_for_steps(model_dir: Path, steps: int, processes: list[subprocess.Popen]) -> None:
    deadline = time.monotonic() + 200
    while True:
        if (model_dir / "train_log.jsonl").exists() and len(read_train_log(model_dir)) > steps:
            return
        if time.monotonic() > deadline or any(process.poll() is not None for process in processes):
            raise AssertionError(_ends(processes))
        time.sleep(0.05)


def _losses(model_dir: Path | str) -> list[float]:
    return [row["loss"] for row in read_train_log(model_dir) if row["kind"] == "train"]


@pytest.mark.slow
def test_two_processes_learn_what_one_does(tmp_path):
    """Parameters split over both processes (fully sharded, and each matrix over two devices), dropout on."""
    layout = ("PjitPartitioner.num_partitions=2", "PjitPartitioner.parameter_partitioning_dims=2")
    two = _start_two(tmp_path / "two", 6, layout=layout)
    one = _start(tmp_path / "one", 6, devices=4, layout=layout)
    for code, told in _ends([*two, one]):
        assert code == 0, told
    assert len(_losses(tmp_path / "one")) == 6
    assert _losses(tmp_path / "two") == pytest.approx(_losses(tmp_path / "one"), rel=1e-5)
    # What two processes saved, one goes on with.
    ((code, told),) = _ends([_start(tmp_path / "two", 8, devices=4, layout=layout)])
    assert code == 0 and "from step 6" in told, told
    assert len(_losses(tmp_path / "two")) == 8


@pytest.mark.slow
def test_the_death_of_one_process_ends_the_other_and_the_run_goes_on_later(tmp_path):
    processes = _start_two(tmp_path / "m", 100_000, layout=("SaveCheckpointConfig.period=20",))
    _wait_for_steps(tmp_path / "m", 50, processes)
    processes[1].kill()
    (code, told), _ = _ends(processes)
    assert code != 0 and "start all processes again with the same command" in told, told
    saved = complete_steps(tmp_path / "m")[-1]
    for code, told in _ends(_start_two(tmp_path / "m", saved + 2)):
        assert code == 0, told
    assert complete_steps(tmp_path / "m")[-1] == saved + 2


def test_processes_that_cannot_meet():
    # In a process of its own: joining others is possible only before JAX has computed anything.
    script = (
        "import sys; from lisax.cli import main; "
        "sys.exit(main(['train', '--gin_file=runs/finetune.gin', '--multiprocess']))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | {"JAX_PLATFORMS": "cpu"},
    )
    assert ended.returncode != 0 and "did not find each other" in ended.stderr, ended.stderr


@pytest.mark.slow
def test_two_processes_write_one_checkpoint_in_a_bucket(tmp_path):
    """And go on after both were killed in the middle of saves; the losses are those of a run on a disk."""
    if not all(map(importlib.util.find_spec, ("gcp_storage_emulator", "gcsfs"))):
        pytest.skip("needs gcp-storage-emulator and gcsfs: `make peers`")
    from gcs_emulator import BUCKET, bucket

    from lisax.files.places import COMMIT_NAME, exists, listing, place

    layout = ("PjitPartitioner.num_partitions=2", "SaveCheckpointConfig.period=2")
    with bucket():
        model_dir = f"gs://{BUCKET}/two"
        processes = _start_two(model_dir, 8, layout=layout)
        deadline = time.monotonic() + 200
        while not exists(place(model_dir) / "checkpoint_4" / "model.json"):
            assert time.monotonic() < deadline and all(process.poll() is None for process in processes), _ends(
                processes
            )
            time.sleep(0.02)
        for process in processes:
            process.kill()
        _ends(processes)
        for code, told in _ends(_start_two(model_dir, 8, layout=layout)):
            assert code == 0, told
        assert complete_steps(model_dir)[-1] == 8
        names = list(listing(place(model_dir) / "checkpoint_8" / "state"))
        assert COMMIT_NAME in names and {"ocdbt.process_0", "ocdbt.process_1"} <= {name.split("/")[0] for name in names}
        ((code, told),) = _ends([_start(tmp_path / "one", 8, devices=4, layout=layout)])
        assert code == 0, told
        assert _losses(model_dir) == pytest.approx(_losses(tmp_path / "one"), rel=1e-5)
        assert not Path("gs:").exists()


LONE_MEETING = """
import atexit, os, sys, threading, time
# Registered first, so called last: after it Python finalizes, and a thread that is left aborts the process.
atexit.register(lambda: any(one.name == "lisax-alive" for one in threading.enumerate()) and os._exit(3))
from lisax.devices import hosts
address, index = sys.argv[1:]
hosts.connect(address, 2, int(index))
hosts.MEETING_PERIOD = (0.01, 1000)[int(index)]
meet = hosts.wait_for_all
def slowly(what, **options):
    try:
        meet(what, **options)
    finally:
        time.sleep(0.5 * (what == "alive"))
hosts.wait_for_all = slowly
with hosts.ending_together():
    time.sleep(0.2)
"""


@pytest.mark.slow
def test_a_thread_that_meets_nobody_ends_before_python_does():
    """Process 0 waits for a meeting to which process 1 does not come any more."""
    address = free_address()
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", LONE_MEETING, address, str(index)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"JAX_PLATFORMS": "cpu"},
        )
        for index in range(2)
    ]
    ends = _ends(processes)
    assert [code for code, _ in ends] == [0, 0], ends
