"""`lisax data list | get NAME | check DIR | world | wikidata | msmarco`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from lisax.places import local
from lisax.records import LisaxError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="data_verb", metavar="VERB", required=True)
    verbs.add_parser("list", help="the datasets that LisaX reads, and where each is to be had")
    get = verbs.add_parser("get", help="download a dataset from its owner; resumes where it stopped")
    get.add_argument("name", help="a name that `lisax data list` shows")
    get.add_argument("--out", type=local, help="folder to fill (default: data/NAME)")
    check = verbs.add_parser("check", help="read a whole dataset and say what is wrong with it")
    check.add_argument("folder", type=local, metavar="DIR")
    world = verbs.add_parser("world", help="write a generated, fictional encyclopedia with claims about it")
    world.add_argument("--pages", type=int, required=True, help="number of pages")
    world.add_argument("--seed", type=int, default=0, help="the same seed gives the same bytes (default: 0)")
    world.add_argument("--out", type=local, required=True, metavar="DIR", help="folder to write")
    wikidata = verbs.add_parser("wikidata", help="write the sub-graphs of a JSON dump of Wikidata, one for each item")
    wikidata.add_argument("--dump", type=local, required=True, metavar="FILE", help="*.json, *.json.gz or *.json.bz2")
    wikidata.add_argument("--language", default="en", help="of the labels (default: en)")
    wikidata.add_argument(
        "--out",
        type=local,
        required=True,
        metavar="DIR",
        help="folder for graphs.jsonl, and for the file of labels, which a second call goes on from",
    )
    msmarco = verbs.add_parser("msmarco", help="split MS MARCO's triples into the files of the task msmarco_rank")
    msmarco.add_argument("--triples", type=local, required=True, metavar="FILE", help="triples of texts or of ids")
    msmarco.add_argument("--queries", type=local, metavar="FILE", help="texts of query ids")
    msmarco.add_argument("--collection", type=local, metavar="FILE", help="texts of passage ids")
    msmarco.add_argument("--dev", type=int, default=5000, help="triples, the first, that are held out (default: 5000)")
    msmarco.add_argument("--out", type=local, required=True, metavar="DIR", help="a data folder, for LISAX_DATA")


def main(args: argparse.Namespace) -> int:
    """0 if all is well; `check` gives 1 for a dataset with problems. Raises `LisaxError` for the user."""
    return {"list": _list, "get": _get, "check": _check, "world": _world, "wikidata": _wikidata, "msmarco": _msmarco}[
        args.data_verb
    ](args)


def _list(args: argparse.Namespace) -> int:
    from lisax.corpora.catalogue import ENTRIES

    width = max(len(entry.name) for entry in ENTRIES)
    for entry in ENTRIES:
        print(f"{entry.name:{width}}  {entry.title} ({entry.licence})")
        how = f"lisax data get {entry.name}" if entry.files else entry.note
        print(f"{'':{width}}  {entry.homepage}: {how}")
    return 0


def _get(args: argparse.Namespace) -> int:
    from lisax.corpora import catalogue, fetch

    entry = catalogue.find(args.name)
    folder = args.out or Path("data", entry.name)
    for line in fetch.fetch(entry, folder, progress=_progress if sys.stderr.isatty() else None):
        print(line, flush=True)
    return 0


def _progress(name: str, received: int, total: int | None) -> None:
    share = f" of {total / 1e6:,.0f} MB ({received / total:.0%})" if total else " MB"
    end = "\n" if received == total else "\r"
    print(f"  {name}: {received / 1e6:,.0f}{share}", end=end, file=sys.stderr, flush=True)


def _check(args: argparse.Namespace) -> int:
    from lisax.corpora.check import check

    summary = check(args.folder)
    print("\n".join(summary.lines()))
    return 0 if summary.sound else 1


def _world(args: argparse.Namespace) -> int:
    if args.pages < 1:
        raise LisaxError(f"--pages: expected at least 1, found {args.pages}")
    from lisax import world

    world.write(args.out, pages=args.pages, seed=args.seed)
    print(f"wrote {args.out}")
    return 0


def _wikidata(args: argparse.Namespace) -> int:
    from lisax.corpora import plain, wikidata

    if not args.dump.is_file():
        raise LisaxError(f"there is no {args.dump}")
    graphs = wikidata.read_graphs(args.dump, None, args.language, args.out / f"labels.{args.language}.sqlite")
    print(f"{args.out / 'graphs.jsonl'}: {plain.write_graphs(args.out / 'graphs.jsonl', graphs):,} sub-graphs")
    return 0


def _msmarco(args: argparse.Namespace) -> int:
    import itertools

    from lisax.corpora import msmarco

    if (args.queries is None) != (args.collection is None):
        raise LisaxError("triples of ids need both --queries and --collection; triples of texts need neither")
    if args.dev < 1:
        raise LisaxError(f"--dev: expected at least 1, found {args.dev}")
    if args.queries is None:
        triples = msmarco.read_triples(args.triples)
    else:
        triples = msmarco.read_id_triples(args.triples, *map(msmarco.Texts, (args.queries, args.collection)))
    for split, part in (("dev", itertools.islice(triples, args.dev)), ("train", triples)):
        path = args.out / "msmarco" / f"triples.{split}.tsv"
        path.parent.mkdir(parents=True, exist_ok=True)
        print(f"{path}: {msmarco.write_triples(path, part):,} triples", flush=True)
    return 0
