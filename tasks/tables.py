"""Tasks over tables, from `examples/tables_*.{split}.jsonl` in the data folder (`sampling.table_examples`).

Text-to-text, all tables of a claim in one input and a label word as the answer: `tables_closed` (the gold table),
`tables_one` (the first retrieved), `tables_top3`, `tables_top5`, `tables_top10`; and `tables_claim_only`. For pair
scorers the same as `tables_pair_closed` and so on, and `tables_pair_closed_and_wrong`, also with other tables.

For the fusion model, from the files of retrieved tables: `tables_fusion_top1`, `…top3`, `…top5`, `…top10`, whose
features are a row of encoder inputs for each table, see `encode_fusion`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import seqio
import tensorflow as tf

from lisax.errors import LisaxError
from lisax.formats.labelling import CLAIM_ONLY
from lisax.formats.presets import Preset
from lisax.formats.tables import TABLE_FUSION, TABLES, TableClass, TableExample, table_classes
from lisax.sampling.table_examples import CLOSED, CLOSED_AND_WRONG, DEPTHS, file_name

from . import example_tasks, metrics, pairs
from .locations import FileOf, in_data_folder
from .vocabularies import encoder_vocabulary

CLAIM_ONLY_TASK = "tables_claim_only"
# The text-to-text tasks, with the stem of the file that each reads.
TEXT_TASKS = {CLAIM_ONLY_TASK: CLOSED} | {file_name(k): file_name(k) for k in (None, *DEPTHS)}
TABLES_READ = {CLAIM_ONLY_TASK: 0} | {file_name(k): k or 1 for k in (None, *DEPTHS)}
FUSION_TASKS = {f"tables_fusion_top{k}": file_name(k) for k in DEPTHS}


def add_all() -> None:
    for name, stem in TEXT_TASKS.items():
        file_of = in_data_folder("examples/" + stem + ".{split}.jsonl")
        add_text(name, file_of)
        add_text(name.replace("tables_", "tables_pair_"), file_of, variant=name, add=pairs.add)
    wrong = in_data_folder("examples/" + CLOSED_AND_WRONG + ".{split}.jsonl")
    add_text(CLOSED_AND_WRONG.replace("tables_", "tables_pair_"), wrong, variant=CLOSED, add=pairs.add)
    for name, stem in FUSION_TASKS.items():
        add_fusion(name, in_data_folder("examples/" + stem + ".{split}.jsonl"))


def add_text(
    name: str,
    file_of: FileOf,
    *,
    variant: str | None = None,
    add: Callable[..., seqio.Task] = example_tasks.add,
    **options,
) -> seqio.Task:
    """Registers the task `name` of a `variant`, a key of `TEXT_TASKS` (None: the one that the name ends in), over a file
    of table examples; `add` and its options are those of `example_tasks`, or of `pairs`."""
    tables = next(number for key, number in TABLES_READ.items() if (variant or name).endswith(key))
    return add(
        name,
        TABLES if tables else CLAIM_ONLY,
        file_of,
        tables=tables,
        record=TableExample,
        **options,
    )


def add_fusion(
    name: str,
    file_of: FileOf,
    *,
    splits: Sequence[str] = ("train", "dev"),
    vocabulary: seqio.Vocabulary | None = None,
    preset: Preset | None = None,
) -> seqio.Task:
    """Registers a fusion task over a file of table examples; a vocabulary or preset as in `example_tasks.add`."""
    classes = seqio.PassThroughVocabulary(len(TableClass))
    task = seqio.TaskRegistry.add(
        name,
        source=example_tasks.LineSource(name, file_of, splits),
        preprocessors=[seqio.CacheDatasetPlaceholder(), functools.partial(encode_fusion, task=name, preset=preset)],
        output_features={
            "inputs": seqio.Feature(vocabulary or encoder_vocabulary(), add_eos=False),
            "targets": seqio.Feature(classes, add_eos=False),
        },
        postprocess_fn=with_tables,
        metric_fns=[metrics.fusion_accuracy, metrics.dropped_rows],
    )
    return example_tasks.described(
        task,
        TABLE_FUSION,
        preset,
        lambda lengths: lengths["inputs"] // lengths["targets"],
        lambda lengths: lengths["targets"],
    )


def encode_fusion(
    dataset: tf.data.Dataset,
    output_features: Mapping[str, seqio.Feature],
    sequence_length: Mapping[str, int] | None,
    *,
    task: str,
    preset: Preset | None,
) -> tf.data.Dataset:
    """{"line": JSON record} -> inputs int32 [k * L] and targets int32 [k], with ids and texts beside.

    The tables' tokens, each with its special tokens and filled with 0 to L, are end to end; a target is the table's
    `TableClass`, 0 with no tokens where a claim has fewer than k tables. k is the length of the targets and k * L that
    of the inputs; an example with more than k tables is an error.

    `inputs_pretokenized` (a line a table), `targets_pretokenized`, `claim_id`, `table_ids` (joined by spaces)
    and `label` are strings, `gold` bool [k], `dropped_rows` int32.
    """
    lengths = sequence_length or {}
    k, tokens = lengths.get("targets"), lengths.get("inputs")
    if not k or not tokens or tokens % k:
        raise LisaxError(
            f"task '{task}': TASK_FEATURE_LENGTHS must be {{'inputs': k * L, 'targets': k}} for k tables "
            f"of L tokens, found {dict(lengths) or None}"
        )
    encode = example_tasks.each_encoder_of(output_features, preset, TABLE_FUSION)

    @example_tasks.kept_by_line
    def one(line: bytes) -> tuple:
        example = example_tasks.parsed(line, TableExample, task)
        if len(example.tables) > k:
            raise LisaxError(
                f"task '{task}': claim '{example.claim_id}' has {len(example.tables)} tables, "
                f"TASK_FEATURE_LENGTHS has room for {k}: give `targets` as many"
            )
        inputs, targets, gold = np.zeros((k, tokens // k), np.int32), np.zeros(k, np.int32), np.zeros(k, bool)
        texts = encode(example, tokens // k)
        for i, text in enumerate(texts):
            inputs[i, : len(text.ids)] = text.ids
        classes = table_classes(example.label, example.gold)
        targets[: len(classes)], gold[: len(classes)] = classes, example.gold
        return (
            inputs.reshape(-1),
            targets,
            gold,
            sum(text.dropped_rows for text in texts),
            "\n".join(text.text for text in texts),
            " ".join(TableClass(c).name.lower() for c in classes),
            example.claim_id,
            " ".join(example.unit_ids),
            example.label or "",
        )

    def many(lines: np.ndarray) -> tuple:
        inputs, targets, gold, dropped, *texts = zip(*map(one, lines))
        return (
            np.stack(inputs),
            np.stack(targets),
            np.stack(gold),
            np.array(dropped, np.int32),
            *map(example_tasks.encoded, texts),
        )

    names = (
        "inputs",
        "targets",
        "gold",
        "dropped_rows",
        "inputs_pretokenized",
        "targets_pretokenized",
        "claim_id",
        "table_ids",
        "label",
    )
    shapes = [[None, tokens], [None, k], [None, k], *[[None]] * 6]

    def encode_call(batch: Mapping[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        kinds = [tf.int32, tf.int32, tf.bool, tf.int32, *[tf.string] * 5]
        columns = tf.numpy_function(many, [batch["line"]], kinds)
        for column, shape in zip(columns, shapes, strict=True):
            column.set_shape(shape)
        return dict(zip(names, columns, strict=True))

    return dataset.batch(example_tasks.CALL_SIZE).map(encode_call, num_parallel_calls=2).unbatch()


def with_tables(output, example: Mapping | None = None, is_target: bool = False):
    """The inputs of metrics: the model's probabilities as they are, or of the target the record's ids, label and
    gold."""
    if not is_target or example is None:
        return output
    tables = example["table_ids"].decode().split()
    return {
        "claim_id": example["claim_id"].decode(),
        "label": example["label"].decode(),
        "tables": tables,
        "gold": example["gold"].tolist()[: len(tables)],
        "dropped_rows": int(example["dropped_rows"]),
    }
