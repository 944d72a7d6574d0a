"""What a model of rows and columns learns from: the parts of gold tables and, beyond the paper, of retrieved ones."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence

from lisax.formats.parts import PartExample, PartKind
from lisax.records import Question, Table, is_cell, split_cell_id
from lisax.sampling.part_examples import parts_of

WINDOW = 20  # retrieved tables that negative ones are drawn from


def examples(
    questions: Iterable[tuple[Question, Sequence[str]]],
    kind: PartKind,
    lookup: Callable[[str], Table | None],
    *,
    gold_tables: int = 1,
    negative_tables: int = 0,
    negative_parts: int | None = None,
    seed: int = 0,
) -> Iterator[PartExample]:
    """The rows or the columns of (question, its retrieved tables): of the first `gold_tables` tables with an answer,
    and of `negative_tables` drawn from the first retrieved without one.

    Of each table the parts with an answer, and `negative_parts` drawn from the others; None: all, as in the paper.
    The draw depends on the seed, the question and the kind alone.
    """
    for question, retrieved in questions:
        rng = random.Random(f"lisax.parts:{seed}:{kind}:{question.id}")
        cells = [unit for unit in question.evidence if is_cell(unit)]
        gold = list(dict.fromkeys(split_cell_id(cell)[0] for cell in cells))
        others = [table for table in retrieved[:WINDOW] if table not in gold]
        chosen = gold[:gold_tables] + rng.sample(others, min(negative_tables, len(others)))
        for table in filter(None, map(lookup, chosen)):
            parts = [part for part in parts_of(question.id, question.text, table, cells) if part.kind is kind]
            yield from parts if negative_parts is None else _thinned(parts, negative_parts, rng)


def _thinned(parts: Sequence[PartExample], negatives: int, rng: random.Random) -> list[PartExample]:
    """All true parts and so many others, in their order."""
    others = [i for i, part in enumerate(parts) if not part.label]
    kept = set(rng.sample(others, min(negatives, len(others))))
    return [part for i, part in enumerate(parts) if part.label or i in kept]
