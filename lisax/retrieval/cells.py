"""Entity-to-cell retrieval of tables: score(q, t) = Σ_i max_j z(e_i)·z(c_j), exact, from a memory-mapped folder.

z is scikit-learn's `TfidfVectorizer` (lower case, smooth idf, l2 norm) fitted on all non-blank cells of all tables,
including headers and captions. `cell_builder.py` describes the files, `cell_blocks.py` how scores are computed. Scores
are sums of float32 products in a fixed order: they depend neither on threads nor on how the tables are split into
blocks or were added. Tables with equal scores are returned in indexing order; `tables.retrieve` puts them in the order
of a second signal.
"""

from __future__ import annotations

import enum
import functools
import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lisax.errors import DataError, LisaxError
from lisax.records import Table
from lisax.retrieval.blocks import ADVICE
from lisax.retrieval.folder import Writing, open_component, writing
from lisax.retrieval.strings import Joined, StringTable

if TYPE_CHECKING:
    from lisax.retrieval.cell_builder import CellsBuilder

NAME = "cells"
# Distinct entities scored together; this bounds the memory of a search, with the tables of a block (64 MiB a thread).
ENTITIES = 1 << 13
CACHED_TABLES = 1 << 10


class Strategy(enum.StrEnum):
    """The rows of the paper's table: the texts that are matched with cells, and their features."""

    QUERY_WORD = "query-word"
    QUERY_CHAR_23 = "query-char-2-3"
    ENTITY_EXACT = "entity-exact"
    ENTITY_WORD = "entity-word"
    ENTITY_CHAR_23 = "entity-char-2-3"
    ENTITY_CHAR_123 = "entity-char-1-2-3"

    @property
    def whole_query(self) -> bool:
        """Whether the whole claim is its only entity."""
        return self in (Strategy.QUERY_WORD, Strategy.QUERY_CHAR_23)

    @property
    def analyzer(self):
        from lisax.retrieval.cell_features import TOKENS, WHOLE, character_ngrams

        if self is Strategy.ENTITY_EXACT:
            return WHOLE
        if self in (Strategy.QUERY_WORD, Strategy.ENTITY_WORD):
            return TOKENS
        return character_ngrams(1 if self is Strategy.ENTITY_CHAR_123 else 2, 3)


def cells_of(table: Table) -> list[str]:
    """The strings of a table that are matched: caption, header, rows."""
    return [table.caption or table.title, *table.header, *(cell for row in table.rows for cell in row)]


def cells_builder(state: Writing, strategy: Strategy, *, extend: bool = False) -> CellsBuilder:
    from lisax.retrieval.cell_builder import CellsBuilder  # which brings numba

    return CellsBuilder(state, NAME, strategy.analyzer, {"strategy": str(strategy)}, extend=extend)


def build(tables: Iterable[Table], folder: str | os.PathLike, strategy: Strategy) -> CellIndex:
    """Indexes tables into a folder. An existing index of cells there is replaced at the end."""
    with writing(folder) as state:
        builder = cells_builder(state, strategy)
        for table in tables:
            builder.add(table.id, cells_of(table))
        state.commit({NAME: builder.finish()})
    return CellIndex.open(folder)


class _Weighed(NamedTuple):
    """Entities as features."""

    keys: np.ndarray  # uint64, ascending: the features of all entities
    pointers: np.ndarray  # int64 [entities + 1]
    terms: np.ndarray  # int64: indices into keys
    weights: np.ndarray  # float32: z(e)[g] · idf(g)


class _Asked(NamedTuple):
    """The distinct entities of some queries, and the entities of each query."""

    entities: _Weighed
    members: np.ndarray  # int64: entities, query by query
    query_pointers: np.ndarray  # int64 [queries + 1]


