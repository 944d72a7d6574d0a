"""`lisax eval` and `lisax infer`: a checkpoint on a seqio task; generated targets and likelihoods of given ones.

Examples are read by a thread of their own, sorted by length in windows so that little of a batch is padding, and
written window by window in their own order: an interrupted `lisax infer` goes on at the first unwritten window.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from lisax.models.architectures import DualEncoderConfig, FusionConfig, Model, PointerConfig, ReaderConfig, T5Config
from lisax.models.decoding import EOS_ID, Decoding, Generated, generate
from lisax.models.pointer_loss import COLUMNS
from lisax.places import place
from lisax.records import LisaxError, write_json
from lisax.runtime import data
from lisax.runtime.batching import BATCHES_IN_WINDOW, bucket_width, bucket_widths, by_length, in_order, windows
from lisax.runtime.checkpoints import RestoreCheckpointConfig, resolve_checkpoint
from lisax.runtime.fusion_scoring import FusionScorer
from lisax.runtime.interop.architecture import parameter_shapes
from lisax.runtime.objectives import Loss, apply_model, objective_of
from lisax.runtime.partitioning import Partitioner
from lisax.runtime.pointer_scoring import PointerScorer
from lisax.runtime.restore import load_parameters
from lisax.runtime.resumable import fingerprint, resumable_groups
from lisax.runtime.shapes import check_parameters
from lisax.runtime.step import make_eval_step
from lisax.runtime.train import evaluate_batches


@dataclasses.dataclass(frozen=True)
class EvalConfig:
    """Evaluates `restore` on `dataset` and writes `{task}-{split}.json` to `output_dir`."""

    model: Model
    dataset: data.DatasetConfig
    restore: RestoreCheckpointConfig
    output_dir: str
    loss: Loss = Loss()
    decoding: Decoding = Decoding()


@dataclasses.dataclass(frozen=True)
class InferConfig:
    """Runs `restore` over `dataset` in `mode` predict or score, one JSON line an example in its order.

    Shard `shard_id` of `num_shards` takes every num_shards-th example."""

    model: T5Config
    dataset: data.DatasetConfig
    restore: RestoreCheckpointConfig
    output_dir: str
    mode: str = "predict"
    decoding: Decoding = Decoding()
    shard_id: int = 0
    num_shards: int = 1

    def __post_init__(self):
        if self.mode not in ("predict", "score"):
            raise LisaxError(f"infer.mode must be 'predict' or 'score', found '{self.mode}'")
        if self.mode == "score" and not isinstance(self.model, T5Config):
            raise LisaxError("infer.mode 'score' is the likelihood of target tokens, which a T5 has: give 'predict'")
        if not 0 <= self.shard_id < self.num_shards:
            raise LisaxError(f"infer.shard_id must be from 0 to {self.num_shards - 1}, found {self.shard_id}")


# --- On the device -------------------------------------------------------------------------


def make_predictor(
    model: T5Config, length: int, decoding: Decoding, partitioner: Partitioner
) -> Callable[[Any, Array, Array], Generated]:
    """The compiled (parameters, inputs [rows, inputs], example numbers [rows]) -> hypotheses of at most `length`."""

    def predict(parameters, inputs, numbers):
        return generate(model, parameters, inputs, numbers, length, decoding)

    return jax.jit(predict, out_shardings=partitioner.batch)


def make_target_scorer(model: T5Config, partitioner: Partitioner) -> Callable[[Any, dict[str, Array]], Array]:
    """The compiled (parameters, batch) -> log-likelihood [rows] float32 of the targets, EOS included."""

    def score(parameters, batch):
        log_likelihoods = jax.nn.log_softmax(apply_model(model, parameters, batch))
        targets = batch["decoder_target_tokens"]
        chosen = jnp.take_along_axis(log_likelihoods, targets[..., None], axis=-1)[..., 0]
        return jnp.sum(chosen * batch["decoder_loss_weights"], axis=-1)

    return jax.jit(score, out_shardings=partitioner.batch)


# --- On the host ---------------------------------------------------------------------------


class _Loaded:
    """A checked configuration with its parameters on the devices and its compiled functions."""

    def __init__(self, config: EvalConfig | InferConfig):
        if isinstance(config.model, (DualEncoderConfig, ReaderConfig)):
            raise LisaxError(
                "dual encoders and readers are used by `lisax index vectors` and `lisax answer`; their "
                "losses and accuracies are those of training's evaluation"
            )
        self.partitioner = Partitioner.over_all_devices()
        self.folder = resolve_checkpoint(config.restore.path, config.restore.mode)
        self.partitioner.check_batch_size(config.dataset.batch_size, 1)
        data.check_dataset(config.dataset, config.model.t5.vocab_size, "dataset")
        model = config.model.for_inference()
        parameters = load_parameters(self.folder)
        check_parameters(parameter_shapes(model), parameters, self.folder)
        self.parameters = self.partitioner.place_state(parameters)
        self.model, self.batch_size = model, config.dataset.batch_size
        self.dataset = config.dataset
        if config.dataset.task_feature_lengths is None:
            self.dataset = dataclasses.replace(config.dataset, task_feature_lengths=data.longest(config.dataset))
        self.lengths = self.dataset.task_feature_lengths
        self.vocabulary = data.provider_of(config.dataset).output_features["targets"].vocabulary

    def predictions(self, examples: Iterable[tuple[int, dict]], decoding: Decoding) -> Iterator[list[dict]]:
        """Of each window of (number, example), in order: {"prediction": "…"} and, with beams, "hypotheses":
        [{"prediction", "score"}], best first.

        Of table fusion a prediction is its probabilities [k, classes], with "attention" [heads, k, k] beside; of the
        evidence pointer the pointers [steps], with "shares" [steps] and "labels" [3] beside."""
        if isinstance(self.model, FusionConfig):
            return self._fused(examples)
        if isinstance(self.model, PointerConfig):
            return self._pointed(examples)
        predict = make_predictor(self.model, self.lengths["targets"], decoding, self.partitioner)

        def run(batch):
            return predict(self.parameters, batch["encoder_input_tokens"], batch["numbers"])

        def readable(generated) -> Iterator[dict]:
            for tokens, scores in zip(*map(np.asarray, generated)):
                texts = [self.vocabulary.decode([int(token) for token in row if token > EOS_ID]) for row in tokens]
                several = [{"prediction": text, "score": float(score)} for text, score in zip(texts, scores)]
                yield {"prediction": texts[0]} | ({"hypotheses": several} if len(texts) > 1 else {})

        return in_order(self._windows(examples), self._input_batches, run, readable)

    def _fused(self, examples: Iterable[tuple[int, dict]]) -> Iterator[list[dict]]:
        tables = self.lengths["targets"]
        scorer = FusionScorer(self.model, self.parameters, texts=tables, max_tokens=self.lengths["inputs"] // tables)
        for claims in self._claims(examples, tables):
            yield [
                {"prediction": probabilities.tolist(), "attention": attention.tolist()}
                for probabilities, attention in zip(*scorer.scores(claims))
            ]

    def _pointed(self, examples: Iterable[tuple[int, dict]]) -> Iterator[list[dict]]:
        candidates = self.lengths["targets"] // COLUMNS
        scorer = PointerScorer(
            self.model, self.parameters, texts=candidates, max_tokens=self.lengths["inputs"] // candidates
        )
        for claims in self._claims(examples, candidates):
            yield [
                {"prediction": pointers.tolist(), "shares": shares.tolist(), "labels": labels.tolist()}
                for pointers, shares, labels in zip(*scorer.point(claims))
            ]

    def _claims(self, examples: Iterable[tuple[int, dict]], texts: int) -> Iterator[list[list[np.ndarray]]]:
        """Of each window, the tokens of every claim's texts."""
        for window in self._windows(examples):
            yield [
                [row[: np.count_nonzero(row)] for row in np.reshape(example["inputs"], (texts, -1))]
                for _, example in window
            ]

    def scores(self, examples: Iterable[tuple[int, dict]]) -> Iterator[list[dict]]:
        """Of each window of (number, example), in order: {"score": log-likelihood of the targets}."""
        score = make_target_scorer(self.model, self.partitioner)
        return in_order(
            self._windows(examples),
            self._pair_batches,
            lambda batch: score(self.parameters, batch),
            lambda scores: [{"score": float(value)} for value in np.asarray(scores)],
        )

    def _windows(self, examples: Iterable[tuple[int, dict]]) -> Iterator[list[tuple[int, dict]]]:
        return windows(examples, self.window)

    @property
    def window(self) -> int:
        """Examples that are sorted together, and whose results are written together."""
        return self.batch_size * BATCHES_IN_WINDOW

    def _input_batches(self, window: Sequence[tuple[int, dict]]) -> Iterator[tuple[np.ndarray, dict[str, Array]]]:
        lengths = [min(len(example["inputs"]), self.lengths["inputs"]) for _, example in window]
        for rows in by_length([(length,) for length in lengths], self.batch_size):
            batch = {
                "encoder_input_tokens": self._stacked([window[i][1] for i in rows], "inputs"),
                "numbers": np.zeros(self.batch_size, np.int32),
            }
            batch["numbers"][: len(rows)] = [window[i][0] for i in rows]
            yield rows, self.partitioner.place_batch(batch)

    def _pair_batches(self, window: Sequence[tuple[int, dict]]) -> Iterator[tuple[np.ndarray, dict[str, Array]]]:
        # Inputs of about equal length are sorted by their targets' length.
        widths = bucket_widths(self.lengths["inputs"])
        lengths = [
            (int(np.searchsorted(widths, len(example["inputs"]))), len(example["targets"])) for _, example in window
        ]
        for rows in by_length(lengths, self.batch_size):
            examples = [window[i][1] for i in rows]
            targets = self._stacked(examples, "targets")
            yield (
                rows,
                self.partitioner.place_batch(
                    {
                        "encoder_input_tokens": self._stacked(examples, "inputs"),
                        "decoder_target_tokens": targets,
                        "decoder_input_tokens": np.pad(targets, ((0, 0), (1, 0)))[:, :-1],
                        "decoder_loss_weights": (targets > 0).astype(np.int32),
                    }
                ),
            )

    def _stacked(self, examples: Sequence[dict], feature: str) -> np.ndarray:
        """One feature as int32 [batch size, width of its longest], filled with zeros; cut at the task's length."""
        longest = self.lengths[feature]
        width = bucket_width(min(max(len(example[feature]) for example in examples), longest), longest)
        stacked = np.zeros((self.batch_size, width), np.int32)
        for row, example in zip(stacked, examples):
            tokens = example[feature][:longest]
            row[: len(tokens)] = tokens
        return stacked


