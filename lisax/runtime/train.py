"""Training: what a run is (`TrainConfig`), what is checked before it starts, and the loop."""

from __future__ import annotations

import dataclasses
import signal
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from lisax.models.t5 import T5Config, initialize
from lisax.records import LisaxError, atomic_write
from lisax.runtime import data
from lisax.runtime.checkpoints import (GIN_NAME, VOCABULARY_NAME, CheckpointConfig, CheckpointWriter,
                                       best_checkpoint, checkpoint_folder, latest_checkpoint, parameter_count,
                                       read_metrics, read_model_json, resolve_checkpoint)
from lisax.runtime.optimizers import Adafactor, Optimizer
from lisax.runtime.partitioning import Partitioner
from lisax.runtime.restore import restore_initial, restore_own
from lisax.runtime.schedules import Schedule
from lisax.runtime.step import Loss, TrainState, make_eval_step, make_train_step
from lisax.runtime.train_log import Meter, Progress, TrainLog, means

OWN_METRICS = ("loss", "accuracy", "sequence_accuracy")


@dataclasses.dataclass(frozen=True)
class Trainer:
    """How a step is taken. `num_microbatches` slices of a batch have their gradients summed."""

    num_microbatches: int | None = None
    learning_rate_fn: Callable = Schedule(factors="constant", base_learning_rate=1e-3)


@dataclasses.dataclass(frozen=True)
class TrainConfig:
    """One training run.

    `train_data` is a seqio dataset, or a `data.BatchSource`: skip -> the endless batches after `skip` of them.
    `dev_data` is a dataset, or a function that gives one pass of batches (all of one shape), or None.
    Steps are absolute, those of the initial checkpoint included, unless `relative_steps` is given instead.
    `evaluate(parameters, step)` adds metrics of the caller's to those of `dev_data`; it must not keep the
    parameters. `card` is written into `model.json`; `files` (name -> bytes) beside it.
    """

    model: T5Config
    model_dir: str
    train_data: data.DatasetConfig | data.BatchSource
    total_steps: int | None = None
    relative_steps: int | None = None
    dev_data: data.DatasetConfig | Callable[[], Iterable[data.HostBatch]] | None = None
    optimizer: Optimizer = Adafactor()
    loss: Loss = Loss()
    trainer: Trainer = Trainer()
    checkpoint: CheckpointConfig = CheckpointConfig()
    eval_period: int = 1000
    eval_steps: int | None = None  # batches of dev_data read at most
    log_period: int = 50
    random_seed: int | None = 0
    evaluate: Callable[[Any, int], Mapping[str, float]] | None = None
    card: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    files: Mapping[str, bytes] = dataclasses.field(default_factory=dict)
    gin: str | None = None  # the operative gin, saved with the run


