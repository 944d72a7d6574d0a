"""`lisax answer`: questions to answers with the sentence, row or edge that each was read in. Light to import."""

from __future__ import annotations

import argparse
import json

from lisax.places import local
from lisax.records import LisaxError, read_json_lines


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--index", type=local, required=True, metavar="INDEX", help="made by `lisax index mixed`")
    parser.add_argument(
        "--reader", type=local, required=True, metavar="DIR", help="a MODEL_DIR, a checkpoint or a bundle"
    )
    parser.add_argument(
        "--questions",
        type=local,
        required=True,
        metavar="FILE",
        help="questions as JSON Lines (id, question, answers where they are known), or a file of "
        "NQ-open's or WebQuestions'",
    )
    parser.add_argument("--out", type=local, required=True, metavar="FILE")
    parser.add_argument(
        "--retriever",
        type=local,
        metavar="DIR",
        help="a dual encoder, with whose vectors `lisax index vectors` filled the index",
    )
    parser.add_argument(
        "--method", choices=("bm25", "dense", "fused"), help="default: fused with a retriever, else bm25"
    )
    parser.add_argument("--approximate", action="store_true", help="search the index's inverted file")
    parser.add_argument("--k", type=int, default=100, help="passages retrieved for a question (default: 100)")


def main(args: argparse.Namespace) -> int:
    from lisax.corpora import read_questions
    from lisax.metrics import open_qa
    from lisax.predict.reader import Reader, answer_to_file
    from lisax.predict.retriever import PassageSearch, Retriever
    from lisax.runtime.resumable import fingerprint

    method = args.method or ("fused" if args.retriever else "bm25")
    if (method != "bm25") != (args.retriever is not None):
        raise LisaxError(
            f"the method '{method}' "
            + ("needs --retriever DIR" if args.retriever is None else "uses no retriever: leave --retriever out")
        )
    if args.approximate and method == "bm25":
        raise LisaxError("--approximate is for a search of vectors: give --retriever DIR, or leave it out")
    questions, reader = {question.id: question for question in read_questions(args.questions)}, Reader.open(args.reader)
    retriever = None if args.retriever is None else Retriever.open(args.retriever)
    search = PassageSearch(args.index, method=method, retriever=retriever, exact=not args.approximate)
    runs = search({i: question.text for i, question in questions.items()}, args.k)
    made_from = [
        method,
        args.k,
        args.approximate,
        *(path and fingerprint(path) for path in (args.index, args.reader, args.retriever, args.questions)),
    ]
    answer_to_file(
        reader,
        questions.values(),
        lambda i: [search.index.passage(hit) for hit, _ in runs[i][: reader.passages]],
        args.out,
        json.dumps(made_from),
    )
    gold = {i: question.answers for i, question in questions.items() if question.answers}
    if gold:
        said = {row["id"]: row["answers"][0] for _, row in read_json_lines(args.out) if row["answers"]}
        figures = open_qa.answered(gold, said)
        print(f"exact match {figures['exact_match']:.4f} of {figures['questions']:,} questions with answers")
    return 0
