"""`lisax index mixed`, `lisax index vectors`, and `lisax retrieve` from such an index. Light to import."""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lisax.corpora import open_folder, read_claims
from lisax.places import local
from lisax.records import Document, Hit, LisaxError, read_json_lines

if TYPE_CHECKING:
    from lisax.corpora.dataset import Dataset
    from lisax.retrieval.passages import Passage, Source

SOURCES = {"text": "text", "tables": "table", "graphs": "graph"}  # as they are asked for -> as ids have them


def add_mixed_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--sources",
        metavar="NAMES",
        help="with mixed: those of text, tables, graphs that are "
        "indexed, separated by commas (default: all that the corpus has)",
    )
    parser.add_argument(
        "--verbalized",
        type=local,
        metavar="FILE",
        help="with mixed: tables and graphs as sentences, "
        "written by `lisax verbalize` from the same corpus (default: they are indexed raw)",
    )
    parser.add_argument(
        "--remove",
        choices=tuple(SOURCES),
        metavar="SOURCE",
        help="with mixed: remove text, tables or graphs from the index",
    )
    parser.add_argument(
        "--retriever", type=local, metavar="DIR", help="with vectors: a dual encoder's MODEL_DIR, checkpoint or bundle"
    )
    parser.add_argument(
        "--approximate",
        action="store_true",
        help="with vectors: an inverted file of compressed vectors beside the exact ones, for millions of passages",
    )


def mixed_main(args: argparse.Namespace) -> int:
    started = time.monotonic()
    if args.kind == "vectors":
        return _vectors(args)
    if args.retriever is not None or args.approximate:
        raise LisaxError("--retriever and --approximate are for `lisax index vectors`")
    from lisax.retrieval import mixed
    from lisax.retrieval.bm25_builder import K1, B
    from lisax.retrieval.passages import Source

    if args.remove is not None:
        if args.corpus or args.add or args.sources or args.verbalized:
            raise LisaxError("--remove takes nothing but --out INDEX beside it")
        index = mixed.remove_source(Source(SOURCES[args.remove]), args.out)
    else:
        if args.corpus is None:
            raise LisaxError("`lisax index mixed` needs --corpus DIR, or --remove SOURCE")
        if args.add and (args.k1 is not None or args.b is not None):
            raise LisaxError("an index keeps the k1 and b that it was built with: leave --k1 and --b out with --add")
        sources = passages_of(open_folder(args.corpus), _asked(args.sources), args.verbalized)
        if args.verbalized is not None and sources.keys() <= {Source.TEXT}:
            raise LisaxError(
                "--verbalized is of tables and graphs, and "
                + ("--sources has text alone" if args.sources else f"{args.corpus} has none")
            )
        form = "raw" if args.verbalized is None else "verbalized"
        if args.add:
            index = mixed.add_sources(sources, args.out, form=form)
        else:
            index = mixed.build_index(
                sources, args.out, form=form, k1=K1 if args.k1 is None else args.k1, b=B if args.b is None else args.b
            )
    held = ", ".join(
        f"{found['passages']:,} of {source} ({found['form']})"
        if found["form"] != source
        else f"{found['passages']:,} of {source}"
        for source, found in index.sources.items()
    )
    print(f"{args.out}: {len(index):,} passages: {held}; {time.monotonic() - started:.1f} s")
    return 0


def passages_of(
    corpus: Dataset,
    asked: Iterable[str] | None = None,
    verbalized: Path | None = None,
    keep: Callable[[Document], bool] = lambda page: True,
    if_there: bool = False,
) -> Mapping[Source, Iterator[Passage]]:
    """The corpus's passages by source, streamed; `asked` are keys of `SOURCES`, None (or `if_there`) for those of them
    that it has. Text is that of the pages to `keep`."""
    from lisax.cli.retrieval import counted
    from lisax.retrieval import passages
    from lisax.retrieval.passages import Source

    def told(
        of_raw: Callable[[Any], Iterator[Passage]], of_verbalized: Callable[[Any, Any], Iterator[Passage]]
    ) -> Callable[[Any], Iterator[Passage]]:
        if verbalized is None:
            return of_raw
        texts = passages.texts_in_order(read_json_lines(verbalized), verbalized)
        return lambda record: of_verbalized(record, texts)

    made = {
        "text": (corpus.documents, lambda: lambda page: passages.of_document(page) if keep(page) else ()),
        "tables": (corpus.tables, lambda: told(passages.of_table, passages.of_verbalized_table)),
        "graphs": (corpus.graphs, lambda: told(passages.of_graph, passages.of_verbalized_graph)),
    }
    found = {}
    for name in SOURCES if asked is None else asked:
        read, written = made[name]
        records = iter(read())
        if asked is None or if_there:
            # Read on from the first record: to begin again may cost a pass of its own, as over Wikidata's labels.
            first = list(itertools.islice(records, 1))
            if not first:
                continue
            records = itertools.chain(first, records)
        found[Source(SOURCES[name])] = counted(
            itertools.chain.from_iterable(map(written(), records)), f"passages of {name}"
        )
    return found


def _asked(names: str | None) -> list[str] | None:
    if names is None:
        return None
    asked = [name for name in SOURCES if name in names.split(",")]
    if unknown := set(names.split(",")) - set(SOURCES):
        raise LisaxError(f"--sources: expected some of {', '.join(SOURCES)}, found '{min(unknown)}'")
    return asked


def _vectors(args: argparse.Namespace) -> int:
    from lisax.retrieval.dense import approximate, encode_index

    if args.retriever is None:
        raise LisaxError("`lisax index vectors` needs --retriever DIR")
    if args.corpus or args.add or args.remove or args.sources or args.verbalized:
        raise LisaxError("`lisax index vectors` takes --out INDEX, --retriever and --approximate only")
    from lisax.predict.retriever import Retriever

    started = time.monotonic()
    count = encode_index(args.out, Retriever.open(args.retriever))
    if args.approximate:
        approximate(args.out)
    print(f"{args.out}: {count:,} vectors, {time.monotonic() - started:.1f} s")
    return 0


def retrieve_passages(args: argparse.Namespace) -> int:
    """Writes a run of passages for claims by BM25; their ids say which source each is of."""
    from collections import Counter

    from lisax.retrieval.mixed import MixedIndex
    from lisax.retrieval.passages import source_of
    from lisax.retrieval.runs import write_run

    if args.method not in (None, "bm25") or args.mode or args.mediawiki is not None or args.cluster or args.hops != 1:
        raise LisaxError(
            f"{args.index} is an index of passages, which `lisax retrieve` searches by BM25: leave "
            "--method, --mode, --mediawiki, --cluster and --hops out (`lisax answer` searches vectors "
            "too)"
        )
    claims, index = list(read_claims(args.claims)), MixedIndex.open(args.index)
    found = index.search([claim.text for claim in claims], 100 if args.k is None else args.k)
    hits = [
        Hit(claim.id, passage, rank, score)
        for claim, of_claim in zip(claims, found, strict=True)
        for rank, (passage, score) in enumerate(of_claim, start=1)
    ]
    write_run(args.out, hits, "lisax-mixed-bm25")
    counts = Counter(source_of(hit.id) for hit in hits)
    print(
        f"{args.out}: {len(hits):,} passages for {len(claims):,} claims: "
        + ", ".join(f"{count:,} of {source}" for source, count in sorted(counts.items()))
    )
    return 0
