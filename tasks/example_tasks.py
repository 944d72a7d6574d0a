"""A seqio task over a file of example records: source, our one encode function, features, metrics.

The cache holds records, not tokens: a record's tokens depend on the lengths, the preset and the vocabulary of a run,
which are known only when the task is read.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gin
import numpy as np
import seqio
import tensorflow as tf

from lisax.errors import DataError, LisaxError
from lisax.formats import each, presets
from lisax.formats.each import remembering
from lisax.formats.examples import Record
from lisax.formats.format import RELEVANCE, Format
from lisax.formats.label_words import single_pieces
from lisax.formats.parts import TABLE_PARTS
from lisax.formats.tables import TABLES
from lisax.formats.vocabulary import EOS_ID

from . import locations, metrics
from .vocabularies import default_vocabulary, encoder_of, input_encoder_of, is_bytes, reads_pairs

# Lines shuffled in the source, before they are encoded: a good shuffle that costs little memory.
SHUFFLED_LINES = 100_000
# Records encoded by one call from TensorFlow into Python.
CALL_SIZE = 32
# Encoded records with several texts that are kept: some 10 kB each.
KEPT_LINES = 10_000

# What a column holds: tokens of any number, a text, or numbers of one shape.
TOKENS, TEXT = tf.TensorSpec([None], tf.int32), tf.TensorSpec([], tf.string)
Row = Mapping[str, Any]  # column -> value
Encoded = tuple[Callable[[bytes], Row | None], Mapping[str, tf.TensorSpec]]  # line -> row, and what is in its columns
Encode = Callable[
    [seqio.Vocabulary, Mapping[str, int]], Encoded
]  # the vocabulary of the inputs, and lengths by feature


@gin.configurable("lisax_format", module="tasks")
def chosen_preset(preset: str = "paper") -> presets.Preset:
    """The wording of tasks that were not given one: `lisax_format.preset = "released"`."""
    return presets.get(preset)


class LineSource(seqio.FunctionDataSource):
    """The non-blank lines of one text file a split, as {"line": string}; found when read."""

    def __init__(self, task: str, file_of: locations.FileOf, splits: Sequence[str]):
        def lines(split: str, shuffle_files: bool, seed: int | None = None) -> tf.data.Dataset:
            path = locations.existing(file_of(split), task)
            dataset = tf.data.TextLineDataset(str(path))
            dataset = dataset.filter(lambda line: tf.strings.length(tf.strings.strip(line)) > 0)
            if shuffle_files:
                dataset = dataset.shuffle(SHUFFLED_LINES, seed=seed)
            return dataset.map(lambda line: {"line": line})

        super().__init__(lines, splits=splits)


@dataclasses.dataclass(frozen=True)
class Options:
    """How a task is read. Without a vocabulary or preset, those of gin or the environment are used at reading."""

    splits: Sequence[str] = ("train", "dev")
    vocabulary: seqio.Vocabulary | None = None
    preset: presets.Preset | None = None


def features(vocabulary: seqio.Vocabulary) -> dict[str, seqio.Feature]:
    return {name: seqio.Feature(vocabulary, add_eos=True) for name in ("inputs", "targets")}


def head_features(vocabulary: seqio.Vocabulary, classes: int) -> dict[str, seqio.Feature]:
    """Those of a head on an encoder: inputs that end as they are, and numbers below `classes`."""
    return {
        "inputs": seqio.Feature(vocabulary, add_eos=False),
        "targets": seqio.Feature(seqio.PassThroughVocabulary(classes), add_eos=False),
    }


def add_lines(
    name: str,
    file_of: locations.FileOf,
    encode: Encode,
    output_features: Mapping[str, seqio.Feature],
    *,
    splits: Sequence[str],
    before: Sequence[Callable] = (),
    metrics: Sequence[Callable] = (),
    seen: Callable | None = None,
) -> seqio.Task:
    """Registers the task `name` over the lines of `file_of(split)`, which `encode` turns into columns.

    `before` are preprocessors that turn the file's lines into records where it does not hold records; `seen` makes of
    an example what the `metrics` see."""
    return seqio.TaskRegistry.add(
        name,
        source=LineSource(name, file_of, splits),
        preprocessors=[*before, seqio.CacheDatasetPlaceholder(), functools.partial(columns, encode=encode)],
        output_features=output_features,
        postprocess_fn=seen,
        metric_fns=metrics,
    )


def columns(
    dataset: tf.data.Dataset,
    output_features: Mapping[str, seqio.Feature],
    sequence_length: Mapping[str, int] | None,
    *,
    encode: Encode,
) -> tf.data.Dataset:
    """{"line": JSON record} -> the columns that `encode` makes of a line, in order; of some lines it makes none."""
    one, spec = encode(output_features["inputs"].vocabulary, dict(sequence_length or {}))

    def many(lines: np.ndarray) -> list[np.ndarray]:
        rows = [row for row in map(one, lines) if row is not None]
        made: list[np.ndarray] = []
        for name, column in spec.items():
            values = [row[name] for row in rows]
            if column is TOKENS:
                made += flat(values)
            elif column is TEXT:
                made.append(np.array([text.encode() for text in values], object))
            else:
                made.append(np.array(values, column.dtype.as_numpy_dtype).reshape(len(rows), *column.shape))
        return made

    kinds = [kind for one in spec.values() for kind in ((tf.int32, tf.int64) if one is TOKENS else (one.dtype,))]

    def call(batch: Mapping[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        found = iter(tf.numpy_function(many, [batch["line"]], kinds))
        made = {}
        for name, column in spec.items():
            made[name] = values = next(found)
            if column is TOKENS:
                made[name] = ragged(values, next(found))
            else:
                values.set_shape([None, *column.shape])
        return made

    return dataset.batch(CALL_SIZE).map(call, num_parallel_calls=2).unbatch()


def add(
    name: str,
    text_format: Format,
    file_of: locations.FileOf,
    options: Options = Options(),
    *,
    before: Sequence[Callable] = (),
    tables: int = 0,
    record: type[Record] | None = None,
) -> seqio.Task:
    """Registers the task `name` over `file_of(split)`, a file of example records of `text_format`.

    `before` as in `add_lines`; `record` is the type of the records where it is not the format's own; `tables` is how
    many of them a record has.
    """
    if text_format is TABLE_PARTS:
        figures = [metrics.accuracy, metrics.part_scores]
    else:
        ranks = text_format.answer is RELEVANCE
        figures = [metrics.accuracy, metrics.ranking_scores] if ranks else [metrics.label_accuracy]
    if text_format is TABLES:
        figures.append(metrics.dropped_rows)
    record = record or text_format.example
    task = add_lines(
        name,
        file_of,
        functools.partial(encode_text, task=name, text_format=text_format, preset=options.preset, record=record),
        features(options.vocabulary or default_vocabulary()),
        splits=options.splits,
        before=before,
        metrics=figures,
        seen=with_record,
    )
    return described(task, text_format, options.preset, lambda lengths: lengths["inputs"], tables)


def described(
    task: seqio.Task,
    text_format: Format,
    preset: presets.Preset | None,
    max_tokens: Callable[[Mapping[str, int]], int],
    depth: int | Callable[[Mapping[str, int]], int] = 0,
) -> seqio.Task:
    """The task with `model_card`: the engine's description of its texts in the `model.json` of a model trained on
    it."""

    def model_card(lengths: Mapping[str, int]) -> dict:
        if is_bytes(task.output_features["inputs"].vocabulary):
            return {}  # inference reads with SentencePiece
        return text_format.card(
            preset or chosen_preset(),
            max_tokens(lengths),
            depth(lengths) if callable(depth) else depth,
            pairs=bool(text_format.each) and reads_pairs(task.output_features["inputs"].vocabulary),
        )

    task.model_card = model_card
    return task


def encode_text(
    vocabulary: seqio.Vocabulary,
    lengths: Mapping[str, int],
    *,
    task: str,
    text_format: Format,
    preset: presets.Preset | None,
    record: type[Record],
) -> Encoded:
    """Inputs and targets with EOS and their texts, the record's ids and label.

    `sentence_ids` are of sentences or tables, joined by spaces, `relevant` is whether the label is true, for
    `dropped_rows` see `formats.tables`. Documents are shortened to the length of the inputs; without one nothing is.
    """
    wording, ids_of = wording_of(vocabulary, preset, text_format)
    to_ids, max_tokens = encoder_of(vocabulary), lengths.get("inputs")

    def one(line: bytes) -> Row:
        example = parsed(line, record, task)
        text = text_format.encode(
            example, preset=wording, max_tokens=max_tokens, count_tokens=lambda text: len(ids_of(text))
        )
        return {
            "inputs": ids_of(text.inputs),
            "targets": [*to_ids(text.targets), EOS_ID],
            "inputs_pretokenized": text.inputs,
            "targets_pretokenized": text.targets,
            "claim_id": example.claim_id,
            "sentence_ids": " ".join(example.unit_ids),
            "relevant": example.label is True,
            "dropped_rows": text.dropped_rows,
        }

    texts = ("inputs_pretokenized", "targets_pretokenized", "claim_id", "sentence_ids")
    numbers = {"relevant": tf.TensorSpec([], tf.bool), "dropped_rows": tf.TensorSpec([], tf.int32)}
    return one, {"inputs": TOKENS, "targets": TOKENS, **dict.fromkeys(texts, TEXT), **numbers}


def saying(card: Callable[..., dict], **read: int) -> Callable[..., dict]:
    """`model_card` of a task, with how many columns of a table or sentences its models read."""
    return lambda lengths: {**card(lengths), **read}


def wording_of(
    vocabulary: seqio.Vocabulary, preset: presets.Preset | None, text_format: Format
) -> tuple[presets.Preset, Callable[[str], list[int]]]:
    """The preset in the words of the task's vocabulary, each checked to be one piece, and text -> ids of an input with
    its special tokens."""
    wording = preset or chosen_preset()
    if is_bytes(vocabulary):
        wording = wording.with_initials()
    if text_format.has_label_words:
        single_pieces(text_format.words(wording), encoder_of(vocabulary))
    return wording, remembering(input_encoder_of(vocabulary))


def each_encoder_of(
    vocabulary: seqio.Vocabulary, preset: presets.Preset | None, text_format: Format
) -> Callable[[Any, int], list[each.Encoded]]:
    """(example, most tokens of an input) -> the inputs of a format that has several for an example: pairs of texts where
    the vocabulary is that of an encoder of two segments."""
    wording, ids_of = wording_of(vocabulary, preset, text_format)
    if reads_pairs(vocabulary):
        plain = vocabulary.plain
        return lambda example, max_tokens: each.encode_pairs(text_format, example, wording, max_tokens, plain)
    return lambda example, max_tokens: each.encode_texts(text_format, example, wording, max_tokens, ids_of)


def kept_by_line(encode: Callable[[bytes], Row]) -> Callable[[bytes], Row]:
    """`encode`, which makes texts and tokens of a record, but only once of each of the first `KEPT_LINES` lines: what is
    trained on vectors that are known reads a small set again and again, faster than Python writes its texts."""
    found: dict[bytes, Row] = {}

    def of(line: bytes) -> Row:
        key = hashlib.blake2b(line, digest_size=16).digest()
        if key not in found:
            made = encode(line)
            if len(found) >= KEPT_LINES:
                return made
            found[key] = made
        return found[key]

    return of


def parsed(line: bytes, record: type[Record], task: str) -> Any:
    """The example of a line of a task's file."""
    try:
        return record.from_row(json.loads(line))
    except (json.JSONDecodeError, DataError) as error:
        trouble = "is not valid JSON" if isinstance(error, json.JSONDecodeError) else "is not an example of it"
        raise LisaxError(f"task '{task}': a line {trouble}: {error}: {line[:80]!r}") from None


