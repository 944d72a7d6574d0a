"""Tasks over lines of text files: each line is a JSON record, and one function turns it into the columns of
an example.

The cache holds records, not tokens: the columns depend on the lengths, the preset and the vocabulary of a run, which
are known only when the task is read.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import seqio
import tensorflow as tf

from lisax.errors import DataError, LisaxError
from lisax.formats.examples import Record

from . import locations

# Lines shuffled in the source, before they are encoded: a good shuffle that costs little memory.
SHUFFLED_LINES = 100_000
# Records encoded by one call from TensorFlow into Python.
CALL_SIZE = 32
# Encoded records with several texts that are kept: some 10 kB each.
KEPT_LINES = 10_000

# The values of a column: tokens of any number, a text, or numbers of one shape.
TOKENS, TEXT = tf.TensorSpec([None], tf.int32), tf.TensorSpec([], tf.string)
Row = Mapping[str, Any]  # column -> value
Encoded = tuple[Callable[[bytes], Row | None], Mapping[str, tf.TensorSpec]]  # line -> row, and its columns
# (the vocabulary of the inputs, TASK_FEATURE_LENGTHS) -> the encoding of lines
Encode = Callable[[seqio.Vocabulary, Mapping[str, int]], Encoded]


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
        self._task, self._file_of = task, file_of

    def num_input_examples(self, split: str = "train") -> int:
        """The number of lines, for the rates of mixtures (`seqio.mixing_rate_num_examples`)."""
        with locations.existing(self._file_of(split), self._task).open("rb") as file:
            return sum(bool(line.strip()) for line in file)


class Failures:
    """The errors of a task's lines. Raised in a Python function, an error makes TensorFlow log hundreds of lines, so a
    reader that looks at `kept` (`training.data`) sets it to a list."""

    def __init__(self):
        self.kept: list[LisaxError] | None = None

    def keep(self, error: LisaxError) -> None:
        if self.kept is None:
            raise error
        self.kept.append(error)


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

    `before` are preprocessors that turn the file's lines into records if it does not hold records; `seen`
    turns an example into the input of the `metrics`."""
    failures = Failures()
    encoded = functools.partial(columns, encode=encode, failures=failures)
    task = seqio.TaskRegistry.add(
        name,
        source=LineSource(name, file_of, splits),
        preprocessors=[*before, seqio.CacheDatasetPlaceholder(), encoded],
        output_features=output_features,
        postprocess_fn=seen,
        metric_fns=metrics,
    )
    task.failures = failures
    return task


def columns(
    dataset: tf.data.Dataset,
    output_features: Mapping[str, seqio.Feature],
    sequence_length: Mapping[str, int] | None,
    *,
    encode: Encode,
    failures: Failures,
) -> tf.data.Dataset:
    """{"line": JSON record} -> the columns of each line by `encode`, in order; lines without columns are left out.

    An error of `encode` is raised, or kept in `failures`; a kept one ends the dataset."""
    one, spec = encode(output_features["inputs"].vocabulary, dict(sequence_length or {}))

    def many(lines: np.ndarray) -> list[np.ndarray]:
        rows: list[Row] = []
        try:
            rows += [row for row in map(one, lines) if row is not None]
            made = [np.array(True)]
        except LisaxError as error:
            failures.keep(error)
            made = [np.array(False)]
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

    def call(batch: Mapping[str, tf.Tensor]) -> tuple[tf.Tensor, dict[str, tf.Tensor]]:
        succeeded, *values = tf.numpy_function(many, [batch["line"]], [tf.bool, *kinds])
        succeeded.set_shape([])
        found, made = iter(values), {}
        for name, column in spec.items():
            made[name] = values = next(found)
            if column is TOKENS:
                made[name] = ragged(values, next(found))
            else:
                values.set_shape([None, *column.shape])
        return succeeded, made

    called = dataset.batch(CALL_SIZE).map(call, num_parallel_calls=2)
    return called.take_while(lambda succeeded, _: succeeded).map(lambda _, made: made).unbatch()


def kept_by_line(encode: Callable[[bytes], Row]) -> Callable[[bytes], Row]:
    """`encode`, which makes texts and tokens of a record, but only once of each of the first `KEPT_LINES` lines: a
    model trained on known vectors reads a small set again and again, faster than Python writes its texts."""
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
