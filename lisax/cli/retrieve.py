"""Retrieve documents, tables or passages for claims or questions, as a TREC run.

lisax retrieve documents --index INDEX --claims claims.jsonl --out documents.trec
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import click

from lisax.cli.verbs import AtWorkers, Count, Indexed, Local, Option, SkipBad, Target
from lisax.files.places import is_cluster

if TYPE_CHECKING:
    from lisax.retrieval.run_files import OpensSearch, Written

Out = Annotated[Target, Option("TREC run to write; kept if the same command has finished it.", "RUN")]
Claims = Annotated[Local, Option("Claims in any layout that `lisax data check` reads.", "FILE")]
Weight = Annotated[
    float | None,
    click.FloatRange(min=0),
    Option("Weight of vectors against BM25, if the index has them; 0: only BM25.", "X", "the index's own, or 1.5"),
]


def documents(
    *,
    index: Annotated[
        Indexed, Option("An index of `lisax index documents`, or the address of one in a cluster.", "INDEX")
    ],
    claims: Claims,
    skip_bad: SkipBad = False,
    out: Out,
    k: Annotated[Count, Option("Documents retrieved per claim.")] = 100,
    method: Annotated[Literal["bm25", "titles", "both"], Option("BM25, title search, or both in turn.")] = "both",
    hops: Annotated[
        Literal["1", "2"],
        Option("2: also search pages that sentences of the first pages name, with claim and sentence as the query."),
    ] = "1",
    mediawiki: Annotated[
        str | None,
        Option(
            "Search a live MediaWiki for each claim's entities, in the place of the index's titles: the URL of its api.php, "
            "or `wikipedia` for the English Wikipedia. LISAX_CONTACT must hold your e-mail address or URL.",
            "URL",
        ),
    ] = None,
    cache: Annotated[
        Local | None, Option("Cache file for the wiki's answers.", "FILE", "mediawiki.sqlite next to the run")
    ] = None,
    weight: Weight = None,
    workers: AtWorkers = None,
) -> None:
    """Retrieve pages for claims by BM25 (with vectors, where the index has them) and titles; prints recall if the
    claims have evidence.

    lisax retrieve documents --index INDEX --claims claims.jsonl --out documents.trec
    """
    from lisax.corpora import read_claims
    from lisax.retrieval.mediawiki import WIKIPEDIA
    from lisax.retrieval.recall import CUTOFFS, recall
    from lisax.retrieval.run_files import documents_to_file

    if mediawiki is not None and method == "bm25":
        raise click.UsageError("--mediawiki searches titles: use it with --method titles or both")
    if mediawiki is not None and workers is not None:
        raise click.UsageError("--mediawiki asks a live wiki, one request at a time: leave --workers out")
    asked = list(read_claims(claims, skip_bad=skip_bad))
    written = documents_to_file(
        index,
        claims,
        asked,
        out,
        k=k,
        method=method,
        hops=int(hops),
        wiki=WIKIPEDIA if mediawiki == "wikipedia" else mediawiki,
        wiki_cache=cache,
        dense=None if method == "titles" else _opens(index, weight, "sentences"),
        workers=workers,
    )
    _tell(out, written, f"documents for {len(asked):,} claims")
    cutoffs = _up_to(k, CUTOFFS)
    figures = recall(asked, _ids(out), cutoffs)
    if figures["claims"]:
        print(f"recall over {figures['claims']:,} claims with evidence\n{'k':>8}  any gold page  complete set")
        for cutoff in cutoffs:
            any_page, complete = figures[f"recall_any@{cutoff}"], figures[f"recall_complete@{cutoff}"]
            print(f"{cutoff:>8}  {any_page:>13.4f}  {complete:>12.4f}")


def cells(
    *,
    index: Annotated[
        Indexed, Option("An index of `lisax index cells`, or the address of one of tables in a cluster.", "INDEX")
    ],
    claims: Claims,
    skip_bad: SkipBad = False,
    out: Out,
    k: Annotated[Count, Option("Tables retrieved per claim.")] = 10,
    mode: Annotated[
        Literal["spans", "linked"],
        Option("Take the claim's entities from only the claim, or from TabFact's linking against the gold table."),
    ] = "spans",
    workers: AtWorkers = None,
) -> None:
    """Retrieve tables for claims by their cells; prints hits if the claims have evidence.

    lisax retrieve cells --index INDEX --claims claims.jsonl --out tables.trec
    """
    from lisax.corpora import read_claims
    from lisax.predict.building import cells_of
    from lisax.retrieval.cluster import tables_at
    from lisax.retrieval.run_files import cells_to_file
    from lisax.retrieval.tables import CUTOFFS, hit_rates

    asked = list(read_claims(claims, skip_bad=skip_bad))
    index = cells_of(tables_at(index)) if is_cluster(index) else index
    written = cells_to_file(index, claims, asked, out, k=k, mode=mode, workers=workers)
    _tell(out, written, f"tables for {len(asked):,} claims")
    cutoffs = _up_to(k, CUTOFFS)
    _print_hits(hit_rates(asked, _ids(out), cutoffs), cutoffs, "claims")


def tables(
    *,
    index: Annotated[Indexed, Option("An index of `lisax index tables`, or the address of one in a cluster.", "INDEX")],
    questions: Annotated[Local, Option("A file questions.*.jsonl, or a folder with questions in any layout.", "PATH")],
    split: Annotated[str | None, Option("Split of a folder's questions.", default="dev")] = None,
    out: Out,
    k: Annotated[Count, Option("Tables retrieved per question.")] = 300,
    weight: Weight = None,
    workers: AtWorkers = None,
) -> None:
    """Retrieve tables for questions by BM25, with vectors where the index has them; prints hits if the questions have
    answer cells.

    lisax retrieve tables --index INDEX --questions questions.dev.jsonl --out tables.trec
    """
    from lisax.corpora import read_question_split
    from lisax.metrics.tables import hits
    from lisax.retrieval.cluster import open_tables
    from lisax.retrieval.run_files import tables_to_file
    from lisax.retrieval.runs import read_run
    from lisax.retrieval.table_text import as_claims

    asked = read_question_split(questions, split)
    written = tables_to_file(index, asked, out, k=k, dense=_opens(index, weight, "tables"), workers=workers)
    _tell(out, written, f"tables for {len(asked):,} questions")
    judged = as_claims(asked, open_tables(index).__contains__)
    if any(claim.gold_ids for claim in judged.values()):
        cutoffs = _up_to(k, (1, 5, 10, 20, 50, 100))
        _print_hits(hits(judged, read_run(out), cutoffs), cutoffs, "questions")


def mixed(
    *,
    index: Annotated[Indexed, Option("An index of `lisax index mixed`, or the address of one in a cluster.", "INDEX")],
    claims: Claims,
    skip_bad: SkipBad = False,
    out: Annotated[Target, Option("TREC run to write.", "RUN")],
    k: Annotated[Count, Option("Passages retrieved per claim.")] = 100,
    weight: Weight = None,
    workers: AtWorkers = None,
) -> None:
    """Retrieve passages of text, tables and graphs for claims by BM25, with vectors where the index has them; the ids
    name their source.

    lisax retrieve mixed --index INDEX --claims claims.jsonl --out passages.trec
    """
    from collections import Counter

    from lisax.corpora import read_claims
    from lisax.retrieval.passages import source_of
    from lisax.retrieval.run_files import passages_to_file

    asked = list(read_claims(claims, skip_bad=skip_bad))
    hits = passages_to_file(index, asked, out, k=k, dense=_opens(index, weight), workers=workers)
    counts = sorted(Counter(source_of(hit.id) for hit in hits).items())
    print(
        f"{out}: {len(hits):,} passages for {len(asked):,} claims: "
        + ", ".join(f"{count:,} of {source}" for source, count in counts)
    )


def weight(
    *,
    index: Annotated[Local, Option("An index with vectors, of `lisax index documents` or `tables`.", "INDEX")],
    claims: Annotated[Local | None, Option("Claims with evidence, for an index of documents.", "FILE")] = None,
    skip_bad: SkipBad = False,
    questions: Annotated[
        Local | None,
        Option("Questions with answer cells, for an index of tables: questions.*.jsonl, or a folder.", "PATH"),
    ] = None,
    split: Annotated[str | None, Option("Split of a folder's questions.", default="dev")] = None,
    keep: Annotated[bool, Option("Search this index with the best weight from now on.")] = False,
) -> None:
    """Fit the weight of vectors against BM25 to claims or questions whose evidence is known, for `--weight`; prints the
    mean average precision of pages or tables for each weight.

    lisax retrieve weight --index INDEX --questions questions.train.jsonl --keep
    """
    from lisax.corpora import read_claims, read_question_split
    from lisax.predict.dense_search import DenseSearch
    from lisax.retrieval.dense import keep_weight
    from lisax.retrieval.fusion import WEIGHT, fit
    from lisax.retrieval.recall import gold_pages
    from lisax.retrieval.table_store import TableStore
    from lisax.retrieval.table_text import gold_tables

    if (claims is None) == (questions is None):
        raise click.UsageError("give one of --claims FILE and --questions PATH")
    if claims is not None:
        judged = {claim.text: frozenset().union(*gold_pages(claim)) for claim in read_claims(claims, skip_bad=skip_bad)}
    else:
        is_table = TableStore.open(index).__contains__
        judged = {one.text: frozenset(gold_tables(one, is_table)) for one in read_question_split(questions, split)}
    texts = "tables" if claims is None else "sentences"
    dense = DenseSearch.open(index, WEIGHT, texts)
    if dense is None:
        raise click.UsageError(f"{index} has no vectors to weigh: make them with `lisax index vectors`")
    judged = {text: gold for text, gold in judged.items() if gold}
    best, precisions = fit(dense.judged(list(judged), list(judged.values())))
    print(f"{len(judged):,} queries with known evidence\n  weight     MAP")
    for tried, precision in precisions.items():
        print(f"{tried:>8.2f}  {precision:.4f}{'  *' if tried == best else ''}")
    if keep:
        keep_weight(index, texts, best, len(judged))
        print(f"{index} is searched with the weight {best:g} from now on")


def _opens(index: Path | str, weight: float | None, only: str | None = None) -> OpensSearch:
    """A function that opens the search of an index by BM25 and vectors, which is None without vectors."""
    from lisax.predict.dense_search import DenseSearch

    return functools.partial(DenseSearch.open, index, weight, only)


def _up_to(k: int, cutoffs: Sequence[int]) -> list[int]:
    return [cutoff for cutoff in cutoffs if cutoff < k] + [k]


def _ids(run: Path) -> dict[str, list[str]]:
    from lisax.retrieval.runs import read_run

    return {query: [hit.id for hit in hits] for query, hits in read_run(run).items()}


def _tell(out: Path, written: Written, what: str) -> None:
    print(f"{out}: " + ("done before" if written.hits is None else f"{written.hits:,} {what}, {written.seconds:.1f} s"))


def _print_hits(figures: Mapping[str, float], cutoffs: Sequence[int], what: str) -> None:
    if figures["claims"]:
        print(f"gold tables of {figures['claims']:,} {what}\n{'k':>8}  among the first k")
        for cutoff in cutoffs:
            print(f"{cutoff:>8}  {figures[f'hits@{cutoff}']:>17.4f}")


VERBS = (documents, cells, tables, mixed, weight)
