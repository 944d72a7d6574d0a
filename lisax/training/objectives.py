"""The objectives of training: from parameters and a batch to losses and metrics. Everything here runs inside `jit`.

An `Objective` is all that the training and evaluation steps know of a kind of model: see `model_kinds`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import jax
import jax.numpy as jnp
from jax import Array

from lisax.errors import LisaxError
from lisax.models import dual_encoder, pair, pointer_loss, table_fusion, table_truth
from lisax.models.architectures import (
    DualEncoderConfig,
    EncoderConfig,
    FusionConfig,
    PairConfig,
    PointerConfig,
    ReaderConfig,
    SpanReaderConfig,
    T5Config,
)
from lisax.models.dual_encoder import NO_PASSAGE, POSITIVE
from lisax.models.evidence_pointer import LABEL_COUNT
from lisax.models.pointer_loss import COLUMNS
from lisax.models.reader import span_log_likelihood
from lisax.models.table_fusion import NO_TABLE, TRUE
from lisax.scoring.kept_vectors import VECTORS
from lisax.training.losses import Loss

Batch = dict[str, Array]  # arrays [rows, length] int32, named as seqio's EncDecFeatureConverter names them
Sums = dict[str, Array]  # float32 sums over a batch

MODEL_FEATURES = (
    "encoder_input_tokens",
    "decoder_input_tokens",
    "decoder_target_tokens",
    "encoder_segment_ids",
    "decoder_segment_ids",
    "encoder_positions",
    "decoder_positions",
)


class Objective(Protocol):
    """The interface of a kind of model for training. A target has a loss and a weight of its own."""

    # Name of a metric -> the two of `sums` whose ratio it is.
    metrics: Mapping[str, tuple[str, str]] = {"loss": ("loss", "learned"), "accuracy": ("right", "learned")}
    writes: bool = False  # targets are tokens; others' are classes or places

    def weights(self, model: Any, batch: Batch) -> Array:
        """Float32 of any shape, one of each target of the batch; the normaliser of the loss."""

    def __call__(self, model: Any, parameters: Any, batch: Batch, loss: Loss, key: Array | None) -> Sums:
        """The sums of `loss`, of `metrics`, and of `input_tokens`, `target_tokens` and `examples`. Dropout only where a
        key is given."""

    def check(self, model: Any, loss: Loss, lengths: Mapping[str, int], pack: bool) -> None:
        """Raises where the model cannot learn from such batches or by such a loss."""

    def text_length(self, model: Any, lengths: Mapping[str, int]) -> int:
        """Tokens of a text that is encoded, given TASK_FEATURE_LENGTHS."""
        return lengths["inputs"]


class TextToText(Objective):
    """T5's: the cross-entropy of target tokens, each given those before it."""

    metrics = {
        "loss": ("loss", "learned"),
        "accuracy": ("right_tokens", "target_tokens"),
        "sequence_accuracy": ("right_rows", "rows"),
    }
    writes = True

    def weights(self, model: T5Config, batch: Batch) -> Array:
        return batch["decoder_loss_weights"].astype(jnp.float32)

    def __call__(self, model: T5Config, parameters: Any, batch: Batch, loss: Loss, key: Array | None) -> Sums:
        logits = apply_model(model, parameters, batch, key)
        learned = loss.shares(self.weights(model, batch), batch.get("decoder_segment_ids"))
        return sums(loss.per_token(logits, batch["decoder_target_tokens"]), learned, logits, batch)


