"""Tasks for pair scorers over the files of examples that the other tasks read, each as two texts and a class; here those of
`ranking` and `labelling`, while `parts` and `tables` add theirs."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

import numpy as np
import seqio
import tensorflow as tf

from lisax.errors import LisaxError
from lisax.formats import presets
from lisax.formats.examples import Record
from lisax.formats.format import RELEVANCE, Format
from lisax.formats.labelling import LABEL_POINTWISE
from lisax.formats.parts import TABLE_PARTS
from lisax.formats.ranking import RANK, RANK_ENTITIES
from lisax.models.pair import FIRST

from . import labelling, locations, metrics
from .example_tasks import CALL_SIZE, LineSource, chosen_preset, encoded, flat, parsed, ragged
from .vocabularies import Pieces, encoder_vocabulary


def add(
    name: str,
    text_format: Format,
    file_of: locations.FileOf,
    *,
    splits: Sequence[str] = ("train", "dev"),
    vocabulary: Pieces | None = None,
    preset: presets.Preset | None = None,
    tables: int = 0,
    record: type[Record] | None = None,
) -> seqio.Task:
    """Registers the task `name` over `file_of(split)`, a file of example records of `text_format`; options as in
    `example_tasks.add`."""
    classes, figures = text_format.answer.classes, [metrics.pair_accuracy]
    if text_format.answer is RELEVANCE:
        figures.append(metrics.pair_parts if text_format is TABLE_PARTS else metrics.pair_ranking)
    task = seqio.TaskRegistry.add(
        name,
        source=LineSource(name, file_of, splits),
        preprocessors=[
            seqio.CacheDatasetPlaceholder(),
            functools.partial(
                encode_pairs, task=name, text_format=text_format, preset=preset, record=record or text_format.example
            ),
        ],
        output_features={
            "inputs": seqio.Feature(vocabulary or encoder_vocabulary(), add_eos=False),
            "targets": seqio.Feature(seqio.PassThroughVocabulary(len(classes) + FIRST), add_eos=False),
        },
        postprocess_fn=with_class,
        metric_fns=figures,
    )

    def model_card(lengths: Mapping[str, int]) -> dict:
        return text_format.pair_card(preset or chosen_preset(), lengths["inputs"], tables)

    task.model_card = model_card
    return task


def encode_pairs(
    dataset: tf.data.Dataset,
    output_features: Mapping[str, seqio.Feature],
    sequence_length: Mapping[str, int] | None,
    *,
    task: str,
    text_format: Format,
    preset: presets.Preset | None,
    record: type[Record],
) -> tf.data.Dataset:
    """{"line": JSON record} -> inputs, both texts' ids with special tokens, and targets, one number: the class and
    FIRST. Beside them are the class's name, the claim's id, and both texts."""
    vocabulary, wording = output_features["inputs"].vocabulary.plain, preset or chosen_preset()
    max_tokens = (sequence_length or {}).get("inputs")
    classes = text_format.answer.classes

    def one(line: bytes) -> tuple:
        example = parsed(line, record, task)
        if example.label is None:
            raise LisaxError(f"task '{task}': claim {example.claim_id} has no label")
        texts = text_format.pair(example, preset=wording)
        ids = vocabulary.encode_pair(*texts, max_tokens).ids
        label = list(classes).index(example.label)
        return ids, [label + FIRST], " | ".join(texts), classes[example.label], example.claim_id

    def many(lines: np.ndarray) -> tuple:
        inputs, targets, *others = zip(*map(one, lines))
        return *flat(inputs), *flat(targets), *map(encoded, others)

    def encode_call(batch: Mapping[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        kinds = [tf.int32, tf.int64, tf.int32, tf.int64, *[tf.string] * 3]
        inputs, input_lengths, targets, target_lengths, *others = tf.numpy_function(many, [batch["line"]], kinds)
        for column in others:
            column.set_shape([None])
        names = ("inputs_pretokenized", "targets_pretokenized", "claim_id")
        return {
            "inputs": ragged(inputs, input_lengths),
            "targets": ragged(targets, target_lengths),
            **dict(zip(names, others, strict=True)),
        }

    return dataset.batch(CALL_SIZE).map(encode_call, num_parallel_calls=2).unbatch()


def with_class(given, example: Mapping | None = None, is_target: bool = False):
    """The inputs of metrics: the probabilities as they are, or the class with the record's ids."""
    if not is_target or example is None:
        return given
    return {"target": given, "class": int(example["targets"][0]) - FIRST, "claim_id": example["claim_id"].decode()}


def add_all() -> None:
    formats = {
        "rank": RANK,
        "rank_entities": RANK_ENTITIES,
        "rerank": RANK,
        labelling.CANDIDATES: LABEL_POINTWISE,
        **labelling.VARIANTS,
    }
    for variant, text_format in formats.items():
        file = "rank" if variant.startswith("rank") else variant
        add(f"list5_pair_{variant}", text_format, locations.in_data_folder("examples/" + file + ".{split}.jsonl"))
