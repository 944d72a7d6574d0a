"""The table stage: ranks tables for claims through an index of cells."""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from typing import NamedTuple

from lisax.devices.batching import windows
from lisax.errors import DataError, LisaxError
from lisax.records import Claim, Hit, Table
from lisax.retrieval.bm25_builder import Bm25Builder
from lisax.retrieval.cells import NAME as CELLS
from lisax.retrieval.cells import CellIndex, Strategy, cells_builder, cells_of
from lisax.retrieval.folder import open_component, writing
from lisax.retrieval.linking import link, spans
from lisax.retrieval.runs import ranked
from lisax.retrieval.table_store import TEXTS, index_tables, indexed_text
from lisax.text.folding import RUN, fold
from lisax.text.stop_words import INDEX_STOP_WORDS

MODES = ("linked", "spans")
CUTOFFS = (1, 3, 5, 10)
CLAIMS_AT_A_TIME = 1 << 14
# Tables per claim among which equal scores are put in order; beyond them equals keep the order of the index.
EQUALS = 30
# Equals are put in order where the first of them is among this number: reading more tables costs more than it gains.
ORDERED = 3
READ_TABLES = 1 << 14  # tables whose words are kept


def build_index(
    tables: Iterable[Table], folder: str | os.PathLike, strategy: Strategy | None = None, *, add: bool = False
) -> CellIndex:
    """Indexes cells and tables into one folder, in one pass and atomically; with `add`, see `add_tables`."""
    if add:
        add_tables(tables, folder, CELLS)
    else:
        with writing(folder) as state:
            index_tables(state, tables, {CELLS: (cells_builder(state, strategy), cells_of)})
    return CellIndex.open(folder)


def add_tables(tables: Iterable[Table], folder: str | os.PathLike, component: str) -> None:
    """Adds tables to all table components of an index, cells and texts, each with its own settings. The index must have
    `component`."""
    with writing(folder) as state:
        open_component(state.folder, component)
        builders: dict[str, tuple] = {}
        if CELLS in state.components:
            strategy = Strategy(open_component(state.folder, CELLS)["settings"]["strategy"])
            builders[CELLS] = cells_builder(state, strategy, extend=True), cells_of
        if TEXTS in state.components:
            builders[TEXTS] = Bm25Builder(state, TEXTS, extend=True), indexed_text
        index_tables(state, tables, builders, extend=True)


def gold_tables(
    lookup: Callable[[str], Table | None], claims: Iterable[Claim], path: str | os.PathLike | None = None
) -> dict[str, Table]:
    """The tables that claims name as evidence, by id. Raises an error that names the claims' file `path` for a missing
    one."""
    found = {unit: lookup(unit) for claim in claims for unit in claim.gold_ids}
    if missing := sorted(unit for unit, table in found.items() if table is None):
        raise DataError(
            f"claims are about {len(missing):,} tables that the corpus does not have, the first of them '{missing[0]}'",
            path=path,
        )
    return found


def entities(claim: Claim, mode: str, gold: Mapping[str, Table]) -> tuple[str, ...]:
    """`linked`: TabFact's linking against the claim's gold table; `spans`: from only the claim."""
    if mode == "spans":
        return spans(claim)
    return tuple(entity for unit in claim.gold_ids for entity in link(claim, gold[unit]))


def retrieve(
    index: CellIndex,
    claims: Iterable[Claim],
    k: int = 10,
    *,
    lookup: Callable[[str], Table | None],
    mode: str = "spans",
    gold: Mapping[str, Table] | None = None,
) -> Iterator[Hit]:
    """Up to `k` tables per claim, in the order of the claims; streaming. Of tables with equal scores those come first
    that share more words with the claim, of these the smallest (`by_words`); `lookup` reads them.

    `gold` (see `gold_tables`) is needed for `linked`. A whole-query strategy uses the claim as it is, whatever the
    mode.
    """
    if mode not in MODES:
        raise LisaxError(f"expected a mode of {', '.join(MODES)}; found '{mode}'")
    said = functools.lru_cache(READ_TABLES)(lambda table: said_by(lookup(table)))
    for batch in windows(claims, CLAIMS_AT_A_TIME):
        queries: list[Sequence[str]] = [
            (claim.text,) if index.strategy.whole_query else entities(claim, mode, gold or {}) for claim in batch
        ]
        found = index.search(queries, max(k, EQUALS))
        for claim, hits in zip(batch, found, strict=True):
            yield from ranked(claim.id, by_words(claim.text, hits, k, said))


class Said(NamedTuple):
    """The distinct words of a table (caption, title, header, cells), and its number of cells."""

    words: Set[str]
    cells: int


def by_words(
    claim: str, hits: Sequence[tuple[str, float]], k: int, said: Callable[[str], Said]
) -> list[tuple[str, float]]:
    """The first `k` hits, best first: those with equal scores by the number of distinct words that the table shares
    with the claim, then by the table's size, the smallest first, then as they were. Only tables among equals are read,
    if one of these can be among the first `ORDERED`."""
    ordered: list[tuple[str, float]] = []
    wanted: Set[str] | None = None
    for _, group in itertools.groupby(hits, key=lambda hit: hit[1]):
        if len(ordered) >= k:
            break
        equals = list(group)
        if len(equals) > 1 and len(ordered) < ORDERED:
            wanted = _words(claim) if wanted is None else wanted
            tables = {table: said(table) for table, _ in equals}
            equals.sort(key=lambda hit: (-len(wanted & tables[hit[0]].words), tables[hit[0]].cells))
        ordered += equals
    return ordered[:k]


def said_by(table: Table | None) -> Said:
    """The words of a table that `by_words` compares; empty without one."""
    if table is None:
        return Said(frozenset(), 0)
    text = " ".join((table.caption, table.title, *table.header, *itertools.chain(*table.rows)))
    return Said(_words(text), len(table.header) * len(table.rows))


def _words(text: str) -> Set[str]:
    return set(RUN.findall(fold(text))) - INDEX_STOP_WORDS


def hit_rates(
    claims: Iterable[Claim], retrieved: Mapping[str, Sequence[str]], cutoffs: Sequence[int] = CUTOFFS
) -> dict[str, float]:
    """`{"hits@k": …, "claims": n}`: the share of claims with a gold table among the first k; `{"claims": 0}` if no
    claim names one."""
    ranks = []
    for claim in claims:
        if gold := set(claim.gold_ids):
            found = retrieved.get(claim.id, ())
            ranks.append(next((rank for rank, table in enumerate(found, start=1) if table in gold), None))
    if not ranks:
        return {"claims": 0}
    return {f"hits@{k}": sum(rank is not None and rank <= k for rank in ranks) / len(ranks) for k in cutoffs} | {
        "claims": len(ranks)
    }
