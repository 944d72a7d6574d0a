"""Whether training survives kills: two processes train one tiny model into a bucket, and SIGKILL ends one or both at random
moments, again and again. The same steps undisturbed must have the same losses, and parameters, to the last bit.

    python -m benchmarks.kills --kills 100 --seed 0

The bucket is that of gcp-storage-emulator (`make peers`). One kill in seven comes when the processes have just joined, the
others within seconds after the first step: in steps, evaluations and saves. Prints a line a kill, and a summary. A step that
is lost or changed is an error; a process that ends by itself is told and counted.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import math
import multiprocessing
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from unittest import mock

import jax
import numpy as np
from jax._src import compiler

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "training")]

from addresses import free_address
from gcs_emulator import BUCKET, bucket

from lisax.devices import hosts
from lisax.files.places import place
from lisax.training.train import train
from lisax.training.train_log import read_train_log
from lisax.weights.checkpoints import SaveCheckpointConfig, complete_steps, flatten
from lisax.weights.model_folder import ModelFolder
from lisax.weights.restore import load_parameters

JOINED, FIRST_STEP = "joined", "first step after"  # what processes tell
SPANS = {JOINED: 6.0, FIRST_STEP: 8.0}  # seconds after either, in which a kill comes
MOST_SECONDS = 600  # for which one process may outlive another, or a start may last
MOST_SECONDS_OF_A_RUN = 3600
ENDLESS, EVAL_PERIOD = 1_000_000, 8  # steps
# Processes are copies of one that has imported all this: half of a start is imports.
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(
    ["lisax.training.train", "memory_task", "orbax.checkpoint", "gcsfs", "tensorboard.summary.writer.record_writer"]
)


@dataclasses.dataclass(frozen=True)
class Kill:
    """`after`: what process 0 had told last. `victims`: indexes of the processes; empty where one ended by itself. `saved`:
    the newest complete checkpoint. `partial`: whether the rest of a save was left. `survived`: seconds until the process
    that was not killed had ended; None where both were."""

    after: str
    victims: tuple[int, ...]
    saved: int
    partial: bool
    survived: float | None


class EndedAloneError(RuntimeError):
    """A process ended, and nobody had killed one."""


@dataclasses.dataclass(frozen=True)
class Work:
    """What one of two processes does, from its start to its end. `environment`: where the bucket is."""

    model_dir: str
    steps: int
    folder: Path
    environment: Mapping[str, str]

    def __call__(self, index: int, address: str) -> None:
        with self.told(index).open("w") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        os.environ |= self.environment
        jax.config.update("jax_platforms", "cpu")
        jax.config.update("jax_num_cpu_devices", 1)
        self._keep_compiled()
        hosts.connect(address, 2, index)
        print(JOINED, flush=True)
        from memory_task import config

        save = SaveCheckpointConfig(period=2, keep=2, best_metric="loss", best_mode="min")
        train(config(self.model_dir, self.steps, save=save, eval_period=EVAL_PERIOD))
        jax.distributed.shutdown()  # which the end of a copied process does not do

    def told(self, index: int) -> Path:
        """The file of what a process tells."""
        return self.folder / f"process_{index}.txt"

    def _keep_compiled(self) -> None:
        """Half of a start is compilation. JAX would keep process 0's programs alone, which the other cannot use."""
        jax.config.update("jax_compilation_cache_dir", str(self.folder / "compiled"))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        write = compiler._cache_write

        def write_in_each(*arguments):
            with mock.patch.object(compiler.distributed.global_state, "process_id", 0):
                write(*arguments)

        compiler._cache_write = write_in_each


class Pair:
    """Two processes at the same work."""

    def __init__(self, work: Work):
        address = free_address()
        self._told = [work.told(index) for index in range(2)]
        self.processes = []
        for index, told in enumerate(self._told):
            told.write_text("")
            self.processes.append(PROCESSES.Process(target=work, args=(index, address)))
            self.processes[-1].start()

    def told(self) -> str:
        return "\n".join(file.read_text() for file in self._told)

    def wait_until_told(self, what: str) -> None:
        deadline = time.monotonic() + MOST_SECONDS
        while what not in self._told[0].read_text():
            self.check_running()
            if time.monotonic() > deadline:
                raise RuntimeError(f"nobody told '{what}' in {MOST_SECONDS} s:\n{self.told()}")
            time.sleep(0.05)

    def check_running(self) -> None:
        if not all(process.is_alive() for process in self.processes):
            self.kill((0, 1))
            raise EndedAloneError(f"a process ended by itself:\n{self.told()}")

    def kill(self, victims: tuple[int, ...]) -> float | None:
        for index in victims:
            self.processes[index].kill()
        killed = time.monotonic()
        for process in self.processes:
            process.join(MOST_SECONDS)
            if process.is_alive():
                process.kill()
                raise RuntimeError(f"a process outlived another by {MOST_SECONDS} s:\n{self.told()}")
        if any(process.exitcode == 0 for process in self.processes):
            raise RuntimeError(f"a process ended as if the other had not been killed:\n{self.told()}")
        return time.monotonic() - killed if len(victims) == 1 else None

    def finish(self) -> None:
        deadline = time.monotonic() + MOST_SECONDS_OF_A_RUN
        for process in self.processes:
            process.join(deadline - time.monotonic())
        if any(process.is_alive() for process in self.processes):
            self.kill((0, 1))
            raise RuntimeError(f"the run did not end in {MOST_SECONDS_OF_A_RUN} s:\n{self.told()}")
        if any(process.exitcode for process in self.processes):
            raise RuntimeError(f"a process failed:\n{self.told()}")


