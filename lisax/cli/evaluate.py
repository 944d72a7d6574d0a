"""`lisax evaluate fever | ranking | tables | answers | potency | text`. Light to import; here files meet the measures."""

from __future__ import annotations

import argparse
import contextlib
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from lisax.places import local
from lisax.records import Claim, DataError, Question, read_lines, split_cell_id

if TYPE_CHECKING:
    from lisax.corpora.answer_predictions import RankedAnswers


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="evaluate_verb", metavar="WHAT", required=True)
    fever = verbs.add_parser("fever", help="verdicts with evidence, as the official FEVER scorer counts")
    fever.add_argument(
        "--gold",
        type=local,
        required=True,
        metavar="FILE",
        help="claims with labels and evidence, in any layout that `lisax data check` reads",
    )
    fever.add_argument("--predictions", type=local, required=True, metavar="FILE", help="a FEVER submission")
    ranking = verbs.add_parser("ranking", help="a TREC run, as trec_eval counts")
    gold = ranking.add_mutually_exclusive_group(required=True)
    gold.add_argument("--qrels", type=local, metavar="FILE", help="TREC judgements, four columns")
    gold.add_argument(
        "--gold", type=local, metavar="FILE", help="claims: recall then asks for a complete evidence set, as LisT5 does"
    )
    ranking.add_argument("--run", type=local, required=True, metavar="FILE", help="a TREC run, six columns")
    tables = verbs.add_parser("tables", help="verdicts over tables: accuracy by kind and by the gold table's rank")
    tables.add_argument(
        "--gold",
        type=local,
        required=True,
        metavar="FILE",
        help="claims with labels and tables as evidence, in any layout that `lisax data check` reads",
    )
    tables.add_argument(
        "--predictions",
        type=local,
        required=True,
        metavar="FILE",
        help="verdicts: a FEVER submission with table ids as evidence",
    )
    tables.add_argument(
        "--run",
        type=local,
        metavar="FILE",
        help="a TREC run of tables: adds hits at k, and gives the gold tables' ranks "
        "(without it they are those of the predicted evidence)",
    )
    answers = verbs.add_parser("answers", help="ranked answers to questions: mean reciprocal rank and Hit@1")
    answers.add_argument(
        "--gold",
        type=local,
        required=True,
        metavar="PATH",
        help="questions.*.jsonl, or a folder of questions over tables that `lisax data check` reads",
    )
    answers.add_argument("--split", default="dev", help="of a folder's questions (default: dev)")
    answers.add_argument(
        "--predictions",
        type=local,
        required=True,
        metavar="FILE",
        help="JSON Lines with ranked answers or cells, or a TREC run of cells",
    )
    potency = verbs.add_parser("potency", help="how far adversarial claims break systems, by kind, as FEVER 2.0 counts")
    potency.add_argument(
        "--gold", type=local, required=True, metavar="FILE", help="attacked claims with labels and evidence"
    )
    potency.add_argument(
        "--predictions",
        type=local,
        required=True,
        nargs="+",
        metavar="FILE",
        help="FEVER submissions, one of each system",
    )
    potency.add_argument(
        "--decisions",
        type=local,
        metavar="FILE",
        help="what `lisax attack review` wrote: adds the correct rate and adjusted potency (without "
        "it, the `annotation` of a FEVER 2.0 file counts)",
    )
    text = verbs.add_parser("text", help="generated sentences: BLEU, chrF, TER, ROUGE, answer coverage, faithfulness")
    text.add_argument(
        "--gold",
        type=local,
        required=True,
        metavar="PATH",
        help='JSON Lines {"id", "texts"} with "title", "pairs", "answers" where they are known, or a folder '
        "that `lisax data check` reads",
    )
    text.add_argument("--split", default="dev", help="of a folder (default: dev)")
    text.add_argument(
        "--predictions",
        type=local,
        required=True,
        metavar="FILE",
        help='JSON Lines {"id", "text"}, as `lisax verbalize` writes them',
    )
    text.add_argument(
        "--measure",
        action="append",
        default=[],
        choices=["meteor", "bertscore"],
        help="an optional measure that must be there; repeatable (METEOR is given wherever its data is)",
    )
    for verb in (fever, ranking, tables, answers, potency, text):
        verb.add_argument("--json", action="store_true", help="print one JSON object, named as metrics.json is")


