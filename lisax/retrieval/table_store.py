"""Tables on disk (`record_store`), and the components of an index that are made of them."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lisax.errors import DataError
from lisax.records import Table
from lisax.retrieval.bm25_builder import Numbered, Numberer
from lisax.retrieval.folder import Writing, writing
from lisax.retrieval.record_store import Kind, RecordsBuilder, RecordStore
from lisax.text.languages import ENGLISH

NAME = "tables"
TEXTS = "table_text"  # the component of `retrieval.table_text`
OVER_TABLES = frozenset({"cells", TEXTS})  # the components that refer to stored tables by id


def indexed_text(table: Table) -> str:
    """The text of a table for BM25: title, caption, the header once, then every cell, row by row."""
    return " ".join(text for text in (table.title, table.caption, *table.header, *itertools.chain(*table.rows)) if text)


def _encode(table: Table) -> str:
    return json.dumps(
        [table.title, table.header, table.rows, table.caption, table.page, table.original_id], ensure_ascii=False
    )


def _decode(table_id: str, text: str) -> Table:
    title, header, rows, caption, page, original_id = json.loads(text)
    return Table(table_id, title, tuple(header), tuple(map(tuple, rows)), caption, page, original_id)


TABLES = Kind(NAME, "table", _encode, _decode)


class Prepared(NamedTuple):
    """A block of tables: the terms of their texts, and their ids with the text that is stored."""

    texts: Numbered
    stored: list[tuple[str, str]]


def open_preparing(language: str = ENGLISH) -> Callable[[Sequence[Table]], Prepared]:
    """A function that prepares blocks of tables for an index of their texts, in another process."""
    texts = Numberer(language)
    return lambda block: Prepared(
        texts((table.id, indexed_text(table)) for table in block), [(table.id, _encode(table)) for table in block]
    )


def index_tables(
    state: Writing,
    tables: Iterable[Table] | Iterable[Prepared],
    builders: Mapping[str, tuple[Any, Callable[[Table], Any]]],
    *,
    extend: bool = False,
) -> None:
    """Stores each table and passes its derived records to the builder of each component; one pass, one commit. Blocks of
    tables that workers have prepared (`prepared`) are for the component `TEXTS`.

    Components of the index that are not rebuilt here refer to the stored tables, which then must not change."""
    store = RecordsBuilder(state, TABLES, extend=extend)
    for table in tables:
        if isinstance(table, Prepared):
            builders[TEXTS][0].add_block(table.texts)
            for table_id, text in table.stored:
                store.append(table_id, text)
            continue
        for builder, made_of in builders.values():
            builder.add(table.id, made_of(table))
        store.add(table)
    changed = {name: builder.finish() for name, (builder, _) in builders.items()} | store.finish()
    if (others := sorted(OVER_TABLES & state.components.keys() - builders.keys())) and not store.is_as_before():
        raise DataError(
            f"this index has '{others[0]}' of other tables; give these tables another folder", path=state.folder
        )
    state.commit(changed)


class TableStore(RecordStore[Table]):
    @classmethod
    def build(cls, tables: Iterable[Table], out: str | os.PathLike) -> TableStore:
        """Stores tables in a folder, atomically. Raises an error for duplicate ids."""
        with writing(out) as state:
            builder = RecordsBuilder(state, TABLES)
            for table in tables:
                builder.add(table)
            state.commit(builder.finish())
        return cls.open(out)

    @classmethod
    def open(cls, folder: str | os.PathLike) -> TableStore:
        return cls(Path(folder), TABLES)
