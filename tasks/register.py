"""A user's own claim dataset as tasks, in one call or from one JSON file.

    from lisax.tasks.register import register
    mine = register("mine", folder="my_data", vocabulary="spiece.model")
    mine.write_gin("mine.gin", "label_listwise_infused")  # and mine.json, which mine.gin names: nothing else is needed

`my_data` is a folder that `lisax data check` knows, for example claims.train.jsonl, claims.dev.jsonl and pages.jsonl.
The same as JSON, for MIXTURE_OR_TASK_MODULE, LISAX_TASKS or `register_file`, with the fields of `ClaimDataset`:

    {"name": "mine", "folder": "my_data", "vocabulary": "spiece.model"}

The data are checked line by line first. `docs/data.md` has the tasks that they give; claims over tables give
mine_tables_closed, mine_tables_one, mine_tables_top3 (5, 10), mine_tables_fusion_top1 (3, 5, 10) and
mine_tables_claim_only (see `lisax.tasks.tables`).
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import logging
import os
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import seqio

from lisax.errors import DataError, LisaxError
from lisax.files.writing import atomic_write, write_json
from lisax.formats import presets
from lisax.formats.vocabulary import PROMPT_CHARACTERS, Vocabulary, train_vocabulary, unwritten
from lisax.weights.pretrained import is_named
from lisax.weights.vocabulary_check import vocabulary_of

from . import part_data, parts, sentence_data, table_data, tables
from .claim_dataset import BY_SPLIT, PATHS, ClaimDataset, Files, is_word
from .example_tasks import Options
from .vocabularies import ByteVocabulary, Pieces, SentencePieces, encoder_of, plain_of

log = logging.getLogger(__name__)

# The kind of evidence -> the module that reads and checks them (`read`), writes their example files (`build`), names
# the files of each variant of task (`STEMS`), and registers these (`add`).
DATA: Mapping[str, ModuleType] = {"sentences": sentence_data, "tables": table_data, "cells": part_data}
TRAINED_PIECES = 8000
CHECKED_TEXTS = 20_000  # for characters that a vocabulary cannot write
MANIFEST = "dataset.json"
_registered: dict[str, Registered] = {}


@dataclasses.dataclass(frozen=True)
class Registered:
    """The tasks of a dataset: `tasks` maps a variant (`rank`, `label_listwise` …) to the task's name. `on_encoder`:
    whether they are for models on an encoder of the BERT family, whose vocabulary was given, and not for T5."""

    dataset: ClaimDataset
    tasks: dict[str, str]
    counts: dict[str, dict[str, int]]
    on_encoder: bool = False

    def write_gin(self, path: str | os.PathLike, variant: str | None = None, model: str | None = None) -> None:
        """Writes a gin file that fine-tunes on one of the tasks, and next to it the JSON file that it names. Of T5 the
        whole model is trained, of an encoder an adapter.

        Without a variant: label_listwise_infused, or of claims over tables tables_top5 (tables_closed on an encoder),
        of questions parts. `model` is a file of `gin_configs/models`, by default t5_1_1_small or minilm.
        """
        data = DATA[self.dataset.kind]
        variant = variant or data.DEFAULTS[self.on_encoder]
        if variant not in self.tasks:
            raise LisaxError(f"no task '{variant}'; there are {', '.join(self.tasks)}")
        path = Path(path)
        description = path.with_suffix(".json")
        write_json(description, _as_json(self.dataset))
        examples = sum(self.counts[stem].get("train", 0) for stem in data.STEMS[variant])
        dev = "" if "dev" in self.dataset.claim_files else "EVAL_SPLIT = 'train'  # the dataset has no dev split\n"
        written = {
            "task": self.tasks[variant],
            "description": str(description.resolve()),
            "path": shlex.quote(str(path)),
            "examples": examples,
            "dev": dev,
        }
        with atomic_write(path) as file:
            file.write(
                _ENCODER_GIN.format(**written, **self._on_encoder(variant, examples), model=model or "minilm")
                if self.on_encoder
                else _T5_GIN.format(**written, **_on_t5(variant), model=model or "t5_1_1_small")
            )

    def _on_encoder(self, variant: str, examples: int) -> dict[str, object]:
        """The other settings of an adapter's gin file: the lengths and rates of the shipped adapters."""
        fuses = variant in tables.FUSION_TASKS
        batch = 16 if fuses else 32
        one_pass = -(-examples // batch)
        finds = variant.startswith(("rank", *parts.VARIANTS))
        return {
            "head": "table_fusion" if fuses else "pair",
            "labels": "" if fuses else f"LABELS = {2 if finds else 3}\n",
            "lengths": _lengths_on_encoder(variant),
            "batch": batch,
            "warm_up": min(40, max(1, one_pass // 10)),
            "steps": max(100, one_pass),
            "shipped": DATA[self.dataset.kind].SHIPPED,
        }


def _lengths_on_encoder(variant: str) -> dict[str, int]:
    """TASK_FEATURE_LENGTHS: the shipped models' 128 tokens for a text or a table, of which an encoder reads 512."""
    if variant in tables.FUSION_TASKS:
        k = _depth(variant)
        return {"inputs": 128 * k, "targets": k}
    if variant.endswith("claim_only"):
        return {"inputs": 64, "targets": 1}
    if variant in parts.VARIANTS:
        return {"inputs": 80, "targets": 1}
    return {"inputs": min(128 * tables.TABLES_READ.get(variant, 1), 512), "targets": 1}


def _on_t5(variant: str) -> dict[str, object]:
    """The other settings of a T5's gin file: its wrapper, TASK_FEATURE_LENGTHS and the learning rate."""
    if variant in tables.FUSION_TASKS:
        k = _depth(variant)
        lengths = {"inputs": 512 * k, "targets": k}
        return {"wrapper": "include 'models/table_fusion.gin'\n", "lengths": lengths, "rate": "1e-4"}
    inputs = 128 if variant.endswith("claim_only") else 512
    finds = variant.startswith(("rank", *parts.VARIANTS))
    return {"wrapper": "", "lengths": {"inputs": inputs, "targets": 2}, "rate": "1e-4" if finds else "1e-3"}


def _depth(variant: str) -> int:
    """The number of tables of a fusion task."""
    return int(variant.rpartition("top")[2])


_T5_GIN = """\
# Fine-tunes on {task}: {examples:,} training examples. From a checkpoint (None: from scratch):
#   lisax train --gin_file={path} --gin.MODEL_DIR=out \\
#     --gin.INITIAL_CHECKPOINT_PATH=pretrained/checkpoint_10000 --gin.TRAIN_STEPS=11000
# T5X, which imports modules only: LISAX_TASKS=… names the JSON file, MIXTURE_OR_TASK_MODULE is 'tasks'.
include 'models/{model}.gin'
{wrapper}include 'runs/finetune.gin'

MIXTURE_OR_TASK_NAME = '{task}'
MIXTURE_OR_TASK_MODULE = {description!r}
TASK_FEATURE_LENGTHS = {lengths}
BATCH_SIZE = 128
{dev}
utils.create_learning_rate_scheduler:
  factors = 'constant'
  base_learning_rate = {rate}
"""
_ENCODER_GIN = """\
# Trains an adapter of an encoder on {task}: {examples:,} training examples. A shipped adapter, such as
# {shipped} in the place of minilm, is trained further.
#   lisax train --gin_file={path} --gin.MODEL_DIR=out \\
#     --gin.INITIAL_CHECKPOINT_PATH=minilm --gin.TRAIN_STEPS={steps}
#   lisax export --adapter --model out --out adapter
include 'models/{model}.gin'
include 'models/{head}.gin'
include 'runs/finetune_encoder.gin'

{labels}train.adapter = @lora.Lora()

MIXTURE_OR_TASK_NAME = '{task}'
MIXTURE_OR_TASK_MODULE = {description!r}
TASK_FEATURE_LENGTHS = {lengths}
BATCH_SIZE = {batch}
EVAL_PERIOD = 200
EVAL_STEPS = 20
LEARNING_RATE = 1e-3
WARMUP_STEPS = {warm_up}
{dev}
utils.SaveCheckpointConfig.period = 200
utils.create_learning_rate_scheduler:
  factors = 'constant * linear_warmup * cosine_decay'
  steps_per_cycle = %TRAIN_STEPS
# The schedule begins here, also where another adapter is trained further.
utils.RestoreCheckpointConfig.restore_step = False
"""


def register(
    name: str,
    *,
    folder: str | os.PathLike | None = None,
    claims: Files | None = None,
    questions: Files | None = None,
    corpus: str | os.PathLike | None = None,
    tables: str | os.PathLike | None = None,
    evidence: str | None = None,
    vocabulary: str | os.PathLike | None = None,
    run: str | os.PathLike | None = None,
    reranked: str | os.PathLike | None = None,
    sentences: int | None = None,
    contrasts: int = 0,
    columns: int = 3,
    preset: str | None = None,
    seed: int = 0,
    labels: Mapping[str, str | None] | None = None,
    skip_bad: bool = False,
    out: str | os.PathLike | None = None,
) -> Registered:
    """Checks a dataset, writes its example files unless they are there, and registers its tasks: for T5, or for pair
    scorers where `vocabulary` is an encoder's, a `tokenizer.json` or a name such as "minilm".

    `ClaimDataset` explains the fields. Every complaint about the data names file, line and field.
    """
    # fmt: off
    return register_dataset(ClaimDataset(
        name, folder=folder, claims=claims, questions=questions, corpus=corpus, tables=tables, evidence=evidence,
        vocabulary=vocabulary, run=run, reranked=reranked, sentences=sentences, contrasts=contrasts, columns=columns,
        preset=preset, seed=seed, labels=labels, skip_bad=skip_bad, out=out,
    ))
    # fmt: on


def register_dataset(dataset: ClaimDataset) -> Registered:
    """Registers a dataset; see `register`."""
    name, data = dataset.name, DATA[dataset.kind]
    tasks = {variant: f"{name}_{variant}" for variant in data.STEMS}
    taken = sorted({*tasks.values(), f"{name}_span_corruption"} & _known_tasks())
    if taken:
        raise LisaxError(f"there is already a task '{taken[0]}': register the dataset under another name")
    preset = None if dataset.preset is None else presets.get(dataset.preset)
    splits = tuple(dataset.claim_files)
    vocabulary = None
    if dataset.vocabulary != "train":  # a wrong path is reported before the long work, not after
        vocabulary = _vocabulary(dataset)
        _check_preset(dataset, vocabulary)
    counts = _build(dataset, data, vocabulary)
    if dataset.vocabulary == "train":
        vocabulary = _vocabulary(dataset)
    on_encoder = isinstance(vocabulary, Pieces)
    data.add(dataset, Options(splits, vocabulary, preset), on_encoder)
    _registered[name] = Registered(dataset, tasks, counts, on_encoder)
    return _registered[name]


def _check_preset(dataset: ClaimDataset, vocabulary: seqio.Vocabulary | None) -> None:
    if isinstance(vocabulary, Pieces) and dataset.preset is not None and dataset.kind != "tables":
        raise LisaxError(
            f"dataset '{dataset.name}': `preset` is a wording of T5's inputs, and {vocabulary.file} is an encoder's "
            "vocabulary, for pairs of texts, which have none: leave it out"
        )


def register_file(path: str | os.PathLike) -> Registered:
    """`register` from a JSON file whose fields are those of `ClaimDataset`; the same dataset is registered once."""
    path = Path(path)
    if not path.is_file():
        raise DataError("no such file", path=path)
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise DataError(f"not valid JSON: {error}", path=path) from None
    if not isinstance(fields, dict) or not isinstance(fields.get("name"), str):
        raise DataError("expected a JSON object with a name", path=path, field="name")
    fields = _with_paths(fields, lambda value: path.parent / value if isinstance(value, str) else value)
    known = [field.name for field in dataclasses.fields(ClaimDataset)]
    if unknown := next((field for field in fields if field not in known), None):
        raise LisaxError(f"dataset '{fields['name']}': unknown field '{unknown}'; there are {', '.join(known)}")
    dataset = ClaimDataset(**fields)
    before = _registered.get(dataset.name)
    if before and _as_json(before.dataset) == _as_json(dataset) and set(before.tasks.values()) <= _known_tasks():
        return before
    return register_dataset(dataset)


def _known_tasks() -> set[str]:
    return {*seqio.TaskRegistry.names(), *seqio.MixtureRegistry.names()}


def _as_json(dataset: ClaimDataset) -> dict:
    fields = {field: value for field, value in dataclasses.asdict(dataset).items() if value is not None}
    return _with_paths(fields, lambda value: str(Path(value).resolve()))


def _with_paths(fields: dict[str, Any], changed: Callable[[Any], Any]) -> dict[str, Any]:
    """The fields of a dataset, each path in them `changed`."""
    found = dict(fields)
    for field in (*BY_SPLIT, *PATHS):
        value = fields.get(field)
        if value is None or (field == "vocabulary" and is_word(value)):
            continue
        if isinstance(value, Mapping):
            found[field] = {split: changed(file) for split, file in value.items()}
        else:
            found[field] = changed(value)
    return found


def _vocabulary(dataset: ClaimDataset) -> seqio.Vocabulary | None:
    if dataset.vocabulary is None:
        return None
    if str(dataset.vocabulary) == "bytes":
        return ByteVocabulary()
    if is_named(dataset.vocabulary):
        path = vocabulary_of(dataset.vocabulary)
        if path is None:
            raise LisaxError(f"dataset '{dataset.name}': the model {dataset.vocabulary} has no vocabulary next to it")
    else:
        trained = dataset.out_folder / "spiece.model"
        path = trained if str(dataset.vocabulary) == "train" else Path(dataset.vocabulary)
    if not path.is_file():
        raise DataError(
            "no such vocabulary: expected a SentencePiece model, an encoder's tokenizer.json, 'train', 'bytes' or a "
            "model's name such as 'minilm'",
            path=path,
        )
    vocabulary = Pieces(path) if path.suffix == ".json" else SentencePieces(path)
    encoder_of(vocabulary)  # refuses a file that is not a SentencePiece model of T5's conventions, or no tokenizer.json
    return vocabulary


# --- Example files --------------------------------------------------------------------------


def _build(dataset: ClaimDataset, data: ModuleType, vocabulary: seqio.Vocabulary | None) -> dict[str, dict[str, int]]:
    """Example files of all splits; returns {variant: {split: examples}}. Done already: nothing is read again."""
    out, fingerprint = dataset.out_folder, dataset.fingerprint()
    manifest = out / MANIFEST
    if manifest.is_file():
        written = json.loads(manifest.read_text(encoding="utf-8"))
        if written["fingerprint"] == fingerprint:
            return written["counts"]
    claims, skipped = {split: data.read(dataset, split) for split in dataset.claim_files}, Counter()
    empty = next((split for split, rows in claims.items() if dataset.labels and not rows), None)
    if empty is not None:
        raise LisaxError(
            f"dataset '{dataset.name}': `labels` leaves out every claim of {dataset.claim_files[empty]}: map a label to "
            "'SUPPORTS', 'REFUTES' or 'NOT ENOUGH INFO'"
        )
    counts: dict[str, dict[str, int]] = {}
    for split, written in data.build(dataset, claims, skipped).items():
        for stem, number in written.items():
            counts.setdefault(stem, {})[split] = number
    for reason, number in skipped.items():
        log.warning("%s: %s: %d", dataset.name, reason, number)
    if str(dataset.vocabulary) == "train":
        texts = data.texts(dataset, claims.get("train", ()))
        train_vocabulary(texts, out / "spiece.model", TRAINED_PIECES, writes_all=True)
    elif vocabulary is not None and (plain := plain_of(vocabulary)) is not None:
        _tell_unwritten(dataset, plain, data.texts(dataset, itertools.chain.from_iterable(claims.values())))
    write_json(manifest, {"fingerprint": fingerprint, "counts": counts})
    return counts


def _tell_unwritten(dataset: ClaimDataset, vocabulary: Vocabulary, texts: Iterable[str]) -> None:
    """Warns of characters that the vocabulary cannot write, in the first texts and in prompts."""
    read = list(itertools.islice(texts, CHECKED_TEXTS))
    for where, missing in (
        (f"of {len(read):,} texts", unwritten(vocabulary, read)),
        ("of prompts", unwritten(vocabulary, PROMPT_CHARACTERS)),
    ):
        if missing:
            shown = " ".join(sorted(missing, key=lambda character: (-missing[character], character))[:10])
            log.warning(
                "%s: %s cannot write %d characters %s, such as %s: a model sees no difference between them. "
                "A vocabulary that is trained (vocabulary=\"train\") or \"bytes\" writes all",
                dataset.name, vocabulary.path, len(missing), where, shown,
            )  # fmt: skip