def infer(config: InferConfig) -> Path:
    """Writes `{task}-{mode}.jsonl` (with `-00000-of-00008` for shards) to `output_dir`; returns its path.

    Lines are T5X's: {"inputs": {the pretokenized features}, "prediction": "…"} or {…, "score": -1.2}; with beams
    "hypotheses" stand beside. The same call after an interruption goes on with what is written."""
    loaded = _Loaded(config)
    shard = f"-{config.shard_id:05d}-of-{config.num_shards:05d}" if config.num_shards > 1 else ""
    path = place(config.output_dir) / f"{config.dataset.mixture_or_task_name}-{config.mode}.jsonl{shard}"
    count = 0

    def lines_after(done: int) -> Iterator[list[str]]:
        """Lines of the windows after the first `done`."""
        nonlocal count
        count = done * loaded.window
        if done:
            print(f"goes on after {count} lines of {path}", file=sys.stderr)
        numbered = enumerate(data.examples(loaded.dataset))
        mine = itertools.islice(numbered, config.shard_id, None, config.num_shards)
        with data.Prefetched(itertools.islice(mine, count, None), ahead=loaded.window) as examples:
            kept, examples = itertools.tee(examples)
            results = (
                loaded.predictions(examples, config.decoding) if config.mode == "predict" else loaded.scores(examples)
            )
            for window in results:
                count += len(window)
                yield [
                    json.dumps({"inputs": _readable(example)} | result, ensure_ascii=False)
                    for result, (_, example) in zip(window, kept)
                ]

    resumable_groups(path, lines_after, made_from=repr((config, fingerprint(loaded.folder))))
    print(f"{count} lines in {path}, from {loaded.folder}", file=sys.stderr)
    return path


