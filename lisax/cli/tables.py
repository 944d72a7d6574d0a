"""`lisax index tables` and `lisax retrieve --questions`: whole tables as text, for questions."""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

from lisax.cli.retrieval import counted, is_done, sha256
from lisax.corpora import open_folder
from lisax.records import DataError, LisaxError, Question, write_json

if TYPE_CHECKING:
    from lisax.retrieval.table_text import Search

CUTOFFS = (1, 5, 10, 20, 50, 100)


def index_tables(args: argparse.Namespace) -> int:
    from lisax.retrieval.table_text import K1, B, build_index

    if args.strategy is not None:
        raise LisaxError("--strategy is how cells are matched: use it with `lisax index cells`")
    tables = counted(open_folder(args.corpus).tables(), "tables")
    started = time.monotonic()
    index = build_index(
        tables, args.out, k1=K1 if args.k1 is None else args.k1, b=B if args.b is None else args.b, add=args.add
    )
    print(f"{args.out}: {len(index):,} tables, {time.monotonic() - started:.1f} s")
    return 0


def read_questions(path: Path, split: str | None) -> list[Question]:
    """The questions of a plain file, or of a split of a folder in any layout."""
    if path.is_dir():
        data, split = open_folder(path), split or "dev"
        if split not in data.question_splits:
            raise DataError(
                f"no questions for split '{split}'; there are {', '.join(data.question_splits) or 'none'}", path=path
            )
        return list(data.questions(split))
    if split is not None:
        raise LisaxError("--split is one of --questions' folder; a file has one split")
    from lisax.corpora.plain import read_questions as read

    return list(read(path))


def retrieve_tables(args: argparse.Namespace) -> int:
    """Writes the run atomically. A run that the same command has finished is left alone."""
    from lisax.metrics.tables import hits
    from lisax.retrieval.runs import read_run, write_run
    from lisax.retrieval.table_store import TableStore
    from lisax.retrieval.table_text import POOL, as_claims, retrieve

    for flag in ("method", "mode", "mediawiki"):
        if getattr(args, flag) is not None:
            raise LisaxError(f"--{flag} is for claims: leave it out with --questions")
    questions, k = read_questions(args.questions, args.split), POOL if args.k is None else args.k
    search, digest = _search(args)
    asked = hashlib.sha256(json.dumps([(question.id, question.text) for question in questions]).encode()).hexdigest()
    made_with = {"index": digest, "questions": asked, "k": k}
    note = args.out.with_name(args.out.name + ".json")
    if is_done(args.out, note, made_with):
        print(f"{args.out}: done before")
    else:
        started = time.monotonic()
        count = write_run(args.out, retrieve(search, counted(questions, "questions"), k), "lisax-tables")
        print(f"{args.out}: {count:,} tables for {len(questions):,} questions, {time.monotonic() - started:.1f} s")
        write_json(note, made_with | {"run": sha256(args.out)})
    judged = as_claims(questions, TableStore.open(args.index).__contains__)
    if any(claim.gold_ids for claim in judged.values()):
        cutoffs = [cutoff for cutoff in CUTOFFS if cutoff < k] + [k]
        figures = hits(judged, read_run(args.out), cutoffs)
        print(f"gold tables of {figures['claims']:,} questions\n{'k':>8}  among the first k")
        for cutoff in cutoffs:
            print(f"{cutoff:>8}  {figures[f'hits@{cutoff}']:>17.4f}")
    return 0


def _search(args: argparse.Namespace) -> tuple[Search, str]:
    """A search of the index, or of the cluster's, and what names its content."""
    if args.cluster is not None:
        from lisax.cli.cluster import open_cluster

        cluster = open_cluster(args.cluster)
        return cluster.search, args.cluster + cluster.digest
    from lisax.retrieval.table_text import open_index

    index = open_index(args.index)
    return index.search, index.digest