@dataclasses.dataclass(frozen=True)
class TrainResult:
    step: int
    parameters: Any  # on device, those of `step`
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

    SIGTERM and Ctrl-C save first and then raise SystemExit(0) and KeyboardInterrupt; the same call again
    continues, with the same losses as if it had never stopped. A second Ctrl-C does not wait."""
    started = time.perf_counter()
    partitioner = Partitioner.over_all_devices()
    check(config, partitioner)
    progress = Progress(0)
    run = _begin(config, partitioner, progress.say)
    state, first_step, total = run.state, int(run.state.step), run.total_steps
    card, model_dir = run.card, Path(config.model_dir)
    progress = Progress(total)
    if first_step >= total:
        progress.say(f"{model_dir} has {first_step} of {total} steps: nothing to train")
        return _result(config, state, started)
    progress.say(f"{parameter_count(state.parameters) / 1e6:.1f} M parameters, {partitioner.mesh.devices.size} "
                 f"{jax.default_backend()} device(s), steps {first_step} to {total}")

    microbatches = config.trainer.num_microbatches or 1
    train_step = make_train_step(
        config.model, config.loss, config.optimizer, config.trainer.learning_rate_fn,
        seed=config.random_seed or 0, microbatches=microbatches,
        slots_first_step=card["training"]["slots_first_step"], partitioner=partitioner)
    evaluator = _Evaluator(config, partitioner)
    source = config.train_data if callable(config.train_data) else data.train_source(config.train_data)
    files = _side_files(config)
    model_dir.mkdir(parents=True, exist_ok=True)
    if config.gin is not None:
        with atomic_write(model_dir / GIN_NAME) as file:
            file.write(config.gin)
    log, meter = TrainLog(model_dir, first_step), Meter()
    save = config.checkpoint.save
    step, metrics, saved = first_step, {}, None

    def flush() -> None:
        scalars = meter.flush(step)
        if scalars:
            log.write(step, "train", scalars)
            progress.show(step, scalars)

    skip = first_step - card["training"]["first_step"]
    try:
        with _Stopper() as stopper, CheckpointWriter(model_dir, save, card, files) as writer, \
                data.Prefetched(source(skip)) as batches:
            while step < total and not stopper.asked:
                try:
                    batch = next(batches)
                except StopIteration:
                    raise LisaxError(f"the training data ended after {skip + step - first_step} batches, before step "
                                     f"{total}: it must repeat without end") from None
                if step == first_step:
                    _check_batch(batch, config, partitioner, microbatches)
                state, step_metrics = train_step(state, partitioner.place_batch(batch))
                step += 1
                if step == first_step + 1:
                    jax.block_until_ready(step_metrics)  # compilation is not part of the speed
                    progress.say(f"first step after {time.perf_counter() - started:.1f} s")
                    meter.run()
                meter.add(step_metrics)
                if step % config.log_period == 0 or step == total:
                    flush()
                evaluated = evaluator.wanted and (step % config.eval_period == 0 or step == total)
                if evaluated or step % save.period == 0 or step == total:
                    flush()
                    meter.pause()
                    if evaluated:
                        metrics = evaluator(state.parameters, step)
                        log.write(step, "dev", metrics)
                        progress.say(f"step {step}  dev  " + "  ".join(f"{k} {v:.4f}" for k, v in metrics.items()))
                    if step % save.period == 0 or step == total or (evaluated and save.best_metric):
                        saved = writer.save(state, metrics if evaluated else {})
                    meter.run()
            if stopper.asked and step < total:
                flush()
                if saved != checkpoint_folder(model_dir, step) and step > first_step:
                    writer.save(state, {})
                writer.wait()
                progress.say(f"stopped by {stopper.asked.name} and saved at step {step} of {total} in {model_dir}: "
                             f"the same command continues from there")
                raise SystemExit(0) if stopper.asked == signal.SIGTERM else KeyboardInterrupt
    finally:
        log.close()
    return _result(config, state, started, metrics)


# --- Before the first step ------------------------------------------------------------------


def check(config: TrainConfig, partitioner: Partitioner) -> None:
    """Everything that can be known to be wrong before anything slow happens."""
    if (config.total_steps is None) == (config.relative_steps is None):
        raise LisaxError("give either TRAIN_STEPS (absolute, with those of the initial checkpoint) or "
                         "TRAIN_STEPS_RELATIVE, not both" if config.total_steps is not None else
                         "TRAIN_STEPS or TRAIN_STEPS_RELATIVE must be given")
    for name in ("eval_period", "log_period"):
        if getattr(config, name) < 1:
            raise LisaxError(f"{name} must be at least 1 step, found {getattr(config, name)}")
    microbatches = config.trainer.num_microbatches
    if microbatches is not None and microbatches < 1:
        raise LisaxError(f"Trainer.num_microbatches must be at least 1, found {microbatches}")
    wanted = config.checkpoint.save.best_metric
    if wanted and config.evaluate is None and (config.dev_data is None or wanted not in OWN_METRICS):
        raise LisaxError(f"the best checkpoint is to be chosen by '{wanted}', which nothing computes: evaluation gives "
                         f"{', '.join(OWN_METRICS) if config.dev_data else 'nothing without a dev split'}")
    if config.checkpoint.restore.path and latest_checkpoint(config.model_dir) is None:
        _initial_folder(config)
    if isinstance(config.train_data, data.DatasetConfig):
        partitioner.check_batch_size(config.train_data.batch_size, microbatches or 1)
        data.check_dataset(config.train_data, config.model.vocab_size, "train")
        if config.train_data.task_feature_lengths is None:
            raise LisaxError("TASK_FEATURE_LENGTHS must be given for training")
    if isinstance(config.dev_data, data.DatasetConfig):
        partitioner.check_batch_size(config.dev_data.batch_size, 1, "the batch size of evaluation")
        data.check_dataset(config.dev_data, config.model.vocab_size, "dev")


def _check_batch(batch: data.HostBatch, config: TrainConfig, partitioner: Partitioner, microbatches: int) -> None:
    partitioner.check_batch_size(len(batch["encoder_input_tokens"]), microbatches)
    for name in ("encoder_input_tokens", "decoder_target_tokens"):
        highest = int(batch[name].max())
        if highest >= config.model.vocab_size:
            raise LisaxError(f"the first batch has token {highest} in '{name}', but the model's vocabulary has "
                             f"{config.model.vocab_size} entries")


def _initial_folder(config: TrainConfig) -> Path:
    restore = config.checkpoint.restore
    folder = resolve_checkpoint(restore.path, restore.mode)
    if (folder / "model.json").is_file() and isinstance(config.train_data, data.DatasetConfig):
        known = (read_model_json(folder).get("vocabulary") or {}).get("sha256")
        used = data.vocabulary_file(config.train_data)
        if known and used and known != data.digest(used):
            raise LisaxError(f"{folder} was trained with another vocabulary than '{used}' of "
                             f"'{config.train_data.mixture_or_task_name}': its own is {folder / VOCABULARY_NAME}")
    return folder


@dataclasses.dataclass
class _Run:
    state: TrainState
    total_steps: int
    card: dict[str, Any]


def _begin(config: TrainConfig, partitioner: Partitioner, say: Callable[[str], None]) -> _Run:
    """The state to start from: this run's newest checkpoint, the initial checkpoint, or fresh parameters."""
    def fresh() -> TrainState:
        parameters = initialize(config.model, config.random_seed or 0)
        return TrainState(jnp.int32(0), parameters, config.optimizer.init(parameters))

    expected = jax.eval_shape(fresh)
    state = restore_own(config.model_dir, expected, partitioner, say)
    if state is not None:
        card = read_model_json(checkpoint_folder(config.model_dir, int(state.step)))
        training = card["training"]
        new = _card(config, training["first_step"], training["slots_first_step"])
        for name in ("data", "random_seed"):
            if training.get(name) != new["training"][name]:
                say(f"note: {name} was {training.get(name)} when this run began and is {new['training'][name]} now; "
                    f"the order of batches changes")
        say(f"continues {config.model_dir} from step {int(state.step)}")
        return _Run(state, _total(config, training["first_step"]), new)
    if config.checkpoint.restore.path is None:
        state = partitioner.place_state(jax.jit(fresh)())
        return _Run(state, _total(config, 0), _card(config, 0, 0))
    folder, restore = _initial_folder(config), config.checkpoint.restore
    state, with_slots = restore_initial(folder, expected, partitioner, optimizer=restore.restore_optimizer)
    step = int(state.step) if restore.restore_step else 0
    slots_first_step = step
    if with_slots:
        known = read_model_json(folder) if (folder / "model.json").is_file() else {}
        slots_first_step = known.get("training", {}).get("slots_first_step", 0) - int(state.step) + step
    slots = state.slots if with_slots else jax.jit(config.optimizer.init)(state.parameters)
    state = partitioner.place_state(TrainState(jnp.int32(step), state.parameters, slots))
    say(f"starts at step {step} from {folder}, with {'its' if with_slots else 'fresh'} optimizer state")
    return _Run(state, _total(config, step), _card(config, step, slots_first_step))


