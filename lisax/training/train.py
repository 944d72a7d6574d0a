"""The training loop: `train(config)` trains, evaluates, logs and saves, and continues an interrupted run."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import jax

from lisax.devices import hosts
from lisax.devices.loop import DeviceLoop
from lisax.devices.partitioning import Partitioner
from lisax.errors import LisaxError
from lisax.files.places import place
from lisax.files.run_lock import alone_in
from lisax.files.writing import atomic_write
from lisax.models.stacking import unstack
from lisax.scoring.kept_vectors import VECTORS, KeptVectors, kept_for
from lisax.training import data
from lisax.training.model_inference import TaskRun
from lisax.training.model_kinds import kind_of
from lisax.training.preemption import TERMINATED, Stopped, Stopper
from lisax.training.start import Start, begin, side_files
from lisax.training.step import HARDWARE_RNG, make_eval_step, make_train_step
from lisax.training.task_metrics import finite, task_metrics
from lisax.training.train_config import TrainConfig, Trainer, check, check_batch
from lisax.training.train_log import Meter, Progress, TrainLog, means
from lisax.weights.checkpoints import (
    GIN_NAME,
    METRICS_JSON,
    CheckpointWriter,
    TrainState,
    best_checkpoint,
    checkpoint_folder,
    latest_checkpoint,
    parameter_count,
    read_metrics,
)
from lisax.weights.model_card import ModelCard
from lisax.weights.model_folder import ModelFolder

__all__ = ["TrainConfig", "TrainResult", "Trainer", "evaluate_sets", "train"]


@dataclasses.dataclass(frozen=True)
class TrainResult:
    step: int
    parameters: Any  # on device, those of `step`, with adapters next to their kernels
    model_dir: Path
    metrics: dict[str, float]  # of the last evaluation
    latest: Path | None
    best: Path | None

    @property
    def checkpoint(self) -> Path | None:
        """The checkpoint to use: the best if there is one, else the newest."""
        return self.best or self.latest


def train(config: TrainConfig) -> TrainResult:
    """Trains, or continues, until the last step; evaluates, logs and saves on the way.

    SIGTERM, a notice that this machine will go, and Ctrl-C save first, also in the middle of an evaluation, and then
    raise SystemExit(143), a shell's status after SIGTERM, and KeyboardInterrupt; of several processes one is enough to
    stop all. The same call again continues, with the same losses and evaluations as if it had never stopped. A second
    Ctrl-C does not wait. Raises an error while another process trains in MODEL_DIR."""
    started = time.perf_counter()
    partitioner = config.partitioner.over(jax.devices())
    initial = check(config, partitioner)
    with alone_in(config.model_dir) if hosts.is_first() else contextlib.nullcontext():
        return _train(config, initial, partitioner, started)


def _train(config: TrainConfig, initial: ModelFolder | None, partitioner: Partitioner, started: float) -> TrainResult:
    # --- Start ----------------------------------------------------------------------------
    progress = Progress(0)
    run = begin(config, initial, partitioner, progress.say)
    state, first_step, total = run.state, int(run.state.step), run.total_steps
    card, model_dir = run.card, place(config.model_dir)
    progress = Progress(total)
    waiting = _Patience(config)
    evaluator = _Evaluator(config, partitioner)
    missed = _missed_evaluation(config, card, first_step, total)
    if (first_step >= total or waiting.ended(first_step)) and not missed:
        progress.say(
            f"{model_dir} has {first_step} of {total} steps"
            + (f" and was not better since {waiting.best_step}" if first_step < total else "")
            + ": nothing to train"
        )
        return _result(config, run, state)
    progress.say(
        f"{parameter_count(state.parameters) / 1e6:.1f} M parameters, {partitioner.mesh.devices.size} "
        f"{jax.default_backend()} device(s), steps {first_step} to {total}"
    )

    # --- Step, data and logs --------------------------------------------------------------
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
        generator=HARDWARE_RNG if config.use_hardware_rng else None,
        partitioner=partitioner,
        adapter=run.adapter,
    )
    # The vector of a text does not change if the encoder is not trained.
    evaluator.kept = kept = kept_for(config.model, run.whole(state.parameters))
    source = config.train_data if callable(config.train_data) else data.train_source(config.train_data)
    files = side_files(config)
    model_dir.mkdir(parents=True, exist_ok=True)
    if config.gin is not None and hosts.is_first():
        with atomic_write(model_dir / GIN_NAME) as file:
            file.write(config.gin)
    evaluated = config.dev_data.mixture_or_task_name if isinstance(config.dev_data, data.DatasetConfig) else ""
    log, meter = TrainLog(model_dir, first_step, evaluated), Meter(kind_of(config.model).objective.metrics)
    save = config.checkpoint.save
    step, metrics, saved, began = first_step, {}, first_step, card["training"]["first_step"]
    compiled: dict[tuple[int, ...], Callable] = {}  # the step, by the shape of the inputs

    def flush() -> None:
        scalars = meter.flush(step, checkpoint_folder(model_dir, saved) if saved > began else None)
        if scalars:
            log.write(step, "train", scalars)
            progress.show(step, scalars)

    def evaluate() -> dict[str, float]:
        found = evaluator(run.whole(state.parameters), step, stopper)
        metrics = finite(found)
        if odd := ", ".join(found.keys() - metrics.keys()):
            progress.say(f"step {step}: {odd} is not a finite number and does not count")
        waiting.hear(metrics, step)
        log.write(step, "dev", metrics)
        progress.say(f"step {step}  dev  " + "  ".join(f"{k} {v:.4f}" for k, v in metrics.items()))
        return metrics

    # --- Loop -----------------------------------------------------------------------------
    skip = first_step - began
    try:
        with (
            Stopper() as stopper,
            CheckpointWriter(model_dir, save, card, files) as writer,
            data.Prefetched(_with_vectors(source(skip), config, kept)) as batches,
            hosts.ending_together(),
        ):
            try:
                if missed:
                    metrics = evaluate()
                    writer.add_metrics(step, metrics)
                while step < total and not waiting.ended(step):
                    stopper.check()
                    # --- Batch ------------------------------------------------------------
                    try:
                        batch = next(batches)
                    except StopIteration:
                        raise LisaxError(
                            f"the training data ended after {skip + step - first_step} batches, before "
                            f"step {total}: it must repeat without end"
                        ) from None
                    placed = partitioner.place_batch(batch)
                    shape = batch[data.INPUTS].shape
                    if shape not in compiled:
                        check_batch(batch, config, partitioner, microbatches)
                        progress.say("compiling the training step, which can take minutes")
                        meter.pause()
                        compiled[shape] = train_step.lower(state, placed, run.kept).compile()
                        hosts.wait_for_all("compiled")
                        if step > first_step:
                            meter.run()
                    # --- Step -------------------------------------------------------------
                    state, step_metrics = compiled[shape](state, placed, run.kept)
                    step, metrics = step + 1, {}
                    meter.add(step_metrics)
                    if step == first_step + 1:
                        jax.block_until_ready(step_metrics)  # compilation is not part of the speed
                        progress.say(f"first step after {time.perf_counter() - started:.1f} s")
                        meter.run()
                    # --- Log, evaluate, save ----------------------------------------------
                    if step % config.log_period == 0 or step == total:
                        flush()
                    due = _evaluates(config, step, total)
                    saves = step == total or (save.period is not None and step % save.period == 0)
                    if due or saves:
                        flush()
                        log.sync()
                        meter.pause()
                        if due:
                            try:
                                metrics = evaluate()
                            except Exception:
                                # A missing dev file costs no steps: the same command evaluates here first. One of
                                # several hosts that fails cannot save without the others.
                                if saved != step and jax.process_count() == 1:
                                    writer.save(state, {})
                                    writer.wait()
                                raise
                        if saves or (due and save.best_metric):
                            writer.save(state, metrics)
                            saved = step
                        meter.run()
                if step < total:
                    progress.say(f"ends at step {step} of {total}: not better since step {waiting.best_step}")
                stopper.check()
            # --- Stopped: save, and log where ---------------------------------------------
            except Stopped:
                flush()
                log.sync()
                if saved != step:
                    writer.save(state, metrics)
                writer.wait()
                done = f"and saved at step {step}" if step > first_step else f"before step {step + 1}"
                progress.say(
                    f"stopped by {stopper.asked.name} {done} of {total} in {model_dir}: the same command continues from there"
                )
    finally:
        log.close()
    if stopper.asked is not None:
        raise SystemExit(TERMINATED) if stopper.asked == signal.SIGTERM else KeyboardInterrupt
    return _result(config, run, state, metrics)


def _missed_evaluation(config: TrainConfig, card: Mapping[str, Any], step: int, total: int) -> bool:
    """Whether the run stopped at `step` before the evaluation that was due there."""
    if step == card["training"]["first_step"] or not _evaluates(config, step, total):
        return False
    folder = checkpoint_folder(config.model_dir, step)
    return (folder / METRICS_JSON).is_file() and not read_metrics(folder).get("metrics")


def _evaluates(config: TrainConfig, step: int, total: int) -> bool:
    wanted = not (config.dev_data is None and config.infer_data is None and config.evaluate is None)
    return wanted and (step % config.eval_period == 0 or step == total)


class _Patience:
    """Detects that training has not become better for too long (early stopping)."""

    def __init__(self, config: TrainConfig):
        self._config, self._best, self.best_step = config, None, None
        folder = best_checkpoint(config.model_dir)
        best = read_metrics(folder).get("best") if config.patience is not None and folder is not None else None
        if best is not None and best.get("metric") == config.checkpoint.save.best_metric:
            self.hear({best["metric"]: best["value"]}, ModelCard.read(folder)["step"])

    def hear(self, metrics: Mapping[str, float], step: int) -> None:
        save = self._config.checkpoint.save
        if self._config.patience is None or save.best_metric not in metrics:
            return
        value = metrics[save.best_metric] * (1 if save.mode == "max" else -1)
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
        self._sets: dict[str, list[data.HostBatch]] = {}
        self._infer_data: data.DatasetConfig | None = None  # with its lengths, once they are known
        self.kept: KeptVectors | None = None

    def __call__(self, parameters: Any, step: int, stopper: Stopper) -> dict[str, float]:
        config, metrics = self._config, {}
        if config.dev_data is not None:
            metrics = evaluate_sets(
                self._step,
                parameters,
                self._sets.items() if self._sets else self._read(),
                self._partitioner,
                kind_of(config.model).objective.metrics,
                stopper.check,
            )
        if config.infer_data is not None:
            with stopper.at_once():
                metrics |= self._task_metrics(parameters, step)
        if config.evaluate is not None:
            with stopper.at_once():
                metrics |= {name: float(value) for name, value in config.evaluate(parameters, step).items()}
        wanted = config.checkpoint.save.best_metric
        if wanted and wanted not in metrics:
            raise LisaxError(
                f"the best checkpoint is to be chosen by '{wanted}', but evaluation gave {', '.join(metrics)}"
            )
        return metrics

    def _task_metrics(self, parameters: Any, step: int) -> dict[str, float]:
        """T5X's `inference_eval`: predictions and scores of the `infer_data`, with the metrics of its tasks."""
        config = self._config
        self._infer_data = self._infer_data or data.with_lengths(config.infer_data)
        if config.model.backbone.scan_layers:
            parameters = unstack(parameters)
        loop = DeviceLoop(parameters, source=f"step {step}", partitioner=self._partitioner)
        run = TaskRun(config.model.for_inference(), loop, self._infer_data)
        return task_metrics(run, config.decoding, config.evaluator, place(config.model_dir), step, training=True)

    def _read(self) -> Iterator[tuple[str, Iterator[data.HostBatch]]]:
        """The sets with their batches, which are kept once all of them were read."""
        config, kept = self._config, {}
        sets = [("", config.dev_data())] if callable(config.dev_data) else data.eval_sets(config.dev_data)
        for name, batches in sets:
            kept[name] = []

            def keeping(batches: Iterable[data.HostBatch], name: str = name) -> Iterator[data.HostBatch]:
                for batch in _with_vectors(itertools.islice(batches, config.eval_steps), config, self.kept):
                    kept[name].append(batch)
                    yield batch

            yield name, keeping(batches)
        if not any(kept.values()):
            raise LisaxError("the dev data is empty")
        self._sets = kept


