"""The one encode function: an example record of some format family becomes (inputs, targets)."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from lisax.formats import labelling, parts, ranking, tables
from lisax.formats.budget import CountTokens
from lisax.formats.parts import PartKind
from lisax.formats.presets import PAPER, Preset
from lisax.formats.tables import TableLike, TableText
from lisax.records import Label, LisaxError, Operation


class Family(enum.StrEnum):
    """What a model is asked; its value is the family's name in tasks, files and `model.json`."""

    RANK = "rank"
    RANK_ENTITIES = "rank_entities"
    LABEL_POINTWISE = "label_pointwise"
    LABEL_LISTWISE = "label_listwise"
    CLAIM_ONLY = "claim_only"
    TABLES = "tables"
    TABLE_FUSION = "table_fusion"
    TABLE_PARTS = "table_parts"
    TABLE_OPERATION = "table_operation"
    VERBALIZE = "verbalize"
    POINT_DOCUMENTS = "point_documents"
    POINT_SENTENCES = "point_sentences"

    @property
    def ranks(self) -> bool:
        return self in (Family.RANK, Family.RANK_ENTITIES, Family.TABLE_PARTS)

    @property
    def reads_tables(self) -> bool:
        return self in (Family.TABLES, Family.TABLE_FUSION)

    @property
    def points(self) -> bool:
        return self in (Family.POINT_DOCUMENTS, Family.POINT_SENTENCES)

    @property
    def answers_in_words(self) -> bool:
        """Text to text; the other families have several inputs of a claim and classes or places as answers."""
        return self is not Family.TABLE_FUSION and not self.points

    def words(self, preset: Preset) -> tuple[str, ...]:
        """Those that a model of this family answers with."""
        if self is Family.TABLE_OPERATION:
            return preset.operation_words
        return preset.ranking_words if self.ranks else preset.label_words


class PassageLike(Protocol):
    title: str
    text: str


class ExampleLike(Protocol):
    """What is read of an example; `lisax.sampling.examples.Example` is one."""

    claim_id: str
    claim: str
    sentences: Sequence[PassageLike]
    entities: Sequence[str]
    label: Label | bool | None


class PointerExampleLike(Protocol):
    """What is read of an example of the pointer families; `lisax.sampling.pointer_examples.PointerExample` is one."""

    claim_id: str
    claim: str
    candidates: Sequence[PassageLike]


class TableExampleLike(Protocol):
    """What is read of an example of the table families; `lisax.sampling.table_examples.TableExample` is one."""

    claim_id: str
    claim: str
    tables: Sequence[TableLike]
    label: Label | None


class PartExampleLike(Protocol):
    """What is read of an example of a table's part; `lisax.sampling.part_examples.PartExample` is one."""

    claim_id: str
    claim: str
    kind: PartKind
    header: Sequence[str]
    cells: Sequence[str]
    label: bool | None


class OperationExampleLike(Protocol):
    """What is read of an example of a table's header; `lisax.sampling.operation_examples.OperationExample` is one."""

    claim_id: str
    claim: str
    header: Sequence[str]
    label: Operation | None


class Text(NamedTuple):
    """`dropped_rows`: rows of the example's tables for which the inputs had no room."""

    inputs: str
    targets: str
    dropped_rows: int = 0