def main(args: argparse.Namespace) -> int:
    figures = {
        "fever": _fever,
        "ranking": _ranking,
        "tables": _tables,
        "answers": _answers,
        "potency": _potency,
        "text": _text,
    }[args.evaluate_verb](args)
    if args.json:
        print(json.dumps(figures, ensure_ascii=False, indent=2))
    else:
        print("\n".join(_lines(figures)))
    return 0


def read_gold(path: Path) -> dict[str, Claim]:
    """Claims by id, of a file in any layout."""
    from lisax.corpora import read_claims

    return {claim.id: claim for claim in read_claims(path)}


def _fever(args: argparse.Namespace) -> dict:
    from lisax.corpora.fever import read_predictions
    from lisax.metrics.fever import check_gold, evaluate

    claims = read_gold(args.gold)
    with _naming(args.gold):
        check_gold(claims)
    verdicts = {verdict.claim_id: verdict for verdict in read_predictions(args.predictions)}
    with _naming(args.predictions):
        return {"fever": evaluate(claims, verdicts)}


def _ranking(args: argparse.Namespace) -> dict:
    from lisax.metrics import ranking
    from lisax.retrieval.runs import read_qrels, read_run

    gold = read_qrels(args.qrels) if args.qrels else read_gold(args.gold)
    run = read_run(args.run)
    _check_queries(run, gold, args.run, args.qrels or args.gold)
    with _naming(args.qrels or args.gold):
        if args.qrels:  # LisT5's measures and CLTR's
            return {"ranking": ranking.trec_measures(gold, run) | ranking.table_measures(gold, run)}
        return {"ranking": ranking.sentence_selection(gold, run)}


def _tables(args: argparse.Namespace) -> dict:
    from lisax.corpora.table_predictions import read_predictions
    from lisax.metrics import fever, tables
    from lisax.retrieval.runs import read_run

    claims = read_gold(args.gold)
    run = read_run(args.run) if args.run else None
    if run is not None:
        _check_queries(run, claims, args.run, args.gold)
    with _naming(args.gold):
        fever.check_gold(claims)
        figures = {} if run is None else {"retrieval": tables.hits(claims, run)}
    predictions = {row.verdict.claim_id: row for row in read_predictions(args.predictions)}
    verdicts = {i: row.verdict for i, row in predictions.items()}
    sufficiency = {i: row.sufficiency for i, row in predictions.items() if row.sufficiency is not None}
    with _naming(args.predictions):
        complete = len(sufficiency) == len(predictions)
        if sufficiency and not complete:
            raise DataError(
                "`sufficiency` is given for some claims only, for example not for "
                f"'{min(predictions.keys() - sufficiency.keys())}'"
            )
        return figures | {"tables": tables.evaluate(claims, verdicts, run, sufficiency if complete else None)}


def _answers(args: argparse.Namespace) -> dict:
    from lisax.metrics.answers import evaluate

    questions, texts_of = _questions(args.gold, args.split)
    answers = _ranked_answers(args.predictions, texts_of)
    with _naming(args.predictions):
        return {"answers": evaluate(questions, answers)}


def _questions(path: Path, split: str) -> tuple[dict[str, Question], Callable[[set[str]], Mapping[str, str]]]:
    """Questions by id, and what gives the texts of cells: of a folder its tables, of a file nothing."""
    from lisax.corpora import open_folder, plain

    if not path.is_dir():
        return {question.id: question for question in plain.read_questions(path)}, lambda cells: {}
    dataset = open_folder(path)
    if split not in dataset.question_splits:
        raise DataError(
            f"no questions for split '{split}'; there are {', '.join(dataset.question_splits) or 'none'}", path=path
        )

    def texts_of(cells: set[str]) -> dict[str, str]:
        places: dict[str, list[tuple[str, int, int]]] = {}
        for cell in cells:
            table, i, j = split_cell_id(cell)
            places.setdefault(table, []).append((cell, i, j))
        return {
            cell: table.rows[i][j]
            for table in dataset.tables()
            for cell, i, j in places.get(table.id, ())
            if i < len(table.rows) and j < len(table.header)
        }

    return {question.id: question for question in dataset.questions(split)}, texts_of


