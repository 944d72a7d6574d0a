"""Tasks of the evidence pointer, from `examples/pointer_*.{split}.jsonl` in the data folder.

`pointer_documents` and `pointer_sentences` point, see `encode_candidates`. Before them the encoder learns from single
pairs, text to text: `pointer_titles` whether a page's title belongs to the claim, in a ranker's words, and
`pointer_labels` a sentence's label for it, in a pointwise labeller's.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

import numpy as np
import seqio
import tensorflow as tf

from lisax.errors import LisaxError
from lisax.formats.format import Format
from lisax.formats.labelling import LABEL_POINTWISE
from lisax.formats.pointing import COLUMNS, POINT_DOCUMENTS, POINT_SENTENCES, PointerExample, pointer_targets
from lisax.formats.presets import Preset
from lisax.formats.ranking import RANK

from . import example_tasks, metrics
from .locations import FileOf, in_data_folder
from .vocabularies import encoder_vocabulary

PAIR_TASKS = {"pointer_titles": RANK, "pointer_labels": LABEL_POINTWISE}
POINTER_TASKS = {"pointer_documents": POINT_DOCUMENTS, "pointer_sentences": POINT_SENTENCES}


def add_all() -> None:
    for name, text_format in PAIR_TASKS.items():
        example_tasks.add(name, text_format, in_data_folder("examples/" + name + ".{split}.jsonl"))
    for name, text_format in POINTER_TASKS.items():
        add(name, text_format, in_data_folder("examples/" + name + ".{split}.jsonl"))


def add(
    name: str,
    text_format: Format,
    file_of: FileOf,
    *,
    splits: Sequence[str] = ("train", "dev"),
    vocabulary: seqio.Vocabulary | None = None,
    preset: Preset | None = None,
) -> seqio.Task:
    """Registers a pointing task over a file of pointer examples; a vocabulary or preset as in `example_tasks.add`."""
    task = seqio.TaskRegistry.add(
        name,
        source=example_tasks.LineSource(name, file_of, splits),
        preprocessors=[
            seqio.CacheDatasetPlaceholder(),
            functools.partial(encode_candidates, task=name, text_format=text_format, preset=preset),
        ],
        output_features={
            "inputs": seqio.Feature(vocabulary or encoder_vocabulary(), add_eos=False),
            "targets": seqio.Feature(seqio.PassThroughVocabulary(COLUMNS), add_eos=False),
        },
        postprocess_fn=with_sets,
        metric_fns=[metrics.pointed_recall],
    )
    return example_tasks.described(
        task,
        text_format,
        preset,
        lambda lengths: lengths["inputs"] // (lengths["targets"] // COLUMNS),
        lambda lengths: lengths["targets"] // COLUMNS,
    )


def encode_candidates(
    dataset: tf.data.Dataset,
    output_features: Mapping[str, seqio.Feature],
    sequence_length: Mapping[str, int] | None,
    *,
    task: str,
    text_format: Format,
    preset: Preset | None,
) -> tf.data.Dataset:
    """{"line": JSON record} -> inputs int32 [k * L] and targets int32 [k * COLUMNS], with ids and texts beside.

    The candidates' tokens, each with its special tokens and filled with 0 to L, are end to end, as do their numbers
    (see `formats.pointing`); both are 0 where a claim has fewer than k candidates. An example with more is an error.

    `inputs_pretokenized` (a line a candidate), `targets_pretokenized` (gold places), `claim_id`, `candidate_ids`
    (joined by spaces) and `sets` (places joined by spaces, sets by semicolons) are strings.
    """
    lengths = sequence_length or {}
    k, rest = divmod(lengths.get("targets") or 0, COLUMNS)
    tokens = lengths.get("inputs") or 0
    if not k or rest or not tokens or tokens % k:
        raise LisaxError(
            f"task '{task}': TASK_FEATURE_LENGTHS must be {{'inputs': k * L, 'targets': k * {COLUMNS}}} "
            f"for k candidates of L tokens, found {dict(lengths) or None}"
        )
    encode = example_tasks.each_encoder_of(output_features, preset, text_format)

    @example_tasks.kept_by_line
    def one(line: bytes) -> tuple:
        example = example_tasks.parsed(line, PointerExample, task)
        count = len(example.candidates)
        if count > k:
            raise LisaxError(
                f"task '{task}': claim '{example.claim_id}' has {count} candidates, TASK_FEATURE_LENGTHS "
                f"has room for {k}"
            )
        inputs, targets = np.zeros((k, tokens // k), np.int32), np.zeros((k, COLUMNS), np.int32)
        texts = encode(example, tokens // k)
        for i, text in enumerate(texts):
            inputs[i, : len(text.ids)] = text.ids
        if count:
            targets[:count] = pointer_targets(count, example.label, example.pointers, example.sets)
        return (
            inputs.reshape(-1),
            targets.reshape(-1),
            "\n".join(text.text for text in texts),
            " ".join(map(str, example.pointers)),
            example.claim_id,
            " ".join(example.unit_ids),
            ";".join(" ".join(map(str, places)) for places in example.sets),
        )

    def many(lines: np.ndarray) -> tuple:
        inputs, targets, *texts = zip(*map(one, lines))
        return (np.stack(inputs), np.stack(targets), *map(example_tasks.encoded, texts))

    names = ("inputs", "targets", "inputs_pretokenized", "targets_pretokenized", "claim_id", "candidate_ids", "sets")
    shapes = [[None, tokens], [None, k * COLUMNS], *[[None]] * 5]

    def encode_call(batch: Mapping[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        columns = tf.numpy_function(many, [batch["line"]], [tf.int32, tf.int32, *[tf.string] * 5])
        for column, shape in zip(columns, shapes, strict=True):
            column.set_shape(shape)
        return dict(zip(names, columns, strict=True))

    return dataset.batch(example_tasks.CALL_SIZE).map(encode_call, num_parallel_calls=2).unbatch()


def with_sets(output, example: Mapping | None = None, is_target: bool = False):
    """The inputs of metrics: the pointers as they are, or of the target the record's ids and evidence sets."""
    if not is_target or example is None:
        return output
    sets = [set(map(int, places.split())) for places in example["sets"].decode().split(";") if places]
    return {
        "claim_id": example["claim_id"].decode(),
        "candidates": example["candidate_ids"].decode().split(),
        "sets": sets,
    }
