"""The figures, `metrics.json` and the report of a CLTR run."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from lisax.metrics.ranking import Qrels, answer_measures, query_scores, table_measures
from lisax.papers import reporting
from lisax.papers.base import REPORT
from lisax.papers.cltr.run import BM25, CELLS, FUSED, MAX, MEAN, TABLES, Cltr
from lisax.predict import answer_confidence
from lisax.predict.table_answers import TableScores
from lisax.records import Hit
from lisax.report import charts, heatmap
from lisax.report.report import Report, ResultTable, published
from lisax.retrieval.runs import read_qrels, read_run

Runs = Mapping[str, Mapping[str, Sequence[Hit]]]

RETRIEVAL = (
    ("P@5", "precision@5"),
    ("P@10", "precision@10"),
    ("NDCG@5", "ndcg@5"),
    ("NDCG@10", "ndcg@10"),
    ("NDCG@20", "ndcg@20"),
    ("MAP", "map"),
    ("S@1", "success@1"),
    ("S@5", "success@5"),
    ("S@10", "success@10"),
)
ANSWERS = (("MRR", "mrr"), ("Hit@1", "hit@1"))
NO_ANSWER = (
    ("answered", "answered"),
    ("right of these", "precision"),
    ("right ones kept", "kept_right"),
    ("refused without the table", "refused_without_table"),
    ("expected error", "expected_error"),
)
OPERATIONS = (("operation", "operation_accuracy"), ("Hit@1", "hit@1"))
NAMES = {
    BM25: "BM25",
    MEAN: "mean cell",
    MAX: "best cell",
    FUSED: "best cell with BM25",
    "gold_table": "gold table given",
}
QUESTIONS_SHOWN = 40
LIMITS = (5, 10, 20, 30, 50, 75, 100, 150, 200, 300)
WITH_ONE_TABLE = (
    "S@k: the share of questions with a gold table among the first k. Where a question has one gold table, trec_eval's "
    "P@5 is at most 20 %; the paper's P@5 and P@10 of E2E_WTQ are more than that, and so can only be S@5 and S@10."
)


def finish(run: Cltr) -> str:
    """Computes all figures, writes `metrics.json` and `report.html`, and returns the tables for a terminal."""
    found = figures(run)
    heatmaps = [run.out / "heatmaps.html"] if run.recipe.scorers else []
    for path in heatmaps:
        heatmap.write_page(path, f"Questions of {run.data.folder.name}", _heatmaps(run))
    return reporting.write(run.out, found, _report(run, found), *heatmaps)


def figures(run: Cltr) -> dict:
    tables, cells = read_qrels(run.qrels_file(TABLES)), read_qrels(run.qrels_file(CELLS))
    ordered, answers = {order: read_run(run.run_file(order)) for order in run.orders}, {}
    found = {
        "retrieval": {order: table_measures(tables, hits) for order, hits in ordered.items()},
        "best": run.orders[-1],
        "questions": {role: len(questions) for role, questions in run.questions.items()},
        "tables": len(run.tables),
        "reported_split": run.report_split,
        "pool": run.recipe.pool,
        "vectors": run.recipe.backbone is not None,
        **reporting.facts(run),
    }
    if run.recipe.scorers:
        names = {order: f"answers.{order}" for order in run.orders} | {"gold_table": "gold_table"}
        answers = {name: read_run(run.run_file(file)) for name, file in names.items()}
        found["answers"] = {name: answer_measures(cells, hits) for name, hits in answers.items()}
        found["answered_by_cells"] = sum(any(units.values()) for units in cells.values())
        limits = [limit for limit in LIMITS if limit <= run.recipe.pool]
        found["pruning"] = run.pruning(limits)
    found["differences"] = differences(found["best"], tables, ordered, cells, answers)
    if FUSED in run.orders:
        found["fusion"] = run.fusion_weights.tolist()
        if run.answer_confidence is not None:
            found["no_answer"] = answer_confidence.figures(run.answer_confidence, *run.answered(REPORT))
    if run.recipe.aggregates:
        found["aggregation"] = run.aggregation.figures()
    return found


def _name(order: str, found: Mapping) -> str:
    return NAMES[order].replace("BM25", "BM25 and vectors") if found["vectors"] else NAMES[order]


def _heatmaps(run: Cltr) -> list[tuple[str, list[TableScores]]]:
    """The first questions with their expected answers, and their first tables by best cell."""
    made = []
    for pool in itertools.islice(run.scores(), QUESTIONS_SHOWN):
        question = run.questions[REPORT][pool.id]
        asked = f"{question.text} ({', '.join(question.answers)})" if question.answers else question.text
        made.append((asked, pool.first_tables(run.lookup)))
    return made


def differences(best: str, tables: Qrels, ordered: Runs, cells: Qrels, answers: Runs) -> dict:
    """Differences from the order `best`: of MAP of tables, of MRR of cells and of Hit@1. The runs are by order."""
    scores = {"map": {order: query_scores(tables, hits)["map"] for order, hits in ordered.items()}}
    of_cells = {order: query_scores(cells, hits) for order, hits in answers.items()}
    scores |= {measure: {order: of[measure] for order, of in of_cells.items()} for measure in ("mrr", "hit@1")}
    return reporting.differences({measure: (best, of) for measure, of in scores.items()})


def _report(run: Cltr, found: Mapping) -> Report:
    best, scores = found["best"], run.recipe.scorers
    tables = found["retrieval"][best]
    tiles = {"Gold table first": tables["success@1"], "Gold table among five": tables["success@5"]}
    if scores:
        tiles |= {"Right cell first": found["answers"][best]["hit@1"], "MRR of cells": found["answers"][best]["mrr"]}
    return reporting.report(
        run,
        found,
        "CLTR: cells that answer questions",
        f"{found['questions'][REPORT]:,} questions",
        f"{found['tables']:,} tables",
        notes=[WITH_ONE_TABLE],
        tiles=tiles,
        tiles_of=_name(best, found),
        result_tables=result_tables(found),
        line_charts=_pruning(found),
    )


def result_tables(found: Mapping) -> list[ResultTable]:
    """The paper's two tables with our rows, and our own."""

    def named(figures: Mapping) -> dict[str, Mapping]:
        return {_name(order, found): measured for order, measured in figures.items()}

    best = _name(found["best"], found)
    made = [
        ResultTable.of(
            "Table retrieval",
            RETRIEVAL,
            named(found["retrieval"]),
            "Of the pool, as trec_eval counts, in percent; over all questions whose table is known.",
            best=best,
            published=published("CLTR retrieval"),
        )
    ]
    if "answers" in found:
        made.append(
            ResultTable.of(
                "Answers",
                ANSWERS,
                named(found["answers"]),
                "The best cell of each table, in the tables' order; right is a cell that holds the answer, in the gold "
                f"table, of the {found['answered_by_cells']:,} questions that have one. In the last row all cells of the "
                "gold table are ranked.",
                best=best,
                published=published("CLTR answers"),
            )
        )
    if "no_answer" in found:
        made.append(
            ResultTable.of(
                "No answer here",
                NO_ANSWER,
                {best: found["no_answer"]},
                "Where the best cell's probability is below the threshold of "
                f"{found['no_answer']['threshold']:.3f}, which was chosen on held-out questions, the answer is “no answer "
                "here”; so too of the same questions with their gold tables taken out of the pool, which it should be.",
                best=best,
            )
        )
    if "aggregation" in found:
        by_operation = found["aggregation"]["by_operation"]  # the last is of all
        rows = {f"{name} ({measured['questions']:,} questions)": measured for name, measured in by_operation.items()}
        made.append(
            ResultTable.of(
                "Operations",
                OPERATIONS,
                rows,
                "By the question's operation: is it the one predicted for the first table by its best cell, and is that "
                "table's answer right, by its text? A count, a sum, an average and an extreme are of the best cell's "
                f"column in the rows whose probability reaches {found['aggregation']['threshold']:.4f}.",
                best=[*rows][-1],
            )
        )
    return made + reporting.difference_tables(found["differences"], lambda _, name: NAMES[name])


def _pruning(found: Mapping) -> dict:
    names = {
        "pool": "fewer tables of the pool",
        "reach": "rows of fewer tables, by their columns",
        "exact": "while a table has a chance",
    }
    made = {}
    for order, curves in found.get("pruning", {}).items():
        points = {names[name]: [(point["cost"], point["same"]) for point in curve] for name, curve in curves.items()}
        if points:
            made[f"Work that can be spared: {_name(order, found)}"] = charts.lines(
                points,
                "share of the tokens read",
                "same first five tables, %",
                "Questions whose first five tables stay the same, by the share of the whole pool's tokens read.",
                as_percent=True,
            )
    return made
