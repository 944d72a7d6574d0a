"""Builds an index of cells: tables to blocks, blocks to parts, then norms from the idf of the whole collection.

A part on disk holds some blocks end to end (see `cell_blocks.Block`): `ids` (a string table of table ids), `blocks.npy`
(int64 [blocks + 1, 6]: where each block begins in the following arrays, and its first table), the arrays of the blocks,
and `norms-<revision>.npy`. The vocabulary's `keys.npy` (ascending) and `frequencies.npy` determine the idf. Adding
tables appends parts and recomputes the norms of all cells from the stored postings; the result equals a full build.
Memory: the arrays of one part, and about 50 bytes for each feature of the collection.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from lisax.errors import DataError
from lisax.records import check_id
from lisax.retrieval.blocks import Array
from lisax.retrieval.cell_blocks import Block, BlockBuilder, inverse_norms
from lisax.retrieval.cell_features import Analyzer
from lisax.retrieval.folder import Writing, open_component
from lisax.retrieval.strings import StringTable, StringTableWriter, first_duplicate

PART_BLOCKS = 16
ARRAYS = tuple(field.name for field in dataclasses.fields(Block))


class CellsBuilder:
    """Takes tables one at a time, as ids and cells; `finish` returns the manifest to commit.

    With `extend`, the tables join those of the existing component.
    """

    def __init__(self, state: Writing, name: str, analyzer: Analyzer, settings: dict, *, extend: bool = False):
        self._state, self._name, self._analyzer = state, name, analyzer
        self._settings = settings | {"tables": 0, "cells": 0, "revision": 0}
        self._parts: list[Path] = []
        self._vocabulary = CellVocabulary()
        if extend:
            manifest = open_component(state.folder, name)
            self._settings = manifest["settings"] | {"revision": manifest["settings"]["revision"] + 1}
            self._parts = [state.folder / part for part in manifest["parts"]]
            self._vocabulary.join(*read_vocabulary(state.folder / manifest["vocabulary"]))
        self._ids: StringTableWriter | None = None
        self._blocks: list[Block] = []
        self._block = BlockBuilder(analyzer)

    def add(self, table_id: str, cells: Sequence[str]) -> None:
        if not self._block.has_room(len(cells)):
            self._close_block()
        if len(self._blocks) >= PART_BLOCKS:
            self._close_part()
        if self._ids is None:
            self._part = self._state.new_part(self._name)
            self._ids = StringTableWriter(self._part / "ids")
        number = len(self._ids)
        self._ids.append(check_id(table_id))
        while cells := self._block.add(number, cells):
            self._close_block()

    def _close_block(self) -> None:
        block, cells = self._block.close()
        self._blocks.append(block)
        self._settings["cells"] += cells
        self._vocabulary.join(block.features, block.frequencies)
        self._block = BlockBuilder(self._analyzer)

    def _close_part(self) -> None:
        if self._ids is None:
            return
        if self._block.entries:
            self._close_block()
        self._settings["tables"] += self._ids.close()
        write_blocks(self._part, self._blocks, len(self._ids))
        self._parts.append(self._part)
        self._ids, self._blocks = None, []

    def finish(self) -> dict:
        self._close_part()
        if not self._parts:
            raise DataError("there are no tables to index", path=self._state.folder)
        if (duplicate := first_duplicate([StringTable(part / "ids") for part in self._parts])) is not None:
            raise DataError(
                f"the table id '{duplicate}' occurs twice, counting the index's earlier tables; ids must be distinct",
                path=self._state.folder,
                field="id",
            )
        keys, frequencies = self._vocabulary.merged()
        vocabulary = self._state.new_part(self._name)
        np.save(vocabulary / "keys.npy", keys)
        np.save(vocabulary / "frequencies.npy", frequencies)
        idf = inverse_document_frequency(frequencies, self._settings["cells"])
        norms = norms_name(self._settings)
        for folder in self._parts:
            part = Part(folder)
            np.save(
                folder / norms,
                np.concatenate(
                    [
                        inverse_norms(
                            block.sizes, block.postings, idf[np.searchsorted(keys, block.features)], block.cells
                        )
                        for block in map(part.block, range(len(part)))
                    ]
                ),
            )
        return self._state.manifest(self._settings, self._parts, vocabulary, norms)


class CellVocabulary:
    """Keys and the number of cells with each, summed over blocks."""

    def __init__(self) -> None:
        self._waiting: list[tuple[np.ndarray, np.ndarray]] = []
        self._merged, self._waits = 0, 0

    def join(self, keys: np.ndarray, frequencies: np.ndarray) -> None:
        self._waiting.append((keys, frequencies))
        self._waits += len(keys)
        if self._waits > 2 * self._merged:
            self.merged()

    def merged(self) -> tuple[np.ndarray, np.ndarray]:
        """Ascending keys and their frequencies."""
        keys = np.concatenate([np.empty(0, np.uint64), *(some for some, _ in self._waiting)])
        frequencies = np.concatenate([np.empty(0, np.int64), *(some for _, some in self._waiting)])
        order = np.argsort(keys, kind="stable")
        keys, frequencies = keys[order], frequencies[order]
        first = np.flatnonzero(np.concatenate([np.ones(len(keys[:1]), bool), keys[1:] != keys[:-1]]))
        if len(first):
            keys, frequencies = keys[first], np.add.reduceat(frequencies, first)
        self._waiting, self._merged, self._waits = [(keys, frequencies)], len(keys), len(keys)
        return keys, frequencies


def read_vocabulary(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Memory-mapped keys (uint64, ascending) and frequencies (int64)."""
    return Array(folder / "keys.npy").whole(), Array(folder / "frequencies.npy").whole()