def encode(
    example: ExampleLike | TableExampleLike | PartExampleLike | OperationExampleLike,
    family: Family,
    *,
    preset: Preset = PAPER,
    max_tokens: int | None = None,
    count_tokens: CountTokens,
) -> Text:
    """Inputs of at most `max_tokens` tokens with EOS (None: no limit), and the target word.

    `count_tokens` gives the number of pieces of a text without EOS. Raises LisaxError for an example that
    is not of the family: a list where one sentence belongs, a verdict where relevance belongs. Of the family
    TABLE_FUSION a claim has as many inputs as tables, and of the pointer families as candidates: see
    `encode_each_table` and `encode_each_candidate`.
    """
    if family is Family.VERBALIZE:
        raise LisaxError(f"the format '{family}' writes sentences: `formats.verbalizing.Encoder` gives its inputs")
    budget = {"preset": preset, "max_tokens": max_tokens, "count_tokens": count_tokens}
    if family.points:
        raise LisaxError(f"the format '{family}' has an input for each candidate: `encode_each_candidate` gives them")
    wanted, expected = (
        (Operation, "an operation")
        if family is Family.TABLE_OPERATION
        else (bool, "true or false")
        if family.ranks
        else (Label, "a verdict")
    )
    if example.label is not None and not isinstance(example.label, wanted):
        raise LisaxError(
            f"claim {example.claim_id}: label {example.label!r} does not fit the format "
            f"'{family}', which wants {expected}"
        )
    targets = preset.target(example.label)
    if family is Family.CLAIM_ONLY:
        return Text(labelling.encode_claim_only(example.claim, **budget), targets)
    if family.reads_tables and not hasattr(example, "tables"):
        raise LisaxError(f"claim {example.claim_id}: the format '{family}' takes tables, found an example without")
    if family is Family.TABLE_PARTS:
        if not hasattr(example, "cells"):
            raise LisaxError(
                f"claim {example.claim_id}: the format '{family}' takes a row or column of a table, "
                "found an example without"
            )
        return Text(parts.encode_part(example.claim, example.kind, example.header, example.cells, **budget), targets)
    if family is Family.TABLE_OPERATION:
        if not hasattr(example, "header"):
            raise LisaxError(
                f"claim {example.claim_id}: the format '{family}' takes the header of a table, found an example without"
            )
        return Text(parts.encode_header(example.claim, example.header, **budget), targets)
    if family is Family.TABLES:
        text = tables.encode_tables(example.claim, example.tables, **budget)
        return Text(text.inputs, targets, sum(text.dropped))
    if family is Family.TABLE_FUSION:
        raise LisaxError(f"the format '{family}' has an input for each table: `encode_each_table` gives them")
    if family is Family.LABEL_LISTWISE:
        pairs = [(sentence.title, sentence.text) for sentence in example.sentences]
        return Text(labelling.encode_listwise(example.claim, pairs, **budget), targets)
    if len(example.sentences) != 1:
        raise LisaxError(
            f"claim {example.claim_id}: the format '{family}' takes one sentence, found {len(example.sentences)}"
        )
    sentence = example.sentences[0]
    if family is Family.LABEL_POINTWISE:
        return Text(labelling.encode_pointwise(example.claim, sentence.text, sentence.title, **budget), targets)
    entities = example.entities if family is Family.RANK_ENTITIES else ()
    return Text(ranking.encode_ranking(example.claim, sentence.text, sentence.title, entities, **budget), targets)


def encode_each_table(
    example: TableExampleLike, *, preset: Preset = PAPER, max_tokens: int | None = None, count_tokens: CountTokens
) -> list[TableText]:
    """The inputs of the family TABLE_FUSION: one a table, each of at most `max_tokens` tokens with its EOS."""
    return [
        tables.encode_table(example.claim, table, preset=preset, max_tokens=max_tokens, count_tokens=count_tokens)
        for table in example.tables
    ]


def encode_each_candidate(
    example: PointerExampleLike,
    family: Family,
    *,
    preset: Preset = PAPER,
    max_tokens: int | None = None,
    count_tokens: CountTokens,
) -> list[str]:
    """The inputs of the pointer families: one a candidate, each of at most `max_tokens` tokens with its EOS.

    They are those of the pairs that the encoder learns from before: a ranker's of the title, a pointwise labeller's of
    the sentence."""
    budget = {"preset": preset, "max_tokens": max_tokens, "count_tokens": count_tokens}
    if family is Family.POINT_DOCUMENTS:
        return [ranking.encode_ranking(example.claim, page.title, **budget) for page in example.candidates]
    return [
        labelling.encode_pointwise(example.claim, sentence.text, sentence.title, **budget)
        for sentence in example.candidates
    ]
