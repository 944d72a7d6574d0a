"""Tasks of the evidence pointer, from `examples/pointer_*.{split}.jsonl` in the data folder.

`pointer_documents` and `pointer_sentences` point, see `encode_candidates`. Before them the encoder learns from single
pairs, text to text: `pointer_titles` whether a page's title belongs to the claim, in a ranker's words, and
`pointer_labels` a sentence's label for it, in a pointwise labeller's.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

import numpy as np
import seqio
import tensorflow as tf

from lisax.errors import LisaxError
from lisax.formats.format import Format
from lisax.formats.labelling import LABEL_POINTWISE
from lisax.formats.pointing import COLUMNS, POINT_DOCUMENTS, POINT_SENTENCES, PointerExample, pointer_targets
from lisax.formats.ranking import RANK

from . import example_tasks, metrics
from .columns import TEXT, Encoded, Row, add_lines, kept_by_line, parsed, side_by_side
from .example_tasks import Options, head_features
from .locations import FileOf, examples
from .vocabularies import encoder_vocabulary

PAIR_TASKS = {"pointer_titles": RANK, "pointer_labels": LABEL_POINTWISE}
POINTER_TASKS = {"pointer_documents": POINT_DOCUMENTS, "pointer_sentences": POINT_SENTENCES}


def add_all() -> None:
    for name, text_format in PAIR_TASKS.items():
        example_tasks.add(name, text_format, examples(name))
    for name, text_format in POINTER_TASKS.items():
        add(name, text_format, examples(name))


def add(name: str, text_format: Format, file_of: FileOf) -> seqio.Task:
    """Registers a pointing task over a file of pointer examples."""
    task = add_lines(
        name,
        file_of,
        functools.partial(encode_candidates, task=name, text_format=text_format),
        head_features(encoder_vocabulary(), COLUMNS),
        splits=Options.splits,
        metrics=[metrics.pointed_recall],
        target=with_sets,
    )
    return example_tasks.described(
        task,
        text_format,
        None,
        lambda lengths: lengths["inputs"] // (lengths["targets"] // COLUMNS),
        lambda lengths: lengths["targets"] // COLUMNS,
    )


def encode_candidates(
    vocabulary: seqio.Vocabulary, lengths: Mapping[str, int], *, task: str, text_format: Format
) -> Encoded:
    """Inputs [k * L] and targets [k * COLUMNS], with ids and texts.

    The candidates' tokens, each with its special tokens and filled with 0 to L, are end to end, as are their numbers
    (see `formats.pointing`); both are 0 where a claim has fewer than k candidates. An example with more is an error.

    `inputs_pretokenized` has a line a candidate, `targets_pretokenized` the gold places; `candidate_ids` are joined by
    spaces, and `sets` are places joined by spaces, sets by semicolons.
    """
    k, rest = divmod(lengths.get("targets") or 0, COLUMNS)
    tokens = lengths.get("inputs") or 0
    if not k or rest or not tokens or tokens % k:
        raise LisaxError(
            f"task '{task}': TASK_FEATURE_LENGTHS must be {{'inputs': k * L, 'targets': k * {COLUMNS}}} "
            f"for k candidates of L tokens, found {lengths or None}"
        )
    encode = example_tasks.each_encoder_of(vocabulary, None, text_format)

    @kept_by_line
    def one(line: bytes) -> Row:
        example = parsed(line, PointerExample, task)
        count = len(example.candidates)
        if count > k:
            raise LisaxError(
                f"task '{task}': claim '{example.claim_id}' has {count} candidates, TASK_FEATURE_LENGTHS "
                f"has room for {k}"
            )
        targets, texts = np.zeros((k, COLUMNS), np.int32), encode(example, tokens // k)
        if count:
            targets[:count] = pointer_targets(count, example.label, example.pointers, example.sets)
        return {
            "inputs": side_by_side([text.ids for text in texts], k, tokens // k),
            "targets": targets.reshape(-1),
            "inputs_pretokenized": "\n".join(text.text for text in texts),
            "targets_pretokenized": " ".join(map(str, example.pointers)),
            "claim_id": example.claim_id,
            "candidate_ids": " ".join(example.unit_ids),
            "sets": ";".join(" ".join(map(str, places)) for places in example.sets),
        }

    texts = ("inputs_pretokenized", "targets_pretokenized", "claim_id", "candidate_ids", "sets")
    numbers = {"inputs": tf.TensorSpec([tokens], tf.int32), "targets": tf.TensorSpec([k * COLUMNS], tf.int32)}
    return one, numbers | dict.fromkeys(texts, TEXT)


def with_sets(_, example: Mapping) -> dict:
    """The record's ids and evidence sets."""
    sets = [set(map(int, places.split())) for places in example["sets"].decode().split(";") if places]
    return {
        "claim_id": example["claim_id"].decode(),
        "candidates": example["candidate_ids"].decode().split(),
        "sets": sets,
    }