def inverse_document_frequency(frequencies: np.ndarray, cells: int) -> np.ndarray:
    """scikit-learn's smooth idf (float64), with each cell of each table as a document."""
    return np.log((1 + cells) / (1 + frequencies)) + 1


def norms_name(settings: dict) -> str:
    return f"norms-{settings['revision']}.npy"


def write_blocks(folder: Path, blocks: Sequence[Block], tables: int) -> None:
    lengths = [(0, *(len(getattr(block, array)) for array in ARRAYS), block.cells) for block in blocks]
    starts = np.concatenate([np.zeros((1, len(ARRAYS) + 2), np.int64), np.cumsum(lengths, axis=0)])
    starts[:, 0] = [*(block.owners[0] for block in blocks), tables]
    np.save(folder / "blocks.npy", starts)
    for array in ARRAYS:
        np.save(folder / f"{array}.npy", np.concatenate([getattr(block, array) for block in blocks]))


class Part:
    """The blocks of a part, memory-mapped: `part.block(i)`; with the norms' file name, `part.norms(i)`."""

    def __init__(self, folder: Path, norms: str | None = None):
        self.starts: list[list[int]] = Array(folder / "blocks.npy").whole().tolist()
        self._arrays = {array: Array(folder / f"{array}.npy") for array in ARRAYS}
        self._norms = None if norms is None else Array(folder / norms)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def block(self, number: int) -> Block:
        first, last = self.starts[number], self.starts[number + 1]
        return Block(*(self._arrays[array].rows(first[at], last[at]) for at, array in enumerate(ARRAYS, start=1)))

    def norms(self, number: int) -> np.ndarray:
        """float32 [cells]: 1 / |c| of the block's cells."""
        return self._norms.rows(self.starts[number][-1], self.starts[number + 1][-1])

    def windows(self) -> list[tuple[int, int, range]]:
        """(first table, one past the last, blocks): the shortest runs of blocks that share no table with others."""
        found, first, owners = [], 0, self._arrays["owners"].whole()
        for number in range(1, len(self) + 1):
            if number == len(self) or owners[self.starts[number][1] - 1] != self.starts[number][0]:
                found.append((self.starts[first][0], self.starts[number][0], range(first, number)))
                first = number
        return found
