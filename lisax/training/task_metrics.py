"""A task's own metrics: the functions that a seqio task has for predictions and for scores of its targets."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lisax.errors import LisaxError
from lisax.files.writing import atomic_write
from lisax.models.decoding import EOS_ID, Decoding
from lisax.progress import say
from lisax.training import data
from lisax.training.model_inference import TaskRun
from lisax.training.model_kinds import kind_of

INFERENCE_EVAL = "inference_eval"


@dataclasses.dataclass(frozen=True)
class Evaluator:
    """`num_examples` of each task are read (None: all), and the first `write_n_results` results are written (None: all),
    a JSON line each."""

    num_examples: int | None = None
    write_n_results: int | None = 0

    def __post_init__(self):
        if self.num_examples is not None and self.num_examples < 1:
            raise LisaxError(f"EVALUATOR_NUM_EXAMPLES must be at least 1, or None for all, found {self.num_examples}")
        if self.write_n_results is not None and self.write_n_results < 0:
            raise LisaxError(f"JSON_WRITE_N_RESULTS must be at least 0, or None for all, found {self.write_n_results}")


def task_metrics(
    run: TaskRun,
    decoding: Decoding,
    evaluator: Evaluator,
    folder: Path,
    step: int | None,
    *,
    training: bool = False,
) -> dict[str, float]:
    """The metrics of the tasks of a mixture on a split, those of one among several as `{task}/{metric}`; some may be NaN.

    Metrics are added to T5X's `folder/inference_eval/{task}-metrics.jsonl`, {"step": …, metric: value}, if the `step`
    is known; unless they are of a run in `training`, the line has its "split" too. Results are written to
    `{task}-dev.jsonl`, or in training to `inference_eval/{task}-000100.jsonl`: {"inputs": …, "target": …,
    "prediction": …, "score": …}, those of these that the task has metrics of."""
    dataset = run.dataset
    tasks = data.import_seqio().get_subtasks(data.provider_of(dataset))
    metrics: dict[str, float] = {}
    for task in tasks:
        if dataset.split in task.splits:
            own, lines = _of_task(task, run, decoding, evaluator)
            metrics |= {(name if len(tasks) == 1 else f"{task.name}/{name}"): value for name, value in own.items()}
            name = task.name.replace("/", "_")
            if own and step is not None:
                split = {} if training else {"split": dataset.split}
                _add_line(folder / INFERENCE_EVAL / f"{name}-metrics.jsonl", {"step": step, **split, **finite(own)})
            if written := lines[: evaluator.write_n_results]:
                results = f"{INFERENCE_EVAL}/{name}-{step:06}" if training else f"{name}-{dataset.split}"
                _write_lines(folder / f"{results}.jsonl", written)
    return metrics


def finite(metrics: Mapping[str, float]) -> dict[str, float]:
    return {name: value for name, value in metrics.items() if math.isfinite(value)}


def _add_line(path: Path, added: Mapping[str, Any]) -> None:
    """Adds the metrics of a step to a file, in place of those of the same step and split. A line of training, without a
    split, also replaces training's later ones: a run that was interrupted comes to them again."""

    def stays(line: Mapping[str, Any]) -> bool:
        if line.get("split") != added.get("split"):
            return True
        return line["step"] != added["step"] if "split" in added else line["step"] < added["step"]

    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    _write_lines(path, [*filter(stays, map(json.loads, lines)), added])


def _write_lines(path: Path, lines: Sequence[Mapping[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        file.writelines(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def _of_task(task: Any, run: TaskRun, decoding: Decoding, evaluator: Evaluator) -> tuple[dict[str, float], list[dict]]:
    predicted, scored, inference = task.predict_metric_fns, task.score_metric_fns, kind_of(run.model).inference
    _tell_unread(task)
    if not predicted and not scored:
        return {}, []
    dataset = dataclasses.replace(run.dataset, mixture_or_task_name=task.name)
    rows = list(itertools.islice(data.examples(dataset), evaluator.num_examples))
    texts = [_target_text(row, run.vocabulary) for row in rows]
    targets = [task.postprocess_fn(text, example=row, is_target=True) for text, row in zip(texts, rows)]
    metrics: dict[str, Any] = {}
    lines: list[dict] = [{"inputs": readable(row), "target": text} for row, text in zip(rows, texts)]
    if predicted:
        results = list(itertools.chain.from_iterable(inference.predictions(run, enumerate(rows), decoding)))
        outputs = [
            task.postprocess_fn(result["prediction"], example=row, is_target=False)
            for result, row in zip(results, rows, strict=True)
        ]
        lines = [line | result for line, result in zip(lines, results, strict=True)]
        for function in predicted:
            metrics |= function(targets, outputs)
    if scored:
        results = list(itertools.chain.from_iterable(inference.scores(run, enumerate(rows))))
        lines = [line | result for line, result in zip(lines, results, strict=True)]
        for function in scored:
            metrics |= function(targets, [result["score"] for result in results])
    return _numbers(metrics), lines


def _numbers(metrics: Mapping[str, Any]) -> dict[str, float]:
    """The numbers among the values that metric functions gave: of seqio's own kinds of values only a Scalar has one."""
    kinds = data.import_seqio().metrics
    plain = {name: value.value if isinstance(value, kinds.Scalar) else value for name, value in metrics.items()}
    return {name: float(value) for name, value in plain.items() if not isinstance(value, kinds.MetricValue)}


@functools.cache
def _tell_unread(task: Any) -> None:
    """Names once the metrics of a task that are left out."""
    objects = task.metric_objs[: len(task.metric_objs) - len(task.metric_fns)]  # seqio adds one for each function
    unread = [*objects, *task.predict_with_aux_metric_fns]
    if unread:
        names = ", ".join(getattr(one, "__name__", type(one).__name__) for one in unread)
        say(
            f"note: of the metrics of '{task.name}' these are left out: {names}. Metrics are functions of "
            "(targets, predictions) or (targets, scores)"
        )


def _target_text(row: dict, vocabulary: Any) -> str:
    if "targets_pretokenized" in row:
        return row["targets_pretokenized"].decode("utf-8")
    return vocabulary.decode([int(token) for token in row["targets"] if token > EOS_ID])


def readable(example: dict) -> dict[str, Any]:
    """The pretokenized features of an example, or its token ids if it has none."""
    texts = {name: _plain(value) for name, value in example.items() if name.endswith("_pretokenized")}
    return texts or {"inputs": _plain(example["inputs"])}


def _plain(value: Any) -> Any:
    value = value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
    return value.decode("utf-8") if isinstance(value, bytes) else value
