"""Blocks of an index of cells: some tables, their distinct cells, the cells of each feature, and the scores of
entities.

A block has at most 65,528 cells, so that a posting takes two bytes and the score sums of all cells stay in the
processor's cache. A feature that a cell has n times occurs n times in its postings; postings need no weights, because

    z(e) · z(c) = Σ_g z(e)[g] · idf(g) · count(g, c) / |c|

is a sum of one number per feature of the entity, times one number per cell.

A cell belongs to the first table that contains it. Cells are laid out in eight rows, and a table's own cells fill whole
columns: the best of every column is computed by vector instructions, and the best of a table is that of its columns.
Cells of earlier tables that a table repeats are laid out in the same way, in a second array that refers to them.
"""

from __future__ import annotations

import dataclasses
from array import array
from collections.abc import Iterable, Iterator

import numba
import numpy as np

from lisax.retrieval.cell_features import Analyzer, normal

LANES, COLUMNS, TABLES = 8, (1 << 13) - 1, 1 << 11


@dataclasses.dataclass(frozen=True)
class Block:
    """Tables are numbered by the caller. A table with too many cells for one block has an entry in several."""

    owners: np.ndarray  # int32 [entries]: the entry's table
    columns: np.ndarray  # int32 [entries, 2]: how many columns its own cells fill, and its repeated ones
    repeated: np.ndarray  # uint16: the cells that entries repeat
    repeats: np.ndarray  # uint16: for each place, 0 for no cell, or 1 + the index in `repeated`
    features: np.ndarray  # uint64 [features]: ascending keys
    sizes: np.ndarray  # int32 [features]: number of postings
    postings: np.ndarray  # uint16: cells, feature by feature
    frequencies: np.ndarray  # int64 [features]: occurrences in the cells of the tables, with repetitions

    @property
    def cells(self) -> int:
        """The number of places for cells."""
        return LANES * int(self.columns[:, 0].sum(dtype=np.int64))