class Fusion(Objective):
    """Table fusion's: `inputs` are the texts of k tables end to end, each padded to the same length; `targets` are
    the k classes of `table_fusion`. A target of the loss is a row, one claim."""

    metrics = {
        "loss": ("loss", "learned"),
        "accuracy": ("right_verdicts", "decided"),
        "table_accuracy": ("right_tables", "decided"),
    }

    def weights(self, model: FusionConfig, batch: Batch) -> Array:
        return table_fusion.example_weights(model.objective, batch["decoder_target_tokens"])

    def texts(self, batch: Batch) -> Array:
        """int32 [rows, tables, length]; a table without a class is none."""
        targets = batch["decoder_target_tokens"]
        return batch["encoder_input_tokens"].reshape(*targets.shape, -1) * (targets != NO_TABLE)[..., None]

    def __call__(self, model: FusionConfig, parameters: Any, batch: Batch, loss: Loss, key: Array | None) -> Sums:
        targets = batch["decoder_target_tokens"]
        tokens = self.texts(batch)
        fused = _applied(model, parameters, key, tokens, vectors=batch.get(VECTORS))
        weights = self.weights(model, batch)
        losses = table_fusion.example_loss(
            model.objective, table_fusion.log_probabilities(model.objective, fused), targets
        )
        probabilities = table_fusion.probabilities(model.objective, fused)
        truth, relevance = table_truth.truth(probabilities), table_truth.relevance(probabilities)
        # Only a gold table determines the right verdict.
        gold = targets >= TRUE
        decided = jnp.any(gold, axis=-1)
        verdict = jnp.where(jnp.any(targets == TRUE, axis=-1), truth[:, 0] > truth[:, 1], truth[:, 0] < truth[:, 1])
        table = jnp.take_along_axis(gold, jnp.argmax(relevance, axis=-1)[:, None], axis=-1)[:, 0]
        return _totals(
            loss=losses * weights,
            learned=weights,
            decided=decided,
            right_verdicts=verdict & decided,
            right_tables=table & decided,
            input_tokens=tokens > 0,
            target_tokens=targets != NO_TABLE,
            examples=jnp.any(targets != NO_TABLE, axis=-1),
        )

    def check(self, model: FusionConfig, loss: Loss, lengths: Mapping[str, int], pack: bool) -> None:
        if lengths["inputs"] % lengths["targets"]:
            raise LisaxError(
                f"TASK_FEATURE_LENGTHS is {dict(lengths)}: the length of 'targets' is the number of "
                "tables, and must divide that of 'inputs', their texts end to end"
            )
        if pack:
            raise LisaxError("PACK is True, but tables cannot be packed: set PACK=False")
        if loss.z_loss or loss.label_smoothing:
            raise LisaxError(
                "table fusion has neither Z_LOSS nor LABEL_SMOOTHING: set both to 0.0, as "
                "models/table_fusion.gin does when it comes after the T5's file"
            )

    def text_length(self, model: FusionConfig, lengths: Mapping[str, int]) -> int:
        return lengths["inputs"] // lengths["targets"]


