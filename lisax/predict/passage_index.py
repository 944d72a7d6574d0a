"""An index of passages of text, tables and graphs: sentences, rows and edges as evidence.

LisT5's ranker and labellers read rows and edges like sentences, so that one claim is checked against text, tables and
graphs together (none of the papers does this).
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence

from lisax.errors import DataError, LisaxError
from lisax.faithful.facts import without_title
from lisax.formats.examples import Passage
from lisax.predict.dense_search import DenseSearch
from lisax.predict.index import DOCUMENTS, TABLE_COMPONENTS, Index
from lisax.predict.verdicts import Evidence, place_of
from lisax.records import Claim, Hit, split_sentence_id
from lisax.retrieval.folder import read_components
from lisax.retrieval.mixed import MixedIndex
from lisax.retrieval.passages import Passage as IndexedPassage
from lisax.retrieval.passages import Source

UNITS_KEPT = 1 << 16


class PassageIndex(Index):
    """Units by id, each with the title of its passage. Verbalized units are sentences; a raw row keeps its header.
    Edges that share one text are represented by the first."""

    def __init__(self, index: MixedIndex):
        self.index, self.folder = index, index.folder
        self.lookup = functools.lru_cache(UNITS_KEPT)(self._lookup)

    def search_many(
        self, queries: Sequence[str], k: int, *, documents: int = DOCUMENTS, hops: int = 1
    ) -> list[list[Evidence]]:
        """Units of the passages that BM25 finds, passage by passage; the score is 1 / rank."""
        if hops != 1:
            raise LisaxError("a second hop follows titles of pages: use an index of `lisax index documents`, or hops=1")
        claims = [Claim(str(number), query) for number, query in enumerate(queries)]
        units = self.retrieve(claims, documents)
        return [
            self.evidence(Hit(claim.id, unit, rank, 1 / rank) for rank, unit in enumerate(units[claim.id][:k], start=1))
            for claim in claims
        ]

    @functools.cached_property
    def dense(self) -> DenseSearch | None:
        """The search with vectors; None if the index has none whose dot products are cosines."""
        return DenseSearch.open(self.folder, self.weight)

    @functools.cached_property
    def has_only_tables(self) -> bool:
        """Whether the index holds passages of tables and no others, and the whole tables as well."""
        return set(self.index.sources) == {Source.TABLE} and read_components(self.folder).keys() >= TABLE_COMPONENTS

    def reading(self, reads):
        if reads == "tables" and read_components(self.folder).keys() >= TABLE_COMPONENTS:
            from lisax.predict.table_index import TableIndex

            return TableIndex(self.folder)
        return super().reading(reads)

    def _read(self, unit: str, score: float | None, claim: str) -> Evidence | None:
        found = self.lookup(unit)
        return found and Evidence(unit, found.text, found.title, place_of(unit), score)

    def retrieve(self, claims: Sequence[Claim], passages: int) -> dict[str, list[str]]:
        """Units of the first `passages` passages that BM25, with vectors where the index has them, finds for each
        claim, in their order."""
        found = (self.index if self.dense is None else self.dense).search([claim.text for claim in claims], passages)
        return {claim.id: self.of_passages(hit for hit, _ in hits) for claim, hits in zip(claims, found, strict=True)}

    def of_passages(self, ids: Iterable[str], limit: int | None = None) -> list[str]:
        passages = filter(None, map(self.index.passage, ids))
        units = dict.fromkeys(unit for passage in passages for unit in passage.leading)
        return list(itertools.islice(units, limit))

    def in_run(self, run: Mapping[str, Sequence[Hit]]) -> dict[str, list[str]]:
        """Unit ids by query. `run` holds passages or units."""
        return {
            query: self.of_passages(hit.id for hit in hits)
            if any(self.index.passage(hit.id) for hit in hits)
            else [hit.id for hit in hits]
            for query, hits in run.items()
        }

    def _lookup(self, unit: str) -> Passage | None:
        """The sentence, row or edge with this id; None if the index has none."""
        pieces = list(self._passages_of(unit))
        if not pieces:
            return None
        title, text = pieces[0].title, " ".join(piece.unit_text(unit) for piece in pieces)
        return Passage(unit, title, without_title(text, title))

    def passage_of(self, unit: str) -> IndexedPassage | None:
        """The first passage that contains a unit and comes from the unit's source; None if the index has none."""
        return next(self._passages_of(unit), None)

    def _passages_of(self, unit: str) -> Iterator[IndexedPassage]:
        """The passages that contain a unit, in order: more than one where a unit was split."""
        for source, owner in _owners(unit):
            found = False
            for number in itertools.count():
                passage = self.index.passage(f"{source}:{owner}:{number}")
                if passage is None or (found and unit not in passage.provenance):
                    break
                if unit in passage.provenance:
                    found = True
                    yield passage
            if found:
                return

    def original_page(self, page: str) -> str:
        """The page's id: this index does not keep the corpus's own ids."""
        return page


def _owners(unit: str) -> Iterator[tuple[Source, str]]:
    """The tables, graphs and pages that a unit's id may belong to."""
    for mark, source in (("#r", Source.TABLE), ("#e", Source.GRAPH)):
        if mark in unit:
            yield source, unit.rpartition(mark)[0]
    try:
        yield Source.TEXT, split_sentence_id(unit)[0]
    except DataError:
        return
