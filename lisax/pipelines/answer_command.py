"""`lisax answer`: questions to answers with the sentence, row or edge that each was read in. Light to import."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from lisax.records import LisaxError, write_json_lines

QUESTIONS_AT_A_TIME = 64  # of which passages, tokens and logits are in memory


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--index", type=Path, required=True, metavar="INDEX", help="made by `lisax index mixed`")
    parser.add_argument("--reader", type=Path, required=True, metavar="DIR",
                        help="a MODEL_DIR, a checkpoint or a bundle")
    parser.add_argument("--questions", type=Path, required=True, metavar="FILE",
                        help="questions as JSON Lines: id, question, answers where they are known")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE")
    parser.add_argument("--retriever", type=Path, metavar="DIR", help="a dual encoder, with whose vectors `lisax index "
                        "vectors` filled the index")
    parser.add_argument("--method", choices=("bm25", "dense", "fused"),
                        help="default: fused with a retriever, else bm25")
    parser.add_argument("--approximate", action="store_true", help="search the index's inverted file")
    parser.add_argument("--k", type=int, default=100, help="passages retrieved for a question (default: 100)")


def main(args: argparse.Namespace) -> int:
    from lisax.corpora.plain import read_questions
    from lisax.metrics import open_qa
    from lisax.pipelines.reader import Reader
    from lisax.pipelines.retriever import PassageSearch, Retriever
    from lisax.pipelines.stages import counting
    from lisax.runtime.batching import windows

    method = args.method or ("fused" if args.retriever else "bm25")
    if (method != "bm25") != (args.retriever is not None):
        raise LisaxError(f"the method '{method}' " + ("needs --retriever DIR" if args.retriever is None else
                                                      "uses no retriever: leave --retriever out"))
    questions, reader = {question.id: question for question in read_questions(args.questions)}, Reader.open(args.reader)
    retriever = None if args.retriever is None else Retriever.open(args.retriever)
    search = PassageSearch(args.index, method=method, retriever=retriever, exact=not args.approximate)
    runs = search({i: question.text for i, question in questions.items()}, args.k)
    said: dict[str, str] = {}

    def rows() -> Iterator[dict]:
        with counting(sum(min(len(hits), reader.passages) for hits in runs.values()), "passages") as advance:
            for group in windows(questions.items(), QUESTIONS_AT_A_TIME):
                read = [(question.text, [search.index.passage(hit) for hit, _ in runs[i][:reader.passages]])
                        for i, question in group]
                for (i, question), found in zip(group, reader.read(read, progress=advance), strict=True):
                    if found:
                        said[i] = found[0].text
                    yield {"id": i, "question": question.text, "answers": [answer.text for answer in found],
                           "found": [answer.row() for answer in found]}

    write_json_lines(args.out, rows())
    gold = {i: question.answers for i, question in questions.items() if question.answers}
    if gold:
        figures = open_qa.answered(gold, said)
        print(f"exact match {figures['exact_match']:.4f} of {figures['questions']:,} questions with answers")
    return 0