def _total(config: TrainConfig, first_step: int) -> int:
    return config.total_steps if config.total_steps is not None else first_step + config.relative_steps


def _card(config: TrainConfig, first_step: int, slots_first_step: int) -> dict[str, Any]:
    """The content of `model.json` but for the step."""
    vocabulary, described = None, None
    if isinstance(config.train_data, data.DatasetConfig):
        dataset = config.train_data
        described = {"task": dataset.mixture_or_task_name, "batch_size": dataset.batch_size, "seed": dataset.seed,
                     "lengths": dict(dataset.task_feature_lengths), "pack": dataset.pack}
        vocabulary = data.describe_vocabulary(dataset, VOCABULARY_NAME)
    return {
        "format": 1,
        "architecture": dataclasses.asdict(config.model),
        "vocabulary": vocabulary,
        "optimizer": {"name": type(config.optimizer).__name__, **dataclasses.asdict(config.optimizer)},
        "training": {"first_step": first_step, "slots_first_step": slots_first_step,
                     "random_seed": config.random_seed, "data": described},
        **config.card,
    }


def _side_files(config: TrainConfig) -> dict[str, bytes]:
    files = dict(config.files)
    if config.gin is not None:
        files[GIN_NAME] = config.gin.encode()
    if isinstance(config.train_data, data.DatasetConfig):
        path = data.vocabulary_file(config.train_data)
        if path:
            files[VOCABULARY_NAME] = Path(path).read_bytes()
    return files


