"""The configuration of a training run, and checks of it before anything slow happens."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import jax

from lisax.devices.partitioning import Partitioner, PjitPartitioner
from lisax.errors import LisaxError
from lisax.files.places import place
from lisax.models.architectures import Model, from_description
from lisax.models.decoding import Decoding
from lisax.models.lora import Lora
from lisax.training import data
from lisax.training.losses import PER_SEQUENCE, Loss
from lisax.training.model_kinds import kind_of
from lisax.training.objectives import Classes
from lisax.training.optimizers import Adafactor, Optimizer
from lisax.training.schedules import Schedule
from lisax.training.task_metrics import Evaluator
from lisax.weights.checkpoints import CheckpointConfig, latest_checkpoint
from lisax.weights.interop.kinds import vocabulary_name
from lisax.weights.model_folder import ModelFolder

# Fields of an architecture that may differ from those of a checkpoint: they are of training, of speed, of rounding, or
# settings of inference, or they change the shapes of parameters, which are compared too.
MAY_CHANGE = frozenset(
    {
        "attention_chunk",
        "attention_init",
        "beam_size",
        "dropout_broadcast_dims",
        "dropout_rate",
        "dtype",
        "float32_attention_logits",
        "own_steps",
        "passages",
        "pointer_weight",
        "pooler",
        "relative_bias_per_layer",
        "remat",
        "reward_weight",
        "scan_layers",
        "temperature",
        "train_encoder",
    }
)


@dataclasses.dataclass(frozen=True)
class Trainer:
    """How a step is taken. `num_microbatches` slices of a batch, of consecutive rows, have their gradients summed.

    The sum is T5X's: each slice's loss is divided by its own LOSS_NORMALIZING_FACTOR, that of its own target tokens for
    NUM_REAL_TARGET_TOKENS, so that slices with few tokens weigh more and the sum is a sum of means; and all slices have
    the same masks of dropout. Without `normalize_each_microbatch` the sum is the gradient of the whole batch, and each
    slice has masks of its own."""

    num_microbatches: int | None = None
    normalize_each_microbatch: bool = True
    learning_rate_fn: Callable = Schedule(factors="constant", base_learning_rate=1e-3)


@dataclasses.dataclass(frozen=True)
class TrainConfig:
    """One training run.

    `train_data` is a seqio dataset, or a `data.BatchSource`: skip -> the endless batches after `skip` of them.
    `dev_data` is a dataset, or a function that gives one pass of batches (all of one shape), or None.
    Steps are absolute, those of the initial checkpoint included, unless `relative_steps` is given instead.
    With an `adapter`, the backbone of the initial checkpoint stays as it is, and the adapter is trained and saved.
    Evaluation adds the tasks' own metrics of `infer_data`, decoded by `decoding` and limited by `evaluator`.
    `use_hardware_rng` draws dropout by XLA's generator, fast on a TPU; a resumed run repeats it on the same devices.
    `vocabulary` (`data.VocabularyFile` or seqio's) must be that of the task; None: any.
    `evaluate(parameters, step)` adds metrics of the caller's to those of `dev_data`; it must not keep the
    parameters. `card` is written into `model.json`; `files` (name -> bytes) next to it.
    """

    model: Model
    model_dir: str
    train_data: data.DatasetConfig | data.BatchSource
    total_steps: int | None = None
    relative_steps: int | None = None
    dev_data: data.DatasetConfig | Callable[[], Iterable[data.HostBatch]] | None = None
    infer_data: data.DatasetConfig | None = None
    optimizer: Optimizer = Adafactor()
    loss: Loss = Loss()
    adapter: Lora | None = None
    trainer: Trainer = Trainer()
    partitioner: PjitPartitioner = PjitPartitioner()
    checkpoint: CheckpointConfig = CheckpointConfig()
    eval_period: int = 1000
    eval_steps: int | None = None  # batches of dev_data read at most
    patience: int | None = None  # evaluations without a better `best_metric` after which training ends; None: all steps
    log_period: int = 50
    random_seed: int | None = 0  # None: 0
    use_hardware_rng: bool = False
    evaluator: Evaluator = Evaluator()
    decoding: Decoding = Decoding()
    vocabulary: Any = None
    evaluate: Callable[[Any, int], Mapping[str, float]] | None = None
    card: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    files: Mapping[str, bytes] = dataclasses.field(default_factory=dict)
    gin: str | None = None  # the operative gin, saved with the run


def check(config: TrainConfig, partitioner: Partitioner) -> ModelFolder | None:
    """Raises an error for everything that can be known to be wrong before anything slow happens. Returns the model that
    the run starts from; None if it starts from nothing or continues from a checkpoint of its own."""
    if (config.total_steps is None) == (config.relative_steps is None):
        raise LisaxError(
            "give either TRAIN_STEPS (absolute, with those of the initial checkpoint) or TRAIN_STEPS_RELATIVE, not both"
            if config.total_steps is not None
            else "TRAIN_STEPS or TRAIN_STEPS_RELATIVE must be given"
        )
    for name, macro in (("total_steps", "TRAIN_STEPS"), ("relative_steps", "TRAIN_STEPS_RELATIVE")):
        if (getattr(config, name) or 0) < 0:
            raise LisaxError(f"{macro} must be at least 0, found {getattr(config, name)}")
    if config.eval_steps is not None and config.eval_steps < 1:
        raise LisaxError(f"EVAL_STEPS must be at least 1 batch, or None for all, found {config.eval_steps}")
    for name in ("eval_period", "log_period"):
        if getattr(config, name) < 1:
            raise LisaxError(f"{name} must be at least 1 step, found {getattr(config, name)}")
    if config.patience is not None and (config.patience < 1 or config.checkpoint.save.best_metric is None):
        raise LisaxError(
            f"PATIENCE is {config.patience}: it must be at least 1, and counts evaluations without a "
            "better BEST_METRIC, which has to be given"
        )
    microbatches = config.trainer.num_microbatches
    if microbatches is not None and microbatches < 0:
        raise LisaxError(f"Trainer.num_microbatches must be at least 1, or None, found {microbatches}")
    if config.adapter is not None and config.checkpoint.restore.path is None:
        raise LisaxError("an adapter is trained on a pretrained backbone: give that as INITIAL_CHECKPOINT_PATH")
    objective, wanted = kind_of(config.model).objective, config.checkpoint.save.best_metric
    if config.loss.normalizing_factor == PER_SEQUENCE and not objective.writes:
        raise LisaxError(
            f"LOSS_NORMALIZING_FACTOR '{PER_SEQUENCE}' is for models that write tokens, found a {config.model.title}"
        )
    if (
        wanted
        and config.evaluate is None
        and config.infer_data is None
        and (config.dev_data is None or wanted not in objective.metrics)
    ):
        raise LisaxError(
            f"the best checkpoint is to be chosen by '{wanted}', which nothing computes: evaluation "
            f"gives {', '.join(objective.metrics) if config.dev_data else 'nothing without a dev split'}"
        )
    if place(config.model_dir).is_file():
        raise LisaxError(
            f"MODEL_DIR is {config.model_dir}, which is a file: expected a folder, or no file of this name"
        )
    restore, initial, own = config.checkpoint.restore, None, latest_checkpoint(config.model_dir)
    if own is not None:
        found = ModelFolder.find(own)
        check_same_model(config.model, found)
        check_same_vocabulary(config.train_data, found)
    if restore.path and (config.adapter is not None or own is None):
        initial = ModelFolder.find(restore.path, restore.mode)
        check_same_vocabulary(config.train_data, initial)
    if isinstance(config.train_data, data.DatasetConfig):
        partitioner.check_batch_size(config.train_data.batch_size, microbatches or 1)
        data.check_dataset(config.train_data, config.model.backbone.vocab_size, "train")
        if config.train_data.task_feature_lengths is None:
            raise LisaxError("TASK_FEATURE_LENGTHS must be given for training")
        if config.loss.teacher and not isinstance(objective, Classes):
            raise LisaxError("losses.Loss.teacher is for pair scorers: set it to 0.0")
        objective.check(config.model, config.loss, config.train_data.task_feature_lengths, config.train_data.pack)
        length = objective.text_length(config.model, config.train_data.task_feature_lengths)
        if length > (config.model.backbone.max_length or length):
            raise LisaxError(
                f"TASK_FEATURE_LENGTHS gives texts of {length} tokens, and the model has "
                f"{config.model.backbone.max_length} positions"
            )
        text = data.model_card(config.train_data).get("text", {})
        labels, passages = text.get("labels"), text.get("passages")
        if labels is not None and len(labels) != config.model.labels:
            raise LisaxError(
                f"'{config.train_data.mixture_or_task_name}' has the classes {', '.join(labels)}, and the model has "
                + (f"{config.model.labels}: set LABELS={len(labels)}" if config.model.labels else "none")
            )
        if passages is not None and passages != (config.model.passages or passages):
            raise LisaxError(
                f"'{config.train_data.mixture_or_task_name}' has {passages} passages a question, and the "
                f"model reads {config.model.passages}: set PASSAGES={passages}"
            )
        data.check_vocabulary(config.train_data, config.vocabulary)
    for name, dataset in (("dev", config.dev_data), ("infer_eval", config.infer_data)):
        if isinstance(dataset, data.DatasetConfig):
            partitioner.check_batch_size(dataset.batch_size, 1, "the batch size of evaluation")
            data.check_dataset(dataset, config.model.backbone.vocab_size, name)
    if config.infer_data is not None:
        kind_of(config.model).inference.check()
        if jax.process_count() > 1:
            raise LisaxError(
                "train.infer_data is evaluated by one process, and there are "
                f"{jax.process_count()}: set it to None, and run `lisax eval` on the checkpoints"
            )
    return initial


def check_batch(batch: data.HostBatch, config: TrainConfig, partitioner: Partitioner, microbatches: int) -> None:
    partitioner.check_batch_size(len(batch["encoder_input_tokens"]), microbatches)
    written = ["decoder_target_tokens"] if kind_of(config.model).objective.writes else []
    for name in ("encoder_input_tokens", *written):
        highest = int(batch[name].max())
        if highest >= config.model.backbone.vocab_size:
            raise LisaxError(
                f"the first batch has token {highest} in '{name}', but the model's vocabulary has "
                f"{config.model.backbone.vocab_size} entries"
            )


def check_same_vocabulary(dataset: Any, found: ModelFolder) -> None:
    """Raises an error if a model was trained with another vocabulary than the data's."""
    if found.has_card and isinstance(dataset, data.DatasetConfig):
        known = (found.card.get("vocabulary") or {}).get("sha256")
        used = data.vocabulary_file(dataset)
        if known and used and known != data.digest(used):
            raise LisaxError(
                f"{found.folder} was trained with another vocabulary than '{used}' of "
                f"'{dataset.mixture_or_task_name}': its own is {found.folder / vocabulary_name(used)}"
            )


def check_same_model(model: Model, found: ModelFolder) -> None:
    """Raises an error if a checkpoint's `model.json` has another architecture of the same kind, whose results differ
    although its parameters have the same shapes."""
    if not found.has_card or found.card.get("architecture") is None:
        return
    trained = from_description(found.card["architecture"])
    for ours, theirs in ((model, trained), (model.backbone, trained.backbone)):
        for entry in dataclasses.fields(ours) if type(ours) is type(theirs) else ():
            value, known = getattr(ours, entry.name), getattr(theirs, entry.name)
            if not isinstance(value, Model) and entry.name not in MAY_CHANGE and value != known:
                raise LisaxError(
                    f"{type(ours).__name__}.{entry.name} is {value!r}, and {found.folder} was trained with {known!r}: "
                    "give the same value"
                )