class BlockBuilder:
    """Takes tables as their cells: `has_room`, `add`, then `close`."""

    def __init__(self, analyzer: Analyzer):
        self._analyzer = analyzer
        self._cells: dict[str, int] = {}
        self._pieces: dict[str, int] = {}
        self._counts, self._cell_pieces, self._ends = array("I"), array("I"), array("Q")
        self._owners, self._own, self._columns = array("i"), array("I"), 0
        self._repeats, self._repeat_counts = array("I"), array("I")

    @property
    def entries(self) -> int:
        return len(self._owners)

    def has_room(self, cells: int) -> bool:
        """Whether a table of this many cells fits whole; an empty block takes any table, and leaves the cells that do
        not fit."""
        return not self.entries or (self._columns + -(-cells // LANES) <= COLUMNS and self.entries < TABLES)

    def add(self, table: int, cells: Iterable[str]) -> list[str]:
        """Adds a table's cells; returns those left for another block."""
        known, first = self._cells, len(self._cells)
        limit = first + LANES * (COLUMNS - self._columns)
        repeated: set[int] = set()
        left: list[str] = []
        for text in cells:
            cell = normal(text)
            number = known.get(cell)
            if number is None:
                if not cell:
                    continue
                if len(known) == limit:
                    left.append(text)
                    continue
                known[cell] = number = len(known)
                self._counts.append(0)
                pieces = self._pieces
                self._cell_pieces.extend(
                    [pieces.setdefault(piece, len(pieces)) for piece in self._analyzer.pieces(cell)]
                )
                self._ends.append(len(self._cell_pieces))
            elif number < first:
                repeated.add(number)
            self._counts[number] += 1
        self._repeats.extend(sorted(repeated))
        self._repeat_counts.append(len(repeated))
        self._owners.append(table)
        self._own.append(len(known) - first)
        self._columns += -(-(len(known) - first) // LANES)
        return left

    def close(self) -> tuple[Block, int]:
        """The block, and the number of cells of its tables (with repetitions)."""
        starts, keys = self._analyzer.features(list(self._pieces))
        features, ranks = np.unique(keys, return_inverse=True)
        counts = np.array(self._counts, np.int64)
        columns, places = _lay_out(np.array(self._own, np.int64))
        sizes, postings, frequencies = _invert(
            np.array(self._ends, np.int64),
            np.array(self._cell_pieces, np.int64),
            starts,
            ranks.astype(np.int64),
            len(features),
            counts,
            places,
        )
        repeated, numbers = np.unique(np.array(self._repeats, np.int64), return_inverse=True)
        repeat_columns, repeat_places = _lay_out(np.array(self._repeat_counts, np.int64))
        repeats = np.zeros(LANES * repeat_columns.sum(), np.uint16)
        repeats[repeat_places] = numbers + 1
        return Block(
            np.array(self._owners, np.int32),
            np.stack([columns, repeat_columns], axis=1).astype(np.int32),
            places[repeated].astype(np.uint16),
            repeats,
            features,
            sizes,
            postings,
            frequencies,
        ), int(counts.sum())


def _lay_out(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The number of columns for each entry, given its number of cells, and the place of every cell, entry by entry."""
    columns = -(-counts // LANES)
    nth = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    first = np.repeat(np.cumsum(columns) - columns, counts)
    return columns, nth % LANES * columns.sum() + first + nth // LANES


@numba.njit(cache=True, nogil=True)
def _invert(ends, cell_pieces, starts, ranks, features, cell_counts, cell_places):
    """Inverts cells -> pieces -> features; see `Block` for sizes, postings and frequencies."""
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
        for piece in cell_pieces[first : ends[cell]]:
            for at in range(starts[piece], starts[piece + 1]):
                feature = ranks[at]
                postings[places[feature]] = cell_places[cell]
                places[feature] += 1
                if latest[feature] != cell:
                    latest[feature] = cell
                    frequencies[feature] += cell_counts[cell]
        first = ends[cell]
    return sizes, postings, frequencies


@numba.njit(cache=True, nogil=True)
def inverse_norms(sizes, postings, idf, cells):
    """float32 [cells]: 1 / |c|, or 0 without features. idf float64 [features]."""
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
def best_cells(
    owners, columns, repeated, repeats, postings, norms, starts, ends, pointers, terms, weights, sums, first_table, best
):
    """Raises best float32 [entities, tables] to the score of each entity's best cell of each table; its first column is
    table `first_table`.

    Entity e has terms[pointers[e]:pointers[e + 1]] with weights z(e)[g] · idf(g); `starts` and `ends` are the terms'
    postings; `sums` float32 [>= cells] is scratch: all zero before and after.
    """
    width, repeat_width = len(norms) // LANES, len(repeats) // LANES
    tops, repeat_tops = np.empty(width, dtype=np.float32), np.empty(repeat_width, dtype=np.float32)
    known = np.zeros(len(repeated) + 1, dtype=np.float32)
    for entity in range(len(pointers) - 1):
        touched = 0
        for at in range(pointers[entity], pointers[entity + 1]):
            term, weight = terms[at], weights[at]
            touched += ends[term] - starts[term]
            for cell in postings[starts[term] : ends[term]]:
                sums[cell] += weight
        if touched == 0:
            continue
        for number in range(len(repeated)):
            known[number + 1] = sums[repeated[number]] * norms[repeated[number]]
        # The two loops over columns are plain, so that the compiler vectorizes them.
        repeat_tops[:] = 0
        for lane in range(LANES):
            lane_repeats = repeats[lane * repeat_width : (lane + 1) * repeat_width]
            for column in range(repeat_width):
                score = known[lane_repeats[column]]
                repeat_tops[column] = score if score > repeat_tops[column] else repeat_tops[column]
        tops[:] = 0
        for lane in range(LANES):
            lane_sums, lane_norms = sums[lane * width : (lane + 1) * width], norms[lane * width : (lane + 1) * width]
            for column in range(width):
                score = lane_sums[column] * lane_norms[column]
                tops[column] = score if score > tops[column] else tops[column]
                lane_sums[column] = 0
        row = best[entity]
        first, first_repeat = 0, 0
        for entry in range(len(owners)):
            score = row[owners[entry] - first_table]
            for top in tops[first : first + columns[entry, 0]]:
                score = top if top > score else score
            for top in repeat_tops[first_repeat : first_repeat + columns[entry, 1]]:
                score = top if top > score else score
            row[owners[entry] - first_table] = score
            first += columns[entry, 0]
            first_repeat += columns[entry, 1]


def score(
    block: Block,
    norms: np.ndarray,
    keys: np.ndarray,
    pointers: np.ndarray,
    terms: np.ndarray,
    weights: np.ndarray,
    sums: np.ndarray,
    first_table: int,
    best: np.ndarray,
) -> None:
    """`best_cells` of a block, for entities whose terms are places in ascending `keys`."""
    starts, ends = np.empty(len(keys), np.int64), np.empty(len(keys), np.int64)
    locate(block.features, block.sizes, keys, starts, ends)
    best_cells(
        block.owners,
        block.columns,
        block.repeated,
        block.repeats,
        block.postings,
        norms,
        starts,
        ends,
        pointers,
        terms,
        weights,
        sums,
        first_table,
        best,
    )


def blocks_of(tables: Iterable[list[str]], analyzer: Analyzer) -> Iterator[Block]:
    """Tables, given as their cells, in the number of blocks that they need."""
    builder = BlockBuilder(analyzer)
    for number, cells in enumerate(tables):
        if not builder.has_room(len(cells)):
            yield builder.close()[0]
            builder = BlockBuilder(analyzer)
        while cells := builder.add(number, cells):
            yield builder.close()[0]
            builder = BlockBuilder(analyzer)
    yield builder.close()[0]
