"""`lisax verbalize` and `lisax verbalizer iterate`. Light to import."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from lisax.places import local
from lisax.records import LisaxError

if TYPE_CHECKING:
    from lisax.formats.triples import Triples


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--checkpoint",
        type=local,
        required=True,
        metavar="DIR",
        help="a verbalizer: a MODEL_DIR, one of its checkpoints, or a bundle",
    )
    _add_sources(parser)
    parser.add_argument(
        "--out",
        type=local,
        required=True,
        metavar="FILE",
        help='JSON Lines {"id", "title", "text", "beam", "rejected", "fallback", "parts", "digest"}, '
        "one a row or sub-graph",
    )
    parser.add_argument("--beams", type=int, default=10, help="hypotheses of each input (default: 10)")
    parser.add_argument(
        "--pairs",
        type=int,
        metavar="N",
        help="cells or edges read at once at most (default: as many as the model's inputs hold)",
    )
    parser.add_argument("--no-check", action="store_true", help="keep the first choice, whether it is faithful or not")


def _add_sources(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--tables",
        type=local,
        metavar="PATH",
        help="tables.jsonl, or a folder in a layout that `lisax data check` knows",
    )
    parser.add_argument("--graphs", type=local, metavar="PATH", help="graphs.jsonl, or such a folder")


def main(args: argparse.Namespace) -> int:
    from lisax.predict.verbalizer import Choices, Verbalizer, verbalize_to_file
    from lisax.progress import counting
    from lisax.runtime.resumable import fingerprint

    if args.beams < 1 or (args.pairs is not None and args.pairs < 1):
        raise LisaxError("--beams and --pairs must be at least 1")
    sources = _sources(args)
    choices = Choices(args.beams, args.pairs, check=not args.no_check)
    verbalizer = Verbalizer.open(args.checkpoint, choices)
    # The file itself, which may be written beside the tables, is nothing that it is made from.
    made_from = json.dumps(
        [repr(choices), *(fingerprint(path, besides=args.out) for path in (args.checkpoint, *sources))]
    )
    with counting(sum(1 for _ in units(args)), "rows and sub-graphs") as advance:
        found = verbalize_to_file(verbalizer, units(args), args.out, made_from, advance)
    print(
        f"{args.out}: {found['units']:,} texts; faithful at once {found['first_choice']:.1%}, by a later hypothesis "
        f"{found['later_hypothesis']:.1%}, by the rule {found['fallback']:.1%}"
    )
    return 0


def _sources(args: argparse.Namespace) -> list[Path]:
    sources = [path for path in (args.tables, args.graphs) if path is not None]
    if not sources:
        raise LisaxError("nothing to verbalize: give --tables, --graphs, or both")
    for path in sources:
        if not path.exists():
            raise LisaxError(f"there is no {path}")
    return sources


def units(args: argparse.Namespace) -> Iterator[Triples]:
    """Rows of all tables, then sub-graphs; those without a value are left out."""
    from lisax.corpora import open_folder, plain
    from lisax.formats.triples import graph_triples, table_triples

    if args.tables is not None:
        for table in open_folder(args.tables).tables() if args.tables.is_dir() else plain.read_tables(args.tables):
            yield from table_triples(table)
    if args.graphs is not None:
        for graph in open_folder(args.graphs).graphs() if args.graphs.is_dir() else plain.read_graphs(args.graphs):
            if (found := graph_triples(graph)).pairs:
                yield found


def add_verbalizer_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verbalizer_verb", metavar="VERB", required=True)
    iterate = verbs.add_parser(
        "iterate", help="train on filtered pairs, verbalize the target data, select, train again"
    )
    iterate.add_argument(
        "--data",
        type=local,
        required=True,
        metavar="DIR",
        help="data with texts for training: DART, WebNLG, ToTTo or KELM",
    )
    iterate.add_argument("--report", type=local, metavar="DIR", help="other such data, whose dev split is reported too")
    _add_sources(iterate)
    iterate.add_argument(
        "--out", type=local, required=True, metavar="DIR", help="folder of the run, which resumes there"
    )
    iterate.add_argument("--until", metavar="STAGE", help="stop after this stage")
    iterate.add_argument(
        "--gin_file",
        action="append",
        default=[],
        metavar="FILE",
        help="a recipe; repeatable (default: experiments/udt_qa/verbalizer_scratch.gin)",
    )
    iterate.add_argument(
        "--gin_bindings",
        action="append",
        default=[],
        metavar="NAME=value",
        help="settings after all files, also as --gin.VerbalizerRecipe.threshold=0.5",
    )
    iterate.add_argument("--gin_search_paths", default="", metavar="DIR,DIR")


def verbalizer_main(args: argparse.Namespace) -> int:
    from lisax.corpora import open_folder
    from lisax.papers.stages import Stopped
    from lisax.papers.verbalizer.recipe import VerbalizerRecipe
    from lisax.papers.verbalizer.run import VerbalizerTraining
    from lisax.progress import say
    from lisax.runtime.gin_files import searching
    from lisax.runtime.resumable import fingerprint
    from lisax.runtime.run_lock import alone_in

    sources = _sources(args)
    with searching([path for path in args.gin_search_paths.split(",") if path]):
        recipe = VerbalizerRecipe.read(
            args.gin_file or ["experiments/udt_qa/verbalizer_scratch.gin"], args.gin_bindings
        )
        target_print = [fingerprint(path, besides=args.out) for path in sources]
        data, other = open_folder(args.data), open_folder(args.report) if args.report else None
        run = VerbalizerTraining(
            data, lambda: units(args), target_print, args.out, recipe, other=other, until=args.until
        )
        with alone_in(args.out):
            try:
                figures = run.run()
            except Stopped as stage:
                say(f"stopped after {stage}, as asked")
                return 0
    print(json.dumps(figures["models"], indent=2))
    return 0
