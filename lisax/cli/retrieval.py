"""`lisax index documents|bm25|titles|cells|tables|mixed|vectors|check` and `lisax retrieve`."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from lisax.cli.mixed import add_mixed_arguments, mixed_main, retrieve_passages
from lisax.corpora import open_folder, read_claims
from lisax.places import local
from lisax.records import LisaxError, write_json

if TYPE_CHECKING:
    from lisax.retrieval.documents import DocumentIndex, TitleSearch

Item = TypeVar("Item")
PROGRESS_SECONDS = 5.0
# cells.Strategy, the default first: named here so that `lisax --help` imports no numpy.
STRATEGIES = ("entity-char-2-3", "entity-char-1-2-3", "entity-word", "entity-exact", "query-char-2-3", "query-word")


def add_index_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "kind",
        choices=("documents", "bm25", "titles", "cells", "tables", "mixed", "vectors", "check"),
        help="documents: BM25, titles and pages in one pass; cells: the cells of tables; tables: BM25 "
        "over whole tables as text; mixed: passages of text, tables and graphs; vectors: those of a "
        "mixed index by a retriever; check: compare files with checksums",
    )
    parser.add_argument(
        "--corpus", type=local, metavar="DIR", help="folder in any layout that `lisax data check` reads"
    )
    parser.add_argument("--out", type=local, metavar="INDEX", help="the index folder")
    parser.add_argument(
        "--cluster",
        metavar="URL/NAME",
        help="with bm25 or tables: fill the index NAME of an "
        "Elasticsearch cluster instead, for example http://localhost:9200/wiki, or of an OpenSearch "
        "one, opensearch+http://…; names and passwords: LISAX_CLUSTER_USER, _PASSWORD, _API_KEY and "
        "_CA in the environment",
    )
    parser.add_argument("--k1", type=float, help="BM25's k1 (default: 0.6, of tables 1.2)")
    parser.add_argument("--b", type=float, help="BM25's b (default: 0.5, of tables 0.75)")
    parser.add_argument(
        "--strategy",
        choices=STRATEGIES,
        help=f"with cells: what is matched and by which features (default: {STRATEGIES[0]})",
    )
    parser.add_argument(
        "--add", action="store_true", help="add the corpus's documents, tables or, with mixed, sources to the index"
    )
    add_mixed_arguments(parser)


def index_main(args: argparse.Namespace) -> int:
    if (args.out is None) == (args.cluster is None):
        raise LisaxError("say where the index is to be: --out INDEX or --cluster URL/NAME")
    if args.cluster is not None:
        from lisax.cli.cluster import fill_cluster

        return fill_cluster(args)
    if args.kind == "check":
        from lisax.retrieval.folder import check

        print(f"{args.out}: {check(args.out)} files, all as they were written")
        return 0
    if args.kind in ("mixed", "vectors"):
        return mixed_main(args)
    if args.sources or args.remove or args.verbalized or args.retriever:
        raise LisaxError("--sources, --remove, --verbalized and --retriever are for `lisax index mixed` and `vectors`")
    if args.corpus is None:
        raise LisaxError(f"`lisax index {args.kind}` needs --corpus DIR")
    if args.add and (args.k1 is not None or args.b is not None):
        raise LisaxError("an index keeps the k1 and b that it was built with: leave --k1 and --b out with --add")
    if args.kind == "cells":
        return _index_cells(args)
    if args.kind == "tables":
        from lisax.cli.tables import index_tables

        return index_tables(args)
    if args.strategy is not None:
        raise LisaxError("--strategy is how cells are matched: use it with `lisax index cells`")
    if args.add and args.kind != "documents":
        raise LisaxError("documents are added to all that an index has: `lisax index documents --add`")
    from lisax.retrieval.bm25_builder import K1, B
    from lisax.retrieval.documents import COMPONENTS, add_documents, build_index

    documents = counted(open_folder(args.corpus).documents(), "documents")
    started = time.monotonic()
    if args.add:
        index = add_documents(documents, args.out)
    else:
        index = build_index(
            documents,
            args.out,
            k1=K1 if args.k1 is None else args.k1,
            b=B if args.b is None else args.b,
            components=COMPONENTS if args.kind == "documents" else (args.kind,),
        )
    part = index.titles if args.kind == "titles" else index.bm25
    print(f"{args.out}: {len(part):,} documents, {time.monotonic() - started:.1f} s")
    return 0


def _index_cells(args: argparse.Namespace) -> int:
    from lisax.retrieval.cells import Strategy
    from lisax.retrieval.tables import build_index

    if args.k1 is not None or args.b is not None:
        raise LisaxError("--k1 and --b are BM25's: leave them out with `lisax index cells`")
    if args.add and args.strategy is not None:
        raise LisaxError("an index keeps the strategy that it was built with: leave --strategy out with --add")
    tables = counted(open_folder(args.corpus).tables(), "tables")
    started = time.monotonic()
    index = build_index(tables, args.out, Strategy(args.strategy or STRATEGIES[0]), add=args.add)
    print(f"{args.out}: {len(index):,} tables, {index.settings['cells']:,} cells, {time.monotonic() - started:.1f} s")
    return 0


def add_retrieve_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--index", type=local, required=True, metavar="INDEX")
    asked = parser.add_mutually_exclusive_group(required=True)
    asked.add_argument(
        "--claims", type=local, metavar="FILE", help="claims in any layout that `lisax data check` reads"
    )
    asked.add_argument(
        "--questions",
        type=local,
        metavar="PATH",
        help="with an index of tables: a file questions.*.jsonl, or a folder of any layout with questions, and --split",
    )
    parser.add_argument("--split", help="with a folder of --questions: its split (default: dev)")
    parser.add_argument("--out", type=local, required=True, metavar="RUN", help="TREC run to write")
    parser.add_argument(
        "--k",
        type=int,
        help="documents a claim (default: 100), tables a claim (default: 10), tables a question (default: 300)",
    )
    parser.add_argument(
        "--method", choices=("bm25", "titles", "both"), help="both: BM25 and title search in turn (default)"
    )
    parser.add_argument(
        "--hops",
        type=int,
        choices=(1, 2),
        default=1,
        help="2: also pages that sentences of the first "
        "pages name, found with claim and sentence as a second query (default: 1)",
    )
    parser.add_argument(
        "--mode",
        choices=("linked", "spans"),
        help="with an index of cells: entities of claims from "
        "the claim alone (spans, default), or by TabFact's linking against the gold table",
    )
    parser.add_argument(
        "--mediawiki",
        nargs="?",
        const="",
        metavar="URL",
        help="search titles with a live MediaWiki (default: English Wikipedia's api.php)",
    )
    parser.add_argument(
        "--cluster",
        metavar="URL/NAME",
        help="search BM25 in the index NAME of an Elasticsearch (or "
        "opensearch+http://…) cluster, that `lisax index bm25|tables --cluster` filled",
    )
    parser.add_argument(
        "--cache", type=local, metavar="FILE", help="the wiki's answers (default: mediawiki.sqlite beside the run)"
    )


def retrieve_main(args: argparse.Namespace) -> int:
    """Writes the run atomically. A run that the same command has finished is left alone."""
    from lisax.retrieval.documents import DocumentIndex, retrieve
    from lisax.retrieval.folder import read_components
    from lisax.retrieval.passage_store import has_passages
    from lisax.retrieval.recall import gold_pages, recall
    from lisax.retrieval.runs import read_run, write_run

    if args.mediawiki is not None and args.method == "bm25":
        raise LisaxError("--mediawiki searches titles: use it with --method titles or both")
    if args.questions is not None:
        from lisax.cli.tables import retrieve_tables

        return retrieve_tables(args)
    if args.split is not None:
        raise LisaxError("--split is one of --questions' folder")
    components = read_components(args.index)
    if "cells" in components:
        return _retrieve_tables(args)
    if has_passages(components):
        return retrieve_passages(args)
    if args.mode is not None:
        raise LisaxError(f"{args.index} is no index of cells: leave --mode out")
    args.k, args.method = 100 if args.k is None else args.k, args.method or "both"
    index = DocumentIndex.open(args.index)
    claims = list(read_claims(args.claims))
    if args.cluster is not None and args.method == "titles":
        raise LisaxError("--cluster searches BM25: use it with --method bm25 or both")
    made_with = {
        "index": index.digest,
        "cluster": args.cluster,
        "claims": sha256(args.claims),
        "k": args.k,
        "method": args.method,
        "mediawiki": args.mediawiki,
    }
    if args.hops == 2:
        made_with["hops"] = 2
    note = args.out.with_name(args.out.name + ".json")
    if is_done(args.out, note, made_with):
        print(f"{args.out}: done before")
    else:
        search_titles = None if args.mediawiki is None else wiki_search(args, index)
        search_bm25 = None
        if args.cluster is not None:
            from lisax.cli.cluster import open_cluster

            search_bm25 = open_cluster(args.cluster).search
        hits = retrieve(
            index,
            counted(claims, "claims"),
            args.k,
            method=args.method,
            search_titles=search_titles,
            search_bm25=search_bm25,
        )
        started = time.monotonic()
        if args.hops == 2:
            from lisax.retrieval.multi_hop import second_pages
            from lisax.retrieval.runs import by_query

            hits = second_pages(index, counted(claims, "second hops"), by_query(hits), args.k)
        count = write_run(args.out, hits, f"lisax-{args.method}")
        print(f"{args.out}: {count:,} documents for {len(claims):,} claims, {time.monotonic() - started:.1f} s")
        write_json(note, made_with | {"run": sha256(args.out)})
    if any(gold_pages(claim) for claim in claims):
        run = read_run(args.out)
        cutoffs = [k for k in (1, 5, 10, 20, 50, 100, 200, 500, 1000) if k < args.k] + [args.k]
        figures = recall(claims, {query: [hit.id for hit in hits] for query, hits in run.items()}, cutoffs)
        print(f"recall over {figures['claims']:,} claims with evidence\n{'k':>8}  any gold page  complete set")
        for k in cutoffs:
            print(f"{k:>8}  {figures[f'recall_any@{k}']:>13.4f}  {figures[f'recall_complete@{k}']:>12.4f}")
    return 0


def _retrieve_tables(args: argparse.Namespace) -> int:
    from lisax.retrieval.cells import CellIndex
    from lisax.retrieval.runs import read_run, write_run
    from lisax.retrieval.table_store import TableStore
    from lisax.retrieval.tables import CUTOFFS, gold_tables, hit_rates, retrieve

    if args.method is not None or args.mediawiki is not None or args.cluster is not None or args.hops != 1:
        raise LisaxError(
            "--method, --mediawiki, --cluster and --hops search documents: leave them out with an index of cells"
        )
    mode, k = args.mode or "spans", 10 if args.k is None else args.k
    index = CellIndex.open(args.index)
    claims = list(read_claims(args.claims))
    made_with = {"index": index.digest, "claims": sha256(args.claims), "k": k, "mode": mode}
    note = args.out.with_name(args.out.name + ".json")
    if is_done(args.out, note, made_with):
        print(f"{args.out}: done before")
    else:
        gold = gold_tables(TableStore.open(args.index).get, claims, args.claims) if mode == "linked" else None
        started = time.monotonic()
        count = write_run(
            args.out,
            retrieve(index, counted(claims, "claims"), k, mode=mode, gold=gold),
            f"lisax-{index.strategy}-{mode}",
        )
        print(f"{args.out}: {count:,} tables for {len(claims):,} claims, {time.monotonic() - started:.1f} s")
        write_json(note, made_with | {"run": sha256(args.out)})
    cutoffs = [cutoff for cutoff in CUTOFFS if cutoff < k] + [k]
    run = {query: [hit.id for hit in hits] for query, hits in read_run(args.out).items()}
    if (figures := hit_rates(claims, run, cutoffs))["claims"]:
        print(f"gold tables of {figures['claims']:,} claims\n{'k':>8}  among the first k")
        for cutoff in cutoffs:
            print(f"{cutoff:>8}  {figures[f'hits@{cutoff}']:>17.4f}")
    return 0


def wiki_search(args: argparse.Namespace, index: DocumentIndex) -> TitleSearch:
    """A live wiki's answers as ids of the index; pages that the index has not are left out."""
    from lisax.retrieval.mediawiki import WIKIPEDIA, MediaWiki

    wiki = MediaWiki(args.cache or args.out.with_name("mediawiki.sqlite"), args.mediawiki or WIKIPEDIA)

    def search(texts, k):
        found = [[index.titles.page_with_title(title) for title in wiki.search(text, k)] for text in texts]
        return [[page for page in pages if page is not None] for pages in found]

    return search


def counted(items: Iterable[Item], what: str) -> Iterator[Item]:
    """The items, with a progress line to the standard error output now and then."""
    started = last = time.monotonic()
    count = 0
    for count, item in enumerate(items, start=1):
        yield item
        if count % 256 == 0 and (now := time.monotonic()) - last >= PROGRESS_SECONDS:
            last = now
            print(f"  {count:,} {what}, {count / (now - started):,.0f}/s", file=sys.stderr, flush=True)


def is_done(run: Path, note: Path, made_with: dict) -> bool:
    try:
        return json.loads(note.read_bytes()) == made_with | {"run": sha256(run)}
    except (OSError, ValueError):
        return False


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
