"""Pages of a cluster's index, with the interface of `documents.DocumentIndex`: BM25, titles, sentences and vectors."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from lisax.errors import DataError
from lisax.records import Document, Sentence, split_sentence_id
from lisax.retrieval import documents
from lisax.retrieval.bm25_builder import K1, B
from lisax.retrieval.cluster_records import ClusterRecords
from lisax.retrieval.cluster_vectors import ClusterContent
from lisax.retrieval.elastic import DEEPEST, NUMBERED, ElasticIndex, scored
from lisax.retrieval.pages import NAME
from lisax.retrieval.record_store import Kind
from lisax.retrieval.titles import CACHED_KEYS, Titles, keys_in, keys_of

NAMES, KEYS, TITLE, REDIRECTS = "names", "keys", "title", "redirects"  # fields
LONGEST_KEY = 8191  # characters; a cluster refuses words of more than 32,766 bytes


def _encode(page: Document) -> str:
    sentences = [[one.number, one.text, *([one.heading] if one.heading else [])] for one in page.sentences]
    return json.dumps([page.title, sentences, page.redirects, page.original_id], ensure_ascii=False)


def _decode(page_id: str, text: str) -> Document:
    title, sentences, redirects, original = json.loads(text)
    made = tuple(Sentence(page_id, *sentence) for sentence in sentences)
    return Document(page_id, title, made, tuple(redirects), original)


PAGES = Kind(NAME, "page", _encode, _decode)


def mapped() -> tuple[dict, dict]:
    """(settings, properties) of an index of pages, besides their text."""
    settings, names = scored(K1, B, "titles")
    return settings, {NAMES: names, KEYS: {"type": "keyword", "ignore_above": LONGEST_KEY}}


def fields_of(page: Document) -> dict[str, Any]:
    own = ClusterRecords.fields(page, PAGES, documents.indexed_text(page))
    names = " ".join((page.title, *page.redirects))
    keys = list(keys_of(page.title, page.redirects))
    return own | {NAMES: names, KEYS: keys, TITLE: page.title, REDIRECTS: list(page.redirects)}


class ClusterDocuments(ClusterContent):
    """An index of a cluster in the place of a `DocumentIndex`. It has no `folder` and no `manifests`."""

    manifests = {}
    components = frozenset(documents.COMPONENTS)

    @functools.cached_property
    def pages(self) -> ClusterPages:
        return ClusterPages(self.bm25)

    @functools.cached_property
    def titles(self) -> ClusterTitles:
        return ClusterTitles(self.bm25)


class ClusterPages(ClusterRecords[Document]):
    """The interface of `pages.PageStore`; it iterates over ids, and pages that were passed are in memory for a while."""

    def __init__(self, index: ElasticIndex):
        super().__init__(index, PAGES)

    def page(self, page_id: str) -> Document:
        """The page. Raises an error for an unknown id."""
        if (found := self.get(page_id)) is None:
            raise DataError(f"no page with id '{page_id}'", path=self.index.name)
        return found

    def title(self, page_id: str) -> str:
        return self.page(page_id).title

    def sentence(self, unit: str) -> Sentence:
        """The sentence with the id `{page}_{number}`. Raises an error for an unknown one."""
        page_id, wanted = split_sentence_id(unit)
        found = next((one for one in self.page(page_id).sentences if one.number == wanted), None)
        if found is None:
            raise DataError(f"page '{page_id}' has no sentence {wanted}", path=self.index.name)
        return found

    def __iter__(self) -> Iterator[str]:
        for page in super().__iter__():
            self._keep({page.id: page})
            yield page.id

    @property
    def titles(self) -> Iterator[str]:
        """Titles in the order of the ids."""
        return (page.title for page in super().__iter__())


class ClusterTitles(Titles):
    """Titles by their keys. The keys of a whole text are looked up in one request, and the results are kept."""

    def __init__(self, index: ElasticIndex):
        self._index = index
        self._known: dict[str, list[tuple[int, int]]] = {}
        self._documents: dict[int, tuple[str, str]] = {}  # number -> id and title

    @property
    def digest(self) -> str:
        return self._index.digest

    def __len__(self) -> int:
        return self._index.count()

    def title(self, number: int) -> str:
        return self._document(number)[1]

    def document_id(self, number: int) -> str:
        return self._document(number)[0]

    def _document(self, number: int) -> tuple[str, str]:
        if (found := self._documents.get(number)) is None:  # forgotten meanwhile
            ((hit,),) = self._index.find([{"query": {"term": {NUMBERED: number}}, "_source": [TITLE]}])
            found = hit.id, hit.source[TITLE]
        return found

    def prepare(self, texts: Iterable[str]) -> None:
        if len(self._known) >= CACHED_KEYS:
            self._known, self._documents = {}, {}
        asked = [list({key for key in keys_in(text) if key not in self._known}) for text in texts]
        self._ask([keys for keys in asked if keys])

    def _ask(self, asked: Sequence[list[str]]) -> dict[str, list[tuple[int, int]]]:
        """Looks up the keys of texts."""
        bodies = [
            {
                "query": {"bool": {"filter": [{"terms": {KEYS: keys}}]}},
                "size": DEEPEST,
                "sort": [{NUMBERED: "asc"}],
                "_source": [TITLE, REDIRECTS],
            }
            for keys in asked
        ]
        found: dict[str, list[tuple[int, int]]] = {}
        for keys, hits in zip(asked, self._index.find(bodies)):
            of_text: dict[str, list[tuple[int, int]]] = {key: [] for key in keys}
            for hit in hits:
                self._documents[hit.number] = hit.id, hit.source[TITLE]
                for key, kind in keys_of(hit.source[TITLE], hit.source[REDIRECTS]).items():
                    if key in of_text:
                        of_text[key].append((kind, hit.number))
            found |= {key: sorted(documents) for key, documents in of_text.items()}
        self._known |= found
        return found

    def _lookup(self, key: str) -> list[tuple[int, int]]:
        known = self._known.get(key)
        return self._ask([[key]])[key] if known is None else known

    def _by_words(self, claims: Sequence[str], k: int) -> list[list[tuple[str, float]]]:
        return self._index.search(claims, k, field=NAMES)
