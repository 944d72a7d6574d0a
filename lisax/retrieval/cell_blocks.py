"""A block: some tables, their distinct cells, and for each feature the cells that have it; how entities score on it.

A block has at most 65,536 distinct cells, so that a posting is two bytes and the sums of all its cells stay in the
processor's cache. Cells are numbered by the first table that has them: the best cell of a table is a maximum over
neighbours, and over the few cells that tables before it brought (`repeats`). A feature that a cell has n times stands
n times in its postings; a posting has no weight of its own, because

    z(e) · z(c) = Σ_g z(e)[g] · idf(g) · count(g, c) / |c|

is a sum of one number for each of the entity's features, times one number for each cell.
"""

from __future__ import annotations

import dataclasses
from array import array
from collections.abc import Iterable, Iterator

import numba
import numpy as np

from lisax.retrieval.cell_features import Analyzer, normal

CELLS, TABLES = 1 << 16, 1 << 11


@dataclasses.dataclass(frozen=True)
class Block:
    """Tables are numbered by their owner. A table with too many cells for one block has an entry in several."""

    owners: np.ndarray  # int32 [entries]: the entry's table
    spans: np.ndarray  # int32 [entries, 2]: how many cells an entry brings, and how many it repeats
    repeats: np.ndarray  # uint16: the repeated cells, entry by entry
    features: np.ndarray  # uint64 [features]: ascending keys
    sizes: np.ndarray  # int32 [features]: postings of each
    postings: np.ndarray  # uint16: cells, feature by feature, ascending
    frequencies: np.ndarray  # int64 [features]: how many cells of the tables have it, each as often as it stands there

    @property
    def cells(self) -> int:
        """The number of distinct cells."""
        return int(self.spans[:, 0].sum(dtype=np.int64))


class BlockBuilder:
    """Takes tables as their cells: `has_room`, `add`, then `close`."""

    def __init__(self, analyzer: Analyzer):
        self._analyzer = analyzer
        self._cells: dict[str, int] = {}
        self._pieces: dict[str, int] = {}
        self._counts, self._cell_pieces, self._ends = array("I"), array("I"), array("Q")
        self._owners, self._spans, self._repeats = array("i"), array("i"), array("H")

    @property
    def entries(self) -> int:
        return len(self._owners)

    def has_room(self, cells: int) -> bool:
        """Whether a table of so many cells fits whole; an empty block takes any, and what it cannot hold is left."""
        return not self.entries or len(self._cells) + cells <= CELLS and self.entries < TABLES

    def add(self, table: int, cells: Iterable[str]) -> list[str]:
        """Adds a table's cells; returns those that are left for another block."""
        known, first = self._cells, len(self._cells)
        repeated: dict[int, None] = {}
        left: list[str] = []
        for text in cells:
            cell = normal(text)
            number = known.get(cell)
            if number is None:
                if not cell:
                    continue
                if len(known) == CELLS:
                    left.append(text)
                    continue
                known[cell] = number = len(known)
                self._counts.append(0)
                pieces = self._pieces
                self._cell_pieces.extend([pieces.setdefault(piece, len(pieces))
                                          for piece in self._analyzer.pieces(cell)])
                self._ends.append(len(self._cell_pieces))
            elif number < first:
                repeated[number] = None
            self._counts[number] += 1
        self._owners.append(table)
        self._spans.extend((len(known) - first, len(repeated)))
        self._repeats.extend(repeated)
        return left

    def close(self) -> tuple[Block, int]:
        """The block, and how many cells (repetitions counted) its tables have."""
        starts, keys = self._analyzer.features(list(self._pieces))
        features, ranks = np.unique(keys, return_inverse=True)
        ends = np.frombuffer(self._ends, dtype=np.uint64).astype(np.int64)
        counts = np.frombuffer(self._counts, dtype=np.uint32)
        sizes, postings, frequencies = _invert(
            ends, np.frombuffer(self._cell_pieces, dtype=np.uint32), starts, ranks.astype(np.int64), len(features),
            counts)
        spans = np.frombuffer(self._spans, dtype=np.int32).reshape(-1, 2)
        block = Block(np.frombuffer(self._owners, dtype=np.int32), spans,
                      np.frombuffer(self._repeats, dtype=np.uint16), features, sizes, postings, frequencies)
        return block, int(counts.sum(dtype=np.int64))


