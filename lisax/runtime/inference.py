"""`lisax eval` and `lisax infer`: a checkpoint on a seqio task; greedy decoding and likelihoods of targets."""

from __future__ import annotations

import dataclasses
import itertools
import math
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from lisax.models.t5 import T5Config, Transformer
from lisax.records import LisaxError, write_json, write_json_lines
from lisax.runtime import data
from lisax.runtime.checkpoints import RestoreCheckpointConfig, resolve_checkpoint
from lisax.runtime.partitioning import Partitioner
from lisax.runtime.restore import check_parameters, load_parameters
from lisax.runtime.step import Loss, apply_model, make_eval_step
from lisax.runtime.train import evaluate_batches

EOS_ID = 1


@dataclasses.dataclass(frozen=True)
class EvalConfig:
    """Evaluates `restore` on `dataset` and writes `{task}-{split}.json` to `output_dir`."""

    model: T5Config
    dataset: data.DatasetConfig
    restore: RestoreCheckpointConfig
    output_dir: str
    loss: Loss = Loss()


@dataclasses.dataclass(frozen=True)
class InferConfig:
    """Runs `restore` over `dataset` in `mode` predict or score, one JSON line an example in its order.

    Shard `shard_id` of `num_shards` takes every num_shards-th example."""

    model: T5Config
    dataset: data.DatasetConfig
    restore: RestoreCheckpointConfig
    output_dir: str
    mode: str = "predict"
    shard_id: int = 0
    num_shards: int = 1

    def __post_init__(self):
        if self.mode not in ("predict", "score"):
            raise LisaxError(f"infer.mode must be 'predict' or 'score', found '{self.mode}'")
        if not 0 <= self.shard_id < self.num_shards:
            raise LisaxError(f"infer.shard_id must be from 0 to {self.num_shards - 1}, found {self.shard_id}")


# --- On the device -------------------------------------------------------------------------


def make_predictor(model: T5Config, length: int, partitioner: Partitioner) -> Callable[[Any, Array], Array]:
    """The compiled (parameters, inputs [rows, inputs]) -> greedy tokens [rows, length] int32, zero after EOS.

    The encoder runs once; each step runs the decoder over all `length` positions."""
    transformer = Transformer(model)

    def predict(parameters, inputs):
        variables = {"params": parameters}
        encoded = transformer.apply(variables, inputs, method=Transformer.encode)

        def unfinished(carry):
            position, _, done = carry
            return (position < length) & ~jnp.all(done)

        def extend(carry):
            position, tokens, done = carry
            shifted = jnp.pad(tokens, ((0, 0), (1, 0)))[:, :length]
            logits = transformer.apply(variables, encoded, inputs, shifted, jnp.ones_like(tokens),
                                       method=Transformer.decode)
            chosen = jnp.where(done, 0, jnp.argmax(logits[:, position], axis=-1).astype(jnp.int32))
            return position + 1, tokens.at[:, position].set(chosen), done | (chosen == EOS_ID)

        rows = inputs.shape[0]
        # Rows that only fill the batch are done before they begin.
        start = (jnp.int32(0), jnp.zeros((rows, length), jnp.int32), jnp.all(inputs == 0, axis=-1))
        return jax.lax.while_loop(unfinished, extend, start)[1]

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
        self.partitioner = Partitioner.over_all_devices()
        self.folder = resolve_checkpoint(config.restore.path, config.restore.mode)
        self.partitioner.check_batch_size(config.dataset.batch_size, 1)
        data.check_dataset(config.dataset, config.model.vocab_size, "dataset")
        parameters = load_parameters(self.folder)
        tokens = jnp.zeros((1, 2), jnp.int32)
        expected = jax.eval_shape(Transformer(config.model).init, jax.random.key(0), tokens, tokens, tokens)
        check_parameters(expected["params"], parameters, self.folder)
        self.parameters = self.partitioner.place_state(parameters)
        self.model, self.batch_size = config.model, config.dataset.batch_size
        self.dataset = config.dataset
        if config.dataset.task_feature_lengths is None:
            self.dataset = dataclasses.replace(config.dataset, task_feature_lengths=data.longest(config.dataset))
        self.lengths = self.dataset.task_feature_lengths
        self.vocabulary = data.provider_of(config.dataset).output_features["targets"].vocabulary

    def predictions(self, examples: Iterable[dict]) -> Iterator[str]:
        """Greedy outputs as text, in order."""
        predict = make_predictor(self.model, self.lengths["targets"], self.partitioner)
        for count, batch in self._batches(examples):
            tokens = np.asarray(predict(self.parameters, batch["encoder_input_tokens"]))[:count]
            for row in tokens:
                yield self.vocabulary.decode([int(token) for token in row if token > EOS_ID])

    def scores(self, examples: Iterable[dict]) -> Iterator[float]:
        """Log-likelihoods of the targets, in order."""
        score = make_target_scorer(self.model, self.partitioner)
        for count, batch in self._batches(examples):
            yield from map(float, np.asarray(score(self.parameters, batch))[:count])

    def _batches(self, examples: Iterable[dict]) -> Iterator[tuple[int, dict[str, Array]]]:
        for group in _grouped(examples, self.batch_size):
            rows = [_model_row(example, self.lengths) for example in group]
            yield len(group), self.partitioner.place_batch(data.stack_rows(rows, self.batch_size))


