"""A seqio task over a file of example records: one text of each, features, metrics."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gin
import seqio
import tensorflow as tf

from lisax.formats import each, presets
from lisax.formats.examples import Record
from lisax.formats.format import RELEVANCE, Format
from lisax.formats.parts import TABLE_PARTS
from lisax.formats.tables import TABLES
from lisax.formats.vocabulary import EOS_ID, single_pieces

from . import locations, metrics
from .columns import TEXT, TOKENS, Encoded, Row, add_lines, parsed
from .vocabularies import default_vocabulary, encoder_of, input_encoder_of, is_bytes, reads_pairs


@gin.configurable("lisax_format", module="tasks")
def chosen_preset(preset: str = "paper") -> presets.Preset:
    """The wording of tasks that were not given one: `lisax_format.preset = "released"`."""
    return presets.get(preset)


@dataclasses.dataclass(frozen=True)
class Options:
    """How a task is read. Without a vocabulary or preset, those of gin or the environment are used at reading."""

    splits: Sequence[str] = ("train", "dev")
    vocabulary: seqio.Vocabulary | None = None
    preset: presets.Preset | None = None


def features(vocabulary: seqio.Vocabulary) -> dict[str, seqio.Feature]:
    return {name: seqio.Feature(vocabulary, add_eos=True) for name in ("inputs", "targets")}


def head_features(vocabulary: seqio.Vocabulary, classes: int) -> dict[str, seqio.Feature]:
    """The columns of a head on an encoder: inputs that end as they are, and numbers below `classes`."""
    return {
        "inputs": seqio.Feature(vocabulary, add_eos=False),
        "targets": seqio.Feature(seqio.PassThroughVocabulary(classes), add_eos=False),
    }


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

    `before` as in `add_lines`; `record` is the type of the records if it is not the format's own; `tables` is how many
    of them a record has.
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
        target=with_record,
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
    return wording, functools.lru_cache(maxsize=1)(input_encoder_of(vocabulary))


def each_encoder_of(
    vocabulary: seqio.Vocabulary, preset: presets.Preset | None, text_format: Format
) -> Callable[[Any, int], list[each.Encoded]]:
    """(example, most tokens of an input) -> the inputs of a format that has several for an example: pairs of texts
    where the vocabulary is that of an encoder of two segments."""
    wording, ids_of = wording_of(vocabulary, preset, text_format)
    if reads_pairs(vocabulary):
        plain = vocabulary.plain
        return lambda example, max_tokens: each.encode_pairs(text_format, example, wording, max_tokens, plain)
    return lambda example, max_tokens: each.encode_texts(text_format, example, wording, max_tokens, ids_of)


def with_record(text: str, example: Mapping) -> dict:
    """The target word with the record's ids."""
    return {
        "target": text,
        "claim_id": example["claim_id"].decode(),
        "relevant": bool(example["relevant"]),
        "sentence_ids": example["sentence_ids"].decode(),
        "dropped_rows": int(example["dropped_rows"]),
    }
