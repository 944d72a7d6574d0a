"""Describes for the page the content of an index: counts, examples to begin with, and questions that warm models up."""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from lisax.retrieval.cluster_client import Unreachable
from lisax.serve.answering import CLAIM, QUESTION, SEARCH, Engine
from lisax.serve.library import ServedCorpus

EXAMPLES, SEARCHED = 2, 20  # examples of a kind for each corpus, and how many pages are searched for them
COUNTED = 50_000  # passages; the content of more is not counted
OWNERS, ORDER = {"text": "page", "table": "table"}, "page table edge"
WARMED, WARMED_STRIDE = 16, 50  # titles asked about at the start, and the stride between them


def warming(engine: Engine, corpora: Iterable[ServedCorpus]) -> Iterator[Callable[[], Any]]:
    """Warm-up tasks: questions about titles of each corpus, so that programs that are compiled once per batch size
    are compiled before the first user waits for them."""
    for corpus in corpora:
        titles = _some_titles(engine, corpus)
        for kind in (kind for kind in engine.kinds(corpus) if kind != SEARCH):
            yield from (functools.partial(engine.ask, corpus, kind, f"What is {title}?") for title in titles)


def _some_titles(engine: Engine, corpus: ServedCorpus) -> list[str]:
    if corpus.has_passages:
        stores = engine.search(corpus).index.stores.values()
        titles = (passage.title for store in stores for passage in store)
    elif corpus.has_pages:
        titles = engine.sentences(corpus).index.pages.titles
    else:
        titles = (table.title or " ".join(table.header) for table in engine.tables(corpus))
    return list(itertools.islice(titles, 0, WARMED * WARMED_STRIDE, WARMED_STRIDE))


def contents(engine: Engine, corpus: ServedCorpus) -> list[tuple[int, str]]:
    """(count, kind) of a corpus's content: pages, tables, edges of graphs; passages if they are too many to count
    their content."""

    def counted() -> list[tuple[int, str]]:
        found = {}
        if corpus.has_pages:
            found["page"] = len(engine.sentences(corpus).index.pages)
        if corpus.has_cells or corpus.has_table_texts:
            found["table"] = len(engine.tables(corpus))
        if corpus.has_passages:
            for source, store in engine.search(corpus).index.stores.items():
                if len(store) > COUNTED:
                    found[f"passages of {source}"] = len(store)
                elif source == "graph":
                    found["edge"] = sum(len(passage.leading) for passage in store)
                elif OWNERS[source] not in found:
                    found[OWNERS[source]] = len({passage.id.rpartition(":")[0] for passage in store})
        return sorted(((count, what) for what, count in found.items()), key=lambda one: ORDER.find(one[1]))

    with contextlib.suppress(Unreachable):  # a cluster that is away now is counted when it answers
        return engine.once("contents", corpus, counted)
    return []


def examples(engine: Engine, corpus: ServedCorpus) -> list[tuple[str, str]]:
    """(kind, text) of a few questions and claims to begin with, made of a corpus's content: the claims are
    sentences of it."""
    with contextlib.suppress(Unreachable):
        return engine.once("examples", corpus, lambda: list(_examples(engine, corpus)))
    return []


def _examples(engine: Engine, corpus: ServedCorpus) -> Iterator[tuple[str, str]]:
    kinds = engine.kinds(corpus)
    sentences = (text for text in _some_sentences(engine, corpus) if 5 <= len(text.split()) <= 25)
    claims = list(itertools.islice(sentences, EXAMPLES))
    if CLAIM in kinds:
        yield from ((CLAIM, text) for text in claims)
    if QUESTION in kinds and (corpus.has_table_texts or corpus.has_cells):
        for table in itertools.islice(engine.tables(corpus), EXAMPLES):
            if len(table.header) > 1 and table.rows and table.rows[0][0].strip() and table.header[1].strip():
                yield QUESTION, f"What is the {table.header[1].lower()} of {table.rows[0][0]}?"
    if kinds == (SEARCH,):
        yield from ((SEARCH, title) for title in dict.fromkeys(_some_titles(engine, corpus)[:EXAMPLES]))


def _some_sentences(engine: Engine, corpus: ServedCorpus) -> Iterator[str]:
    """A sentence of each of the first pages, or passages."""
    if corpus.has_pages:
        index = engine.sentences(corpus)
        for page in map(index.page, itertools.islice(index.index.pages, SEARCHED)):
            yield from itertools.islice((one.text for one in page.sentences if one.text), 1)
    elif corpus.has_passages and (store := engine.search(corpus).index.stores.get("text")) is not None:
        for passage in itertools.islice(store, SEARCHED):
            yield engine.evidence(corpus).lookup(passage.leading[0]).text
