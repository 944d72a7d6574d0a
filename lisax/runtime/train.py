"""The training loop: `train(config)` trains, evaluates, logs and saves, and continues what was interrupted."""

from __future__ import annotations

import contextlib
import dataclasses
import signal
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import jax

from lisax.places import place
from lisax.records import LisaxError, atomic_write
from lisax.runtime import data, hosts
from lisax.runtime.checkpoints import (
    GIN_NAME,
    CheckpointWriter,
    best_checkpoint,
    checkpoint_folder,
    latest_checkpoint,
    parameter_count,
    read_card,
    read_metrics,
)
from lisax.runtime.model_kinds import kind_of
from lisax.runtime.partitioning import Partitioner
from lisax.runtime.run_lock import alone_in
from lisax.runtime.start import Start, begin, side_files
from lisax.runtime.step import make_eval_step, make_train_step
from lisax.runtime.train_config import TrainConfig, Trainer, check, check_batch
from lisax.runtime.train_log import Meter, Progress, TrainLog, means
from lisax.runtime.train_state import TrainState

__all__ = ["TrainConfig", "TrainResult", "Trainer", "evaluate_batches", "train"]

TERMINATED = 128 + signal.SIGTERM  # the exit status of a run that SIGTERM stopped: what comes after it must not begin


@dataclasses.dataclass(frozen=True)
class TrainResult:
    step: int
    parameters: Any  # on device, those of `step`, with adapters beside their kernels
    model_dir: Path
    metrics: dict[str, float]  # of the last evaluation
    latest: Path | None
    best: Path | None
    seconds: float

    @property
    def checkpoint(self) -> Path | None:
        """The checkpoint to use: the best where there is one, else the newest."""
        return self.best or self.latest


def train(config: TrainConfig) -> TrainResult:
    """Trains, or continues, until the last step; evaluates, logs and saves on the way.

    SIGTERM and Ctrl-C save first and then raise SystemExit(143), a shell's status of what SIGTERM ended, and
    KeyboardInterrupt; the same call again continues, with the same losses as if it had never stopped. A second Ctrl-C does not wait. While
    another process trains in MODEL_DIR, an error."""
    started = time.perf_counter()
    partitioner = config.partitioner.over(jax.devices())
    check(config, partitioner)
    with alone_in(config.model_dir) if hosts.is_first() else contextlib.nullcontext():
        return _train(config, partitioner, started)


def _train(config: TrainConfig, partitioner: Partitioner, started: float) -> TrainResult:
    progress = Progress(0)
    run = begin(config, partitioner, progress.say)
    state, first_step, total = run.state, int(run.state.step), run.total_steps
    card, model_dir = run.card, place(config.model_dir)
    progress = Progress(total)
    waiting = _Patience(config)
    if first_step >= total or waiting.ended(first_step):
        progress.say(
            f"{model_dir} has {first_step} of {total} steps"
            + (f" and was not better since {waiting.best_step}" if first_step < total else "")
            + ": nothing to train"
        )
        return _result(config, run, state, started)
    progress.say(
        f"{parameter_count(state.parameters) / 1e6:.1f} M parameters, {partitioner.mesh.devices.size} "
        f"{jax.default_backend()} device(s), steps {first_step} to {total}"
    )

    microbatches = config.trainer.num_microbatches or 1
    train_step = make_train_step(
        config.model,
        config.loss,
        config.optimizer,
        config.trainer.learning_rate_fn,
        seed=config.random_seed or 0,
        microbatches=microbatches,
        normalize_each=config.trainer.normalize_each_microbatch,
        slots_first_step=card["training"]["slots_first_step"],
        partitioner=partitioner,
        adapter=config.adapter,
    )
    evaluator = _Evaluator(config, partitioner)
    source = config.train_data if callable(config.train_data) else data.train_source(config.train_data)
    files = side_files(config)
    model_dir.mkdir(parents=True, exist_ok=True)
    if config.gin is not None and hosts.is_first():
        with atomic_write(model_dir / GIN_NAME) as file:
            file.write(config.gin)
    log, meter = TrainLog(model_dir, first_step), Meter(kind_of(config.model).objective.metrics)
    save = config.checkpoint.save
    step, metrics, saved = first_step, {}, None

    def flush() -> None:
        scalars = meter.flush(step)
        if scalars:
            log.write(step, "train", scalars)
            progress.show(step, scalars)

    skip = first_step - card["training"]["first_step"]
    try:
        with (
            _Stopper() as stopper,
            CheckpointWriter(model_dir, save, card, files) as writer,
            data.Prefetched(source(skip)) as batches,
            hosts.ending_together(),
        ):
            while step < total and not waiting.ended(step) and not stopper.wanted(step):
                try:
                    batch = next(batches)
                except StopIteration:
                    raise LisaxError(
                        f"the training data ended after {skip + step - first_step} batches, before "
                        f"step {total}: it must repeat without end"
                    ) from None
                placed = partitioner.place_batch(batch)
                if step == first_step:
                    check_batch(batch, config, partitioner, microbatches)
                    train_step = train_step.lower(state, placed, run.kept).compile()
                    hosts.wait_for_all("compiled")
                state, step_metrics = train_step(state, placed, run.kept)
                step += 1
                meter.add(step_metrics)
                if step == first_step + 1:
                    jax.block_until_ready(step_metrics)  # compilation is not part of the speed
                    progress.say(f"first step after {time.perf_counter() - started:.1f} s")
                    meter.run()
                if step % config.log_period == 0 or step == total:
                    flush()
                evaluated = evaluator.wanted and (step % config.eval_period == 0 or step == total)
                if evaluated or step % save.period == 0 or step == total:
                    flush()
                    log.sync()
                    meter.pause()
                    if evaluated:
                        metrics = evaluator(run.whole(state.parameters), step)
                        waiting.hear(metrics, step)
                        log.write(step, "dev", metrics)
                        progress.say(f"step {step}  dev  " + "  ".join(f"{k} {v:.4f}" for k, v in metrics.items()))
                    if step % save.period == 0 or step == total or (evaluated and save.best_metric):
                        saved = writer.save(state, metrics if evaluated else {})
                    meter.run()
            if step < total and not stopper.asked:
                progress.say(f"ends at step {step} of {total}: not better since step {waiting.best_step}")
            if stopper.asked:
                flush()
                log.sync()
                if saved != checkpoint_folder(model_dir, step) and step > first_step:
                    writer.save(state, {})
                writer.wait()
                progress.say(
                    f"stopped by {stopper.asked.name} and saved at step {step} of {total} in "
                    f"{model_dir}: the same command continues from there"
                )
                raise SystemExit(TERMINATED) if stopper.asked == signal.SIGTERM else KeyboardInterrupt
    finally:
        log.close()
    return _result(config, run, state, started, metrics)