@numba.njit(cache=True, nogil=True)
def _invert(ends, cell_pieces, starts, ranks, features, cell_counts):
    """Cells -> pieces -> features, turned round; see `Block` for sizes, postings and frequencies."""
    sizes = np.zeros(features, dtype=np.int32)
    for piece in cell_pieces:
        for at in range(starts[piece], starts[piece + 1]):
            sizes[ranks[at]] += 1
    places = np.zeros(features, dtype=np.int64)
    for feature in range(1, features):
        places[feature] = places[feature - 1] + sizes[feature - 1]
    postings = np.empty(np.sum(sizes), dtype=np.uint16)
    frequencies = np.zeros(features, dtype=np.int64)
    latest = np.full(features, -1, dtype=np.int64)
    first = 0
    for cell in range(len(ends)):
        for piece in cell_pieces[first:ends[cell]]:
            for at in range(starts[piece], starts[piece + 1]):
                feature = ranks[at]
                postings[places[feature]] = cell
                places[feature] += 1
                if latest[feature] != cell:
                    latest[feature] = cell
                    frequencies[feature] += cell_counts[cell]
        first = ends[cell]
    return sizes, postings, frequencies


@numba.njit(cache=True, nogil=True)
def inverse_norms(sizes, postings, idf, cells):
    """float32 [cells]: 1 / |c|, 0 for a cell without features. idf float64 [features]."""
    squares = np.zeros(cells, dtype=np.float64)
    at = 0
    for feature in range(len(sizes)):
        end = at + sizes[feature]
        while at < end:
            cell, count = postings[at], 0
            while at < end and postings[at] == cell:
                at += 1
                count += 1
            squares[cell] += (count * idf[feature]) ** 2
    norms = np.zeros(cells, dtype=np.float32)
    for cell in range(cells):
        if squares[cell] > 0:
            norms[cell] = 1 / np.sqrt(squares[cell])
    return norms


@numba.njit(cache=True, nogil=True)
def locate(features, sizes, wanted, starts, ends):
    """starts, ends int64 [wanted]: where the postings of each wanted key are (both key arrays ascend)."""
    here, postings = 0, 0
    for number in range(len(wanted)):
        while here < len(features) and features[here] < wanted[number]:
            postings += sizes[here]
            here += 1
        starts[number] = ends[number] = postings
        if here < len(features) and features[here] == wanted[number]:
            ends[number] += sizes[here]


@numba.njit(cache=True, nogil=True)
def best_cells(owners, spans, repeats, postings, norms, starts, ends, pointers, terms, weights, sums, first_table,
               best):
    """best float32 [entities, tables]: the score of each entity's best cell of each table, if above what is there;
    its first column is table `first_table`.

    Entity e has terms[pointers[e]:pointers[e + 1]] with weights z(e)[g] · idf(g); `starts` and `ends` are the terms'
    postings; `sums` float32 [>= cells] is scratch: all zero, and again so afterwards.
    """
    cells = len(norms)
    for entity in range(len(pointers) - 1):
        touched = 0
        for at in range(pointers[entity], pointers[entity + 1]):
            term, weight = terms[at], weights[at]
            touched += ends[term] - starts[term]
            for place in range(starts[term], ends[term]):
                sums[postings[place]] += weight
        if touched == 0:
            continue
        for cell in range(cells):
            sums[cell] *= norms[cell]
        row = best[entity]
        first_cell, first_repeat = 0, 0
        for entry in range(len(owners)):
            table = owners[entry] - first_table
            score = row[table]
            for cell in range(first_cell, first_cell + spans[entry, 0]):
                score = max(score, sums[cell])
            for at in range(first_repeat, first_repeat + spans[entry, 1]):
                score = max(score, sums[repeats[at]])
            row[table] = score
            first_cell += spans[entry, 0]
            first_repeat += spans[entry, 1]
        sums[:cells] = 0


def score(block: Block, norms: np.ndarray, keys: np.ndarray, pointers: np.ndarray, terms: np.ndarray,
          weights: np.ndarray, sums: np.ndarray, first_table: int, best: np.ndarray) -> None:
    """`best_cells` of a block, for entities whose terms are places in ascending `keys`."""
    starts, ends = np.empty(len(keys), np.int64), np.empty(len(keys), np.int64)
    locate(block.features, block.sizes, keys, starts, ends)
    best_cells(block.owners, block.spans, block.repeats, block.postings, norms, starts, ends, pointers, terms, weights,
               sums, first_table, best)


def blocks_of(tables: Iterable[list[str]], analyzer: Analyzer) -> Iterator[Block]:
    """Tables, given as their cells, in as many blocks as they need."""
    builder = BlockBuilder(analyzer)
    for number, cells in enumerate(tables):
        if not builder.has_room(len(cells)):
            yield builder.close()[0]
            builder = BlockBuilder(analyzer)
        while cells := builder.add(number, cells):
            yield builder.close()[0]
            builder = BlockBuilder(analyzer)
    yield builder.close()[0]
