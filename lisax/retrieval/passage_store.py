"""Passages on disk, one component per source: id to passage, memory-mapped, in collection order.

A part holds `ids` (a string table) and `passages` (strings: each passage as JSON). Building streams to disk and keeps
about 32 bytes per passage in memory.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from lisax.errors import DataError
from lisax.records import check_id
from lisax.retrieval.blocks import ADVICE
from lisax.retrieval.folder import Writing, open_component
from lisax.retrieval.passages import Passage, Source
from lisax.retrieval.strings import (
    Strings,
    StringsWriter,
    StringTable,
    StringTableWriter,
    at_place,
    first_duplicate,
    place_in,
)

PART_PASSAGES = 1 << 20


def component(source: Source) -> str:
    return f"passages-{source}"


def has_passages(components: Iterable[str]) -> bool:
    """Whether an index with these components is an index of passages."""
    return not {component(source) for source in Source}.isdisjoint(components)


class PassagesBuilder:
    """Takes the passages of one source one at a time; `finish` returns the manifest to commit."""

    def __init__(self, state: Writing, source: Source, settings: dict):
        self._state, self._name, self._settings = state, component(source), settings
        self._parts: list[Path] = []
        self._ids: StringTableWriter | None = None

    def add(self, passage: Passage) -> None:
        if self._ids is None:
            self._parts.append(self._state.new_part(self._name))
            self._ids = StringTableWriter(self._parts[-1] / "ids")
            self._passages = StringsWriter(self._parts[-1] / "passages")
        self._ids.append(check_id(passage.id))
        self._passages.append(
            json.dumps([passage.title, passage.text, passage.provenance, passage.starts], ensure_ascii=False)
        )
        if len(self._ids) >= PART_PASSAGES:
            self._close_part()

    def _close_part(self) -> None:
        if self._ids is not None:
            self._ids.close()
            self._passages.close()
            self._ids = None

    def finish(self) -> dict[str, dict]:
        self._close_part()
        ids = [StringTable(part / "ids") for part in self._parts]
        if ids and (duplicate := first_duplicate(ids)) is not None:
            raise DataError(f"the passage id '{duplicate}' occurs twice; ids must be distinct", field="id")
        settings = self._settings | {"passages": sum(map(len, ids))}
        return {
            self._name: {
                "settings": settings,
                "parts": [part.relative_to(self._state.folder).as_posix() for part in self._parts],
                "files": [name for part in self._parts for name in self._state.names(part)],
            }
        }


class PassageStore:
    """`store.get(id)` is the passage, or None; iterates over the passages in collection order."""

    def __init__(self, folder: Path, source: Source):
        manifest = open_component(folder, component(source))
        self.digest, self.settings = manifest["digest"], manifest["settings"]
        try:
            self._parts = [
                (StringTable(folder / part / "ids"), Strings(folder / part / "passages")) for part in manifest["parts"]
            ]
        except (OSError, TypeError) as error:
            raise DataError(f"the passages are damaged ({error}); {ADVICE}", path=folder) from None

    def get(self, passage_id: str) -> Passage | None:
        for ids, passages in self._parts:
            if (number := ids.find(passage_id)) is not None:
                return _passage(passage_id, passages[number])
        return None

    def id_at(self, place: int) -> str:
        """The id of the `place`-th passage, from 0."""
        return at_place([ids for ids, _ in self._parts], place)

    def place_of(self, passage_id: str) -> int | None:
        """The place of a passage, from 0; None for an unknown one."""
        return place_in([ids for ids, _ in self._parts], passage_id)

    def __len__(self) -> int:
        return sum(len(ids) for ids, _ in self._parts)

    def __iter__(self) -> Iterator[Passage]:
        return self.after(0)

    def after(self, count: int) -> Iterator[Passage]:
        """The passages after the first `count`."""
        for ids, passages in self._parts:
            for number in range(min(count, len(ids)), len(ids)):
                yield _passage(ids[number], passages[number])
            count = max(0, count - len(ids))


def _passage(passage_id: str, text: str) -> Passage:
    title, text, provenance, starts = json.loads(text)
    return Passage(passage_id, title, text, tuple(provenance), tuple(starts))
