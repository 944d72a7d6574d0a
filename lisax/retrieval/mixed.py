"""One index of text, tables and graphs, whose sources are added and removed without a rebuild (UDT-QA, section 6).

Each source's passages are a component of the folder, and have their own shards in one BM25 component. The data of a
shard (terms, counts, lengths) never changes; idf and average length are those of all passages of the index, so scores
of different sources are comparable. Adding a source reads only its texts, and removing one reads no text; either way
the scores of all shards are recomputed from their counts (seconds per million passages). The result is bit-identical to
a full build, whatever was added and removed before.

Vectors of the same passages are further components, one per source: see `dense.py`.
"""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lisax.errors import DataError, LisaxError
from lisax.records import split_sentence_id
from lisax.retrieval import bm25
from lisax.retrieval.bm25 import Bm25Index
from lisax.retrieval.bm25_builder import Bm25Builder
from lisax.retrieval.folder import Writing, read_components, unchanged, writing
from lisax.retrieval.passages import Passage, Source, kind_of, source_of
from lisax.retrieval.record_store import RecordsBuilder, RecordStore

Hits = list[tuple[str, float]]
PASSAGES_KEPT = 1 << 16


def indexed_text(passage: Passage) -> str:
    return f"{passage.title} {passage.text}"


def build_index(
    sources: Mapping[Source, Iterable[Passage]],
    out: str | os.PathLike,
    *,
    form: str = "raw",
    **settings: Any,
) -> MixedIndex:
    """Indexes passages by source into the folder `out`, atomically. An existing index there is replaced at the end.

    `form` is recorded for tables and graphs: "raw" or "verbalized". `settings`: of `Bm25Builder`, such as k1 and b."""
    with writing(out) as state:
        # All but vectors and their lists, which stay where the passages are as before.
        removed = [name for name, manifest in state.components.items() if "over" not in manifest["settings"]]
        _change(state, sources, form, Bm25Builder(state, **settings), {}, removed)
    return MixedIndex.open(out)


def add_sources(
    sources: Mapping[Source, Iterable[Passage]], folder: str | os.PathLike, *, form: str = "raw"
) -> MixedIndex:
    """Adds sources that the index does not have, all or nothing, with the index's k1 and b."""
    with writing(folder) as state:
        parts = _parts(state.folder, state.components)
        if there := [source for source in sources if source in parts]:
            raise LisaxError(f"{folder} has passages of '{there[0]}' already: remove the source first")
        _change(state, sources, form, Bm25Builder(state, extend=True), parts)
    return MixedIndex.open(folder)


def remove_source(source: Source, folder: str | os.PathLike) -> MixedIndex:
    """Removes a source with its vectors; reads no text."""
    with writing(folder) as state:
        parts = _parts(state.folder, state.components)
        if source not in parts:
            raise LisaxError(f"{folder} has no passages of '{source}'; it has {', '.join(parts)}")
        del parts[source]
        if not parts:
            raise LisaxError(f"{folder} has no passages but those of '{source}': an index cannot be empty")
        kept = {part for of_source in parts.values() for part in of_source}
        _change(
            state,
            {},
            "",
            Bm25Builder(state, extend=True, keep=kept),
            parts,
            [name for name in state.components if name.endswith(f"-{source}")],
        )
    return MixedIndex.open(folder)


def _parts(folder: Path, components: Mapping[str, dict]) -> dict[Source, list[str]]:
    """BM25's parts by source."""
    if "sources" not in components.get(bm25.NAME, {}):
        raise DataError(
            "this is not an index of passages; build one with `lisax index mixed --corpus DIR --out INDEX`", path=folder
        )
    return {Source(name): parts for name, parts in components[bm25.NAME]["sources"].items()}


def _change(
    state: Writing,
    sources: Mapping[Source, Iterable[Passage]],
    form: str,
    texts: Bm25Builder,
    parts: dict[Source, list[str]],
    removed: Iterable[str] = (),
) -> None:
    """Commits the index with `sources` added; `parts` are those of the sources that stay."""
    changed: dict[str, dict] = {}
    for source, passages in sources.items():
        store = RecordsBuilder(state, kind_of(source), {"form": "text" if source is Source.TEXT else form})
        before = len(texts.parts)
        for passage in passages:
            texts.add(passage.id, indexed_text(passage))
            store.add(passage)
        texts.end_part()
        if len(texts.parts) == before:
            raise DataError(f"the corpus has nothing for the source '{source}'", path=state.folder)
        changed |= store.finish()
        parts = parts | {source: texts.parts[before:]}
    manifest = texts.finish()
    # In the order of `Source`, whatever was added first, so that ties are broken in a fixed order.
    manifest["sources"] = {source: parts[source] for source in Source if source in parts}
    manifest["parts"] = [part for of_source in manifest["sources"].values() for part in of_source]
    state.commit(changed | {bm25.NAME: manifest}, [name for name in removed if name not in changed])


class MixedIndex:
    """An open index of passages: `search`, `passage(id)`, `sources`."""

    def __init__(self, folder: Path):
        self.folder, self.bm25 = folder, Bm25Index.open(folder)
        manifests = read_components(folder)
        self.components = frozenset(manifests)
        self.stores = {source: RecordStore(folder, kind_of(source)) for source in _parts(folder, manifests)}
        self.passage = functools.lru_cache(PASSAGES_KEPT)(self._passage)

    @classmethod
    def open(cls, folder: str | os.PathLike) -> MixedIndex:
        return unchanged(folder, lambda: cls(Path(folder)))

    def __len__(self) -> int:
        return len(self.bm25)

    @property
    def sources(self) -> dict[Source, dict]:
        """For each source {"form": "text", "raw" or "verbalized", "passages": number of passages}."""
        return {source: store.settings for source, store in self.stores.items()}

    def search(self, queries: Sequence[str], k: int) -> list[Hits]:
        """Up to `k` (passage id, BM25 score) per query; `passages.source_of(id)` is the source of a hit."""
        return self.bm25.search(queries, k)

    def prepare(self, ids: Iterable[str] = (), units: Iterable[str] = ()) -> None:
        """Does nothing, since the passages are mapped. A cluster reads the passages of these ids and units here."""

    def of_unit(self, unit: str) -> list[Passage]:
        """The passages that contain a unit and come from its source, in order. A unit that was split has several."""
        for source, owner in owners(unit):
            found: list[Passage] = []
            for number in itertools.count():
                passage = self.passage(f"{source}:{owner}:{number}")
                if passage is None or (found and unit not in passage.provenance):
                    break
                if unit in passage.provenance:
                    found.append(passage)
            if found:
                return found
        return []

    def of_owner(self, source: Source, owner: str) -> Iterator[Passage]:
        """The passages of a page, table or graph, in order."""
        passages = (self.passage(f"{source}:{owner}:{number}") for number in itertools.count())
        return itertools.takewhile(lambda passage: passage is not None, passages)

    def _passage(self, passage_id: str) -> Passage | None:
        """The passage with this id; None if the index has none."""
        try:
            store = self.stores.get(source_of(passage_id))
        except ValueError:  # not a passage id
            return None
        return store and store.get(passage_id)


def owners(unit: str) -> Iterator[tuple[Source, str]]:
    """The tables, graphs and pages that a unit's id may belong to."""
    for mark, source in (("#r", Source.TABLE), ("#e", Source.GRAPH)):
        if mark in unit:
            yield source, unit.rpartition(mark)[0]
    try:
        yield Source.TEXT, split_sentence_id(unit)[0]
    except DataError:
        return
