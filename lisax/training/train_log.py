"""The logs of a run: `train_log.jsonl`, TensorBoard scalars, a progress line."""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
import time
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax

from lisax.devices import hosts
from lisax.errors import LisaxError
from lisax.files.places import GrowingFile, place
from lisax.files.writing import atomic_write, naming

LOG_NAME = "train_log.jsonl"
SENDING_SECONDS = 30


class EventFile:
    """Scalars in a TensorBoard event file, written without importing TensorFlow."""

    def __init__(self, folder: Path):
        from tensorboard.compat.proto import event_pb2, summary_pb2
        from tensorboard.summary.writer.record_writer import RecordWriter

        self._event, self._summary = event_pb2.Event, summary_pb2.Summary
        now = time.time()
        self.path = folder / f"events.out.tfevents.{now:.6f}.{os.getpid()}"
        self._file = GrowingFile(self.path, "wb")
        self._writer = RecordWriter(self._file.file)
        with naming(self.path):
            self._writer.write(self._event(wall_time=now, file_version="brain.Event:2").SerializeToString())

    def write(self, step: int, scalars: Mapping[str, float]) -> None:
        values = [self._summary.Value(tag=name, simple_value=value) for name, value in scalars.items()]
        event = self._event(wall_time=time.time(), step=step, summary=self._summary(value=values))
        self._writer.write(event.SerializeToString())
        self._writer.flush()

    def sync(self) -> None:
        self._file.sync()

    def close(self) -> None:
        self._file.close()


class TrainLog:
    """Scalars of a run in MODEL_DIR: `train_log.jsonl` and event files in `train/` and, as T5X has them, one for each task
    in `training_eval/{task}/`. `evaluated` is the task or mixture that metrics without a task's name are of.

    A line: {"step", "kind": "train" | "dev", then scalars}. Lines after `step` are of a run that was
    interrupted before it saved, and are dropped: the resumed run writes them again. In a bucket nothing can be added to
    an object: files are sent as wholes, each time at most once in `SENDING_SECONDS`, and before every save."""

    def __init__(self, model_dir: Path, step: int, evaluated: str = ""):
        self._model_dir, self._evaluated = model_dir, evaluated
        self.path = model_dir / LOG_NAME
        self._silent = not hosts.is_first()
        if self._silent:
            return
        if self.path.exists():
            kept = [row for row in read_train_log(model_dir) if row["step"] <= step]
            with atomic_write(self.path) as file:
                file.writelines(json.dumps(row) + "\n" for row in kept)
        self._log, self._sent = GrowingFile(self.path, "a"), time.monotonic()
        self._events: dict[str, EventFile] = {}

    def write(self, step: int, kind: str, scalars: Mapping[str, float]) -> None:
        if self._silent:
            return
        try:
            writing = self.path
            self._log.file.write(json.dumps({"step": step, "kind": kind, **scalars}) + "\n")
            self._log.file.flush()
            of_folder: dict[str, dict[str, float]] = defaultdict(dict)
            for name, value in scalars.items():
                task, _, metric = name.rpartition("/") if kind == "dev" else ("", "", name)
                folder = "train" if kind == "train" else f"training_eval/{task or self._evaluated}".rstrip("/")
                of_folder[folder][metric] = value
            for folder, values in of_folder.items():
                if folder not in self._events:
                    self._events[folder] = EventFile(self._model_dir / folder)
                writing = self._events[folder].path
                self._events[folder].write(step, values)
        except OSError as error:
            raise LisaxError(
                f"{writing} could not be written: {error.strerror}. Check that the disk has room; "
                "the checkpoints are whole, and the same command resumes from the newest"
            ) from error

        if time.monotonic() - self._sent > SENDING_SECONDS:
            self.sync()

    def sync(self) -> None:
        """Sends the lines that a bucket does not have yet; files on this machine are written already."""
        if self._silent:
            return
        for file in (self._log, *self._events.values()):
            file.sync()
        self._sent = time.monotonic()

    def close(self) -> None:
        if self._silent:
            return
        for file in (self._log, *self._events.values()):
            with contextlib.suppress(OSError):  # `write` has reported the lines that could not be written
                file.close()


def read_train_log(model_dir: str | os.PathLike) -> list[dict[str, Any]]:
    """The lines of a run's `train_log.jsonl`; a last line cut short by a kill is left out."""
    rows = []
    for line in (place(model_dir) / LOG_NAME).read_text(encoding="utf-8").splitlines():
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError:
            break
    return rows


def means(totals: Mapping[str, float], ratios: Mapping[str, tuple[str, str]]) -> dict[str, float]:
    """Metrics, each the ratio of two of an objective's sums."""
    return {name: totals[part] / max(totals[whole], 1.0) for name, (part, whole) in ratios.items()}