# --- Within the loop ------------------------------------------------------------------------


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
                batches = (config.dev_data() if callable(config.dev_data) else data.eval_batches(config.dev_data))
                self._batches = [batch for _, batch in zip(_limit(config.eval_steps), batches)]
                if not self._batches:
                    raise LisaxError("the dev data is empty")
            metrics = evaluate_batches(self._step, parameters, self._batches, self._partitioner)
        if config.evaluate is not None:
            metrics |= {name: float(value) for name, value in config.evaluate(parameters, step).items()}
        wanted = config.checkpoint.save.best_metric
        if wanted and wanted not in metrics:
            raise LisaxError(f"the best checkpoint is to be chosen by '{wanted}', but evaluation gave "
                             f"{', '.join(metrics)}")
        return metrics


def evaluate_batches(eval_step: Callable, parameters: Any, batches: Iterable[data.HostBatch],
                     partitioner: Partitioner) -> dict[str, float]:
    """Loss, token accuracy and sequence accuracy on teacher-forced targets over all batches."""
    pending = [eval_step(parameters, partitioner.place_batch(batch)) for batch in batches]
    fetched = jax.device_get(pending)
    return means({name: float(sum(part[name] for part in fetched)) for name in fetched[0]})


def _limit(steps: int | None) -> Iterable[int]:
    return range(steps) if steps is not None else iter(int, 1)


class _Stopper:
    """While it is open, SIGTERM and the first SIGINT only set `asked`; the loop then saves and stops.

    Outside the main thread Python delivers no signals, and nothing is installed."""

    def __init__(self):
        self.asked: signal.Signals | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> _Stopper:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                self._before[number] = signal.signal(number, self._ask)
        return self

    def __exit__(self, *_: Any) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _ask(self, number: int, _frame: Any) -> None:
        self.asked = signal.Signals(number)
        if number == signal.SIGINT:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _result(config: TrainConfig, state: TrainState, started: float,
            metrics: dict[str, float] | None = None) -> TrainResult:
    model_dir = Path(config.model_dir)
    latest = latest_checkpoint(model_dir)
    if metrics is None:
        metrics = read_metrics(latest).get("metrics", {}) if latest else {}
    return TrainResult(int(state.step), state.parameters, model_dir, dict(metrics), latest,
                       best_checkpoint(model_dir), time.perf_counter() - started)
