"""`lisax check`: claims to verdicts, straight from a corpus or an index. Light to import."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from lisax.places import local
from lisax.records import LisaxError

STREAM = Path("-")  # standard input, standard output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        'for example: lisax check "Mara Velin was born in Tarn." --corpus pages/ --model verifier; '
        "lisax check --claims claims.jsonl --index INDEX --ranker ranker --model verifier --out verdicts.jsonl"
    )
    parser.add_argument("claim", nargs="?", help="the claim, in quotation marks")
    parser.add_argument(
        "--claims",
        type=local,
        metavar="FILE",
        help='many claims, in any layout that `lisax data check` reads; "-" for standard input, a JSON object with the '
        "field `claim` in each line",
    )
    add_corpus(parser)
    parser.add_argument(
        "--model",
        type=local,
        required=True,
        metavar="DIR",
        help="what labels claims: a bundle, a checkpoint or a MODEL_DIR (a labeller, an evidence pointer, or a model of "
        "tables)",
    )
    parser.add_argument(
        "--ranker", metavar="DIR", help="what orders the evidence: a model, or `bm25` (the default, without a model)"
    )
    parser.add_argument(
        "--out",
        type=local,
        metavar="FILE",
        help='with --claims: the verdicts as JSON Lines (default, and "-": standard output); an interrupted command goes '
        "on where it was",
    )
    parser.add_argument(
        "--aggregate",
        choices=("any", "max", "sum", "first"),
        default="any",
        help="how a pointwise model's labels of single sentences become one (default: any)",
    )
    parser.add_argument(
        "--threshold",
        type=float,
        metavar="T",
        help="table fusion: claims whose sufficiency is at most T have not enough information (default: the model's)",
    )
    parser.add_argument("--temporal", action="store_true", help="let the dates of claim and evidence decide where they can")
    parser.add_argument(
        "--hops", type=int, choices=(1, 2), default=1, help="2: look into pages that the first ones' sentences name too"
    )
    parser.add_argument("--documents", type=int, default=20, metavar="N", help="pages or passages searched (default: 20)")
    parser.add_argument("--candidates", type=int, default=100, metavar="N", help="sentences ranked (default: 100)")
    parser.add_argument(
        "--evidence", type=int, metavar="N", help="sentences or tables that the model reads (default: as in training)"
    )
    parser.add_argument("--json", action="store_true", help="with one claim: its verdict as a line of JSON")


def add_corpus(parser: argparse.ArgumentParser) -> None:
    """`--corpus` and `--index`, of which one is needed."""
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument(
        "--corpus",
        type=local,
        metavar="DIR",
        help="a folder in any layout that `lisax data check` reads, a folder of .txt, .md and .html pages, or one such "
        "file; its index is kept in $LISAX_CACHE, or ~/.cache/lisax",
    )
    where.add_argument("--index", type=local, metavar="INDEX", help="made by `lisax index documents|mixed|cells`")


def main(args: argparse.Namespace) -> int:
    if (args.claim is None) == (args.claims is None):
        raise LisaxError('give one claim in quotation marks, or --claims FILE ("-" for standard input)')
    if args.claim is not None and (args.out is not None or not args.claim.strip()):
        raise LisaxError("--out is for --claims FILE" if args.claim.strip() else "the claim is empty")
    from lisax.predict.checking import check_to_file, open_checker, read_stream

    checker = open_checker(
        args.corpus,
        args.index,
        ranker=args.ranker,
        model=args.model,
        aggregate=args.aggregate,
        threshold=args.threshold,
        evidence=args.evidence,
        temporal=args.temporal,
        hops=args.hops,
        documents=args.documents,
        candidates=args.candidates,
    )
    if args.claim is not None:
        verdict = checker.check(args.claim)
        print(verdict.to_json() if args.json else verdict)
        return 0
    if args.claims == STREAM or args.out in (None, STREAM):
        if args.out not in (None, STREAM):
            raise LisaxError("claims from standard input go to standard output: leave --out out")
        from lisax.corpora import read_claims

        claims = read_stream(sys.stdin) if args.claims == STREAM else read_claims(args.claims)
        for verdict in checker.check_many(claims):
            print(verdict.to_json(), flush=True)
        return 0
    check_to_file(checker, args.claims, args.out, vars(args))
    return 0
