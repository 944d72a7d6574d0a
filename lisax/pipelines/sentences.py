"""Sentences of an indexed corpus as the models need them: by id, with their page's title."""

from __future__ import annotations

import functools
from collections.abc import Iterable

from lisax.records import Document, Hit, split_sentence_id
from lisax.retrieval.documents import DocumentIndex
from lisax.sampling.examples import Passage

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

    def candidates(self, hits: Iterable[Hit], limit: int | None = None) -> list[str]:
        """Sentence ids of hits in their order: a page stands for all its sentences that have text."""
        units: list[str] = []
        for hit in hits:
            page = self.page(hit.id)
            units += [hit.id] if page is None else [s.id for s in page.sentences if s.text]
        return units[:limit]

    def original_page(self, page_id: str) -> str:
        page = self.page(page_id)
        return (page.original_id if page else None) or page_id
