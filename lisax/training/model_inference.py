"""The uses of a trained model of each kind: predictions of a task, plans, and its exported program.

A kind's `Inference` is its half of `model_kinds.ModelKind`; `lisax infer`, `eval`, `plan` and `export` know no more.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, export

from lisax.devices.batching import BATCHES_IN_WINDOW, bucket_width, bucket_widths, by_length, padded, windows
from lisax.devices.loop import DeviceLoop, HostBatch
from lisax.devices.partitioning import Partitioner
from lisax.errors import LisaxError
from lisax.formats.vocabulary import Vocabulary
from lisax.models.architectures import Model
from lisax.models.decoding import EOS_ID, IMPOSSIBLE, Decoding
from lisax.scoring.claims import ClaimScorer, compiled_claims
from lisax.scoring.generating import make_predictor
from lisax.scoring.texts import PairScoring, compiled_pairs, compiled_scorer
from lisax.training import data, programs
from lisax.training.objectives import apply_model

Numbered = tuple[int, dict]  # an example with its number in the task


@dataclasses.dataclass(frozen=True)
class TaskRun:
    """A model over a task, whose dataset has its lengths (`data.with_lengths`); its parameters are on the devices."""

    model: Model
    loop: DeviceLoop
    dataset: data.DatasetConfig

    @property
    def lengths(self) -> Mapping[str, int]:
        return self.dataset.task_feature_lengths

    @property
    def batch_size(self) -> int:
        return self.dataset.batch_size

    @functools.cached_property
    def vocabulary(self) -> Any:
        """The vocabulary of the outputs."""
        return data.provider_of(self.dataset).output_features["targets"].vocabulary

    @property
    def window(self) -> int:
        """Examples that are sorted together, and whose results are written together."""
        return self.batch_size * BATCHES_IN_WINDOW

    def stacked(self, examples: Sequence[dict], feature: str) -> np.ndarray:
        """One feature as int32 [batch size, width of its longest], filled with zeros; cut at the task's length."""
        longest = self.lengths[feature]
        width = bucket_width(min(max(len(example[feature]) for example in examples), longest), longest)
        return padded([example[feature][:longest] for example in examples], self.batch_size, width)


class Inference(Protocol):
    """`needs`: the field of `text` in `model.json` that `exported` takes; None: it takes none. `outputs`: the names of
    the exported program's results. `scores_targets`: whether it gives the likelihood of target tokens."""

    needs: str | None = None
    outputs: tuple[str, ...] = ()
    scores_targets: bool = False

    def check(self) -> None:
        """Raises where `lisax eval` and `infer` have no use for such a model."""

    def predictions(self, run: TaskRun, examples: Iterable[Numbered], decoding: Decoding) -> Iterator[list[dict]]:
        """Yields a list per window of examples, in order: {"prediction": …} with further fields."""

    def scores(self, run: TaskRun, examples: Iterable[Numbered]) -> Iterator[list[dict]]:
        """Yields a list per window of examples, in order: {"score": log-likelihood of the targets}."""

    def compiled(
        self, model: Model, what: str, lengths: Mapping[str, int], rows: int, partitioner: Partitioner, parameters: Any
    ) -> Any:
        """The program "score" or "generate" compiled only for shapes, for `lisax plan`."""

    def exported(
        self, model: Model, parameters: Mapping[str, Any], text: Mapping[str, Any], vocabulary: Vocabulary
    ) -> export.Exported:
        """The scorer as a StableHLO program. `text` is that of `model.json`."""


