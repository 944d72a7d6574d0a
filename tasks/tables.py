"""Tasks over tables, from `examples/tables_*.{split}.jsonl` in the data folder (`sampling.table_examples`).

Text-to-text, all tables of a claim in one input and a label word as the answer: `tables_closed` (the gold table),
`tables_one` (the first retrieved), `tables_top3`, `tables_top5`, `tables_top10`; and `tables_claim_only`. For pair
scorers the same as `tables_pair_closed` and so on, and `tables_pair_closed_and_wrong`, also with other tables.

For the fusion model, from the files of retrieved tables: `tables_fusion_top1`, `…top3`, `…top5`, `…top10`, whose
features are a row of encoder inputs for each table, see `encode_fusion`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping

import numpy as np
import seqio
import tensorflow as tf

from lisax.errors import LisaxError
from lisax.formats.labelling import CLAIM_ONLY
from lisax.formats.presets import Preset
from lisax.formats.tables import TABLE_FUSION, TABLES, TableClass, TableExample, table_classes
from lisax.sampling.table_examples import CLOSED, CLOSED_AND_WRONG, DEPTHS, file_name

from . import example_tasks, metrics, pairs
from .columns import TEXT, Encoded, Row, add_lines, kept_by_line, parsed, side_by_side
from .example_tasks import Options, head_features
from .locations import FileOf, examples
from .vocabularies import encoder_vocabulary

CLAIM_ONLY_TASK = "tables_claim_only"
# The text-to-text tasks, with the stem of the file that each reads.
TEXT_TASKS = {CLAIM_ONLY_TASK: CLOSED} | {file_name(k): file_name(k) for k in (None, *DEPTHS)}
TABLES_READ = {CLAIM_ONLY_TASK: 0} | {file_name(k): k or 1 for k in (None, *DEPTHS)}
FUSION_TASKS = {f"tables_fusion_top{k}": file_name(k) for k in DEPTHS}


def add_all() -> None:
    for name, stem in TEXT_TASKS.items():
        file_of = examples(stem)
        add_text(name, file_of)
        add_text(name.replace("tables_", "tables_pair_"), file_of, variant=name, add=pairs.add)
    wrong = examples(CLOSED_AND_WRONG)
    add_text(CLOSED_AND_WRONG.replace("tables_", "tables_pair_"), wrong, variant=CLOSED, add=pairs.add)
    for name, stem in FUSION_TASKS.items():
        add_fusion(name, examples(stem))


def add_text(
    name: str,
    file_of: FileOf,
    options: Options = Options(),
    *,
    variant: str | None = None,
    add: Callable[..., seqio.Task] = example_tasks.add,
) -> seqio.Task:
    """Registers the task `name` of a `variant`, a key of `TEXT_TASKS` (None: the end of the name), over a file of table
    examples; `add` is that of `example_tasks`, or of `pairs`."""
    tables = next(number for key, number in TABLES_READ.items() if (variant or name).endswith(key))
    return add(name, TABLES if tables else CLAIM_ONLY, file_of, options, tables=tables, record=TableExample)


def add_fusion(name: str, file_of: FileOf, options: Options = Options()) -> seqio.Task:
    """Registers a fusion task over a file of table examples."""
    task = add_lines(
        name,
        file_of,
        functools.partial(encode_fusion, task=name, preset=options.preset),
        head_features(options.vocabulary or encoder_vocabulary(), len(TableClass)),
        splits=options.splits,
        metrics=[metrics.fusion_accuracy, metrics.dropped_rows],
        target=with_tables,
    )
    return example_tasks.described(
        task,
        TABLE_FUSION,
        options.preset,
        lambda lengths: lengths["inputs"] // lengths["targets"],
        lambda lengths: lengths["targets"],
    )


def encode_fusion(
    vocabulary: seqio.Vocabulary, lengths: Mapping[str, int], *, task: str, preset: Preset | None
) -> Encoded:
    """Inputs [k * L] and targets [k], with ids and texts.

    The tables' tokens, each with its special tokens and filled with 0 to L, are end to end; a target is the table's
    `TableClass`, 0 with no tokens where a claim has fewer than k tables. k is the length of the targets and k * L that
    of the inputs; an example with more than k tables is an error.

    `inputs_pretokenized` has a line a table; `table_ids` are joined by spaces; `gold` is bool [k].
    """
    k, tokens = lengths.get("targets"), lengths.get("inputs")
    if not k or not tokens or tokens % k:
        raise LisaxError(
            f"task '{task}': TASK_FEATURE_LENGTHS must be {{'inputs': k * L, 'targets': k}} for k tables "
            f"of L tokens, found {lengths or None}"
        )
    encode = example_tasks.each_encoder_of(vocabulary, preset, TABLE_FUSION)

    @kept_by_line
    def one(line: bytes) -> Row:
        example = parsed(line, TableExample, task)
        if len(example.tables) > k:
            raise LisaxError(
                f"task '{task}': claim '{example.claim_id}' has {len(example.tables)} tables, "
                f"TASK_FEATURE_LENGTHS has room for {k}: give `targets` as many"
            )
        targets, gold = np.zeros(k, np.int32), np.zeros(k, bool)
        classes, texts = table_classes(example.label, example.gold), encode(example, tokens // k)
        targets[: len(classes)], gold[: len(classes)] = classes, example.gold
        return {
            "inputs": side_by_side([text.ids for text in texts], k, tokens // k),
            "targets": targets,
            "gold": gold,
            "dropped_rows": sum(text.dropped_rows for text in texts),
            "inputs_pretokenized": "\n".join(text.text for text in texts),
            "targets_pretokenized": " ".join(TableClass(c).name.lower() for c in classes),
            "claim_id": example.claim_id,
            "table_ids": " ".join(example.unit_ids),
            "label": example.label or "",
        }

    numbers = {
        "inputs": tf.TensorSpec([tokens], tf.int32),
        "targets": tf.TensorSpec([k], tf.int32),
        "gold": tf.TensorSpec([k], tf.bool),
        "dropped_rows": tf.TensorSpec([], tf.int32),
    }
    texts = ("inputs_pretokenized", "targets_pretokenized", "claim_id", "table_ids", "label")
    return one, numbers | dict.fromkeys(texts, TEXT)


def with_tables(_, example: Mapping) -> dict:
    """The record's ids, label and gold."""
    tables = example["table_ids"].decode().split()
    return {
        "claim_id": example["claim_id"].decode(),
        "label": example["label"].decode(),
        "tables": tables,
        "gold": example["gold"].tolist()[: len(tables)],
        "dropped_rows": int(example["dropped_rows"]),
    }