def _ranked_answers(path: Path, texts_of: Callable[[set[str]], Mapping[str, str]]) -> dict[str, RankedAnswers]:
    """The predictions by question; cells without texts get those of the tables."""
    from lisax.corpora.answer_predictions import RankedAnswers, read_predictions
    from lisax.retrieval.runs import read_run

    if next(read_lines(path))[1].lstrip().startswith("{"):
        found = {ranked.question_id: ranked for ranked in read_predictions(path)}
    else:
        found = {name: RankedAnswers(name, (), tuple(hit.id for hit in hits)) for name, hits in read_run(path).items()}
    with _naming(path):
        texts = texts_of({cell for ranked in found.values() if not ranked.texts for cell in ranked.cells})
    return {
        name: ranked
        if ranked.texts
        else ranked._replace(texts=tuple(texts.get(cell, "") for cell in ranked.cells if texts))
        for name, ranked in found.items()
    }


def _potency(args: argparse.Namespace) -> dict:
    import dataclasses

    from lisax.adversary.attack import kind_name
    from lisax.adversary.decisions import reviewed
    from lisax.corpora.fever import read_predictions
    from lisax.metrics import fever, potency

    claims = {i: dataclasses.replace(claim, kind=kind_name(claim.kind)) for i, claim in read_gold(args.gold).items()}
    with _naming(args.gold):
        fever.check_gold(claims)
    systems = {}
    for path in args.predictions:
        verdicts = {verdict.claim_id: verdict for verdict in read_predictions(path)}
        with _naming(path):
            fever.check_pairs(claims, verdicts)
        systems[path.stem if path.stem not in systems else str(path)] = verdicts
    return {"potency": potency.potency(claims, systems, reviewed(args.gold, args.decisions))}


def _text(args: argparse.Namespace) -> dict:
    from lisax.metrics import text
    from lisax.metrics.text_files import read_gold_texts, read_texts

    gold, predictions = read_gold_texts(args.gold, args.split), read_texts(args.predictions)
    if missing := gold.keys() - predictions.keys():
        raise DataError(
            f"{len(missing)} of the {len(gold)} gold ids have no prediction, for example '{min(missing)}'",
            path=args.predictions,
        )
    figures: dict = {}
    with _naming(args.gold):
        if any(row.texts for row in gold.values()):
            compared = [(row.texts, predictions[i]) for i, row in gold.items() if row.texts]
            figures |= text.overlap(*map(list, zip(*compared)), extra=args.measure)
    structured = [(row, predictions[i]) for i, row in gold.items() if row.triples is not None]
    if structured:
        figures["faithfulness"] = text.faithfulness((row.triples, prediction) for row, prediction in structured)
    if any(row.answers for row, _ in structured):
        figures["coverage"] = text.answer_coverage(
            (row.answers, row.raw, prediction) for row, prediction in structured if row.answers
        )
    if not figures:
        raise DataError("nothing to compare with: no line has `texts`, or `pairs`", path=args.gold)
    return {"text": figures}


def _check_queries(run: Mapping, gold: Mapping, run_path: Path, gold_path: Path) -> None:
    if not gold.keys() & run.keys():
        raise DataError(
            f"no query of the run is in {gold_path}: do the two belong together? "
            f"(the run's first: '{next(iter(run))}')",
            path=run_path,
        )


@contextlib.contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Names the file in a `DataError` that knows none."""
    try:
        yield
    except DataError as error:
        raise error if error.path is not None else DataError(str(error), path=path) from None


def _lines(figures: dict, prefix: str = "") -> Iterator[str]:
    """One figure a line, its path in the JSON first; lists (reliability bins) are for --json."""
    for name, value in figures.items():
        path = f"{prefix}{name}"
        if isinstance(value, dict):
            yield from _lines(value, f"{path}.")
        elif not isinstance(value, list):
            shown = "-" if value is None else f"{value:.4f}" if isinstance(value, float) else str(value)
            yield f"{path:<45} {shown}"