class TextToTextInference(Inference):
    """A T5's: it generates targets, or scores them; as a program it scores label words.

    A prediction is the text; with beams also "hypotheses": [{"prediction", "score"}], best first."""

    needs = "words"
    outputs = programs.OF_TEXTS
    scores_targets = True

    def predictions(self, run: TaskRun, examples: Iterable[Numbered], decoding: Decoding) -> Iterator[list[dict]]:
        predict = make_predictor(run.model, run.lengths["targets"], decoding, run.loop.partitioner)

        def batches(window: Sequence[Numbered]) -> Iterator[tuple[np.ndarray, HostBatch]]:
            lengths = [min(len(example["inputs"]), run.lengths["inputs"]) for _, example in window]
            for rows in by_length([(length,) for length in lengths], run.batch_size):
                numbers = np.zeros(run.batch_size, np.int32)
                numbers[: len(rows)] = [window[i][0] for i in rows]
                yield rows, {"inputs": run.stacked([window[i][1] for i in rows], "inputs"), "numbers": numbers}

        def readable(generated: Any) -> Iterator[dict]:
            for tokens, scores in zip(*map(np.asarray, generated)):
                texts = [run.vocabulary.decode([int(token) for token in row if token > EOS_ID]) for row in tokens]
                several = [
                    {"prediction": text, "score": float(score)}
                    for text, score in zip(texts, scores)
                    if score > IMPOSSIBLE
                ]
                yield {"prediction": texts[0]} | ({"hypotheses": several} if len(texts) > 1 else {})

        return run.loop.windows(
            windows(examples, run.window),
            batches,
            lambda parameters, batch: predict(parameters, batch["inputs"], batch["numbers"]),
            readable,
        )

    def scores(self, run: TaskRun, examples: Iterable[Numbered]) -> Iterator[list[dict]]:
        def batches(window: Sequence[Numbered]) -> Iterator[tuple[np.ndarray, HostBatch]]:
            # Inputs of about equal length are sorted by their targets' length.
            widths = bucket_widths(run.lengths["inputs"])
            lengths = [
                (int(np.searchsorted(widths, len(example["inputs"]))), len(example["targets"])) for _, example in window
            ]
            for rows in by_length(lengths, run.batch_size):
                chosen = [window[i][1] for i in rows]
                targets = run.stacked(chosen, "targets")
                yield (
                    rows,
                    {
                        "encoder_input_tokens": run.stacked(chosen, "inputs"),
                        "decoder_target_tokens": targets,
                        "decoder_input_tokens": np.pad(targets, ((0, 0), (1, 0)))[:, :-1],
                        "decoder_loss_weights": (targets > 0).astype(np.int32),
                    },
                )

        return run.loop.windows(
            windows(examples, run.window),
            batches,
            make_target_scorer(run.model, run.loop.partitioner),
            lambda scores: [{"score": float(value)} for value in np.asarray(scores)],
        )

    def compiled(
        self, model: Model, what: str, lengths: Mapping[str, int], rows: int, partitioner: Partitioner, parameters: Any
    ) -> Any:
        inputs = jax.ShapeDtypeStruct((rows, lengths["inputs"]), jnp.int32, sharding=partitioner.batch)
        if what == "score":
            words = jax.ShapeDtypeStruct((3,), jnp.int32, sharding=partitioner.replicated)
            return compiled_scorer(model, partitioner).lower(parameters, inputs, words).compile()
        numbers = jax.ShapeDtypeStruct((rows,), jnp.int32, sharding=partitioner.batch)
        predict = make_predictor(model, lengths["targets"], Decoding(), partitioner)
        return predict.lower(parameters, inputs, numbers).compile()

    def exported(
        self, model: Model, parameters: Mapping[str, Any], text: Mapping[str, Any], vocabulary: Vocabulary
    ) -> export.Exported:
        return programs.export_scorer(model, parameters, [vocabulary.piece_id(word) for word in text["words"]])


@functools.lru_cache(maxsize=32)
def make_target_scorer(model: Model, partitioner: Partitioner) -> Callable[[Any, dict[str, Array]], Array]:
    """The compiled (parameters, batch) -> log-likelihood [rows] float32 of the targets, EOS included."""

    def score(parameters: Any, batch: dict[str, Array]) -> Array:
        log_likelihoods = jax.nn.log_softmax(apply_model(model, parameters, batch))
        targets = batch["decoder_target_tokens"]
        chosen = jnp.take_along_axis(log_likelihoods, targets[..., None], axis=-1)[..., 0]
        return jnp.sum(chosen * batch["decoder_loss_weights"], axis=-1)

    return jax.jit(score, out_shardings=partitioner.batch)