def evaluate(config: EvalConfig) -> dict[str, float]:
    """Loss and accuracies of the split, and the task's own metrics on greedy outputs and on scores.

    In a mixture the metrics of a task are named `{task}/{metric}`."""
    loaded = _Loaded(config)
    eval_step = make_eval_step(loaded.model, config.loss, loaded.partitioner)
    batches = data.eval_batches(loaded.dataset)
    first = next(batches, None)
    if first is None:
        raise LisaxError(f"'{config.dataset.mixture_or_task_name}' has no examples in '{config.dataset.split}'")
    metrics = evaluate_batches(
        eval_step,
        loaded.parameters,
        itertools.chain([first], batches),
        loaded.partitioner,
        objective_of(loaded.model).metrics,
    )
    tasks = data.import_seqio().get_subtasks(data.provider_of(config.dataset))
    for task in tasks:
        if config.dataset.split not in task.splits:
            continue
        own = _task_metrics(
            task, loaded, dataclasses.replace(loaded.dataset, mixture_or_task_name=task.name), config.decoding
        )
        metrics |= {(name if len(tasks) == 1 else f"{task.name}/{name}"): value for name, value in own.items()}
    name = f"{config.dataset.mixture_or_task_name}-{config.dataset.split}.json"
    path = place(config.output_dir) / name.replace("/", "_")
    write_json(path, {"checkpoint": str(loaded.folder), "metrics": metrics})
    for metric, value in metrics.items():
        print(f"{metric}\t{value:.6g}")
    return metrics