class _Patience:
    """Says when training has not become better for too long (early stopping)."""

    def __init__(self, config: TrainConfig):
        self._config, self._best, self.best_step = config, None, None
        folder = best_checkpoint(config.model_dir)
        if config.patience is not None and folder is not None:
            self.hear(
                {config.checkpoint.save.best_metric: read_metrics(folder)["best"]["value"]},
                read_card(folder)["step"],
            )

    def hear(self, metrics: Mapping[str, float], step: int) -> None:
        save = self._config.checkpoint.save
        if self._config.patience is None:
            return
        value = metrics[save.best_metric] * (1 if save.best_mode == "max" else -1)
        if self._best is None or value > self._best:
            self._best, self.best_step = value, step

    def ended(self, step: int) -> bool:
        patience = self._config.patience
        return (
            patience is not None
            and self.best_step is not None
            and (step - self.best_step >= patience * self._config.eval_period)
        )


class _Evaluator:
    """Metrics of a state: of the dev data, read once and kept on the host, and of the caller's function."""

    def __init__(self, config: TrainConfig, partitioner: Partitioner):
        self._config, self._partitioner = config, partitioner
        self._step = make_eval_step(config.model, config.loss, partitioner)
        self._batches: list[data.HostBatch] | None = None
        self.wanted = config.dev_data is not None or config.evaluate is not None

    def __call__(self, parameters: Any, step: int) -> dict[str, float]:
        config, metrics = self._config, {}
        if config.dev_data is not None:
            if self._batches is None:
                batches = config.dev_data() if callable(config.dev_data) else data.eval_batches(config.dev_data)
                self._batches = [batch for _, batch in zip(_limit(config.eval_steps), batches)]
                if not self._batches:
                    raise LisaxError("the dev data is empty")
            metrics = evaluate_batches(
                self._step, parameters, self._batches, self._partitioner, kind_of(config.model).objective.metrics
            )
        if config.evaluate is not None:
            metrics |= {name: float(value) for name, value in config.evaluate(parameters, step).items()}
        wanted = config.checkpoint.save.best_metric
        if wanted and wanted not in metrics:
            raise LisaxError(
                f"the best checkpoint is to be chosen by '{wanted}', but evaluation gave {', '.join(metrics)}"
            )
        return metrics


def evaluate_batches(
    eval_step: Callable,
    parameters: Any,
    batches: Iterable[data.HostBatch],
    partitioner: Partitioner,
    ratios: Mapping[str, tuple[str, str]],
) -> dict[str, float]:
    """The metrics of an objective, `ratios` of its sums, over all batches."""
    pending = [eval_step(parameters, partitioner.place_batch(batch)) for batch in batches]
    fetched = jax.device_get(pending)
    return means({name: float(sum(part[name] for part in fetched)) for name in fetched[0]}, ratios)


def _limit(steps: int | None) -> Iterable[int]:
    return range(steps) if steps is not None else iter(int, 1)


class _Stopper:
    """While it is open, SIGTERM and the first SIGINT only set `asked`; the loop then saves and stops.

    Outside the main thread Python delivers no signals, and nothing is installed; of several processes, JAX hears
    SIGTERM for all."""

    def __init__(self):
        self.asked: signal.Signals | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> _Stopper:
        if threading.current_thread() is threading.main_thread() and jax.process_count() == 1:
            for number in (signal.SIGTERM, signal.SIGINT):
                self._before[number] = signal.signal(number, self._ask)
        return self

    def wanted(self, step: int) -> bool:
        """Whether to stop before the step after `step`: all processes give the same answer."""
        if hosts.asked_to_stop(step):
            self.asked = signal.SIGTERM
        return self.asked is not None

    def __exit__(self, *_: Any) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _ask(self, number: int, _frame: Any) -> None:
        self.asked = signal.Signals(number)
        if number == signal.SIGINT:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _result(
    config: TrainConfig, run: Start, state: TrainState, started: float, metrics: dict[str, float] | None = None
) -> TrainResult:
    model_dir = place(config.model_dir)
    latest = latest_checkpoint(model_dir)
    if metrics is None:
        metrics = read_metrics(latest).get("metrics", {}) if latest else {}
    return TrainResult(
        int(state.step),
        run.whole(state.parameters),
        model_dir,
        dict(metrics),
        latest,
        best_checkpoint(model_dir),
        time.perf_counter() - started,
    )