def _with_vectors(
    batches: Iterable[data.HostBatch], config: TrainConfig, kept: KeptVectors | None
) -> Iterator[data.HostBatch]:
    """The batches, with the vectors of their texts where these are `kept`."""
    if kept is None:
        return iter(batches)
    objective = kind_of(config.model).objective
    return ({**batch, VECTORS: kept.of(objective.texts(batch))} for batch in batches)


def evaluate_sets(
    eval_step: Callable,
    parameters: Any,
    sets: Iterable[tuple[str, Iterable[data.HostBatch]]],
    partitioner: Partitioner,
    ratios: Mapping[str, tuple[str, str]],
    between: Callable[[], None] = lambda: None,
) -> dict[str, float]:
    """The metrics of an objective, `ratios` of its sums, over all sets, and those of one among several as
    `{set}/{metric}`. `between` is called before each batch, and no more than two run ahead of it: it may end the
    evaluation by an exception."""
    sums: dict[str, dict[str, float]] = {}
    for of_set, batches in sets:
        pending = []
        for batch in batches:
            between()
            pending.append(eval_step(parameters, partitioner.place_batch(batch)))
            if len(pending) > 2:
                jax.block_until_ready(pending[-3])
        if fetched := jax.device_get(pending):
            sums[of_set] = {name: float(sum(part[name] for part in fetched)) for name in fetched[0]}
    if not sums:
        return {}
    names = next(iter(sums.values()))
    metrics = means({name: sum(part[name] for part in sums.values()) for name in names}, ratios)
    for of_set, part in sums.items() if len(sums) > 1 else ():
        metrics |= {f"{of_set}/{name}": value for name, value in means(part, ratios).items()}
    return metrics


def _result(config: TrainConfig, run: Start, state: TrainState, metrics: dict[str, float] | None = None) -> TrainResult:
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
    )
