"""Example records of rows and columns: a question with one part of a table, and whether that part contains the answer.

Every row and column of a table that answers a question is an example: all negatives are kept, as CLTR's authors do.
Beyond the paper, parts of retrieved tables without an answer can be added, and negatives can be subsampled.

And of operations: a question, the header of its table, and the operation that computes the answer from cells.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from lisax.formats.examples import write_examples
from lisax.formats.parts import OperationExample, PartExample, PartKind
from lisax.records import Question, Table, column_id, is_cell, row_id, split_cell_id
from lisax.text.words import shared_words

PARTS = "parts"
WINDOW = 20  # retrieved tables that negative tables are drawn from
NO_CELL = "a question that no cell is known to answer"


def file_name(kind: PartKind, role: str) -> str:
    """The file of the examples of one kind for training, dev or test."""
    return f"{PARTS}_{kind}s.{role}.jsonl"


def operations_file(role: str) -> str:
    return f"operations.{role}.jsonl"


def parts_of(
    question_id: str, question: str, table: Table, answer_cells: Collection[str] | None = None
) -> Iterator[PartExample]:
    """All rows of a table, then all of its columns, except those without text.

    `answer_cells`: ids of cells, of which those of other tables do not count. None: unknown, parts have no label."""
    places = {cell[1:] for cell in map(split_cell_id, answer_cells or ()) if cell[0] == table.id}
    rows, columns = {i for i, _ in places}, {j for _, j in places}

    def label(true: bool) -> bool | None:
        return None if answer_cells is None else true

    for i, cells in enumerate(table.rows):
        if any(map(str.strip, cells)):
            yield PartExample(
                question_id, question, row_id(table.id, i), PartKind.ROW, table.header, cells, label(i in rows)
            )
    for j, name in enumerate(table.header):
        cells = tuple(row[j] for row in table.rows)
        if any(map(str.strip, cells)):
            yield PartExample(
                question_id, question, column_id(table.id, j), PartKind.COLUMN, (name,), cells, label(j in columns)
            )


def answering_cells(question: Question) -> dict[str, list[str]]:
    """Table id -> ids of its cells among the question's evidence; other evidence is ignored."""
    cells: dict[str, list[str]] = {}
    for unit in filter(is_cell, question.evidence):
        cells.setdefault(split_cell_id(unit)[0], []).append(unit)
    return cells


def examples(
    questions: Iterable[tuple[Question, Sequence[str]]],
    kind: PartKind,
    lookup: Callable[[str], Table | None],
    *,
    gold_tables: int | None = None,
    negative_tables: int = 0,
    negative_parts: int | None = None,
    hard_parts: int = 0,
    seed: int = 0,
    skipped: Counter | None = None,
) -> Iterator[PartExample]:
    """The row or column examples of (question, its retrieved tables): from the first `gold_tables` tables with an
    answer (None: all), and from `negative_tables` tables drawn from the first retrieved ones without an answer. Missing
    tables are counted in `skipped`.

    Each table gives the parts with an answer, of the others the `hard_parts` that share most with the question, and
    `negative_parts` drawn from the rest (None: all, as in the paper). The draw depends only on the seed, the question
    and the kind."""
    skipped = Counter() if skipped is None else skipped
    for question, retrieved in questions:
        rng = random.Random(f"lisax.parts:{seed}:{kind}:{question.id}")
        answering = answering_cells(question)
        if not answering:
            skipped[NO_CELL] += 1
        others = [table for table in retrieved[:WINDOW] if table not in answering]
        chosen = [*list(answering)[:gold_tables], *rng.sample(others, min(negative_tables, len(others)))]
        for table_id in chosen:
            table = lookup(table_id)
            if table is None:
                skipped["a table that is not in the collection"] += 1
                continue
            cells = answering.get(table_id, ())
            parts = [part for part in parts_of(question.id, question.text, table, cells) if part.kind is kind]
            yield from parts if negative_parts is None else _thinned(parts, negative_parts, hard_parts, rng)


def _thinned(parts: Sequence[PartExample], negatives: int, hard: int, rng: random.Random) -> list[PartExample]:
    """All positive parts, the `hard` others nearest to the question, and `negatives` sampled of the rest, in order."""
    others = [i for i, part in enumerate(parts) if not part.label]
    kept = set()
    if hard and others:
        shares = shared_words(parts[0].claim, [" ".join((*part.header, *part.cells)) for part in parts])
        kept.update(sorted(others, key=lambda i: -shares[i])[:hard])
        others = [i for i in others if i not in kept]
    kept.update(rng.sample(others, min(negatives, len(others))))
    return [part for i, part in enumerate(parts) if part.label or i in kept]


def write_all(
    folder: str | os.PathLike,
    role: str,
    questions: Sequence[tuple[Question, Sequence[str]]],
    lookup: Callable[[str], Table | None],
    *,
    negative_tables: Mapping[PartKind, int] = MappingProxyType({}),
    skipped: Counter | None = None,
    **options: int | None,
) -> dict[PartKind, int]:
    """Writes `examples` of each kind to its file. Returns the numbers of examples. `options` are arguments of
    `examples`."""
    counts = {}
    for kind in PartKind:
        # A missing table is missing for both kinds, and is counted once.
        counted = skipped if kind is PartKind.ROW else None
        made = examples(
            questions, kind, lookup, negative_tables=negative_tables.get(kind, 0), skipped=counted, **options
        )
        counts[kind] = write_examples(Path(folder) / file_name(kind, role), made)
    return counts


def operations(questions: Iterable[Question], lookup: Callable[[str], Table | None]) -> Iterator[OperationExample]:
    """One example per question with a known operation (unlike those of WikiTableQuestions), with its first table that
    `lookup` finds."""
    for question in questions:
        if question.operation is None:
            continue
        units = (split_cell_id(unit)[0] if is_cell(unit) else unit for unit in question.evidence)
        table = next(filter(None, map(lookup, dict.fromkeys(units))), None)
        if table is not None:
            yield OperationExample(question.id, question.text, table.id, table.header, question.operation)