def _model_row(example: dict, lengths) -> data.HostBatch:
    """One example as the converter makes it, not packed: arrays [length] int32."""
    inputs, targets = (np.zeros(lengths[name], np.int32) for name in ("inputs", "targets"))
    for row, name in ((inputs, "inputs"), (targets, "targets")):
        tokens = example[name][:len(row)]
        row[:len(tokens)] = tokens
    return {"encoder_input_tokens": inputs, "decoder_target_tokens": targets,
            "decoder_input_tokens": np.concatenate([np.zeros(1, np.int32), targets[:-1]]),
            "decoder_loss_weights": (targets > 0).astype(np.int32)}


def infer(config: InferConfig) -> Path:
    """Writes `{task}-{mode}.jsonl` (with `-00000-of-00008` for shards) to `output_dir`; returns its path.

    Lines are T5X's: {"inputs": {the pretokenized features}, "prediction": "…"} or {…, "score": -1.2}."""
    loaded = _Loaded(config)

    def mine() -> Iterator[dict]:
        return itertools.islice(data.examples(loaded.dataset), config.shard_id, None, config.num_shards)

    results = loaded.predictions(mine()) if config.mode == "predict" else loaded.scores(mine())
    key = "prediction" if config.mode == "predict" else "score"
    shard = f"-{config.shard_id:05d}-of-{config.num_shards:05d}" if config.num_shards > 1 else ""
    path = Path(config.output_dir) / f"{config.dataset.mixture_or_task_name}-{config.mode}.jsonl{shard}"
    count = write_json_lines(path, ({"inputs": _readable(example), key: result}
                                    for example, result in zip(mine(), results, strict=True)))
    print(f"{count} lines in {path}, from {loaded.folder}", file=sys.stderr)
    return path


def evaluate(config: EvalConfig) -> dict[str, float]:
    """Loss and accuracies of the split, and the task's own metrics on greedy outputs and on scores.

    In a mixture the metrics of a task are named `{task}/{metric}`."""
    loaded = _Loaded(config)
    eval_step = make_eval_step(config.model, config.loss, loaded.partitioner)
    batches = data.eval_batches(loaded.dataset)
    first = next(batches, None)
    if first is None:
        raise LisaxError(f"'{config.dataset.mixture_or_task_name}' has no examples in '{config.dataset.split}'")
    metrics = evaluate_batches(eval_step, loaded.parameters, itertools.chain([first], batches), loaded.partitioner)
    tasks = data.import_seqio().get_subtasks(data.provider_of(config.dataset))
    for task in tasks:
        if config.dataset.split not in task.splits:
            continue
        own = _task_metrics(task, loaded, dataclasses.replace(loaded.dataset, mixture_or_task_name=task.name))
        metrics |= {(name if len(tasks) == 1 else f"{task.name}/{name}"): value for name, value in own.items()}
    name = f"{config.dataset.mixture_or_task_name}-{config.dataset.split}.json"
    path = Path(config.output_dir) / name.replace("/", "_")
    write_json(path, {"checkpoint": str(loaded.folder), "metrics": metrics})
    for metric, value in metrics.items():
        print(f"{metric}\t{value:.6g}")
    return metrics


def _task_metrics(task: Any, loaded: _Loaded, dataset: data.DatasetConfig) -> dict[str, float]:
    predicted, scored = task.predict_metric_fns, task.score_metric_fns
    if not predicted and not scored:
        return {}
    rows = list(data.examples(dataset))
    targets = [task.postprocess_fn(_target_text(row, loaded.vocabulary), example=row, is_target=True)
               for row in rows]
    metrics: dict[str, float] = {}
    if predicted:
        outputs = [task.postprocess_fn(text, example=row, is_target=False)
                   for text, row in zip(loaded.predictions(rows), rows, strict=True)]
        for function in predicted:
            metrics |= function(targets, outputs)
    if scored:
        scores = list(loaded.scores(rows))
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


def _grouped(items: Iterable, size: int) -> Iterator[list]:
    iterator = iter(items)
    while group := list(itertools.islice(iterator, size)):
        yield group
