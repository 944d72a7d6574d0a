"""The document stage: ranks documents for claims, from one index folder with BM25, titles and pages.

LisT5, section 3.1: BM25 (k1 = 0.6, b = 0.5) over title and text, alternated with a title search, keeping K distinct
documents.
"""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lisax.devices.batching import windows
from lisax.errors import LisaxError
from lisax.records import Claim, Document, Hit
from lisax.retrieval import bm25, pages, titles
from lisax.retrieval.bm25 import Bm25Index
from lisax.retrieval.bm25_builder import Bm25Builder, Numbered, Numberer
from lisax.retrieval.folder import Writing, read_components, writing
from lisax.retrieval.fusion import alternate
from lisax.retrieval.pages import PagesBuilder, PageStore, Stored
from lisax.retrieval.passages import has_passages
from lisax.retrieval.runs import ranked
from lisax.retrieval.titles import TitleIndex, TitlesBuilder
from lisax.text.languages import ENGLISH

COMPONENTS = (bm25.NAME, titles.NAME, pages.NAME)
METHODS = ("bm25", "titles", "both")
CLAIMS_AT_A_TIME = 1024

TitleSearch = Callable[[Sequence[str], int], list[list[str]]]
Bm25Search = Callable[[Sequence[str], int], list[list[tuple[str, float]]]]


def indexed_text(document: Document) -> str:
    """The text of a page for BM25: its title, then its sentences, each run of them after its headings."""
    parts = [document.title]
    for heading, sentences in itertools.groupby(document.sentences, key=lambda sentence: sentence.heading):
        parts += filter(None, (heading, *(sentence.text for sentence in sentences)))
    return " ".join(parts)


class Prepared(NamedTuple):
    """A block of pages: the terms of their texts and of their titles and redirects, the titles with their `keys_of`, and
    the pages as they are stored."""

    texts: Numbered
    names: Numbered
    titles: list[tuple[str, dict[str, int]]]
    pages: list[Stored]


def open_preparing(*, language: str = ENGLISH, analyzer: str | None = None) -> Callable[[Sequence[Document]], Prepared]:
    """A function that prepares blocks of pages for `build_index`, in another process."""
    texts, names = Numberer(language, analyzer), Numberer(language)
    return lambda block: Prepared(
        texts((page.id, indexed_text(page)) for page in block),
        names((page.id, titles.named_text(page)) for page in block),
        [(page.title, titles.keys_of(page.title, page.redirects)) for page in block],
        [pages.stored(page) for page in block],
    )


def build_index(
    documents: Iterable[Document] | Iterable[Prepared],
    out: str | os.PathLike,
    *,
    components: Sequence[str] = COMPONENTS,
    language: str = ENGLISH,
    **settings: Any,
) -> DocumentIndex:
    """Builds the named components in one pass over the documents and commits them together. `settings` are BM25's: k1, b
    and analyzer (`Bm25Builder`).

    Other components of the folder stay. An exception or a kill leaves the folder unchanged. `documents`: pages, or
    blocks of them that workers have prepared (`prepared`).
    """
    with writing(out) as state:
        _write(state, documents, components, language=language, **settings)
    return DocumentIndex.open(out)


def add_documents(documents: Iterable[Document] | Iterable[Prepared], folder: str | os.PathLike) -> DocumentIndex:
    """Adds documents with new ids to every component of the index, all or nothing; no rebuild."""
    with writing(folder) as state:
        present = [name for name in COMPONENTS if name in read_components(folder)]
        _write(state, documents, present, extend=True)
    return DocumentIndex.open(folder)


def _write(
    state: Writing,
    documents: Iterable[Document] | Iterable[Prepared],
    components: Sequence[str],
    *,
    language: str = ENGLISH,
    extend: bool = False,
    **settings: Any,
) -> None:
    if has_passages(state.components):
        raise LisaxError(f"{state.folder} is an index of passages (`lisax index mixed`): give another folder")
    texts, others = None, []
    if bm25.NAME in components:
        texts = Bm25Builder(state, language=language, extend=extend, **settings)
    if titles.NAME in components:
        others.append(TitlesBuilder(state, language=language, extend=extend))
    if pages.NAME in components:
        others.append(PagesBuilder(state, extend=extend))
    for document in documents:
        is_prepared = isinstance(document, Prepared)
        if texts is not None and is_prepared:
            texts.add_block(document.texts)
        elif texts is not None:
            texts.add(document.id, indexed_text(document))
        for builder in others:
            (builder.add_block if is_prepared else builder.add)(document)
    changed: dict[str, dict] = {} if texts is None else {bm25.NAME: texts.finish()}
    for builder in others:
        changed |= builder.finish()
    state.commit(changed)


class DocumentIndex:
    """An index folder; its components are opened on first use."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.manifests = read_components(folder)
        self.components = frozenset(self.manifests)

    @classmethod
    def open(cls, folder: str | os.PathLike) -> DocumentIndex:
        return cls(Path(folder))

    @property
    def digest(self) -> str:
        """Changes with any component's content."""
        return "-".join(self.manifests[name]["digest"][:16] for name in sorted(self.manifests))

    @functools.cached_property
    def bm25(self) -> Bm25Index:
        return Bm25Index.open(self.folder)

    @functools.cached_property
    def titles(self) -> TitleIndex:
        return TitleIndex.open(self.folder)

    @functools.cached_property
    def pages(self) -> PageStore:
        return PageStore.open(self.folder)


def retrieve(
    index: DocumentIndex,
    claims: Iterable[Claim],
    k: int = 100,
    *,
    method: str = "both",
    search_titles: TitleSearch | None = None,
    search_bm25: Bm25Search | None = None,
) -> Iterator[Hit]:
    """Up to `k` documents per claim, in the order of the claims; streaming.

    `method`: `bm25`, `titles`, or `both` alternated with BM25 first. `search_titles(texts, k)` and `search_bm25(texts,
    k)` replace the index's own searches. Scores are BM25's for `bm25`, otherwise 1 / rank.
    """
    if method not in METHODS:
        raise LisaxError(f"expected a method of {', '.join(METHODS)}; found '{method}'")
    if k < 1:
        raise LisaxError(f"expected k >= 1, found {k}")
    if method != "bm25" and search_titles is None:
        search_titles = index.titles.search_all
    if method != "titles" and search_bm25 is None:
        search_bm25 = index.bm25.search
    for batch in windows(claims, CLAIMS_AT_A_TIME):
        texts = [claim.text for claim in batch]
        found = search_bm25(texts, k) if method != "titles" else [[] for _ in texts]
        titled = search_titles(texts, k) if method != "bm25" else [[] for _ in texts]
        for claim, scored, second in zip(batch, found, titled, strict=True):
            if method != "bm25":
                merged = alternate([document for document, _ in scored], second, k)
                scored = [(document, 1 / rank) for rank, document in enumerate(merged, start=1)]
            yield from ranked(claim.id, scored)
