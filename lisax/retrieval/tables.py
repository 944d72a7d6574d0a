"""The table stage: ranks tables for claims through an index of cells."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from lisax.records import Claim, DataError, Hit, LisaxError, Table
from lisax.retrieval.bm25_builder import Bm25Builder
from lisax.retrieval.cells import NAME as CELLS
from lisax.retrieval.cells import CellIndex, Strategy, cells_of
from lisax.retrieval.folder import open_component, writing
from lisax.retrieval.linking import link, spans
from lisax.retrieval.table_store import TEXTS, index_tables, indexed_text

MODES = ("linked", "spans")
CUTOFFS = (1, 3, 5, 10)
CLAIMS_AT_A_TIME = 1 << 14


def build_index(
    tables: Iterable[Table], folder: str | os.PathLike, strategy: Strategy | None = None, *, add: bool = False
) -> CellIndex:
    """Indexes cells and tables into one folder, in one pass and atomically; with `add`, see `add_tables`."""
    if add:
        add_tables(tables, folder, CELLS)
    else:
        from lisax.retrieval.cell_builder import CellsBuilder  # which brings numba

        with writing(folder) as state:
            cells = CellsBuilder(state, CELLS, strategy.analyzer, {"strategy": str(strategy)})
            index_tables(state, tables, {CELLS: (cells, cells_of)})
    return CellIndex.open(folder)


def add_tables(tables: Iterable[Table], folder: str | os.PathLike, component: str) -> None:
    """Adds tables to all table components of an index, cells and texts, each with its own settings. The index must have
    `component`."""
    with writing(folder) as state:
        open_component(state.folder, component)
        builders: dict[str, tuple] = {}
        if CELLS in state.components:
            from lisax.retrieval.cell_builder import CellsBuilder

            strategy = Strategy(open_component(state.folder, CELLS)["settings"]["strategy"])
            builders[CELLS] = CellsBuilder(state, CELLS, strategy.analyzer, {}, extend=True), cells_of
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
    """`linked`: TabFact's linking against the claim's gold table; `spans`: from the claim alone."""
    if mode == "spans":
        return spans(claim)
    return tuple(entity for unit in claim.gold_ids for entity in link(claim, gold[unit]))


def retrieve(
    index: CellIndex,
    claims: Iterable[Claim],
    k: int = 10,
    *,
    mode: str = "spans",
    gold: Mapping[str, Table] | None = None,
    threads: int | None = None,
) -> Iterator[Hit]:
    """Up to `k` tables per claim, in the order of the claims; streaming.

    `gold` (see `gold_tables`) is needed for `linked`. A whole-query strategy uses the claim as it is, whatever the
    mode.
    """
    if mode not in MODES:
        raise LisaxError(f"expected a mode of {', '.join(MODES)}; found '{mode}'")
    claims = iter(claims)
    while batch := list(itertools.islice(claims, CLAIMS_AT_A_TIME)):
        queries: list[Sequence[str]] = [
            (claim.text,) if index.strategy.whole_query else entities(claim, mode, gold or {}) for claim in batch
        ]
        for claim, hits in zip(batch, index.search(queries, k, threads=threads), strict=True):
            for rank, (table, score) in enumerate(hits, start=1):
                yield Hit(claim.id, table, rank, score)


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
