"""Writes runs: retrieves for claims or questions to a TREC run, unless the same call has written it before.

`RUN.json` next to a run records its inputs.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from lisax.errors import LisaxError
from lisax.files.places import is_cluster
from lisax.files.writing import write_json
from lisax.progress import counted
from lisax.records import Claim, Hit, Question
from lisax.retrieval import documents, table_text, tables
from lisax.retrieval.cells import CellIndex
from lisax.retrieval.cluster import open_cluster, open_documents, open_passages
from lisax.retrieval.folder import read_components
from lisax.retrieval.mixed import Hits
from lisax.retrieval.multi_hop import second_pages
from lisax.retrieval.passage_store import has_passages
from lisax.retrieval.runs import by_query, write_run
from lisax.retrieval.table_store import TableStore


class Searches(Protocol):
    """A search in the place of BM25, such as `lisax.predict.dense_search.DenseSearch`."""

    digest: str  # of everything but the index that determines its hits

    def search(self, texts: Sequence[str], k: int) -> list[Hits]: ...


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
    cluster: str | None = None,
    dense: Searches | None = None,
) -> Written:
    """Retrieves `k` documents per claim from an index of documents, in a folder or at a cluster's address. `dense` searches in the place of its BM25.

    `wiki` is the api.php of a live MediaWiki that searches titles instead of the index; its answers are cached in
    `wiki_cache` (default: mediawiki.sqlite next to the run). `cluster` (URL/NAME) searches BM25 instead of the
    index."""
    components = {} if is_cluster(folder) else read_components(folder)
    if has_passages(components):
        raise LisaxError(f"{folder} is an index of passages: search it with `lisax retrieve mixed`")
    if "cells" in components and "bm25" not in components and "titles" not in components:
        raise LisaxError(f"{folder} is an index of cells: search it with `lisax retrieve cells`")
    index = open_documents(folder)
    made_from: dict[str, Any] = {
        "index": index.digest,
        "cluster": cluster,
        "claims": _sha256(claims_file),
        "k": k,
        "method": method,
        "mediawiki": wiki,
    }
    if hops == 2:
        made_from["hops"] = 2
    if dense is not None:
        made_from["vectors"] = dense.digest

    def hits() -> Iterable[Hit]:
        search_titles = None
        if wiki is not None:
            from lisax.retrieval.mediawiki import CACHE, search_pages

            search_titles = search_pages(index.titles, wiki_cache or out.with_name(CACHE), wiki)
        found = documents.retrieve(
            index,
            counted(claims, "claims"),
            k,
            method=method,
            search_titles=search_titles,
            search_bm25=dense.search if dense else None if cluster is None else open_cluster(cluster).search,
        )
        if hops == 2:
            return second_pages(index, counted(claims, "second hops"), by_query(found), k)
        return found

    return _write_once(out, made_from, hits, f"lisax-{method}")


def cells_to_file(
    folder: Path, claims_file: Path, claims: list[Claim], out: Path, *, k: int = 10, mode: str = "spans"
) -> Written:
    """Retrieves `k` tables per claim from an index of cells; `mode` as in `tables.retrieve`."""
    index = CellIndex.open(folder)

    def hits() -> Iterable[Hit]:
        lookup = TableStore.open(folder).get
        gold = tables.gold_tables(lookup, claims, claims_file) if mode == "linked" else None
        return tables.retrieve(index, counted(claims, "claims"), k, lookup=lookup, mode=mode, gold=gold)

    made_from = {"index": index.digest, "claims": _sha256(claims_file), "k": k, "mode": mode}
    return _write_once(out, made_from, hits, f"lisax-{index.strategy}-{mode}")


def tables_to_file(
    folder: Path,
    questions: list[Question],
    out: Path,
    *,
    k: int = table_text.POOL,
    cluster: str | None = None,
    dense: Searches | None = None,
) -> Written:
    """Retrieves `k` tables per question by BM25 from an index of tables, or from a cluster (URL/NAME). `dense` searches
    in the place of the index's BM25."""
    if cluster is None:
        index = table_text.open_index(folder)
        digest = index.digest
    else:
        index = open_cluster(cluster)
        digest = cluster + index.digest
    asked = hashlib.sha256(json.dumps([(question.id, question.text) for question in questions]).encode()).hexdigest()
    search = (dense or index).search
    hits = functools.partial(table_text.retrieve, search, counted(questions, "questions"), k)
    made_from = {"index": digest, "questions": asked, "k": k} | ({"vectors": dense.digest} if dense else {})
    return _write_once(out, made_from, hits, "lisax-tables")


def passages_to_file(
    folder: Path | str, claims: list[Claim], out: Path, *, k: int = 100, dense: Searches | None = None
) -> list[Hit]:
    """Retrieves `k` passages per claim by BM25 from an index of passages, in a folder or at a cluster's address, in its
    place by `dense`; returns the written hits."""
    found = (dense or open_passages(folder)).search([claim.text for claim in claims], k)
    hits = [
        Hit(claim.id, passage, rank, score)
        for claim, of_claim in zip(claims, found, strict=True)
        for rank, (passage, score) in enumerate(of_claim, start=1)
    ]
    write_run(out, hits, "lisax-mixed-bm25")
    return hits


def _write_once(out: Path, made_from: Mapping[str, Any], hits: Callable[[], Iterable[Hit]], tag: str) -> Written:
    """Writes the run atomically, then the record of its inputs."""
    note = out.with_name(out.name + ".json")
    if _is_done(out, note, made_from):
        return Written(None)
    started = time.monotonic()
    count = write_run(out, hits(), tag)
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
