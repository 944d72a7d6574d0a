"""`lisax cache tasks | candidates | examples`: preprocessing as Apache Beam pipelines."""

from __future__ import annotations

import argparse
import importlib.util
import os
from pathlib import Path

from lisax.places import local
from lisax.records import LisaxError
from lisax.sampling.files import VARIANTS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="cache_verb", metavar="VERB", required=True)
    tasks = verbs.add_parser(
        "tasks", help="cache seqio tasks; train with --seqio_additional_cache_dirs=OUT --gin.USE_CACHED_TASKS=True"
    )
    tasks.add_argument("names", nargs="+", metavar="NAME", help="tasks or mixtures")
    tasks.add_argument("--module", default="tasks", help="the module that registers them (default: tasks)")
    tasks.add_argument("--data", type=local, metavar="DIR", help="the tasks' data folder (default: LISAX_DATA)")
    tasks.add_argument("--out", type=local, required=True, metavar="DIR", help="the cache folder")
    tasks.add_argument(
        "--min_shards",
        type=int,
        default=64,
        help="files of each split at least; as many as hosts will train, or more (default: 64)",
    )
    tasks.add_argument("--overwrite", action="store_true", help="cache anew what the folder holds already")
    candidates = verbs.add_parser("candidates", help="the first sentences of retrieved documents, as a run")
    candidates.add_argument("--run", type=local, required=True, metavar="FILE", help="a run of documents")
    candidates.add_argument("--limit", type=int, default=200, help="sentences a claim at most (default: 200)")
    candidates.add_argument("--out", type=local, required=True, metavar="FILE", help="the run to write")
    examples = verbs.add_parser("examples", help="the ranker's and labellers' example files")
    examples.add_argument("--data", type=local, required=True, metavar="DIR", help="the dataset with the claims")
    examples.add_argument(
        "--split", required=True, help="train gives examples to learn from, other splits what a model meets in use"
    )
    examples.add_argument("--candidates", type=local, required=True, metavar="FILE", help="a run of sentences")
    examples.add_argument("--reranked", type=local, metavar="FILE", help="the ranker's run (default: the candidates)")
    examples.add_argument("--variant", action="append", choices=VARIANTS, help="repeatable (default: all)")
    examples.add_argument("--seed", type=int, default=0)
    examples.add_argument("--out", type=local, required=True, metavar="DIR", help="the folder of example files")
    for verb in (candidates, examples):
        verb.add_argument("--index", type=local, required=True, metavar="DIR", help="a folder of `lisax index bm25`")
    for verb in (tasks, candidates, examples):
        verb.add_argument(
            "--runner", default="FnApiRunner", help="Beam's runner (default: FnApiRunner, in this process)"
        )
        verb.add_argument("--pipeline_options", default="", metavar="--A=B,--C=D", help="further options of Beam")


def main(args: argparse.Namespace) -> int:
    if importlib.util.find_spec("apache_beam") is None:
        raise LisaxError(
            "`lisax cache` needs Apache Beam, which is not installed: run `make beam`, or "
            "`pip install --no-deps -r requirements-beam.txt`"
        )
    options = [f"--runner={args.runner}", *(option for option in args.pipeline_options.split(",") if option)]
    return {"tasks": _tasks, "candidates": _candidates, "examples": _examples}[args.cache_verb](args, options)


def _tasks(args: argparse.Namespace, options: list[str]) -> int:
    if args.min_shards < 1:
        raise LisaxError(f"--min_shards: expected at least 1, found {args.min_shards}")
    if args.data:
        os.environ["LISAX_DATA"] = str(args.data.resolve())
    from lisax.runtime.caching import cache_tasks

    folders = cache_tasks(
        args.names, args.module, args.out, min_shards=args.min_shards, overwrite=args.overwrite, options=options
    )
    for name, folder in folders.items():
        print(f"{name}: {folder}")
    return 0


def _candidates(args: argparse.Namespace, options: list[str]) -> int:
    if args.limit < 1:
        raise LisaxError(f"--limit: expected at least 1, found {args.limit}")
    _needs(args.run, args.index)
    from lisax.papers.list5.beam_examples import expand_candidates

    expand_candidates(args.run, args.index, args.out, limit=args.limit, options=options)
    print(args.out)
    return 0


def _examples(args: argparse.Namespace, options: list[str]) -> int:
    _needs(args.candidates, args.index, *([args.reranked] if args.reranked else []))
    from lisax.corpora import open_folder
    from lisax.papers.list5.beam_examples import build_examples
    from lisax.sampling.examples import told

    claims = list(open_folder(args.data).claims(args.split))
    skipped = build_examples(
        claims,
        args.candidates,
        args.reranked,
        args.index,
        args.out,
        args.split,
        variants=args.variant or VARIANTS,
        seed=args.seed,
        training=args.split == "train",
        options=options,
    )
    for line in told(dict(sorted(skipped.items()))):
        print(line)
    print(args.out)
    return 0


def _needs(*paths: Path) -> None:
    for path in paths:
        if not path.exists():
            raise LisaxError(f"there is no {path}")
