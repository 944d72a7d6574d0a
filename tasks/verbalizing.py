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

import seqio

from lisax.formats.presets import Preset
from lisax.formats.verbalizing import Encoder, VerbalExample, marker_ids, verbalizing_card
from lisax.formats.vocabulary import EOS_ID
from lisax.metrics.text import bleu
from lisax.sampling.verbal_examples import STEMS

from . import example_tasks, locations
from .columns import TEXT, TOKENS, Encoded, Row, add_lines, parsed
from .example_tasks import Options
from .vocabularies import default_vocabulary, encoder_of, is_bytes


def add_all() -> None:
    for stem in STEMS:
        add(stem, locations.examples(stem))


def add(name: str, file_of: locations.FileOf, options: Options = Options()) -> seqio.Task:
    """Registers the task `name` over `file_of(split)`."""
    preset = options.preset
    task = add_lines(
        name,
        file_of,
        functools.partial(encode_unit, task=name, preset=preset),
        example_tasks.features(options.vocabulary or default_vocabulary()),
        splits=options.splits,
        metrics=[bleu_of_outputs],
        target=references,
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


def encode_unit(
    vocabulary: seqio.Vocabulary, lengths: Mapping[str, int], *, task: str, preset: Preset | None
) -> Encoded:
    """Inputs and targets with EOS and their texts, `id`, and `references`, a line each."""
    encoder = Encoder(
        encoder_of(vocabulary), marker_ids(vocabulary.vocab_size), (preset or example_tasks.chosen_preset()).name
    )

    def one(line: bytes) -> Row | None:
        example = parsed(line, VerbalExample, task)
        inputs, targets = encoder.inputs(example.triples), encoder.targets(example.text)
        if any(len(ids) >= lengths.get(name, len(ids) + 1) for name, ids in (("inputs", inputs), ("targets", targets))):
            return None
        return {
            "inputs": [*inputs, EOS_ID],
            "targets": [*targets, EOS_ID],
            "inputs_pretokenized": encoder.text(example.triples),
            "targets_pretokenized": example.text,
            "id": example.triples.id,
            "references": "\n".join(example.texts),
        }

    texts = ("inputs_pretokenized", "targets_pretokenized", "id", "references")
    return one, {"inputs": TOKENS, "targets": TOKENS, **dict.fromkeys(texts, TEXT)}


def references(_, example: Mapping) -> list[str]:
    return example["references"].decode().split("\n")


def bleu_of_outputs(targets: Sequence[Sequence[str]], predictions: Sequence[str]) -> dict[str, float]:
    """BLEU of the outputs as they are, against all references."""
    return {"bleu": bleu(targets, predictions)}
