"""Tasks for pair scorers over the files of examples that the other tasks read, each as two texts and a class."""

from __future__ import annotations

import functools
from collections.abc import Mapping

import seqio

from lisax.errors import LisaxError
from lisax.formats import presets
from lisax.formats.examples import Record
from lisax.formats.format import RELEVANCE, Format
from lisax.formats.parts import TABLE_PARTS
from lisax.models.pair import FIRST, WHOLE

from . import locations, metrics
from .columns import TEXT, TOKENS, Encoded, Row, add_lines, parsed
from .example_tasks import Options, chosen_preset, head_features
from .vocabularies import Pieces, encoder_vocabulary


def add(
    name: str,
    text_format: Format,
    file_of: locations.FileOf,
    options: Options = Options(),
    *,
    tables: int = 0,
    record: type[Record] | None = None,
) -> seqio.Task:
    """Registers the task `name` over `file_of(split)`, a file of example records of `text_format`; `tables` and
    `record` as in `example_tasks.add`."""
    figures, preset = [metrics.pair_accuracy], options.preset
    if text_format.answer is RELEVANCE:
        figures.append(metrics.pair_parts if text_format is TABLE_PARTS else metrics.pair_ranking)
    record = record or text_format.example
    task = add_lines(
        name,
        file_of,
        functools.partial(encode_pair, task=name, text_format=text_format, preset=preset, record=record),
        head_features(options.vocabulary or encoder_vocabulary(), len(text_format.answer.classes) + FIRST),
        splits=options.splits,
        metrics=figures,
        target=with_class,
    )
    task.model_card = lambda lengths: text_format.pair_card(preset or chosen_preset(), lengths["inputs"], tables)
    return task


def encode_pair(
    vocabulary: Pieces,
    lengths: Mapping[str, int],
    *,
    task: str,
    text_format: Format,
    preset: presets.Preset | None,
    record: type[Record],
) -> Encoded:
    """Inputs, both texts' ids with special tokens, and targets: the class and FIRST, and a teacher's probabilities
    if the targets may have more than one number. Also the class's name, the claim's id, and both texts."""
    plain, wording, classes = vocabulary.plain, preset or chosen_preset(), text_format.answer.classes
    max_tokens, learns_from_teacher = lengths.get("inputs"), lengths.get("targets", 1) > 1

    def one(line: bytes) -> Row:
        example = parsed(line, record, task)
        if example.label is None:
            raise LisaxError(f"task '{task}': claim {example.claim_id} has no label")
        texts = text_format.pair(example, preset=wording)
        taught = getattr(example, "taught", ()) if learns_from_teacher else ()
        if taught and len(taught) != len(classes):
            raise LisaxError(f"task '{task}': claim {example.claim_id} is taught other labels than the task's")
        return {
            "inputs": plain.encode_pair(*texts, max_tokens).ids,
            "targets": [
                list(classes).index(example.label) + FIRST,
                *(round(WHOLE * share) + FIRST for share in taught),
            ],
            "inputs_pretokenized": " | ".join(texts),
            "targets_pretokenized": classes[example.label],
            "claim_id": example.claim_id,
        }

    texts = ("inputs_pretokenized", "targets_pretokenized", "claim_id")
    return one, {"inputs": TOKENS, "targets": TOKENS, **dict.fromkeys(texts, TEXT)}


def with_class(given, example: Mapping) -> dict:
    """The class with the record's id."""
    return {"target": given, "class": int(example["targets"][0]) - FIRST, "claim_id": example["claim_id"].decode()}