@dataclasses.dataclass(frozen=True)
class ClaimInference(Inference):
    """The inference of models that read several texts of a claim, by their scorer.

    `columns`: numbers that a task's targets have for each text. A prediction is the first of `fields`, the others are
    further fields. `called` is the model in messages."""

    scorer: type[ClaimScorer]
    columns: int
    fields: tuple[str, ...]
    called: str

    @property
    def needs(self) -> str:
        return self.scorer.text_name

    @property
    def outputs(self) -> tuple[str, ...]:
        return self.scorer.results._fields

    def predictions(self, run: TaskRun, examples: Iterable[Numbered], decoding: Decoding) -> Iterator[list[dict]]:
        texts = run.lengths["targets"] // self.columns
        scorer = self.scorer(run.model, run.loop.parameters, texts=texts, max_tokens=run.lengths["inputs"] // texts)
        for window in windows(examples, run.window):
            claims = [
                [row[: np.count_nonzero(row)] for row in np.reshape(example["inputs"], (texts, -1))]
                for _, example in window
            ]
            yield [dict(zip(self.fields, (part.tolist() for part in parts))) for parts in zip(*scorer.run(claims))]

    def scores(self, run: TaskRun, examples: Iterable[Numbered]) -> Iterator[list[dict]]:
        raise LisaxError(f"{self.called} has no targets in tokens, whose likelihood there could be")

    def compiled(
        self, model: Model, what: str, lengths: Mapping[str, int], rows: int, partitioner: Partitioner, parameters: Any
    ) -> Any:
        if what == "generate":
            raise LisaxError(f"{self.called} generates nothing: plan --program=score")
        texts = lengths["targets"] // self.columns
        tokens = jax.ShapeDtypeStruct((rows, texts, lengths["inputs"] // texts), jnp.int32, sharding=partitioner.batch)
        return compiled_claims(self.scorer.outputs, model, partitioner).lower(parameters, tokens).compile()

    def exported(
        self, model: Model, parameters: Mapping[str, Any], text: Mapping[str, Any], vocabulary: Vocabulary
    ) -> export.Exported:
        return programs.export_claim_scorer(self.scorer.outputs, model, parameters, text[self.needs])


class QuestionInference(Inference):
    """The inference of dual encoders and readers, which answer no task: they are used over an index."""

    def check(self) -> None:
        raise LisaxError(
            "dual encoders and readers are used by `lisax index vectors` and `lisax answer`; their "
            "losses and accuracies are those of training's evaluation"
        )

    def predictions(self, *_: Any) -> Iterator[list[dict]]:
        self.check()

    def scores(self, *_: Any) -> Iterator[list[dict]]:
        self.check()

    def compiled(self, *_: Any) -> Any:
        raise LisaxError("of dual encoders and readers only training is planned: plan --program=train")

    def exported(self, *_: Any) -> export.Exported:
        raise LisaxError(
            "there is no StableHLO program and no SavedModel of dual encoders, readers and encoders without a head: a "
            "dual encoder has --format onnx, the others --format bundle"
        )


class EncoderInference(QuestionInference):
    """The inference of an encoder without a head, whose states the models on it read."""

    def check(self) -> None:
        raise LisaxError("an encoder without a head predicts nothing: give a model that is built on it")

    def compiled(self, *_: Any) -> Any:
        self.check()


class PairInference(Inference):
    """A pair scorer's. A prediction is the list of its probabilities, one of each class."""

    outputs = programs.OF_TEXTS

    def predictions(self, run: TaskRun, examples: Iterable[Numbered], decoding: Decoding) -> Iterator[list[dict]]:
        scoring = PairScoring(run.model, run.loop.parameters, max_tokens=run.lengths["inputs"])
        for window in windows(examples, run.window):
            pairs = [example["inputs"][: run.lengths["inputs"]] for _, example in window]
            yield [{"prediction": row} for row in scoring.probabilities(pairs).tolist()]

    def scores(self, run: TaskRun, examples: Iterable[Numbered]) -> Iterator[list[dict]]:
        raise LisaxError("a pair scorer has no targets in tokens: lisax infer with --gin.infer.mode=predict")

    def compiled(
        self, model: Model, what: str, lengths: Mapping[str, int], rows: int, partitioner: Partitioner, parameters: Any
    ) -> Any:
        if what == "generate":
            raise LisaxError("a pair scorer generates nothing: plan --program=score")
        tokens = jax.ShapeDtypeStruct((rows, lengths["inputs"]), jnp.int32, sharding=partitioner.batch)
        return compiled_pairs(model, partitioner).lower(parameters, tokens).compile()

    def exported(
        self, model: Model, parameters: Mapping[str, Any], text: Mapping[str, Any], vocabulary: Vocabulary
    ) -> export.Exported:
        return programs.export_pairs(model, parameters)
