"""`lisax eval` and `lisax infer`: a checkpoint on a seqio task; generated targets and likelihoods of given ones.

Examples are read by a thread of their own, sorted by length in windows so that little of a batch is padding, and
written window by window in their own order: an interrupted `lisax infer` resumes at the first unwritten window.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax

from lisax.devices.loop import DeviceLoop
from lisax.devices.partitioning import PjitPartitioner
from lisax.errors import LisaxError
from lisax.files.places import place
from lisax.files.resumable import fingerprint, resumable_groups
from lisax.files.writing import write_json
from lisax.models.architectures import Model
from lisax.models.decoding import Decoding
from lisax.training import data
from lisax.training.losses import Loss
from lisax.training.model_inference import TaskRun
from lisax.training.model_kinds import kind_of
from lisax.training.step import make_eval_step
from lisax.training.task_metrics import Evaluator, finite, readable, task_metrics
from lisax.training.train import evaluate_sets
from lisax.training.train_config import check_same_model, check_same_vocabulary
from lisax.weights.checkpoints import RestoreCheckpointConfig
from lisax.weights.interop.architecture import parameter_shapes
from lisax.weights.model_folder import ModelFolder
from lisax.weights.restore import load_parameters
from lisax.weights.shapes import check_parameters


@dataclasses.dataclass(frozen=True)
class EvalConfig:
    """Evaluates `restore` on `dataset` and writes `{task}-{split}.json` to `output_dir`, and results as `evaluator` has
    them to `{task}-{split}.jsonl`."""

    model: Model
    dataset: data.DatasetConfig
    restore: RestoreCheckpointConfig
    output_dir: str
    loss: Loss = Loss()
    decoding: Decoding = Decoding()
    partitioner: PjitPartitioner = PjitPartitioner()
    evaluator: Evaluator = Evaluator()
    vocabulary: Any = None  # as `TrainConfig.vocabulary`


@dataclasses.dataclass(frozen=True)
class InferConfig:
    """Runs `restore` over `dataset` in `mode` predict or score, one JSON line an example in its order.

    Shard `shard_id` of `num_shards` takes every num_shards-th example."""

    model: Model
    dataset: data.DatasetConfig
    restore: RestoreCheckpointConfig
    output_dir: str
    mode: str = "predict"
    decoding: Decoding = Decoding()
    shard_id: int = 0
    num_shards: int = 1
    partitioner: PjitPartitioner = PjitPartitioner()
    vocabulary: Any = None  # as `TrainConfig.vocabulary`

    def __post_init__(self):
        if self.mode not in ("predict", "score"):
            raise LisaxError(f"infer.mode must be 'predict' or 'score', found '{self.mode}'")
        if self.mode == "score" and not kind_of(self.model).inference.scores_targets:
            raise LisaxError("infer.mode 'score' is the likelihood of target tokens, which a T5 has: give 'predict'")
        if not 0 <= self.shard_id < self.num_shards:
            raise LisaxError(f"infer.shard_id must be from 0 to {self.num_shards - 1}, found {self.shard_id}")


def _loaded(config: EvalConfig | InferConfig) -> tuple[TaskRun, Path]:
    """The run of a configuration, which is checked, with its model's parameters on the devices; the model's folder."""
    kind_of(config.model).inference.check()
    if config.restore.path is None:
        raise LisaxError("RestoreCheckpointConfig.path must be given: --gin.CHECKPOINT_PATH=…")
    partitioner = config.partitioner.over(jax.devices())
    found = ModelFolder.find(config.restore.path, config.restore.mode)
    partitioner.check_batch_size(config.dataset.batch_size, 1)
    data.check_dataset(config.dataset, config.model.backbone.vocab_size, "dataset")
    data.check_vocabulary(config.dataset, config.vocabulary)
    check_same_vocabulary(config.dataset, found)
    if config.restore.strict and not (config.restore.assignment_map or config.restore.fallback_to_scratch):
        check_same_model(config.model, found)
    model = config.model.for_inference()
    expected = parameter_shapes(model)
    parameters = load_parameters(found, config.restore, expected)
    check_parameters(expected, parameters, found.folder)
    loop = DeviceLoop(parameters, source=found.folder, partitioner=partitioner)
    return TaskRun(model, loop, data.with_lengths(config.dataset)), found.folder


def infer(config: InferConfig) -> Path:
    """Writes `{task}-{mode}.jsonl` (with `-00000-of-00008` for shards) to `output_dir`; returns its path.

    Lines are T5X's: {"inputs": {the pretokenized features}, "prediction": "…"} or {…, "score": -1.2}; with beams also
    "hypotheses". A prediction of probabilities is {label: probability} if the task names its labels. The same call
    after an interruption resumes after the written lines."""
    run, model = _loaded(config)
    shard = f"-{config.shard_id:05d}-of-{config.num_shards:05d}" if config.num_shards > 1 else ""
    path = place(config.output_dir) / f"{config.dataset.mixture_or_task_name}-{config.mode}.jsonl{shard}"
    count, labels = 0, data.model_card(run.dataset).get("text", {}).get("labels")
    inference = kind_of(run.model).inference

    def named(result: dict) -> dict:
        found = result.get("prediction")
        return {**result, "prediction": dict(zip(labels, found))} if labels and isinstance(found, list) else result

    def lines_after(done: int) -> Iterator[list[str]]:
        """Lines of the windows after the first `done`."""
        nonlocal count
        count = done * run.window
        if done:
            print(f"resumes after {count} lines of {path}", file=sys.stderr)
        numbered = enumerate(data.examples(run.dataset))
        mine = itertools.islice(numbered, config.shard_id, None, config.num_shards)
        with data.Prefetched(itertools.islice(mine, count, None), ahead=run.window) as examples:
            kept, examples = itertools.tee(examples)
            if config.mode == "predict":
                results = inference.predictions(run, examples, config.decoding)
            else:
                results = inference.scores(run, examples)
            for window in results:
                count += len(window)
                yield [
                    json.dumps({"inputs": readable(example)} | named(result), ensure_ascii=False)
                    for result, (_, example) in zip(window, kept)
                ]

    resumable_groups(path, lines_after, made_from=repr((config, fingerprint(model))))
    print(f"{count} lines in {path}, from {model}", file=sys.stderr)
    return path


def evaluate(config: EvalConfig) -> dict[str, float]:
    """Loss and accuracies of the split, and the task's own metrics on generated outputs and on scores.

    In a mixture the metrics of a task are named `{task}/{metric}`, and loss and accuracies are those of all tasks too."""
    run, model = _loaded(config)
    eval_step = make_eval_step(run.model, config.loss, run.loop.partitioner)
    metrics = evaluate_sets(
        eval_step,
        run.loop.parameters,
        data.eval_sets(run.dataset),
        run.loop.partitioner,
        kind_of(run.model).objective.metrics,
    )
    if not metrics:
        raise LisaxError(f"'{config.dataset.mixture_or_task_name}' has no examples in '{config.dataset.split}'")
    step = re.fullmatch(r"checkpoint_(\d+)", model.name)
    step = int(step[1]) if step else None
    metrics |= finite(task_metrics(run, config.decoding, config.evaluator, place(config.output_dir), step))
    name = f"{config.dataset.mixture_or_task_name}-{config.dataset.split}.json"
    path = place(config.output_dir) / name.replace("/", "_")
    write_json(path, {"checkpoint": str(model), "metrics": metrics})
    for metric, value in metrics.items():
        print(f"{metric}\t{value:.6g}")
    return metrics
