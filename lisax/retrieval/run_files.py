"""Writes runs: retrieves for claims or questions to a TREC run, unless the same call has written it before.

`RUN.json` next to a run records its inputs.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import itertools
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from lisax.devices.workers import Workers, grouped
from lisax.errors import LisaxError
from lisax.files.places import is_cluster
from lisax.files.writing import write_json
from lisax.records import Claim, Hit, Question
from lisax.retrieval import documents, table_text, tables
from lisax.retrieval.bm25 import Bm25Index
from lisax.retrieval.cells import CellIndex
from lisax.retrieval.cluster import open_documents, open_passages, open_tables
from lisax.retrieval.elastic import ElasticIndex
from lisax.retrieval.folder import read_components
from lisax.retrieval.mixed import Hits
from lisax.retrieval.multi_hop import second_pages
from lisax.retrieval.passages import has_passages
from lisax.retrieval.runs import by_query, ranked, write_run
from lisax.retrieval.table_store import TableStore


class Searches(Protocol):
    """A search in the place of BM25, such as `lisax.predict.dense_search.DenseSearch`."""

    digest: str  # of everything but the index that determines its hits

    def search(self, texts: Sequence[str], k: int) -> list[Hits]: ...


OpensSearch = Callable[[], Searches | None]


@dataclasses.dataclass(frozen=True)
class Written:
    """`hits` were found in `seconds`; None if the run already existed."""

    hits: int | None
    seconds: float = 0.0


def documents_to_file(
    folder: Path | str,
    claims_file: Path,
    claims: list[Claim],
    out: Path,
    *,
    k: int = 100,
    method: str = "both",
    hops: int = 1,
    wiki: str | None = None,
    wiki_cache: Path | None = None,
    dense: OpensSearch | None = None,
    workers: Workers | None = None,
) -> Written:
    """Retrieves `k` documents per claim from an index of documents, in a folder or at a cluster's address. `dense` opens a
    search that replaces its BM25.

    `wiki` is the api.php of a live MediaWiki that searches titles instead of the index; its answers are cached in
    `wiki_cache` (default: mediawiki.sqlite next to the run). `workers`: search at them (`devices.workers`)."""
    components = {} if is_cluster(folder) else read_components(folder)
    if has_passages(components):
        raise LisaxError(f"{folder} is an index of passages: search it with `lisax retrieve mixed`")
    if "cells" in components and "bm25" not in components and "titles" not in components:
        raise LisaxError(f"{folder} is an index of cells: search it with `lisax retrieve cells`")
    made_from: dict[str, Any] = {
        "index": open_documents(folder).digest,
        "claims": _sha256(claims_file),
        "k": k,
        "method": method,
        "mediawiki": wiki,
    }
    if hops == 2:
        made_from["hops"] = 2
    if searched := dense and dense():
        made_from["vectors"] = searched.digest
    if wiki is not None:
        from lisax.retrieval.mediawiki import CACHE

        wiki_cache = wiki_cache or out.with_name(CACHE)
    opens = functools.partial(open_search, folder, k, method, hops, wiki, wiki_cache, dense)
    hits = functools.partial(grouped, opens, claims, documents.CLAIMS_AT_A_TIME, workers)
    return _write_once(out, made_from, hits, f"lisax-{method}")


def open_search(
    folder: Path | str,
    k: int,
    method: str,
    hops: int,
    wiki: str | None = None,
    wiki_cache: Path | None = None,
    dense: OpensSearch | None = None,
) -> Callable[[Sequence[Claim]], list[Hit]]:
    """The work on a group of claims: the documents of each, see `documents_to_file`."""
    index, search_titles, searched = open_documents(folder), None, dense and dense()
    if wiki is not None:
        from lisax.retrieval.mediawiki import search_pages

        search_titles = search_pages(index.titles, wiki_cache, wiki)
    search_bm25 = searched and searched.search

    def hits_of(claims: Sequence[Claim]) -> list[Hit]:
        found = documents.retrieve(
            index, claims, k, method=method, search_titles=search_titles, search_bm25=search_bm25
        )
        return list(found if hops == 1 else second_pages(index, claims, by_query(found), k))

    return hits_of


def cells_to_file(
    folder: Path,
    claims_file: Path,
    claims: list[Claim],
    out: Path,
    *,
    k: int = 10,
    mode: str = "spans",
    workers: Workers | None = None,
) -> Written:
    """Retrieves `k` tables per claim from an index of cells; `mode` as in `tables.retrieve`."""
    index = CellIndex.open(folder)
    if mode == "linked":
        tables.gold_tables(TableStore.open(folder).get, claims, claims_file)
    hits = functools.partial(found_by_cells, folder, folder, claims, k, mode, workers)
    made_from = {"index": index.digest, "claims": _sha256(claims_file), "k": k, "mode": mode}
    return _write_once(out, made_from, hits, f"lisax-{index.strategy}-{mode}")


def found_by_cells(
    folder: Path, stored: Path, claims: Sequence[Claim], k: int, mode: str, workers: Workers | None
) -> Iterator[Sequence[Hit]]:
    """The hits of `k` tables for each group of claims, from an index of cells; `stored`: the folder of the tables."""
    # Each search reads the whole index, and its size changes no score: in one process the largest are fastest.
    at_a_time = tables.CLAIMS_AT_A_TIME if workers is None else documents.CLAIMS_AT_A_TIME
    return grouped(functools.partial(_open_cells, folder, stored, k, mode), claims, at_a_time, workers)


def _open_cells(folder: Path, stored: Path, k: int, mode: str) -> Callable[[Sequence[Claim]], list[Hit]]:
    index, lookup = CellIndex.open(folder), TableStore.open(stored).get

    def hits_of(claims: Sequence[Claim]) -> list[Hit]:
        gold = tables.gold_tables(lookup, claims) if mode == "linked" else None
        return list(tables.retrieve(index, claims, k, lookup=lookup, mode=mode, gold=gold))

    return hits_of


def tables_to_file(
    folder: Path | str,
    questions: list[Question],
    out: Path,
    *,
    k: int = table_text.POOL,
    dense: OpensSearch | None = None,
    workers: Workers | None = None,
) -> Written:
    """Retrieves `k` tables per question by BM25 from an index of tables, in a folder or at a cluster's address. `dense`
    opens a search that replaces the index's BM25."""
    asked = hashlib.sha256(json.dumps([(question.id, question.text) for question in questions]).encode()).hexdigest()
    opens = functools.partial(open_table_search, folder, k, dense)
    hits = functools.partial(grouped, opens, questions, table_text.QUESTIONS_AT_A_TIME, workers, "questions")
    made_from = {"index": _open_texts(folder).digest, "questions": asked, "k": k}
    if searched := dense and dense():
        made_from["vectors"] = searched.digest
    return _write_once(out, made_from, hits, "lisax-tables")


