"""Whether training survives kills: two processes train one tiny model into a bucket, and SIGKILL ends one or both at random
moments, again and again. The same steps undisturbed must have the same losses, and parameters, to the last bit.

    python -m benchmarks.kills --kills 100 --seed 0

The bucket is that of gcp-storage-emulator (`make peers`). A fifth of the kills come when the processes have just joined, the others
within seconds after their first step: in steps, evaluations and saves. Prints a line a kill, and at the end a summary; a
step that is lost or changed is an error; a process that ends by itself is counted.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from gcs_emulator import BUCKET, bucket

from lisax.places import place
from lisax.runtime.checkpoints import complete_steps, flatten
from lisax.runtime.restore import load_parameters
from lisax.runtime.train_log import read_train_log

WORKER = """
import sys
from lisax.runtime import hosts
address, index, model_dir, steps = sys.argv[1:]
hosts.connect(address, 2, int(index))
print("joined", flush=True)
from lisax.runtime.checkpoints import SaveCheckpointConfig
from lisax.runtime.train import train
from memory_task import config
save = SaveCheckpointConfig(period=2, keep=2, best_metric="loss", best_mode="min")
train(config(model_dir, int(steps), save=save, eval_period=8))
"""
JOINED, FIRST_STEP = "joined", "first step after"  # what processes tell
SPANS = {JOINED: 6.0, FIRST_STEP: 8.0}  # seconds after either, in which a kill comes
MOST_SECONDS = 180  # for which one process may outlive another, or a start may last
ENDLESS = 1_000_000


@dataclasses.dataclass(frozen=True)
class Kill:
    """`after`: what process 0 had told last. `victims`: indexes of the processes; empty where one ended by itself. `saved`: the newest complete checkpoint. `partial`: whether the kill left the
    rest of a save. `survived`: seconds until a process that was not killed had ended; None where both were."""

    after: str
    victims: tuple[int, ...]
    saved: int
    partial: bool
    survived: float | None


class EndedAloneError(RuntimeError):
    """A process ended, and nobody had killed one."""


class Pair:
    """Two processes that train in `model_dir`; what they tell goes to files in `folder`."""

    def __init__(self, model_dir: str, steps: int, folder: Path):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{free.getsockname()[1]}"
        self._told = [folder / f"process_{index}.txt" for index in range(2)]
        path = os.pathsep.join(map(str, (ROOT, ROOT / "tests" / "runtime")))
        environment = {
            "JAX_PLATFORMS": "cpu",
            "JAX_NUM_CPU_DEVICES": "1",
            "PYTHONPATH": path,
            # Half of a start is compilation.
            "JAX_COMPILATION_CACHE_DIR": str(folder / "compiled"),
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        }
        self.processes = []
        for index, told in enumerate(self._told):
            with told.open("w") as file:
                self.processes.append(
                    subprocess.Popen(
                        [sys.executable, "-c", WORKER, address, str(index), model_dir, str(steps)],
                        stdout=file,
                        stderr=file,
                        env=os.environ | environment,
                    )
                )

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
        if any(process.poll() is not None for process in self.processes):
            self.kill((0, 1))
            raise EndedAloneError(f"a process ended by itself:\n{self.told()}")

    def kill(self, victims: tuple[int, ...]) -> float | None:
        for index in victims:
            self.processes[index].kill()
        killed = time.monotonic()
        for process in self.processes:
            try:
                process.wait(MOST_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                raise RuntimeError(f"a process outlived another by {MOST_SECONDS} s:\n{self.told()}") from None
        if any(process.returncode == 0 for process in self.processes):
            raise RuntimeError(f"a process ended as if the other had not been killed:\n{self.told()}")
        return time.monotonic() - killed if len(victims) == 1 else None

    def finish(self) -> None:
        if [process.wait() for process in self.processes] != [0, 0]:
            raise RuntimeError(f"a process failed:\n{self.told()}")


def kill_once(model_dir: str, draw: random.Random, folder: Path, after: str) -> Kill:
    before = [0, *complete_steps(model_dir)]
    pair = Pair(model_dir, ENDLESS, folder)
    try:
        pair.wait_until_told(after)
        time.sleep(draw.uniform(0, SPANS[after]))
        pair.check_running()
        victims = draw.choice([(0,), (1,), (0, 1)])
        survived = pair.kill(victims)
    except EndedAloneError as error:
        print(error, flush=True)
        victims, survived = (), None
    found = [0, *complete_steps(model_dir)]
    if found[-1] < before[-1]:
        raise RuntimeError(f"the checkpoint of step {before[-1]} is gone; there are {found[1:]}:\n{pair.told()}")
    partial = len(list(place(model_dir).glob("checkpoint_*"))) > len(found) - 1
    return Kill(after, victims, found[-1], partial, survived)


def kill_often(model_dir: str, kills: int, seed: int, folder: Path) -> list[Kill]:
    draw, done = random.Random(seed), []
    for number in range(kills):
        done.append(kill_once(model_dir, draw, folder, JOINED if draw.random() < 0.2 else FIRST_STEP))
        print(f"{number + 1}  {done[-1]}", flush=True)
    return done


def compare(model_dir: str, undisturbed: str, steps: int) -> None:
    """Raises RuntimeError where a step or an evaluation of the first is missing, doubled or not that of the second, or
    where their parameters differ."""
    curves = []
    for folder in (model_dir, undisturbed):
        rows = [row for row in read_train_log(folder)]
        for kind, expected in (("train", range(1, steps + 1)), ("dev", range(8, steps + 1, 8))):
            found = [row["step"] for row in rows if row["kind"] == kind]
            if found != sorted({*expected, *([steps] if kind == "dev" else [])}):
                raise RuntimeError(f"{folder}: the {kind} rows are of the steps {found}")
        curves.append([(row["step"], row["kind"], row["loss"], row.get("gradient_norm")) for row in rows])
    for one, other in zip(*curves, strict=True):
        if one != other:
            raise RuntimeError(f"step {one[0]} is {one} after kills and {other} undisturbed")
    parameters = [flatten(load_parameters(f"{folder}/checkpoint_{steps}")) for folder in (model_dir, undisturbed)]
    for name, array in parameters[0].items():
        np.testing.assert_array_equal(array, parameters[1][name], err_msg=name)


def run(kills: int, seed: int) -> list[Kill]:
    """Kills, lets the run end and compares it with one that nothing disturbed, which is on this machine's disk."""
    with tempfile.TemporaryDirectory() as scratch, bucket():
        folder, model_dir = Path(scratch), f"gs://{BUCKET}/killed"
        done = kill_often(model_dir, kills, seed, folder)
        steps = done[-1].saved + 10
        for where in (model_dir, str(folder / "undisturbed")):
            Pair(where, steps, folder).finish()
        compare(model_dir, str(folder / "undisturbed"), steps)
    return done


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    started = time.monotonic()
    done = run(options.kills, options.seed)
    survived = sorted(kill.survived for kill in done if kill.survived is not None)
    print(
        f"{len(done)} kills in {(time.monotonic() - started) / 60:.0f} minutes, {done[-1].saved + 10} steps, all equal"
    )
    print("kills by moment and victims:", dict(collections.Counter((kill.after, kill.victims) for kill in done)))
    print("kills that left a partial save:", sum(kill.partial for kill in done))
    if survived:
        print(
            f"seconds that the other process lived: median {statistics.median(survived):.2f}, most {survived[-1]:.1f}"
        )


if __name__ == "__main__":
    main()
