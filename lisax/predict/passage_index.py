"""An index of passages of text, tables and graphs: sentences, rows and edges as evidence.

LisT5's ranker and labellers read rows and edges like sentences, so that one claim is checked against text, tables and
graphs together (none of the papers does this).
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Mapping, Sequence, Set

from lisax.errors import LisaxError
from lisax.faithful.facts import without_title
from lisax.formats.examples import Passage
from lisax.predict.dense_search import DenseSearch
from lisax.predict.index import DOCUMENTS, TABLE_COMPONENTS, Index
from lisax.predict.verdicts import Evidence, place_of
from lisax.records import Claim, Hit
from lisax.retrieval.cluster_passages import ClusterPassages
from lisax.retrieval.mixed import MixedIndex
from lisax.retrieval.passages import Passage as IndexedPassage

UNITS_KEPT = 1 << 16


class PassageIndex(Index):
    """Units by id, each with the title of its passage. Verbalized units are sentences; a raw row keeps its header.
    Edges that share one text are represented by the first."""

    def __init__(self, index: MixedIndex | ClusterPassages):
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
        self.index.prepare(units=itertools.chain.from_iterable(found[:k] for found in units.values()))
        return [
            self.evidence(Hit(claim.id, unit, rank, 1 / rank) for rank, unit in enumerate(units[claim.id][:k], start=1))
            for claim in claims
        ]

    def _first_units(self, limit: int) -> list[str]:
        if self.dense is not None or not isinstance(self.index, MixedIndex):
            return []
        passages = itertools.chain.from_iterable(self.index.stores.values())
        return self.of_passages(passage.id for passage in itertools.islice(passages, limit))[:limit]

    @property
    def components(self) -> Set[str]:
        return self.index.components

    @functools.cached_property
    def dense(self) -> DenseSearch | None:
        """The search with vectors; None if the index has none whose dot products are cosines."""
        return DenseSearch.over(self.index, self.weight)

    def reading(self, reads):
        if reads == "tables" and self.index.components >= TABLE_COMPONENTS:
            from lisax.predict.table_index import TableIndex

            return TableIndex(self.folder or self.index.tables)
        return super().reading(reads)

    def _read(self, unit: str, score: float | None, claim: str) -> Evidence | None:
        found = self.lookup(unit)
        return found and Evidence(unit, found.text, found.title, place_of(unit), score)

    def prepare(self, units: Iterable[str]) -> None:
        self.index.prepare(units=units)

    def retrieve(self, claims: Sequence[Claim], passages: int) -> dict[str, list[str]]:
        """Units of the first `passages` passages that BM25, with vectors where the index has them, finds for each
        claim, in their order."""
        found = (self.index if self.dense is None else self.dense).search([claim.text for claim in claims], passages)
        self.index.prepare(hit for hits in found for hit, _ in hits)
        return {claim.id: self.of_passages(hit for hit, _ in hits) for claim, hits in zip(claims, found, strict=True)}

    def of_passages(self, ids: Iterable[str]) -> list[str]:
        passages = filter(None, map(self.index.passage, ids))
        return list(dict.fromkeys(unit for passage in passages for unit in passage.leading))

    def in_run(self, run: Mapping[str, Sequence[Hit]]) -> dict[str, list[str]]:
        """Unit ids by query. `run` holds passages or units."""

        def units(ids: Sequence[str]) -> Sequence[str]:
            self.index.prepare(ids)
            return self.of_passages(ids) if any(map(self.index.passage, ids)) else ids

        return {query: units([hit.id for hit in hits]) for query, hits in run.items()}

    def _lookup(self, unit: str) -> Passage | None:
        """The sentence, row or edge with this id; None if the index has none."""
        if not (pieces := self.index.of_unit(unit)):
            return None
        title, text = pieces[0].title, " ".join(piece.unit_text(unit) for piece in pieces)
        return Passage(unit, title, without_title(text, title))

    def passage_of(self, unit: str) -> IndexedPassage | None:
        """The first passage that contains a unit and comes from the unit's source; None if the index has none."""
        return next(iter(self.index.of_unit(unit)), None)

    def original_page(self, page: str) -> str:
        """The page's id: this index does not keep the corpus's own ids."""
        return page
