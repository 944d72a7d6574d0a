"""The texts of each kind of index that are encoded: passages, the sentences of pages, and tables.

A record that search returns has one text (a passage, a table) or several (a page: its sentences, each with the page's
title). Texts are counted in the order of the store; a record's are next to each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from lisax.errors import DataError
from lisax.records import Table
from lisax.retrieval import pages, passages, table_store
from lisax.retrieval.folder import part_digests, read_components
from lisax.retrieval.pages import PageStore
from lisax.retrieval.passages import Passage, Source
from lisax.retrieval.record_store import RecordStore
from lisax.retrieval.table_store import TableStore

TABLE_CHARACTERS = 2048  # of a table that are encoded: more than an encoder of 256 tokens reads


class Text(NamedTuple):
    """A text with its title."""

    title: str
    text: str


class Texts(Protocol):
    """The texts of one component of an index."""

    component: str

    def __len__(self) -> int: ...

    def after(self, count: int) -> Iterator[Text]:
        """The texts after the first `count`."""

    def record_at(self, place: int) -> str:
        """The id of the record whose text is the `place`-th, from 0."""

    def places_of(self, record: str) -> range:
        """The places of a record's texts; none for an unknown record."""


class RecordTexts:
    """Stored records, a text each."""

    def __init__(self, store: RecordStore, text_of: Callable[[Any], Text]):
        self._store, self.component, self._text_of = store, store.component, text_of

    def __len__(self) -> int:
        return len(self._store)

    def after(self, count: int) -> Iterator[Text]:
        return map(self._text_of, self._store.after(count))

    def record_at(self, place: int) -> str:
        return self._store.id_at(place)

    def places_of(self, record: str) -> range:
        place = self._store.place_of(record)
        return range(0) if place is None else range(place, place + 1)


class SentenceTexts:
    """Sentences of pages, without the empty ones; the records are pages."""

    component = pages.NAME

    def __init__(self, store: PageStore):
        self._store = store

    def __len__(self) -> int:
        return self._store.texts

    def after(self, count: int) -> Iterator[Text]:
        return (Text(title, text) for title, text in self._store.texts_after(count))

    def record_at(self, place: int) -> str:
        return self._store.page_at(place)

    def places_of(self, record: str) -> range:
        return self._store.places_of(record)


def text_of_passage(passage: Passage) -> Text:
    return Text(passage.title, passage.text)


def text_of_table(table: Table) -> Text:
    """Row by row the cells that are not empty, each after its header, up to about `TABLE_CHARACTERS`; only the header
    of a table without rows.

    One vector per table: with the best of several, each of other rows, the mean average precision of
    WikiTableQuestions' tables is lower (`e2e_train`: 68.7 for 69.7), and with the header once instead of before each
    cell as well (69.7 for 70.5)."""
    lines, length = [], 0
    for row in table.rows:
        lines.append(
            ", ".join(f"{name}: {cell}" if name else cell for name, cell in zip(table.header, row) if cell.strip())
        )
        if (length := length + len(lines[-1])) >= TABLE_CHARACTERS:
            break
    title = ". ".join(dict.fromkeys(filter(None, (table.title, table.caption))))
    return Text(title, ". ".join(filter(None, lines or [", ".join(table.header)]))[:TABLE_CHARACTERS])


def texts_of(folder: Path) -> dict[str, Texts]:
    """The encoded texts of an index, by name: the sources of passages, `sentences` and `tables`. Raises DataError for
    an index that keeps no texts."""
    components = read_components(folder)
    found: dict[str, Texts] = {
        str(source): RecordTexts(RecordStore(folder, passages.kind_of(source)), text_of_passage)
        for source in Source
        if passages.component(source) in components
    }
    if pages.NAME in components:
        found["sentences"] = SentenceTexts(PageStore.open(folder))
    if table_store.TEXTS in components:
        found["tables"] = RecordTexts(TableStore.open(folder), text_of_table)
    if not found:
        raise DataError(
            f"vectors are of passages, pages or tables, and this index has {', '.join(sorted(components)) or 'nothing'}"
            "; build one with `lisax index documents|mixed|tables`",
            path=folder,
        )
    return found


def digests_of(components: Mapping[str, dict], texts: Texts) -> list[str]:
    """SHA-256 of the parts that hold the texts."""
    return part_digests(components[texts.component])
