"""A seqio task over a file of example records: source, our one encode function, features, metrics.

The cache holds records, not tokens: a record's tokens depend on the lengths, the preset and the vocabulary of a run,
which are known only when the task is read.
"""

from __future__ import annotations

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
from lisax.formats import presets
from lisax.formats.each import Encoded, encode_pairs, encode_texts, remembering
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


def features(vocabulary: seqio.Vocabulary) -> dict[str, seqio.Feature]:
    return {name: seqio.Feature(vocabulary, add_eos=True) for name in ("inputs", "targets")}


def add(
    name: str,
    text_format: Format,
    file_of: locations.FileOf,
    *,
    splits: Sequence[str] = ("train", "dev"),
    vocabulary: seqio.Vocabulary | None = None,
    preset: presets.Preset | None = None,
    before: Sequence = (),
    tables: int = 0,
    record: type[Record] | None = None,
) -> seqio.Task:
    """Registers the task `name` over `file_of(split)`, a file of example records of `text_format`.

    Without a vocabulary or preset, those of gin or the environment are used at reading. `before` are
    preprocessors that turn the file's lines into records where it does not hold records; `record` is their type
    where it is not the format's own; `tables` is how many of them a record has.
    """
    if text_format is TABLE_PARTS:
        figures = [metrics.accuracy, metrics.part_scores]
    else:
        ranks = text_format.answer is RELEVANCE
        figures = [metrics.accuracy, metrics.ranking_scores] if ranks else [metrics.label_accuracy]
    if text_format is TABLES:
        figures.append(metrics.dropped_rows)
    task = seqio.TaskRegistry.add(
        name,
        source=LineSource(name, file_of, splits),
        preprocessors=[
            *before,
            seqio.CacheDatasetPlaceholder(),
            functools.partial(
                encode_records, task=name, text_format=text_format, preset=preset, record=record or text_format.example
            ),
        ],
        output_features=features(vocabulary or default_vocabulary()),
        postprocess_fn=with_record,
        metric_fns=figures,
    )
    return described(task, text_format, preset, lambda lengths: lengths["inputs"], tables)


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


def encode_records(
    dataset: tf.data.Dataset,
    output_features: Mapping[str, seqio.Feature],
    sequence_length: Mapping[str, int] | None,
    *,
    task: str,
    text_format: Format,
    preset: presets.Preset | None,
    record: type[Record],
) -> tf.data.Dataset:
    """{"line": JSON record} -> inputs, targets (int32 with EOS) and their texts, the record's ids and label.

    `claim_id` and `sentence_ids` (of sentences or tables, joined by spaces) are strings, `relevant` is whether the
    label is true, `dropped_rows` an int32, see `formats.tables`.

    Documents are shortened to `sequence_length["inputs"]`; without lengths nothing is.
    """
    wording, ids_of = wording_of(output_features, preset, text_format)
    to_ids = encoder_of(output_features["inputs"].vocabulary)
    max_tokens = (sequence_length or {}).get("inputs")

    def one(line: bytes) -> tuple:
        example = parsed(line, record, task)
        text = text_format.encode(
            example, preset=wording, max_tokens=max_tokens, count_tokens=lambda text: len(ids_of(text))
        )
        return (
            ids_of(text.inputs),
            [*to_ids(text.targets), EOS_ID],
            text.inputs,
            text.targets,
            example.claim_id,
            " ".join(example.unit_ids),
            example.label is True,
            text.dropped_rows,
        )

    def many(lines: np.ndarray) -> tuple:
        inputs, targets, *others = zip(*map(one, lines))
        return (
            *flat(inputs),
            *flat(targets),
            *map(encoded, others[:4]),
            np.array(others[4], bool),
            np.array(others[5], np.int32),
        )

    def encode_call(batch: Mapping[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        kinds = [tf.int32, tf.int64, tf.int32, tf.int64, *[tf.string] * 4, tf.bool, tf.int32]
        inputs, input_lengths, targets, target_lengths, *others = tf.numpy_function(many, [batch["line"]], kinds)
        for column in others:
            column.set_shape([None])
        return {
            "inputs": ragged(inputs, input_lengths),
            "targets": ragged(targets, target_lengths),
            **dict(
                zip(
                    (
                        "inputs_pretokenized",
                        "targets_pretokenized",
                        "claim_id",
                        "sentence_ids",
                        "relevant",
                        "dropped_rows",
                    ),
                    others,
                    strict=True,
                )
            ),
        }

    return dataset.batch(CALL_SIZE).map(encode_call, num_parallel_calls=2).unbatch()


def wording_of(
    output_features: Mapping[str, seqio.Feature], preset: presets.Preset | None, text_format: Format
) -> tuple[presets.Preset, Callable[[str], list[int]]]:
    """The preset in the words of the task's vocabulary, each checked to be one piece, and text -> ids of an input with
    its special tokens."""
    vocabulary = output_features["inputs"].vocabulary
    wording = preset or chosen_preset()
    if is_bytes(vocabulary):
        wording = wording.with_initials()
    if text_format.has_label_words:
        single_pieces(text_format.words(wording), encoder_of(vocabulary))
    return wording, remembering(input_encoder_of(vocabulary))


def each_encoder_of(
    output_features: Mapping[str, seqio.Feature], preset: presets.Preset | None, text_format: Format
) -> Callable[[Any, int], list[Encoded]]:
    """(example, most tokens of an input) -> the inputs of a format that has several for an example: pairs of texts where
    the vocabulary is that of an encoder of two segments."""
    wording, ids_of = wording_of(output_features, preset, text_format)
    vocabulary = output_features["inputs"].vocabulary
    if reads_pairs(vocabulary):
        return lambda example, max_tokens: encode_pairs(text_format, example, wording, max_tokens, vocabulary.plain)
    return lambda example, max_tokens: encode_texts(text_format, example, wording, max_tokens, ids_of)


def kept_by_line(encode: Callable[[bytes], tuple]) -> Callable[[bytes], tuple]:
    """`encode`, which makes texts and tokens of a record, but only once of each of the first `KEPT_LINES` lines: what is
    trained on vectors that are known reads a small set again and again, faster than Python writes its texts."""
    found: dict[bytes, tuple] = {}

    def of(line: bytes) -> tuple:
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


def encoded(texts: Sequence[str]) -> np.ndarray:
    """Strings as TensorFlow takes them from numpy."""
    return np.array([text.encode() for text in texts], object)


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
