"""Records on disk (tables, passages): id to record, memory-mapped, so that a pipeline never loads its whole collection.

A part holds `ids` (a string table) and the records as strings, each as JSON. Building streams to disk and keeps about
32 bytes per record in memory.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from lisax.errors import DataError
from lisax.records import check_id
from lisax.retrieval.blocks import ADVICE
from lisax.retrieval.folder import Writing, open_component
from lisax.retrieval.strings import Joined, Strings, StringsWriter, StringTable, StringTableWriter, first_duplicate

PART_RECORDS, PART_CHARACTERS = 1 << 20, 1 << 31
Record = TypeVar("Record")


class Kind(NamedTuple, Generic[Record]):
    """A component of an index that stores records: its name, what a record is called, and a record's text without its
    id, written and read back."""

    component: str
    noun: str
    encode: Callable[[Record], str]
    decode: Callable[[str, str], Record]

    @property
    def plural(self) -> str:
        return f"{self.noun}s"


class RecordsBuilder(Generic[Record]):
    """Takes records one at a time; `finish` returns the manifest to commit."""

    def __init__(self, state: Writing, kind: Kind[Record], settings: dict[str, Any] | None = None, *, extend=False):
        self._state, self._kind, self._settings = state, kind, settings or {}
        parts = open_component(state.folder, kind.component)["parts"] if extend else []
        self._parts = [state.folder / part for part in parts]
        self._ids: StringTableWriter | None = None

    def add(self, record: Record) -> None:
        self.append(record.id, self._kind.encode(record))

    def append(self, record_id: str, text: str) -> None:
        """Adds a record by its text, as the kind encodes it."""
        if self._ids is None:
            self._parts.append(self._state.new_part(self._kind.component))
            self._ids = StringTableWriter(self._parts[-1] / "ids")
            self._texts = StringsWriter(self._parts[-1] / self._kind.plural)
            self._written = 0
        self._ids.append(check_id(record_id))
        self._texts.append(text)
        self._written += len(text)
        if len(self._ids) >= PART_RECORDS or self._written >= PART_CHARACTERS:
            self._close_part()

    def _close_part(self) -> None:
        if self._ids is not None:
            self._ids.close()
            self._texts.close()
            self._ids = None

    def finish(self) -> dict[str, dict]:
        """Raises an error if there are no records, or if two have the same id."""
        self._close_part()
        kind = self._kind
        return manifest_of_parts(self._state, kind.component, self._parts, kind.plural, kind.noun, self._settings)

    def is_as_before(self) -> bool:
        """Whether these are the records that the index already had, in the same order."""
        parts = self._state.components.get(self._kind.component, {"parts": []})["parts"]
        before, now = (self._contents(some) for some in ([self._state.folder / part for part in parts], self._parts))
        return all(one == other for one, other in itertools.zip_longest(before, now))

    def _contents(self, parts: Iterable[Path]) -> Iterator[tuple[bytes, bytes]]:
        for part in parts:
            ids, texts = StringTable(part / "ids"), Strings(part / self._kind.plural)
            yield from ((ids.raw(number), texts.raw(number)) for number in range(len(ids)))


def manifest_of_parts(
    state: Writing, component: str, parts: Sequence[Path], plural: str, noun: str, settings: dict[str, Any]
) -> dict[str, dict]:
    """The manifest of a component whose parts have `ids`, with their number as the setting `plural`. Raises an error if
    there are no parts, or if an id occurs twice."""
    if not parts:
        raise DataError(f"there are no {plural} to store", path=state.folder)
    ids = [StringTable(part / "ids") for part in parts]
    if (duplicate := first_duplicate(ids)) is not None:
        raise DataError(f"the {noun} id '{duplicate}' occurs twice; ids must be distinct", field="id")
    return {component: state.manifest(settings | {plural: sum(map(len, ids))}, parts)}


class RecordStore(Generic[Record]):
    """`store.get(id)` is the record, or None; iterates over the records in collection order."""

    def __init__(self, folder: Path, kind: Kind[Record]):
        manifest = open_component(folder, kind.component)
        self.folder, self.digest, self.settings = folder, manifest["digest"], manifest["settings"]
        self.component, self._decode = kind.component, kind.decode
        try:
            self._ids = Joined(StringTable(folder / part / "ids") for part in manifest["parts"])
            self._texts = Joined(Strings(folder / part / kind.plural) for part in manifest["parts"])
        except (OSError, TypeError) as error:
            raise DataError(f"the {kind.plural} are damaged ({error}); {ADVICE}", path=folder) from None

    def get(self, record_id: str) -> Record | None:
        number = self._ids.find(record_id)
        return None if number is None else self._decode(record_id, self._texts[number])

    def prepare(self, ids: Iterable[str]) -> None:
        """Does nothing, since the records are mapped. A cluster reads the records of these ids here."""

    def id_at(self, place: int) -> str:
        """The id of the `place`-th record, from 0."""
        return self._ids[place]

    def place_of(self, record_id: str) -> int | None:
        """The place of a record, from 0; None for an unknown one."""
        return self._ids.find(record_id)

    def __contains__(self, record_id: str) -> bool:
        return self.place_of(record_id) is not None

    def __len__(self) -> int:
        return len(self._ids)

    def __iter__(self) -> Iterator[Record]:
        return self.after(0)

    def after(self, count: int) -> Iterator[Record]:
        """The records after the first `count`."""
        for number in range(count, len(self)):
            yield self._decode(self._ids[number], self._texts[number])
