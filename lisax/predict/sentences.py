"""Sentences of an indexed corpus as the models need them: by id, with their page's title."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence

from lisax.formats.examples import Passage
from lisax.records import Document, Hit, split_sentence_id
from lisax.retrieval.documents import DocumentIndex

PAGES_KEPT = 100_000


class Sentences:
    """Reads pages from the index's page store and keeps the last `PAGES_KEPT` of them in memory."""

    def __init__(self, index: DocumentIndex):
        self.index = index
        self.page = functools.lru_cache(maxsize=PAGES_KEPT)(self._read)

    def _read(self, page_id: str) -> Document | None:
        return self.index.pages.page(page_id) if page_id in self.index.pages else None

    def lookup(self, unit: str) -> Passage | None:
        """The sentence of an id; None where the corpus has no text for it."""
        page_id, number = split_sentence_id(unit)
        page = self.page(page_id)
        if page is None or number >= len(page.sentences) or not page.sentences[number].text:
            return None
        return Passage(unit, page.title, page.sentences[number].text)

    def of_pages(self, hits: Iterable[Hit], limit: int | None = None) -> list[str]:
        """Ids of the sentences that have text, of the pages that were hit, in the hits' order."""
        pages = filter(None, (self.page(hit.id) for hit in hits))
        return list(itertools.islice((s.id for page in pages for s in page.sentences if s.text), limit))

    def candidates(self, query_id: str, hits: Iterable[Hit], limit: int | None) -> Iterator[Hit]:
        """The sentences `of_pages` as hits of one query, scored by their rank."""
        for rank, unit in enumerate(self.of_pages(hits, limit), start=1):
            yield Hit(query_id, unit, rank, 1 / rank)

    def in_run(self, run: Mapping[str, Sequence[Hit]]) -> dict[str, list[str]]:
        """Sentence ids by query, of a run of pages or of sentences.

        A sentence's id may be that of a page too: which of the two a run holds is decided by most of its ids.
        """
        ids = {hit.id for hits in run.values() for hit in hits}
        of_pages = 2 * sum(unit in self.index.pages for unit in ids) >= len(ids)
        return {query: self.of_pages(hits) if of_pages else [hit.id for hit in hits] for query, hits in run.items()}

    def original_page(self, page_id: str) -> str:
        page = self.page(page_id)
        return (page.original_id if page else None) or page_id
