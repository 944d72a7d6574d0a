"""Span corruption (T5) over any corpus: `examples/text.{split}.jsonl`, lines {"text": ...}.

Texts are joined and cut into stretches as long as inputs and targets allow. Of each, 15% is noise in spans
of 3 on average; a sentinel stands for each span in the inputs, and before it in the targets. Sentinels are
the vocabulary's top ids, falling.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping

import numpy as np
import seqio
import tensorflow as tf

from lisax.errors import LisaxError
from lisax.formats.vocabulary import EOS_ID, EXTRA_IDS

from . import example_tasks, locations
from .columns import LineSource, flat, ragged
from .vocabularies import default_vocabulary, encoder_of

NOISE_DENSITY = 0.15
MEAN_SPAN = 3.0
TEXTS_JOINED = 128  # texts joined before they are cut into stretches
UNLIMITED = 512


def noise_sizes(length: int, max_spans: int = EXTRA_IDS) -> tuple[int, int]:
    """(noise tokens, noise spans) of `length` >= 2 tokens: both at least 1, and room for an equal number of spans of
    text."""
    noise = min(max(round(length * NOISE_DENSITY), 1), length - 1)
    spans = min(max(round(noise / MEAN_SPAN), 1), noise, length - noise, max_spans)
    return noise, spans


def lengths_of(length: int, max_spans: int = EXTRA_IDS) -> tuple[int, int]:
    """Tokens of (inputs, targets), each with EOS, that a stretch of `length` tokens becomes."""
    noise, spans = noise_sizes(length, max_spans)
    return length - noise + spans + 1, noise + spans + 1


def stretch_length(inputs: int, targets: int | None = None, max_spans: int = EXTRA_IDS) -> int:
    """The longest stretch whose corrupted inputs and targets fit."""
    length = 1
    while True:
        needed_inputs, needed_targets = lengths_of(length + 1, max_spans)
        if needed_inputs > inputs or (targets is not None and needed_targets > targets):
            break
        length += 1
    if length < 2:
        raise LisaxError(
            f"span corruption needs inputs and targets of at least 3 tokens each, found {inputs} and {targets}"
        )
    return length


def corrupt(
    tokens: np.ndarray, rng: np.random.Generator, first_sentinel: int, max_spans: int = EXTRA_IDS
) -> tuple[np.ndarray, np.ndarray]:
    """(inputs, targets) of tokens [length >= 2] int32, both ending in EOS.

    Text and noise alternate, text first: t0 n0 t1 n1 … becomes t0 <s0> t1 <s1> … and <s0> n0 <s1> n1 …, where
    <si> is `first_sentinel - i`. Every division into spans is equally likely.
    """
    noise, spans = noise_sizes(len(tokens), max_spans)
    noise_lengths = _division(noise, spans, rng)
    text_lengths = _division(len(tokens) - noise, spans, rng)
    ends = np.cumsum(np.stack([text_lengths, noise_lengths], axis=1).ravel())[:-1]
    parts = np.split(tokens, ends)
    sentinels = np.arange(first_sentinel, first_sentinel - spans, -1, dtype=tokens.dtype)
    inputs = [piece for i in range(spans) for piece in (parts[2 * i], sentinels[i : i + 1])]
    targets = [piece for i in range(spans) for piece in (sentinels[i : i + 1], parts[2 * i + 1])]
    end = np.array([EOS_ID], tokens.dtype)
    return np.concatenate([*inputs, end]), np.concatenate([*targets, end])


def _division(total: int, parts: int, rng: np.random.Generator) -> np.ndarray:
    """`total` as `parts` positive integers in order, uniformly among all such divisions."""
    cuts = np.sort(rng.choice(total - 1, size=parts - 1, replace=False) + 1)
    return np.diff(cuts, prepend=0, append=total)


def span_corruption(
    dataset: tf.data.Dataset,
    output_features: Mapping[str, seqio.Feature],
    sequence_length: Mapping[str, int] | None,
    *,
    task: str,
) -> tf.data.Dataset:
    """{"line": {"text"} as JSON} -> inputs and targets; a stretch gets new noise each epoch."""
    vocabulary = output_features["inputs"].vocabulary
    to_ids = encoder_of(vocabulary)
    max_spans, given = vocabulary.extra_ids, sequence_length or {}
    length = stretch_length(given.get("inputs") or UNLIMITED, given.get("targets"), max_spans)
    first_sentinel = vocabulary.vocab_size - 1

    def text_of(line: bytes) -> str:
        try:
            return json.loads(line)["text"]
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            raise LisaxError(f"task '{task}': expected lines {{\"text\": ...}}, found {line[:80]!r}") from error

    def stretches(lines: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        tokens = np.array([i for line in lines for i in to_ids(text_of(line))], np.int32)
        # A rest of one token cannot be divided into text and noise.
        return flat([tokens[start : start + length] for start in range(0, len(tokens) - 1, length)])

    def join(batch):
        tokens, lengths = tf.numpy_function(stretches, [batch["line"]], [tf.int32, tf.int64])
        return {"tokens": ragged(tokens, lengths)}

    @seqio.map_over_dataset(num_seeds=1)
    def add_noise(row, seed):
        def corrupted(tokens, seed):
            return corrupt(tokens, np.random.default_rng(seed.astype(np.uint32)), first_sentinel, max_spans)

        inputs, targets = tf.numpy_function(corrupted, [row["tokens"], seed], [tf.int32, tf.int32])
        for column in (inputs, targets):
            column.set_shape([None])
        return {"inputs": inputs, "targets": targets}

    return add_noise(dataset.batch(TEXTS_JOINED).map(join, num_parallel_calls=2).unbatch())


def add(name: str, file_of: locations.FileOf, vocabulary: seqio.Vocabulary | None = None) -> seqio.Task:
    """Registers span corruption over files of {"text"} lines."""
    return seqio.TaskRegistry.add(
        name,
        source=LineSource(name, file_of, ("train", "dev")),
        preprocessors=[seqio.CacheDatasetPlaceholder(), functools.partial(span_corruption, task=name)],
        output_features=example_tasks.features(vocabulary or default_vocabulary()),
        metric_fns=[],
    )


def add_all() -> None:
    add("list5_span_corruption", locations.examples("text"))
