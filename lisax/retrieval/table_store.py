"""Tables on disk: id to table, memory-mapped, so that a pipeline never loads its whole collection.

A part holds `ids` (a string table) and `tables` (strings: each table as JSON). Building streams to disk and keeps about
32 bytes per table in memory.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from lisax.errors import DataError
from lisax.records import Table, check_id
from lisax.retrieval.blocks import ADVICE
from lisax.retrieval.folder import Writing, open_component, writing
from lisax.retrieval.strings import (
    Strings,
    StringsWriter,
    StringTable,
    StringTableWriter,
    at_place,
    first_duplicate,
    place_in,
)

NAME = "tables"
TEXTS = "table_text"  # the component of `retrieval.table_text`
OVER_TABLES = frozenset({"cells", TEXTS})  # the components that refer to stored tables by id
PART_TABLES, PART_CHARACTERS = 1 << 20, 1 << 31


def indexed_text(table: Table) -> str:
    """The text of a table for BM25: title, caption, the header once, then every cell, row by row."""
    return " ".join(text for text in (table.title, table.caption, *table.header, *itertools.chain(*table.rows)) if text)


class TablesBuilder:
    """Takes tables one at a time; `finish` returns the manifest to commit."""

    def __init__(self, state: Writing, *, extend: bool = False):
        self._state = state
        self._parts = [state.folder / part for part in open_component(state.folder, NAME)["parts"]] if extend else []
        self._ids: StringTableWriter | None = None

    def add(self, table: Table) -> None:
        if self._ids is None:
            self._parts.append(self._state.new_part(NAME))
            self._ids = StringTableWriter(self._parts[-1] / "ids")
            self._tables = StringsWriter(self._parts[-1] / "tables")
            self._written = 0
        text = json.dumps(
            [table.title, table.header, table.rows, table.caption, table.page, table.original_id], ensure_ascii=False
        )
        self._ids.append(check_id(table.id))
        self._tables.append(text)
        self._written += len(text)
        if len(self._ids) >= PART_TABLES or self._written >= PART_CHARACTERS:
            self._close_part()

    def _close_part(self) -> None:
        if self._ids is not None:
            self._ids.close()
            self._tables.close()
            self._ids = None

    def finish(self) -> dict[str, dict]:
        self._close_part()
        if not self._parts:
            raise DataError("there are no tables to store", path=self._state.folder)
        ids = [StringTable(part / "ids") for part in self._parts]
        if (duplicate := first_duplicate(ids)) is not None:
            raise DataError(f"the table id '{duplicate}' occurs twice; ids must be distinct", field="id")
        return {
            NAME: {
                "settings": {"tables": sum(map(len, ids))},
                "parts": [part.relative_to(self._state.folder).as_posix() for part in self._parts],
                "files": [name for part in self._parts for name in self._state.names(part)],
            }
        }

    def is_as_before(self) -> bool:
        """Whether these are the tables that the index already had, in the same order."""
        parts = self._state.components.get(NAME, {"parts": []})["parts"]
        before, now = (_contents(some) for some in ([self._state.folder / part for part in parts], self._parts))
        return all(one == other for one, other in itertools.zip_longest(before, now))


def _contents(parts: Iterable[Path]) -> Iterator[tuple[bytes, bytes]]:
    for part in parts:
        ids, tables = StringTable(part / "ids"), Strings(part / "tables")
        yield from ((ids.raw(number), tables.raw(number)) for number in range(len(ids)))


def index_tables(
    state: Writing,
    tables: Iterable[Table],
    builders: Mapping[str, tuple[Any, Callable[[Table], Any]]],
    *,
    extend: bool = False,
) -> None:
    """Stores each table and passes its derived records to the builder of each component; one pass, one commit.

    Components of the index that are not rebuilt here refer to the stored tables, which then must not change."""
    store = TablesBuilder(state, extend=extend)
    for table in tables:
        for builder, made_of in builders.values():
            builder.add(table.id, made_of(table))
        store.add(table)
    changed = {name: builder.finish() for name, (builder, _) in builders.items()} | store.finish()
    if (others := sorted(OVER_TABLES & state.components.keys() - builders.keys())) and not store.is_as_before():
        raise DataError(
            f"this index has '{others[0]}' of other tables; give these tables another folder", path=state.folder
        )
    state.commit(changed)


class TableStore:
    """`store.get(id)` is the table, or None; iterates over the tables in collection order."""

    def __init__(self, folder: Path):
        manifest = open_component(folder, NAME)
        self.folder, self.digest = folder, manifest["digest"]
        try:
            self._parts = [
                (StringTable(folder / part / "ids"), Strings(folder / part / "tables")) for part in manifest["parts"]
            ]
        except (OSError, TypeError) as error:
            raise DataError(f"the tables are damaged ({error}); {ADVICE}", path=folder) from None

    @classmethod
    def build(cls, tables: Iterable[Table], out: str | os.PathLike) -> TableStore:
        """Stores tables in a folder, atomically. Raises an error for duplicate ids."""
        with writing(out) as state:
            builder = TablesBuilder(state)
            for table in tables:
                builder.add(table)
            state.commit(builder.finish())
        return cls(Path(out))

    @classmethod
    def open(cls, folder: str | os.PathLike) -> TableStore:
        return cls(Path(folder))

    def get(self, table_id: str) -> Table | None:
        for ids, tables in self._parts:
            if (number := ids.find(table_id)) is not None:
                return _table(table_id, tables[number])
        return None

    def id_at(self, place: int) -> str:
        """The id of the `place`-th table, from 0."""
        return at_place([ids for ids, _ in self._parts], place)

    def place_of(self, table_id: str) -> int | None:
        """The place of a table, from 0; None for an unknown one."""
        return place_in([ids for ids, _ in self._parts], table_id)

    def __contains__(self, table_id: str) -> bool:
        return any(ids.find(table_id) is not None for ids, _ in self._parts)

    def __len__(self) -> int:
        return sum(len(ids) for ids, _ in self._parts)

    def __iter__(self) -> Iterator[Table]:
        return self.after(0)

    def after(self, count: int) -> Iterator[Table]:
        """The tables after the first `count`."""
        for ids, tables in self._parts:
            for number in range(min(count, len(ids)), len(ids)):
                yield _table(ids[number], tables[number])
            count = max(0, count - len(ids))


def _table(table_id: str, text: str) -> Table:
    title, header, rows, caption, page, original_id = json.loads(text)
    return Table(table_id, title, tuple(header), tuple(map(tuple, rows)), caption, page, original_id)