class CellIndex:
    """An open index. `settings` has strategy, tables, cells; `digest` identifies the content."""

    def __init__(self, folder: Path):
        self.folder = folder
        self._load()

    @classmethod
    def open(cls, folder: str | os.PathLike) -> CellIndex:
        return cls(Path(folder))

    def _load(self) -> None:
        from lisax.retrieval.cell_builder import Part, inverse_document_frequency, norms_name, read_vocabulary

        manifest = open_component(self.folder, NAME)
        self.settings: dict = manifest["settings"]
        self.digest: str = manifest["digest"]
        try:
            parts = [self.folder / part for part in manifest["parts"]]
            cells = int(self.settings["cells"])
            self.strategy = Strategy(self.settings["strategy"])
            self._parts = [Part(part, norms_name(self.settings)) for part in parts]
            self._ids = Joined(StringTable(part / "ids") for part in parts)
            self._keys, self._frequencies = read_vocabulary(self.folder / manifest["vocabulary"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DataError(f"the index of cells is damaged ({error}); {ADVICE}", path=self.folder) from None
        self._analyzer = self.strategy.analyzer
        self._idf_of = lambda frequencies: inverse_document_frequency(frequencies, cells)
        self._windows = [
            (part, start, *window) for part, start in zip(self._parts, self._ids.starts) for window in part.windows()
        ]
        # Claims share tables, and a claim reads several: splitting them again would take longer than scoring them.
        self._weighed = functools.lru_cache(1)(self._weigh)
        self._rows_of = functools.lru_cache(CACHED_TABLES)(lambda table: self._blocks(table.rows))
        self._columns_of = functools.lru_cache(CACHED_TABLES)(
            lambda table: self._blocks([name, *(row[at] for row in table.rows)] for at, name in enumerate(table.header))
        )

    def __len__(self) -> int:
        return len(self._ids)

    def search(
        self, queries: Sequence[Sequence[str]], k: int, *, threads: int | None = None
    ) -> list[list[tuple[str, float]]]:
        """Up to `k` (table id, score) per query, best first; of equal scores the earlier table first.

        A query is its entities; a repeated one counts again. Tables with score 0 are not returned. `threads`: None for
        one per core; results do not depend on it.
        """
        if k < 1:
            raise LisaxError(f"expected k >= 1, found {k}")
        if isinstance(queries, str) or any(isinstance(query, str) for query in queries):
            raise LisaxError("search takes a list of lists of entities, found a string for a list")
        threads = min(threads or len(os.sched_getaffinity(0)), len(self._windows))
        with ThreadPoolExecutor(threads) as pool:
            return [hits for batch in _batches(queries) for hits in self._search_batch(batch, k, pool, threads)]

    def _search_batch(
        self, queries: Sequence[Sequence[str]], k: int, pool: ThreadPoolExecutor, threads: int
    ) -> Iterator[list[tuple[str, float]]]:
        from lisax.retrieval import topk

        asked = self._ask(queries)
        k = min(k, len(self))
        windows = iter(self._windows)  # shared: each thread takes the next one when it is free
        heaps = list(pool.map(lambda _: self._search_windows(asked, windows, k), range(threads)))
        scores, tables, sizes = heaps[0]
        for others in heaps[1:]:
            topk.merge(scores, tables, sizes, *others)
        topk.sort_heaps(scores, tables, sizes)
        for query, size in enumerate(sizes.tolist()):
            yield [
                (self._ids.name(number), score)
                for number, score in zip(tables[query, :size].tolist(), scores[query, :size].tolist())
            ]

    def _ask(self, queries: Sequence[Sequence[str]]) -> _Asked:
        entities: dict[str, int] = {}
        members = [[entities.setdefault(entity, len(entities)) for entity in query] for query in queries]
        flat = np.array([entity for some in members for entity in some], np.int64)
        return _Asked(self._weigh(list(entities)), flat, np.cumsum([0, *map(len, members)]))

    def _weigh(self, entities: Sequence[str]) -> _Weighed:
        """Features that no cell has are ignored, in the norm as well."""
        from lisax.retrieval.cell_features import bags

        found = bags(entities, self._analyzer)
        keys, terms = np.unique(found.keys, return_inverse=True)
        idf = self._idf(keys)
        known = (idf > 0)[terms]
        whose = np.repeat(np.arange(len(entities)), np.diff(found.starts))[known]
        terms = terms[known]
        values = found.counts[known] * idf[terms]
        norms = np.sqrt(np.bincount(whose, values**2, minlength=len(entities)))
        pointers = np.searchsorted(whose, np.arange(len(entities) + 1))
        return _Weighed(keys, pointers, terms, (values * idf[terms] / norms[whose]).astype(np.float32))

    def _idf(self, keys: np.ndarray) -> np.ndarray:
        """float64 [keys]: 0 for features that no cell has."""
        if not len(self._keys):  # all cells are blank or have only one-letter words
            return np.zeros(len(keys))
        places = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[places] == keys, self._idf_of(self._frequencies[places]), 0.0)

    def _search_windows(self, asked: _Asked, windows: Iterator, k: int):
        """The heaps of one thread: scores float32 [queries, k], tables int64 [queries, k], sizes int64 [queries]."""
        from lisax.retrieval import cell_blocks, topk

        queries = len(asked.query_pointers) - 1
        scores, found = np.empty((queries, k), np.float32), np.empty((queries, k), np.int64)
        sizes = np.zeros(queries, np.int64)
        sums = np.zeros(cell_blocks.LANES * cell_blocks.COLUMNS, np.float32)
        space = np.empty(0, np.float32)
        entities = len(asked.entities.pointers) - 1
        for part, start, first, last, blocks in windows:
            if len(space) < entities * (last - first):
                space = np.empty(entities * (last - first), np.float32)
            best = space[: entities * (last - first)].reshape(entities, last - first)
            best[:] = 0
            for number in blocks:
                cell_blocks.score(part.block(number), part.norms(number), *asked.entities, sums, first, best)
            topk.add_up(best, asked.members, asked.query_pointers, start + first, scores, found, sizes)
        return scores, found, sizes

    def columns(self, table: Table, entities: Sequence[str], count: int = 3) -> tuple[int, ...]:
        """The `count` best columns of a table, in table order; among equals the first. A table of one row keeps all:
        its cells are different facts on one subject, whose names a claim repeats, not the facts.

        A column is scored like a table of its own cells and header (ours: the paper keeps the columns "in which cells
        received the highest retrieval scores").
        """
        width = len(table.header)
        if len(table.rows) == 1:
            return tuple(range(width))
        if width <= count or not entities:
            return tuple(range(min(width, count)))
        scores = self._scores(self._columns_of(table), width, entities)
        return tuple(sorted(np.argsort(-scores, kind="stable")[:count].tolist()))

    def rows(self, table: Table, entities: Sequence[str], count: int) -> tuple[int, ...]:
        """Up to `count` best rows of a table, in table order, scored like `columns`; rows that match nothing are left
        out."""
        if not table.rows or not entities:
            return ()
        scores = self._scores(self._rows_of(table), len(table.rows), entities)
        return tuple(sorted(i for i in np.argsort(-scores, kind="stable")[:count].tolist() if scores[i] > 0))

    def _scores(self, blocks: Sequence[tuple], number: int, entities: Sequence[str]) -> np.ndarray:
        """Σ_i max_j z(e_i)·z(c_j) of each of `number` groups of cells, float64."""
        from lisax.retrieval import cell_blocks

        weighed = self._weighed(tuple(entities))
        best = np.zeros((len(entities), number), np.float32)
        sums = np.zeros(cell_blocks.LANES * cell_blocks.COLUMNS, np.float32)
        for block, norms in blocks:
            cell_blocks.score(block, norms, *weighed, sums, 0, best)
        return best.sum(axis=0, dtype=np.float64)

    def _blocks(self, groups: Iterable[Sequence[str]]) -> list[tuple]:
        """Blocks of groups of cells, each with the inverse norms of its cells."""
        from lisax.retrieval import cell_blocks

        return [
            (block, cell_blocks.inverse_norms(block.sizes, block.postings, self._idf(block.features), block.cells))
            for block in cell_blocks.blocks_of(groups, self._analyzer)
        ]


def _batches(queries: Sequence[Sequence[str]]) -> Iterator[Sequence[Sequence[str]]]:
    """Splits queries into runs with about `ENTITIES` distinct entities or fewer."""
    start, entities = 0, set()
    for number, query in enumerate(queries):
        entities.update(query)
        if len(entities) >= ENTITIES:
            yield queries[start : number + 1]
            start, entities = number + 1, set()
    if start < len(queries):
        yield queries[start:]