class Pointer(Objective):
    """The evidence pointer's: `inputs` are the texts of k candidates end to end, each padded to the same length;
    `targets` are COLUMNS numbers of each, see `pointer_loss.gold_of`. A target of the loss is a row, one claim.

    Metrics are of the likeliest pointers step by step: `recall` is the share of claims with an evidence set for which
    a whole one was pointed to, `score` that of all claims whose label is right, with such a set if it needs one."""

    metrics = {
        "loss": ("loss", "learned"),
        "recall": ("found", "provable"),
        "accuracy": ("right_labels", "labelled"),
        "score": ("right_claims", "labelled"),
    }

    def weights(self, model: PointerConfig, batch: Batch) -> Array:
        return pointer_loss.example_weights(model, self._gold(model, batch))

    def texts(self, batch: Batch) -> Array:
        """int32 [rows, candidates, length]"""
        rows, columns = batch["decoder_target_tokens"].shape
        return batch["encoder_input_tokens"].reshape(rows, columns // COLUMNS, -1)

    def _gold(self, model: PointerConfig, batch: Batch) -> pointer_loss.Gold:
        return pointer_loss.gold_of(batch["decoder_target_tokens"], model.steps)

    def __call__(self, model: PointerConfig, parameters: Any, batch: Batch, loss: Loss, key: Array | None) -> Sums:
        gold, weights = self._gold(model, batch), self.weights(model, batch)
        tokens = self.texts(batch)
        forced, own, *drawn = _applied(model, parameters, key, tokens, gold.pointers, vectors=batch.get(VECTORS))
        losses = pointer_loss.example_loss(model, forced, own, gold, *drawn)
        found = pointer_loss.complete(own.pointers, gold.sets)[:, -1]
        labelled = (gold.label >= 0) & (model.relation != "none")
        right = jnp.zeros_like(labelled)
        if model.relation != "none":
            there = own.pointers[:, : own.labels.shape[1], None] >= 0
            shares = jnp.sum(jnp.where(there, jax.nn.softmax(own.labels), 0.0), axis=1)
            right = labelled & (jnp.argmax(shares, axis=-1) == gold.label)
        return _totals(
            loss=losses * weights,
            learned=weights,
            provable=gold.sets.any(axis=(1, 2)),
            found=found,
            labelled=labelled,
            right_labels=right,
            right_claims=right & (found | (gold.label == LABEL_COUNT - 1)),
            input_tokens=tokens > 0,
            target_tokens=gold.present,
            examples=gold.present.any(axis=-1),
        )

    def check(self, model: PointerConfig, loss: Loss, lengths: Mapping[str, int], pack: bool) -> None:
        candidates, rest = divmod(lengths["targets"], COLUMNS)
        if rest or not candidates or lengths["inputs"] % candidates:
            raise LisaxError(
                f"TASK_FEATURE_LENGTHS is {dict(lengths)}: 'targets' has {COLUMNS} numbers of each of a "
                "claim's candidates, and their number must divide 'inputs', their texts end to end"
            )
        _check_plain("the evidence pointer", loss, pack)

    def text_length(self, model: PointerConfig, lengths: Mapping[str, int]) -> int:
        return lengths["inputs"] // (lengths["targets"] // COLUMNS)


class Contrast(Objective):
    """The dual encoder's: each question's positive passage among the passages of the whole batch, on all devices
    (of a microbatch, if there are several). `targets` are the classes of `dual_encoder`, the positive first."""

    def weights(self, model: DualEncoderConfig, batch: Batch) -> Array:
        return (batch["decoder_target_tokens"][:, 0] == POSITIVE).astype(jnp.float32)

    def __call__(self, model: DualEncoderConfig, parameters: Any, batch: Batch, loss: Loss, key: Array | None) -> Sums:
        targets = batch["decoder_target_tokens"]
        texts = dual_encoder.split(batch["encoder_input_tokens"], targets.shape[1])
        flat = texts.passages.reshape(-1, texts.passages.shape[-1])
        vectors = _applied(model, parameters, key, texts.questions, flat)
        shares = dual_encoder.contrast(*vectors, texts.passages, targets, model.temperature)
        own = jnp.arange(len(targets)) * targets.shape[1]
        weights = self.weights(model, batch)
        return _totals(
            loss=-jnp.take_along_axis(shares, own[:, None], axis=1)[:, 0] * weights,
            learned=weights,
            right=(jnp.argmax(shares, axis=1) == own) * weights,
            input_tokens=batch["encoder_input_tokens"] > 0,
            target_tokens=targets != NO_PASSAGE,
            examples=weights,
        )

    def check(self, model: DualEncoderConfig, loss: Loss, lengths: Mapping[str, int], pack: bool) -> None:
        if lengths["inputs"] % (2 * lengths["targets"] + 1):
            raise LisaxError(
                f"TASK_FEATURE_LENGTHS is {dict(lengths)}: the length of 'targets' is the number of "
                "passages, n, and 2 n + 1 must divide that of 'inputs': a question with its passages, "
                "each with twice its room"
            )
        _check_plain("a dual encoder", loss, pack)

    def text_length(self, model: DualEncoderConfig, lengths: Mapping[str, int]) -> int:
        return 2 * dual_encoder.question_room(lengths["inputs"], lengths["targets"])


class Classes(Objective):
    """The pair scorer's: the cross-entropy of an input's class, the first number of `targets`, and to a teacher's
    probabilities of the classes, the others if there are any (see `models.pair`)."""

    def weights(self, model: PairConfig, batch: Batch) -> Array:
        return (batch["decoder_target_tokens"][:, 0] != pair.NO_CLASS).astype(jnp.float32)

    def __call__(self, model: PairConfig, parameters: Any, batch: Batch, loss: Loss, key: Array | None) -> Sums:
        tokens, weights = batch["encoder_input_tokens"], self.weights(model, batch)
        logits = _applied(model, parameters, key, tokens)
        classes = jnp.maximum(batch["decoder_target_tokens"][:, 0] - pair.FIRST, 0)
        losses = loss.per_token(logits[:, None], classes[:, None])[:, 0]
        if loss.teacher:
            taught = batch["decoder_target_tokens"][:, 1:]  # int32 [rows, labels]
            shares = jnp.maximum(taught - pair.FIRST, 0) / pair.WHOLE
            losses = jnp.where(taught[:, 0] > 0, loss.taught(losses, logits, shares), losses)
        return _totals(
            loss=losses * weights,
            learned=weights,
            right=(jnp.argmax(logits, axis=-1) == classes) * weights,
            input_tokens=tokens > 0,
            target_tokens=weights,
            examples=weights,
        )

    def check(self, model: PairConfig, loss: Loss, lengths: Mapping[str, int], pack: bool) -> None:
        numbers = 1 + model.labels if loss.teacher else 1
        if lengths["targets"] != numbers:
            raise LisaxError(
                f"TASK_FEATURE_LENGTHS is {dict(lengths)}: 'targets' is the class, one number, "
                f"or with losses.Loss.teacher the class and a probability of each; expected {numbers}"
            )
        if pack:
            raise LisaxError("PACK is True, but pairs of texts cannot be packed: set PACK=False")


class Reading(TextToText):
    """The generating reader's: a T5's, whose inputs are the texts of its passages end to end."""

    def check(self, model: ReaderConfig, loss: Loss, lengths: Mapping[str, int], pack: bool) -> None:
        _check_passages(model, lengths, pack)

    def text_length(self, model: ReaderConfig, lengths: Mapping[str, int]) -> int:
        return lengths["inputs"] // model.passages


class Pointing(Objective):
    """The pointing reader's: any of the places of the answer, which are `targets`, first and last in turn."""

    def weights(self, model: SpanReaderConfig, batch: Batch) -> Array:
        return jnp.any(batch["decoder_target_tokens"] > 0, axis=-1).astype(jnp.float32)

    def __call__(self, model: SpanReaderConfig, parameters: Any, batch: Batch, loss: Loss, key: Array | None) -> Sums:
        tokens, targets = batch["encoder_input_tokens"], batch["decoder_target_tokens"]
        logits = _applied(model, parameters, key, tokens)
        spans, weights = targets.reshape(len(targets), -1, 2), self.weights(model, batch)
        best = jnp.argmax(logits, axis=1)  # [rows, 2]
        # (0, 0) fills up the places and is not an answer's, though a model may point there.
        right = jnp.any(jnp.all(spans == best[:, None], axis=-1) & jnp.any(spans > 0, axis=-1), axis=-1)
        return _totals(
            loss=jnp.where(weights > 0, -span_log_likelihood(logits, spans), 0.0),
            learned=weights,
            right=right * weights,
            input_tokens=tokens > 0,
            target_tokens=targets > 0,
            examples=jnp.any(tokens > 0, axis=-1),
        )

    def check(self, model: SpanReaderConfig, loss: Loss, lengths: Mapping[str, int], pack: bool) -> None:
        _check_passages(model, lengths, pack)
        if lengths["targets"] % 2:
            raise LisaxError(f"TASK_FEATURE_LENGTHS is {dict(lengths)}: 'targets' are pairs of places, an even number")
        _check_plain("a pointing reader", loss, pack)

    def text_length(self, model: SpanReaderConfig, lengths: Mapping[str, int]) -> int:
        return lengths["inputs"] // model.passages


class Untrained(Objective):
    """The objective of an encoder without a head, which learns only under one."""

    metrics = {"loss": ("loss", "learned")}

    def weights(self, model: EncoderConfig, batch: Batch) -> Array:
        raise self._nothing_to_learn()

    def check(self, model: EncoderConfig, loss: Loss, lengths: Mapping[str, int], pack: bool) -> None:
        raise self._nothing_to_learn()

    def _nothing_to_learn(self) -> LisaxError:
        return LisaxError(
            "an encoder without a head has nothing to learn: give the gin file of a model that is built on it after its own, such "
            "as models/pair.gin"
        )


def _check_passages(model: ReaderConfig | SpanReaderConfig, lengths: Mapping[str, int], pack: bool) -> None:
    if lengths["inputs"] % model.passages:
        raise LisaxError(
            f"TASK_FEATURE_LENGTHS is {dict(lengths)}: PASSAGES, which is {model.passages}, must divide "
            "the length of 'inputs', the texts of the passages end to end"
        )
    if pack:
        raise LisaxError("PACK is True, but texts of many passages cannot be packed: set PACK=False")


def _check_plain(what: str, loss: Loss, pack: bool) -> None:
    if pack:
        raise LisaxError(f"PACK is True, but batches of {what} cannot be packed: set PACK=False")
    if loss.z_loss or loss.label_smoothing:
        raise LisaxError(f"{what} has neither Z_LOSS nor LABEL_SMOOTHING: set both to 0.0")


def _applied(model: Any, parameters: Any, key: Array | None, *inputs: Array, **features: Array | None) -> Any:
    """The result of a model's network; dropout only where a key is given."""
    random = {} if key is None else {"dropout": key}
    return model.network().apply(
        {"params": parameters}, *inputs, **features, enable_dropout=key is not None, rngs=random
    )


def _totals(**values: Array) -> Sums:
    """Float32 sums."""
    return {name: jnp.sum(value).astype(jnp.float32) for name, value in values.items()}


# --- Text to text --------------------------------------------------------------------------


def apply_model(model: T5Config | ReaderConfig, parameters: Any, batch: Batch, key: Array | None = None) -> Array:
    """Teacher-forced logits float32 [rows, target length, vocab]; dropout only where a key is given."""
    features = {name: batch[name] for name in MODEL_FEATURES if name in batch}
    return _applied(model, parameters, key, **features)


def sums(loss: Array, learned: Array, logits: Array, batch: Batch) -> Sums:
    """Float32 sums over a batch: of loss and its weights (`Loss.shares`), both given per token; of tokens, right tokens,
    sequences, right sequences."""
    targets = batch["decoder_target_tokens"]
    weights = batch["decoder_loss_weights"].astype(jnp.float32)
    wrong = (jnp.argmax(logits, axis=-1) != targets) * weights
    real = jnp.sum(weights, axis=-1) > 0
    segments = batch.get("decoder_segment_ids")
    examples = jnp.sum(real) if segments is None else jnp.sum(jnp.max(segments, axis=-1))
    return {
        "loss": jnp.sum(loss * learned),
        "learned": jnp.sum(learned),
        "target_tokens": jnp.sum(weights),
        "input_tokens": jnp.sum(batch["encoder_input_tokens"] > 0).astype(jnp.float32),
        "right_tokens": jnp.sum(weights) - jnp.sum(wrong),
        "rows": jnp.sum(real).astype(jnp.float32),
        "right_rows": jnp.sum(real & (jnp.sum(wrong, axis=-1) == 0)).astype(jnp.float32),
        "examples": examples.astype(jnp.float32),
    }
