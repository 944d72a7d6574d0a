"""A live MediaWiki as an index: the introductions of the pages that it finds for a claim's entities."""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence

from lisax.errors import LisaxError
from lisax.files.places import cache_folder
from lisax.formats.examples import Passage
from lisax.predict.index import DOCUMENTS, Index
from lisax.predict.verdicts import Evidence, place_of
from lisax.records import sentence_id
from lisax.retrieval.entities import default_spotter
from lisax.retrieval.fusion import in_turn
from lisax.retrieval.mediawiki import CACHE, WIKIPEDIA, Introduction, Manners, MediaWiki, entity_queries, user_agent
from lisax.text import titles
from lisax.text.sentences import split_sentences

# A person waits for the verdict, and pages change.
MANNERS = Manners(timeout_seconds=10.0, attempts=4, max_age_seconds=86_400.0)


class WikiIndex(Index):
    """Sentences of a live wiki's introductions, each with the addresses of its page and of the revision that was read.

    >>> from lisax import Checker
    >>> from lisax.predict.wiki_index import WikiIndex
    >>> Checker(WikiIndex.open()).check("Marie Curie was born in Warsaw.")  # doctest: +SKIP
    """

    def __init__(self, wiki: MediaWiki):
        self.wiki, self._spotter = wiki, default_spotter()
        self._sentences: dict[str, Passage] = {}  # of the last search, for the temporal rules

    @classmethod
    def open(cls, url: str = WIKIPEDIA, cache: str | os.PathLike | None = None) -> WikiIndex:
        """The wiki with this api.php. Its answers are cached for a day, in the file `cache` or in the cache folder.

        Raises LisaxError where the environment names no contact (`mediawiki.user_agent`)."""
        user_agent()
        return cls(MediaWiki(cache_folder() / CACHE if cache is None else cache, url, MANNERS))

    def search_many(
        self, queries: Sequence[str], k: int, *, documents: int = DOCUMENTS, hops: int = 1
    ) -> list[list[Evidence]]:
        """The first `k` sentences of the first `documents` pages: each entity's first page, then each one's second, and
        so on. The score is 1 / rank."""
        if hops != 1:
            raise LisaxError(
                "a second hop needs an index: of a live wiki, pages are found only for the claim's entities"
            )
        self._sentences = {}
        return [self._search(claim, k, documents) for claim in queries]

    def _search(self, claim: str, k: int, documents: int) -> list[Evidence]:
        found = [self.wiki.introductions(query, documents) for query in entity_queries(claim, self._spotter)]
        units = itertools.chain.from_iterable(map(self._units, in_turn(found)[:documents]))
        return [
            Evidence(unit, text, page.title, place_of(unit), 1 / rank, url=page.url, revision_url=page.revision_url)
            for rank, (unit, text, page) in enumerate(itertools.islice(units, k), start=1)
        ]

    def _units(self, page: Introduction) -> list[tuple[str, str, Introduction]]:
        id = titles.title_to_id(page.title)
        paragraphs = (split_sentences(titles.one_line(paragraph)) for paragraph in page.text.splitlines())
        units = []
        for number, text in enumerate(itertools.chain.from_iterable(paragraphs)):
            unit = sentence_id(id, number)
            self._sentences[unit] = Passage(unit, page.title, text)
            units.append((unit, text, page))
        return units

    def lookup(self, unit: str) -> Passage | None:
        """A sentence of the last search."""
        return self._sentences.get(unit)