def _task_metrics(task: Any, loaded: _Loaded, dataset: data.DatasetConfig, decoding: Decoding) -> dict[str, float]:
    predicted, scored = task.predict_metric_fns, task.score_metric_fns
    if not predicted and not scored:
        return {}
    rows = list(data.examples(dataset))
    targets = [task.postprocess_fn(_target_text(row, loaded.vocabulary), example=row, is_target=True) for row in rows]
    metrics: dict[str, float] = {}
    if predicted:
        results = itertools.chain.from_iterable(loaded.predictions(enumerate(rows), decoding))
        outputs = [
            task.postprocess_fn(result["prediction"], example=row, is_target=False)
            for result, row in zip(results, rows, strict=True)
        ]
        for function in predicted:
            metrics |= function(targets, outputs)
    if scored:
        scores = [result["score"] for result in itertools.chain.from_iterable(loaded.scores(enumerate(rows)))]
        for function in scored:
            metrics |= function(targets, scores)
    return {name: float(value) for name, value in metrics.items() if math.isfinite(float(value))}


def _target_text(row: dict, vocabulary: Any) -> str:
    if "targets_pretokenized" in row:
        return row["targets_pretokenized"].decode("utf-8")
    return vocabulary.decode([int(token) for token in row["targets"] if token > EOS_ID])


def _readable(example: dict) -> dict[str, Any]:
    """The pretokenized features of an example, or its token ids where it has none."""
    texts = {name: _plain(value) for name, value in example.items() if name.endswith("_pretokenized")}
    return texts or {"inputs": _plain(example["inputs"])}


def _plain(value: Any) -> Any:
    value = value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
    return value.decode("utf-8") if isinstance(value, bytes) else value
