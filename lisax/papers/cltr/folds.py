"""Cross-validation of CLTR (section 4.2): every question is answered by models trained on the other folds.

The index, the vocabulary, the warm-up and the model trained on the tables themselves are built once, from the tables
and from the first fold's training questions. Each fold is a run of its own in `folds/N`. Figures are computed over all
questions together; their mean and deviation over folds are reported too.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from lisax.corpora import Dataset
from lisax.devices.workers import Workers
from lisax.errors import LisaxError
from lisax.metrics.ranking import answer_measures, table_measures
from lisax.papers import reporting
from lisax.papers.base import REPORT, TRAIN, is_of_warm_up
from lisax.papers.cltr import report as cltr_report
from lisax.papers.cltr.questions import by_id
from lisax.papers.cltr.recipe import OWN, CltrRecipe
from lisax.papers.cltr.run import CELLS, TABLES, Cltr
from lisax.papers.recipe import WARM_UP
from lisax.progress import say
from lisax.records import Question
from lisax.report.report import Report
from lisax.retrieval.runs import read_qrels, read_run


class FoldData(Dataset):
    """A dataset whose questions are split by one fold of cross-validation: `train`, and the held-out `test`. `dealt`
    is a digest of their ids, in a list."""

    def __init__(self, data: Dataset, train: Sequence[Question], held_out: Sequence[Question]):
        super().__init__(data.folder, {})
        self.layout, self._data = data.layout, data
        self._dealt = {TRAIN: train, REPORT: held_out}
        ids = json.dumps([[question.id for question in part] for part in (train, held_out)])
        self.dealt = [hashlib.sha256(ids.encode()).hexdigest()]

    def may_read(self, file):
        return self._data.may_read(file)

    @property
    def question_splits(self):
        return tuple(self._dealt)

    def questions(self, split, watch=None) -> Iterator[Question]:
        return iter(self._dealt[split])

    def tables(self, watch=None):
        return self._data.tables(watch)


def deal(questions: Sequence[Question], count: int) -> Iterator[tuple[list[Question], list[Question]]]:
    """(training questions, held-out ones) of each of `count` folds, in the original order. Each question is held out
    once; the folds' sizes differ by one question at most, and depend only on the questions' ids, not on their order.

    Raises LisaxError for fewer questions than folds."""
    if count < 2 or len(questions) < count:
        raise LisaxError(
            f"cross-validation needs at least two folds and one question per fold; found {count} folds and "
            f"{len(questions)} questions"
        )
    dealt = sorted(questions, key=lambda question: hashlib.blake2b(f"0:{question.id}".encode()).digest())
    fold_of = {question.id: number % count for number, question in enumerate(dealt)}
    for fold in range(count):
        train, held_out = ([one for one in questions if (fold_of[one.id] == fold) == held] for held in (False, True))
        yield train, held_out


def cross_validate(
    data: Dataset, out: str | os.PathLike, recipe: CltrRecipe, folds: int, workers: Workers | None = None
) -> str:
    """Runs all folds, writes `metrics.json` and `report.html`, and returns the tables for a terminal."""
    if not recipe.train:
        raise LisaxError("cross-validation trains a model on each fold: the recipe names none (CltrRecipe.train)")
    splits = [split for split in data.question_splits if recipe.train_splits is None or split in recipe.train_splits]
    questions = by_id(question for split in splits for question in data.questions(split))
    dealt_out = [FoldData(data, *fold) for fold in deal(list(questions.values()), folds)]
    out = Path(out)
    dealt = dataclasses.replace(recipe, train_splits=None, report_split=None)
    common = Cltr(dealt_out[0], out, dealt)
    common.workers = workers
    of_all_folds = f"train.{OWN}" if OWN in recipe.train else WARM_UP if recipe.warms_up else "vocabulary"
    common.make(of_all_folds, *([WARM_UP] if recipe.warms_up else []))

    def place(start: str) -> str:
        if start == OWN and OWN in recipe.train:
            return str(common.model_dir(OWN))
        return str(common.warm_up_model(start)) if is_of_warm_up(start) else start

    own = dataclasses.replace(
        dealt,
        vocabulary=str(common.vocabulary_file),
        warm_up=None,
        train={model: gin_file for model, gin_file in recipe.train.items() if model != OWN},
        initial={model: place(start) for model, start in recipe.initial.items() if model != OWN},
    )
    made_from = common.runner.digest(of_all_folds)
    runs = []
    for number, fold in enumerate(dealt_out):
        say(f"fold {number + 1} of {folds}")
        run = Cltr(fold, out / "folds" / str(number), own, index=common.index_folder, made_from=made_from)
        run.workers = workers
        run.run()
        cltr_report.finish(run)
        runs.append(run)
    found = _figures(runs)
    report = Report(
        title=f"CLTR: {folds}-fold cross-validation",
        subtitle=f"{data.folder} · {found['questions']:,} questions · {found['tables']:,} tables",
        notes=[cltr_report.WITH_ONE_TABLE],
        result_tables=cltr_report.result_tables(found),
        facts={"mean of folds": _named(found["mean"]), "deviation over folds": _named(found["deviation"])},
    )
    return reporting.write(out, found, report)


def _figures(runs: list[Cltr]) -> dict:
    """Figures over all questions together, and over folds."""

    def joined(read, path) -> dict:
        return {query: found for run in runs for query, found in read(path(run)).items()}

    tables, cells = (joined(read_qrels, lambda run: run.qrels_file(what)) for what in (TABLES, CELLS))
    orders = runs[0].orders
    files = {order: f"answers.{order}" for order in orders} | {"gold_table": "gold_table"}
    ordered = {order: joined(read_run, lambda run: run.run_file(order)) for order in orders}
    answers = {name: joined(read_run, lambda run: run.run_file(file)) for name, file in files.items()}
    each = [cltr_report.figures(run) for run in runs]
    best = orders[-1]
    own = [found["retrieval"][best] | found["answers"][best] for found in each]
    return {
        "retrieval": {order: table_measures(tables, hits) for order, hits in ordered.items()},
        "answers": {name: answer_measures(cells, hits) for name, hits in answers.items()},
        "differences": cltr_report.differences(best, tables, ordered, cells, answers),
        "best": best,
        "mean": {name: statistics.fmean(one[name] for one in own) for name in own[0]},
        "deviation": {name: statistics.stdev(one[name] for one in own) for name in own[0]},
        "questions": len(tables),
        "answered_by_cells": sum(any(units.values()) for units in cells.values()),
        "tables": each[0]["tables"],
        "vectors": each[0]["vectors"],
        "folds": each,
    }


def _named(figures: Mapping[str, float]) -> dict[str, float]:
    return {name: round(100 * value, 2) for name, value in figures.items()}
