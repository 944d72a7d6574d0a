"""Processes that are told to go in the middle of their work, and runs that go on with another number of them."""

import os
import signal
import subprocess
import sys
import time
import types
from collections.abc import Mapping
from pathlib import Path

import pytest

HERE = Path(__file__).parent

from addresses import free_address
from checkpoint_files import assert_same, parameters_of
from test_preemption import metadata_server

from lisax.training.train_log import read_train_log
from lisax.weights.checkpoints import complete_steps, read_metrics

WORKER = """
import json, sys, time
model_dir, steps, layout, batches, *joins = sys.argv[1:]
from lisax.devices import hosts
from lisax.training import preemption
if joins:
    hosts.connect(joins[0], int(joins[1]), int(joins[2]))
from lisax.weights.checkpoints import SaveCheckpointConfig
from lisax.devices.partitioning import PjitPartitioner
from lisax.training.train import train
from memory_task import batch_of, config
preemption.POLL_SECONDS = 0.2

def dev():
    print("evaluates", flush=True)
    for i in range(int(batches)):
        time.sleep(0.25 * (i > 4))
        yield batch_of(10_000 + i)

save = SaveCheckpointConfig(period=3, keep=None)
try:
    train(config(model_dir, int(steps), save=save, dev_data=dev, partitioner=PjitPartitioner(**json.loads(layout))))
except KeyboardInterrupt:
    sys.exit(130)
"""
WHOLE, SPLIT = "{}", '{"num_partitions": 2, "parameter_partitioning_dims": 2}'


def _start(
    model_dir: Path,
    steps: int,
    processes: int,
    devices: int,
    *,
    layout: str = WHOLE,
    batches: int = 4,
    environments: Mapping[int, dict[str, str]] = types.MappingProxyType({}),
) -> list[subprocess.Popen]:
    """`batches`: of the dev data; all after the fifth take a quarter of a second. `environments`: what single processes
    have."""
    address = free_address()
    common = {
        "JAX_PLATFORMS": "cpu",
        "JAX_NUM_CPU_DEVICES": str(devices),
        "PYTHONPATH": os.pathsep.join([str(HERE), *sys.path]),
    }
    return [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(model_dir), str(steps), layout, str(batches)]
            + ([address, str(processes), str(index)] if processes > 1 else []),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | common | environments.get(index, {}),
        )
        for index in range(processes)
    ]


def _end(processes: list[subprocess.Popen], codes: list[int]) -> list[str]:
    ends = [(texts, process.returncode) for process in processes for texts in [process.communicate(timeout=240)]]
    assert [code for _, code in ends] == codes, ends
    return [texts[1] for texts, _ in ends]


def _curve(model_dir: Path, kind: str = "train") -> dict[int, float]:
    return {row["step"]: row["loss"] for row in read_train_log(model_dir) if row["kind"] == kind}


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    """Nine steps of one process with one device."""
    folder = tmp_path_factory.mktemp("one")
    _end(_start(folder, 9, 1, 1), [0])
    return folder


@pytest.mark.slow
def test_a_run_goes_on_with_other_processes_and_devices(one, tmp_path):
    """Losses and parameters are those of one device, but for the order in which the devices' sums are added."""
    for steps, processes, devices, layout in ((3, 1, 1, WHOLE), (6, 2, 2, SPLIT), (9, 1, 4, WHOLE)):
        _end(_start(tmp_path, steps, processes, devices, layout=layout), [0] * processes)
    assert _curve(tmp_path) == pytest.approx(_curve(one), rel=1e-6)
    assert list(_curve(tmp_path)) == list(range(1, 10))
    evaluated = _curve(tmp_path, "dev")
    for step, loss in _curve(one, "dev").items():
        assert evaluated[step] == pytest.approx(loss, rel=1e-6)
    assert_same(parameters_of(tmp_path), parameters_of(one), rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["SIGTERM", "SIGINT", "notice"])
def test_a_word_to_one_of_two_ends_both_in_the_middle_of_an_evaluation(one, tmp_path, how):
    """To the second of them; the evaluation would take minutes."""
    machine = {"preempted": "FALSE", "maintenance-event": "NONE"}
    with metadata_server(machine) as host:
        processes = _start(tmp_path, 9, 2, 1, batches=1000, environments={1: {"GCE_METADATA_HOST": host}})
        for process in processes:
            assert "evaluates\n" in process.stdout  # after what Gloo prints
        if how == "notice":
            machine["maintenance-event"] = "TERMINATE_ON_HOST_MAINTENANCE"
        else:
            processes[1].send_signal(signal.Signals[how])
        told = time.monotonic()
        said = _end(processes, [143, 130 if how == "SIGINT" else 143])
    assert time.monotonic() - told < 60
    assert "saved at step 4 of 9" in said[0]
    assert complete_steps(tmp_path) == [3, 4] and not read_metrics(tmp_path / "checkpoint_4")["metrics"]
    _end(_start(tmp_path, 9, 1, 1), [0])
    for kind in ("train", "dev"):
        assert _curve(tmp_path, kind) == pytest.approx(_curve(one, kind), rel=1e-6)