def side_by_side(rows: Sequence[Sequence[int]], k: int, length: int) -> np.ndarray:
    """Up to k rows end to end, each filled with 0 to `length`, int32 [k * length]."""
    filled = np.zeros((k, length), np.int32)
    for i, row in enumerate(rows):
        filled[i, : len(row)] = row
    return filled.reshape(-1)


def flat(rows: Sequence[Sequence[int]]) -> tuple[np.ndarray, np.ndarray]:
    """Rows end to end [tokens] int32, and their lengths [rows] int64."""
    lengths = np.array([len(row) for row in rows], np.int64)
    return np.array([i for row in rows for i in row], np.int32), lengths


def ragged(values: tf.Tensor, lengths: tf.Tensor) -> tf.RaggedTensor:
    """The rows that `flat` joined, for `unbatch` to take apart."""
    values.set_shape([None])
    lengths.set_shape([None])
    return tf.RaggedTensor.from_row_lengths(values, lengths, validate=False)


def with_record(text: str, example: Mapping | None = None, is_target: bool = False):
    """The inputs of metrics: the predicted word, or the target word with the record's ids."""
    if not is_target or example is None:
        return text
    return {
        "target": text,
        "claim_id": example["claim_id"].decode(),
        "relevant": bool(example["relevant"]),
        "sentence_ids": example["sentence_ids"].decode(),
        "dropped_rows": int(example["dropped_rows"]),
    }