def _open_texts(folder: Path | str) -> Bm25Index | ElasticIndex:
    """BM25 over whole tables."""
    return open_tables(folder).index if is_cluster(folder) else table_text.open_index(folder)


def open_table_search(
    folder: Path | str, k: int, dense: OpensSearch | None = None
) -> Callable[[Sequence[Question]], list[Hit]]:
    """The work on a group of questions: the tables of each, see `tables_to_file`."""
    index = (dense and dense()) or _open_texts(folder)
    return lambda questions: list(table_text.retrieve(index.search, questions, k))


def passages_to_file(
    folder: Path | str,
    claims: list[Claim],
    out: Path,
    *,
    k: int = 100,
    dense: OpensSearch | None = None,
    workers: Workers | None = None,
) -> list[Hit]:
    """Retrieves `k` passages per claim by BM25 from an index of passages, in a folder or at a cluster's address, or by the
    search that `dense` opens; returns the written hits."""
    opens = functools.partial(_open_passages, folder, k, dense)
    hits = list(itertools.chain.from_iterable(grouped(opens, claims, documents.CLAIMS_AT_A_TIME, workers)))
    write_run(out, hits, "lisax-mixed-bm25")
    return hits


def _open_passages(folder: Path | str, k: int, dense: OpensSearch | None) -> Callable[[Sequence[Claim]], list[Hit]]:
    words = open_passages(folder)
    index = (dense and dense()) or words

    def hits_of(claims: Sequence[Claim]) -> list[Hit]:
        found = index.search([claim.text for claim in claims], k)
        return [hit for claim, hits in zip(claims, found, strict=True) for hit in ranked(claim.id, hits)]

    return hits_of


def _write_once(
    out: Path, made_from: Mapping[str, Any], hits: Callable[[], Iterable[Sequence[Hit]]], tag: str
) -> Written:
    """Writes the run atomically, then the record of its inputs."""
    note = out.with_name(out.name + ".json")
    if _is_done(out, note, made_from):
        return Written(None)
    started = time.monotonic()
    count = write_run(out, itertools.chain.from_iterable(hits()), tag)
    seconds = time.monotonic() - started
    write_json(note, {**made_from, "run": _sha256(out)})
    return Written(count, seconds)


def _is_done(run: Path, note: Path, made_from: Mapping[str, Any]) -> bool:
    try:
        return json.loads(note.read_bytes()) == {**made_from, "run": _sha256(run)}
    except (OSError, ValueError):
        return False


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