def kill_once(work: Work, draw: random.Random, after: str) -> Kill:
    model_dir = work.model_dir
    before = [0, *complete_steps(model_dir)]
    pair = Pair(work)
    try:
        pair.wait_until_told(after)
        time.sleep(draw.uniform(0, SPANS[after]))
        pair.check_running()
        victims = draw.choice([(0,), (1,), (0, 1), (0, 1)])
        survived = pair.kill(victims)
    except EndedAloneError as error:
        print(error, flush=True)
        victims, survived = (), None
    found = [0, *complete_steps(model_dir)]
    if found[-1] < before[-1]:
        raise RuntimeError(f"the checkpoint of step {before[-1]} is gone; there are {found[1:]}:\n{pair.told()}")
    partial = len(list(place(model_dir).glob("checkpoint_*"))) > len(found) - 1
    return Kill(after, victims, found[-1], partial, survived)


def kill_often(work: Work, kills: int, seed: int, minutes: float) -> list[Kill]:
    """Until there were so many, or the time is over; ends of processes that nobody killed do not count, and may not be
    more."""
    draw, done, deadline = random.Random(seed), [], time.monotonic() + 60 * minutes
    while not done or (sum(bool(kill.victims) for kill in done) < kills and time.monotonic() < deadline):
        done.append(kill_once(work, draw, JOINED if draw.random() < 0.15 else FIRST_STEP))
        print(f"{len(done)}  {done[-1]}", flush=True)
        if len(done) > 2 * kills:
            raise RuntimeError("most processes ended by themselves")
    return done


def compare(model_dir: str, undisturbed: str, steps: int) -> None:
    """Raises RuntimeError where a step or an evaluation of the first is missing, doubled or not that of the second, or
    where their parameters differ."""
    curves = []
    for folder in (model_dir, undisturbed):
        rows = read_train_log(folder)
        for kind, expected in (("train", range(1, steps + 1)), ("dev", range(EVAL_PERIOD, steps + 1, EVAL_PERIOD))):
            found = [row["step"] for row in rows if row["kind"] == kind]
            if found != sorted({*expected, *([steps] if kind == "dev" else [])}):
                raise RuntimeError(f"{folder}: the {kind} rows are of the steps {found}")
        curves.append([(row["step"], row["kind"], row["loss"], row.get("gradient_norm")) for row in rows])
    for one, other in zip(*curves, strict=True):
        if one != other:
            raise RuntimeError(f"step {one[0]} is {one} after kills and {other} undisturbed")
    parameters = [
        flatten(load_parameters(ModelFolder.find(f"{folder}/checkpoint_{steps}")))
        for folder in (model_dir, undisturbed)
    ]
    for name, array in parameters[0].items():
        np.testing.assert_array_equal(array, parameters[1][name], err_msg=name)


def run(kills: int, seed: int, minutes: float = math.inf) -> list[Kill]:
    """Kills, for so many minutes at most, lets the run end and compares it with one that nothing disturbed, which is on this machine's disk."""
    with tempfile.TemporaryDirectory() as scratch, bucket() as environment:
        killed = Work(f"gs://{BUCKET}/killed", ENDLESS, Path(scratch), environment)
        done = kill_often(killed, kills, seed, minutes)
        killed = dataclasses.replace(killed, steps=done[-1].saved + 10)
        undisturbed = dataclasses.replace(killed, model_dir=str(Path(scratch) / "undisturbed"))
        for work in (killed, undisturbed):
            Pair(work).finish()
        compare(killed.model_dir, undisturbed.model_dir, killed.steps)
    return done


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=math.inf, help="after which no further kill comes")
    options = parser.parse_args()
    started = time.monotonic()
    jax.config.update("jax_platforms", "cpu")
    done = run(options.kills, options.seed, options.minutes)
    killed = [kill for kill in done if kill.victims]
    survived = [kill.survived for kill in killed if kill.survived is not None]
    minutes = (time.monotonic() - started) / 60
    print(f"{len(killed)} kills in {minutes:.0f} minutes, {done[-1].saved + 10} steps, all equal")
    print("kills by moment and victims:", dict(collections.Counter((kill.after, kill.victims) for kill in killed)))
    print("ends that nobody had caused:", len(done) - len(killed))
    print("kills that left a partial save:", sum(kill.partial for kill in killed))
    if survived:
        print(f"seconds the other process lived: median {statistics.median(survived):.2f}, most {max(survived):.1f}")


if __name__ == "__main__":
    main()
