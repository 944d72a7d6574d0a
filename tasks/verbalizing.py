"""The verbalizer's tasks (UDT-QA, section 3), from `examples/verbalize_*.{split}.jsonl` in the data folder.

    verbalize_t           T: all pairs of data and a text
    verbalize_t_f         T-F: those whose ROUGE-1 is high enough
    verbalize_t_f_id_t    T-F + ID-T: and an equal number of the first model's own outputs on the target data

A line is {"id", "title", "pairs", "text"}, with "texts" too if there are several references. An example that does not
fit the lengths is left out: cut, it would teach to leave something out.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

import numpy as np
import seqio
import tensorflow as tf

from lisax.formats.presets import Preset
from lisax.formats.verbalizing import Encoder, VerbalExample, marker_ids, verbalizing_card
from lisax.formats.vocabulary import EOS_ID
from lisax.metrics.text import bleu
from lisax.sampling.verbal_examples import STEMS

from . import example_tasks, locations
from .vocabularies import default_vocabulary, encoder_of, is_bytes


def add_all() -> None:
    for stem in STEMS:
        add(stem, locations.in_data_folder("examples/" + stem + ".{split}.jsonl"))


def add(
    name: str,
    file_of: locations.FileOf,
    *,
    splits: Sequence[str] = ("train", "dev"),
    vocabulary: seqio.Vocabulary | None = None,
    preset: Preset | None = None,
) -> seqio.Task:
    """Registers the task `name` over `file_of(split)`; a vocabulary or preset as in `example_tasks.add`."""
    task = seqio.TaskRegistry.add(
        name,
        source=example_tasks.LineSource(name, file_of, splits),
        preprocessors=[seqio.CacheDatasetPlaceholder(), functools.partial(encode_records, task=name, preset=preset)],
        output_features=example_tasks.features(vocabulary or default_vocabulary()),
        postprocess_fn=with_references,
        metric_fns=[bleu_of_outputs],
    )

    def model_card(lengths: Mapping[str, int]) -> dict:
        pieces = task.output_features["inputs"].vocabulary
        if is_bytes(pieces):
            return {}  # inference reads with SentencePiece
        return verbalizing_card(
            (preset or example_tasks.chosen_preset()).name, lengths["inputs"], lengths["targets"], pieces.vocab_size
        )

    task.model_card = model_card
    return task


def encode_records(
    dataset: tf.data.Dataset,
    output_features: Mapping[str, seqio.Feature],
    sequence_length: Mapping[str, int] | None,
    *,
    task: str,
    preset: Preset | None,
) -> tf.data.Dataset:
    """{"line": JSON record} -> inputs, targets (int32 with EOS) and their texts, `id`, and `references`, a line each."""
    vocabulary, lengths = output_features["inputs"].vocabulary, sequence_length or {}
    encoder = Encoder(
        encoder_of(vocabulary), marker_ids(vocabulary.vocab_size), (preset or example_tasks.chosen_preset()).name
    )

    def one(line: bytes) -> tuple | None:
        example = example_tasks.parsed(line, VerbalExample, task)
        inputs, targets = encoder.inputs(example.triples), encoder.targets(example.text)
        if any(len(ids) >= lengths.get(name, len(ids) + 1) for name, ids in (("inputs", inputs), ("targets", targets))):
            return None
        return (
            [*inputs, EOS_ID],
            [*targets, EOS_ID],
            encoder.text(example.triples),
            example.text,
            example.triples.id,
            "\n".join(example.texts),
        )

    def many(lines: np.ndarray) -> tuple:
        rows = list(filter(None, map(one, lines)))
        inputs, targets, *texts = zip(*rows) if rows else [()] * 6
        return (*example_tasks.flat(inputs), *example_tasks.flat(targets), *map(example_tasks.encoded, texts))

    def encode_call(batch: Mapping[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        kinds = [tf.int32, tf.int64, tf.int32, tf.int64, *[tf.string] * 4]
        inputs, input_lengths, targets, target_lengths, *texts = tf.numpy_function(many, [batch["line"]], kinds)
        for column in texts:
            column.set_shape([None])
        return {
            "inputs": example_tasks.ragged(inputs, input_lengths),
            "targets": example_tasks.ragged(targets, target_lengths),
            **dict(zip(("inputs_pretokenized", "targets_pretokenized", "id", "references"), texts, strict=True)),
        }

    return dataset.batch(example_tasks.CALL_SIZE).map(encode_call, num_parallel_calls=2).unbatch()


def with_references(text: str, example: Mapping | None = None, is_target: bool = False):
    """The inputs of metrics: the predicted text, or the references."""
    if not is_target or example is None:
        return text
    return example["references"].decode().split("\n")


def bleu_of_outputs(targets: Sequence[Sequence[str]], predictions: Sequence[str]) -> dict[str, float]:
    """BLEU of the outputs as they are, against all references."""
    return {"bleu": bleu(targets, predictions)}