class Meter:
    """Gathers metrics that are still on the device and turns them into scalars every few steps.

    The host waits for the device only in `flush`, and in `add` for the step before last: that much
    run-ahead keeps the device busy and bounds the queue."""

    def __init__(self, ratios: Mapping[str, tuple[str, str]]):
        self._ratios = ratios
        self._pending: list[dict[str, jax.Array]] = []
        self._seconds = 0.0
        self._started: float | None = None
        self._untimed = 0  # steps among the pending that were taken before time was counted

    def add(self, metrics: dict[str, jax.Array]) -> None:
        self._pending.append(metrics)
        if len(self._pending) > 2:
            jax.block_until_ready(self._pending[-3]["loss"])

    def run(self) -> None:
        """Time counts from here (again) as training time."""
        if self._started is None:
            if not self._seconds:
                self._untimed = len(self._pending)
            self._started = time.perf_counter()

    def pause(self) -> None:
        """Time from here on is saving or evaluation."""
        if self._pending:
            jax.block_until_ready(self._pending[-1]["loss"])
        if self._started is not None:
            self._seconds += time.perf_counter() - self._started
            self._started = None

    def flush(self, step: int, saved: Path | None = None) -> dict[str, float] | None:
        """Scalars of the steps since the last flush, the last of which is `step`; None if there were none.
        Rates are left out if no step was timed.

        A loss that is not a number is an error; `saved` is the newest checkpoint."""
        if not self._pending:
            return None
        running = self._started is not None
        self.pause()
        fetched = jax.device_get(self._pending)
        first = step - len(fetched) + 1
        for i, metrics in enumerate(fetched):
            if not math.isfinite(metrics["loss"]):
                raise LisaxError(
                    f"the loss of step {first + i} is {float(metrics['loss'])}, and nothing was saved"
                    f"{f' after {saved}' if saved else ''}: lower the learning rate, lengthen the warm-up, or use float32 "
                    "activations (ACTIVATION_DTYPE='float32'), and run the same command again"
                    + (f"; if that fails too, delete {saved}, whose parameters may be damaged already" if saved else "")
                )
        totals = {name: float(sum(m[name] for m in fetched)) for name in fetched[0]}
        scalars = means(totals, self._ratios) | {
            "learning_rate": float(fetched[-1]["learning_rate"]),
            "gradient_norm": totals["gradient_norm"] / len(fetched),
        }
        timed = fetched[self._untimed :]
        if timed:
            tokens = sum(m["input_tokens"] + m["target_tokens"] for m in timed)
            scalars |= {
                "examples_per_second": float(sum(m["examples"] for m in timed)) / self._seconds,
                "tokens_per_second": float(tokens) / self._seconds,
                "steps_per_second": len(timed) / self._seconds,
            }
        self._pending, self._seconds, self._untimed = [], 0.0, 0
        if running:
            self.run()
        return scalars


class Progress:
    """One line on stderr: rewritten in place on a terminal, otherwise a new line at most every 10 seconds."""

    def __init__(self, total_steps: int):
        self._total = total_steps
        self._terminal = sys.stderr.isatty()
        self._shown = -math.inf

    def show(self, step: int, scalars: Mapping[str, float]) -> None:
        now = time.perf_counter()
        if not hosts.is_first():
            return
        if not self._terminal and now - self._shown < 10 and step < self._total:
            return
        self._shown = now
        line = (
            f"step {step}/{self._total}  loss {scalars['loss']:.4f}  accuracy {scalars['accuracy']:.3f}  "
            f"lr {scalars['learning_rate']:.2e}"
        )
        if "steps_per_second" in scalars:
            left = (self._total - step) / scalars["steps_per_second"]
            line += (
                f"  {scalars['examples_per_second']:.1f} examples/s  "
                f"{scalars['tokens_per_second']:,.0f} tokens/s  {_duration(left)} left"
            )
        self._rewind()
        print(line, end="" if self._terminal else "\n", file=sys.stderr, flush=True)

    def say(self, message: str) -> None:
        """A line of its own, above the progress line."""
        if not hosts.is_first():
            return
        self._rewind()
        print(message, file=sys.stderr, flush=True)

    def _rewind(self) -> None:
        """Clears the line of a terminal."""
        if self._terminal:
            print("\r\x1b[K", end="", file=sys.__stderr__, flush=True)


def _duration(seconds: float) -> str:
    seconds = int(seconds)
    if seconds >= 3600:
        return f"{seconds // 3600}h{seconds % 3600 // 60:02d}m"
    return f"{seconds // 60}m{seconds % 60:02d}s"
