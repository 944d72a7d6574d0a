"""An index of documents: sentences of pages as evidence."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

import numpy as np

from lisax.devices.batching import windows
from lisax.formats.examples import Passage
from lisax.predict.dense_search import DenseSearch
from lisax.predict.index import DOCUMENTS, TABLE_COMPONENTS, Index
from lisax.predict.verdicts import Evidence, place_of
from lisax.records import Claim, Document, Hit, split_sentence_id
from lisax.retrieval import few_texts
from lisax.retrieval.cluster_pages import ClusterDocuments
from lisax.retrieval.documents import DocumentIndex, retrieve
from lisax.retrieval.fusion import fused
from lisax.retrieval.multi_hop import second_pages
from lisax.retrieval.runs import by_query
from lisax.retrieval.titles import Titles

PAGES_KEPT = 100_000
IDS_AT_A_TIME = 1000


class PageIndex(Index):
    """Sentences of indexed pages. Pages are read from the page store; the last `PAGES_KEPT` stay in memory."""

    def __init__(self, index: DocumentIndex | ClusterDocuments):
        self.index, self.folder = index, index.folder
        self.page = functools.lru_cache(maxsize=PAGES_KEPT)(self._page)

    @property
    def titles(self) -> Titles:
        return self.index.titles

    def search_many(
        self, queries: Sequence[str], k: int, *, documents: int = DOCUMENTS, hops: int = 1
    ) -> list[list[Evidence]]:
        """Sentences of the pages that BM25 and title search find in turn, page by page (LisT5, sections 3.1 and 3.2).
        The score is 1 / rank. LisT5 takes the first `k`; here half of `k` are those of the others with the best BM25
        scores, so that the end of a long page is found too.

        With vectors, pages are found by BM25 with vectors and by title search, and their sentences are ordered by BM25
        and similarity together, which is their score."""
        claims = [Claim(str(number), query) for number, query in enumerate(queries)]
        hits: Iterable[Hit] = retrieve(self.index, claims, documents, search_bm25=self.dense and self.dense.search)
        if hops == 2:
            hits = second_pages(self.index, claims, by_query(hits), documents)
        run = by_query(hits)
        self.index.pages.prepare(hit.id for found in run.values() for hit in found)
        if self.dense is None:
            return [self.evidence(self.candidates(claim.id, run.get(claim.id, ()), k, claim.text)) for claim in claims]
        vectors = self.dense.encoder.questions(queries)
        return [
            self._nearest(claim.text, vector, [hit.id for hit in run.get(claim.id, ())], k)
            for claim, vector in zip(claims, vectors, strict=True)
        ]

    def _first_units(self, limit: int) -> list[str]:
        if self.dense is not None or not isinstance(self.index, DocumentIndex):
            return []
        return self.of_pages((Hit("", page, 1, 1.0) for page in itertools.islice(self.index.pages, limit)), limit)

    @property
    def components(self) -> Set[str]:
        return self.index.components

    @functools.cached_property
    def dense(self) -> DenseSearch | None:
        """The search with vectors; None if the index has none."""
        return DenseSearch.over(self.index, self.weight, "sentences")

    def compared(self, claim: str, evidence: Sequence[Evidence]) -> list[Evidence]:
        if self.dense is None:
            return list(evidence)
        (vector,) = self.dense.encoder.questions([claim])
        cosines = self._cosines(vector, dict.fromkeys(split_sentence_id(one.unit)[0] for one in evidence))
        return [dataclasses.replace(one, similarity=cosines[one.unit]) for one in evidence]

    def _nearest(self, claim: str, vector: np.ndarray, pages: Sequence[str], k: int) -> list[Evidence]:
        """The `k` sentences of these pages with the best scores, of their first `k` and the `k` most similar."""
        cosines = self._cosines(vector, pages)
        units = [*itertools.islice(cosines, k), *sorted(cosines, key=lambda unit: -cosines[unit])[:k]]
        found = [dataclasses.replace(one, similarity=cosines[one.unit]) for one in self.evidence(units)]
        scores = fused(
            few_texts.scores(claim, [f"{one.source} {one.text}" for one in found]),
            [one.similarity for one in found],
            self.dense.weight,
        )
        order = np.argsort(-scores, kind="stable")[:k]
        return [dataclasses.replace(found[i], score=float(scores[i])) for i in order]

    def _cosines(self, vector: np.ndarray, pages: Iterable[str]) -> dict[str, float]:
        """The cosine of each sentence of these pages, in their order."""
        products = self.dense.vectors.products_of(vector, list(pages))
        return {
            unit: float(cosine)
            for page, cosines in products.items()
            for unit, cosine in zip(self.of_pages([Hit("", page, 1, 1.0)]), cosines)
        }

    def reading(self, reads):
        if reads == "tables" and self.index.manifests.keys() >= TABLE_COMPONENTS:
            from lisax.predict.table_index import TableIndex

            return TableIndex(self.folder)
        return super().reading(reads)

    # --- Sentences by id ------------------------------------------------------------------------

    def _page(self, page_id: str) -> Document | None:
        return self.index.pages.page(page_id) if page_id in self.index.pages else None

    def lookup(self, unit: str) -> Passage | None:
        """The sentence with this id; None if the corpus has no text for it."""
        page_id, number = split_sentence_id(unit)
        page = self.page(page_id)
        if page is None or number >= len(page.sentences) or not page.sentences[number].text:
            return None
        return Passage(unit, page.source(page.sentences[number]), page.sentences[number].text)

    def _read(self, unit: str, score: float | None, claim: str) -> Evidence | None:
        found = self.lookup(unit)
        if found is None:
            return None
        page = self.original_page(split_sentence_id(unit)[0])
        return Evidence(unit, found.text, found.title, place_of(unit), score, page)

    def prepare(self, units: Iterable[str]) -> None:
        self.index.pages.prepare(split_sentence_id(unit)[0] for unit in units)

    def of_pages(self, hits: Iterable[Hit], limit: int | None = None) -> list[str]:
        """Ids of the non-empty sentences of the retrieved pages, in the order of the hits."""
        ids = [hit.id for hit in hits]
        self.index.pages.prepare(ids)
        pages = filter(None, map(self.page, ids))
        return list(itertools.islice((s.id for page in pages for s in page.sentences if s.text), limit))

    def candidates(self, query_id: str, hits: Iterable[Hit], limit: int, claim: str | None = None) -> Iterator[Hit]:
        """The sentences of `of_pages` as hits of one query, scored by rank. With the text of a claim `search_many`'s."""
        units = self.of_pages(hits, limit if claim is None else None)
        if len(units) > limit:
            first, others = units[: limit - limit // 2], units[limit - limit // 2 :]
            scores = few_texts.scores(claim, [f"{one.title} {one.text}" for one in map(self.lookup, others)])
            best = sorted(range(len(others)), key=lambda place: -scores[place])[: limit // 2]
            units = [*first, *(others[place] for place in best)]
        for rank, unit in enumerate(units, start=1):
            yield Hit(query_id, unit, rank, 1 / rank)

    def in_run(self, run: Mapping[str, Sequence[Hit]]) -> dict[str, list[str]]:
        """Sentence ids by query. `run` holds pages or sentences.

        A sentence id may also be a page id; the majority of a run's ids decides which of the two it holds.
        """
        ids, pages = {hit.id for hits in run.values() for hit in hits}, self.index.pages
        are_pages = 0
        for some in windows(ids, IDS_AT_A_TIME):
            pages.prepare(some)
            are_pages += sum(unit in pages for unit in some)
        of_pages = 2 * are_pages >= len(ids)
        return {query: self.of_pages(hits) if of_pages else [hit.id for hit in hits] for query, hits in run.items()}

    def original_page(self, page_id: str) -> str:
        """A page's id as its corpus writes it."""
        page = self.page(page_id)
        return (page.original_id if page else None) or page_id
