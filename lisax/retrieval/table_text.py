"""Tables as plain text documents (CLTR, section 4.2): BM25 over title, caption, header and cells of each table, with an
English analyzer, and the tables themselves, in one index folder.

The component has a name of its own, so that one folder can hold pages and tables.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from lisax.devices.batching import windows
from lisax.errors import LisaxError
from lisax.records import Claim, Hit, Question, Table, is_cell, split_cell_id
from lisax.retrieval.bm25 import Bm25Index
from lisax.retrieval.bm25_builder import Bm25Builder
from lisax.retrieval.cells import NAME as CELLS
from lisax.retrieval.cells import Strategy, cells_builder, cells_of
from lisax.retrieval.folder import writing
from lisax.retrieval.runs import ranked
from lisax.retrieval.table_store import TEXTS as NAME
from lisax.retrieval.table_store import Prepared, index_tables, indexed_text
from lisax.retrieval.tables import add_tables

K1, B = 1.2, 0.75  # Elasticsearch's defaults, which the paper uses
# Where vectors count too, the presence of a word matters most: of k1 from 0.2 to 3 and b from 0.4 to 1, these and the
# weight 1.5 of `fusion` are best for WikiTableQuestions' `e2e_train` to within 0.05 points of mean average precision
# (71.8; with K1 and B 70.5).
BESIDE_VECTORS = {"k1": 0.3, "b": 0.9}
POOL = 300
QUESTIONS_AT_A_TIME = 1024

Search = Callable[[Sequence[str], int], list[list[tuple[str, float]]]]


def build_index(
    tables: Iterable[Table] | Iterable[Prepared],
    folder: str | os.PathLike,
    *,
    k1: float = K1,
    b: float = B,
    with_cells: bool = False,
    add: bool = False,
    **settings: Any,
) -> Bm25Index:
    """Indexes texts and tables into one folder, in one pass and atomically: for questions, and `with_cells` for claims.
    With `add`, see `tables.add_tables`. `settings`: language and analyzer (`Bm25Builder`)."""
    if add:
        add_tables(tables, folder, NAME)
    else:
        with writing(folder) as state:
            texts = Bm25Builder(state, NAME, k1=k1, b=b, **settings)
            builders = {NAME: (texts, indexed_text)}
            if with_cells:
                builders[CELLS] = cells_builder(state, Strategy.ENTITY_CHAR_23), cells_of
            index_tables(state, tables, builders)
    return open_index(folder)


def open_index(folder: str | os.PathLike) -> Bm25Index:
    return Bm25Index.open(folder, NAME)


def retrieve(search: Search, questions: Iterable[Question], k: int = POOL) -> Iterator[Hit]:
    """Up to `k` tables per question, in the order of the questions; streaming. `search` is an index's or a
    cluster's."""
    if k < 1:
        raise LisaxError(f"expected k >= 1, found {k}")
    for batch in windows(questions, QUESTIONS_AT_A_TIME):
        for question, hits in zip(batch, search([question.text for question in batch], k), strict=True):
            yield from ranked(question.id, hits)


def gold_tables(question: Question, is_table: Callable[[str], bool] | None = None) -> tuple[str, ...]:
    """The tables with an answer cell, without duplicates, in the order of the evidence.

    With `is_table` also whole tables in the evidence, for an answer that is not one of their cells."""
    units = (
        split_cell_id(unit)[0] if is_cell(unit) else unit if is_table and is_table(unit) else None
        for unit in question.evidence
    )
    return tuple(dict.fromkeys(unit for unit in units if unit is not None))


def as_claims(questions: Iterable[Question], is_table: Callable[[str], bool] | None = None) -> dict[str, Claim]:
    """Questions as claims, by id, for retrieval measures: each gold table is a sufficient evidence set."""
    return {
        question.id: Claim(
            question.id, question.text, evidence_sets=tuple((table,) for table in gold_tables(question, is_table))
        )
        for question in questions
    }
