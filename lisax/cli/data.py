"""List, download, check and generate datasets.

lisax data check DIR
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import click

from lisax.cli.verbs import Argument, Count, Local, Option


def list_() -> None:
    """List the datasets that LisaX reads, and where to get them.

    lisax data list
    """
    from lisax.corpora.catalogue import ENTRIES

    width = max(len(entry.name) for entry in ENTRIES)
    for entry in ENTRIES:
        print(f"{entry.name:{width}}  {entry.title} ({entry.licence})")
        how = f"lisax data get {entry.name}" if entry.files else entry.note
        print(f"{'':{width}}  {entry.homepage}: {how}")


def get(
    name: Annotated[str, Argument("A name from `lisax data list`.", "NAME")],
    *,
    out: Annotated[Local | None, Option("Folder to fill.", "DIR", "data/NAME")] = None,
) -> None:
    """Download a dataset from its owner; run the command again to resume.

    lisax data get fever
    """
    from lisax.corpora import catalogue, download

    entry = catalogue.find(name)
    lines = download.fetch(entry, out or Path("data", entry.name), progress=_progress if sys.stderr.isatty() else None)
    for line in lines:
        print(line, flush=True)


def _progress(name: str, received: int, total: int | None) -> None:
    share = f" of {total / 1e6:,.0f} MB ({received / total:.0%})" if total else " MB"
    end = "\n" if received == total else "\r"
    print(f"  {name}: {received / 1e6:,.0f}{share}", end=end, file=sys.__stderr__, flush=True)


def check(folder: Annotated[Local, Argument("A folder in any layout.", "DIR")]) -> int:
    """Read a whole dataset and print its errors; the exit code is 1 if there are any.

    lisax data check DIR
    """
    from lisax.corpora.check import check

    summary = check(folder)
    print("\n".join(summary.lines()))
    return 0 if summary.sound else 1


def world(
    *,
    pages: Annotated[Count, Option("Number of pages.")],
    seed: Annotated[int, Option("The same seed gives the same bytes.")] = 0,
    out: Annotated[Local, Option("Folder to write.", "DIR")],
) -> None:
    """Write a generated, fictional encyclopedia with claims about it.

    lisax data world --pages 1000 --out world
    """
    from lisax import world
    from lisax.files.writing import check_own

    check_own(out, "world.json")
    world.write(out, pages=pages, seed=seed)
    print(f"wrote {out}")


def msmarco(
    *,
    triples: Annotated[Local, Option("Triples of texts or ids.", "FILE")],
    queries: Annotated[Local | None, Option("Texts of the query ids.", "FILE")] = None,
    collection: Annotated[Local | None, Option("Texts of the passage ids.", "FILE")] = None,
    dev: Annotated[Count, Option("How many triples, from the start of the file, are held out.")] = 5000,
    out: Annotated[Local, Option("The data folder to write, for LISAX_DATA.", "DIR")],
) -> None:
    """Split MS MARCO's triples into files for the task msmarco_rank.

    lisax data msmarco --triples triples.train.small.tsv --out DATA
    """
    from lisax.corpora.msmarco import write_splits

    if (queries is None) != (collection is None):
        raise click.UsageError("triples of ids need both --queries and --collection; triples of texts need neither")
    for path, count in write_splits(triples, out, dev, None if queries is None else (queries, collection)):
        print(f"{path}: {count:,} triples", flush=True)


VERBS = (list_, get, check, world, msmarco)
