"""The questions of a run of CLTR: which are trained on, held out and reported, and which are refused or left out."""

from __future__ import annotations

import functools
import itertools
import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from lisax.corpora import Dataset
from lisax.corpora.reading import Watch, told
from lisax.errors import DataError, LisaxError
from lisax.papers.base import REPORT, TRAIN, VALIDATION, Pipeline, tell
from lisax.papers.cltr.operations import AGGREGATING, AggregationStages
from lisax.papers.settings import fact, kept
from lisax.records import Claim, Label, Question, Table, is_cell, split_cell_id
from lisax.retrieval import table_text
from lisax.retrieval.table_store import TableStore
from lisax.sampling import splits

TRAIN_SPLITS = ("train", "e2e_train")
REPORT_SPLITS = ("e2e_test", "e2e_dev", "test", "dev")  # the first that exists
NO_CELL = "questions whose answer is not a cell of a table, of which no row or column is learned"
MANY_CELLS = "questions that more cells answer than are learned from"
NO_EVIDENCE = "questions of which no table of the corpus is known to answer them"
NO_TABLE = "questions about tables that the corpus does not have"


def by_id(questions: Iterable[Question], others: Mapping[str, Question] = {}) -> dict[str, Question]:
    """Questions of several splits by id. An id of two different ones, here or in `others`, is an error."""
    found: dict[str, Question] = {}
    for question in questions:
        known = found.setdefault(question.id, others.get(question.id, question))
        if known.text != question.text:
            raise LisaxError(
                f"the id {question.id!r} stands for two questions, in different splits: {known.text!r:.80} "
                f"and {question.text!r:.80}; `lisax data check` names all such ids and their places"
            )
        found[question.id] = question
    return found


class QuestionPipeline(Pipeline):
    """A run over tables and questions.

    `index`: an existing index of the same tables to use. `made_from`: a digest of it and other outside input."""

    def __init__(
        self,
        data: Dataset,
        out: str | os.PathLike,
        recipe,
        *,
        until: str | None = None,
        index: Path | None = None,
        made_from: str | None = None,
    ):
        self._made_from = made_from
        self.index_folder = Path(out) / "index" if index is None else Path(index)
        super().__init__(data, out, recipe, until=until)

    def check_data(self) -> None:
        recipe, splits = self.recipe, self.data.question_splits
        if self.report_split is None or (recipe.train and not self.train_splits):
            wanted = ", ".join([*(recipe.train_splits or TRAIN_SPLITS[:1]), recipe.report_split or REPORT_SPLITS[-1]])
            raise LisaxError(
                f"{self.data.folder}: questions for {wanted} are needed, found {', '.join(splits) or 'none'}"
            )
        super().check_data()

    @fact
    def data_files(self) -> list:
        """The files of the data and, in cross-validation, the fold's deal of the questions, which no file has."""
        return [*self.files_of(self._data), *getattr(self._data, "dealt", ())]

    @fact
    def train_splits(self) -> list[str]:
        return [split for split in self.recipe.train_splits or TRAIN_SPLITS if split in self.data.question_splits]

    @fact
    def report_split(self) -> str | None:
        named = [self.recipe.report_split] if self.recipe.report_split else REPORT_SPLITS
        return next((split for split in named if split in self.data.question_splits), None)

    @fact
    def validation_split(self) -> str | None:
        """`dev`, which chooses checkpoints if `test` is reported; None: a share of the training splits takes its place,
        as with the E2E splits of WikiTableQuestions."""
        free = self.report_split == "test" and "dev" not in self.train_splits
        return "dev" if free and "dev" in self.data.question_splits else None

    @fact
    def made_from(self) -> str | None:
        """A digest of the index and other inputs that come from outside the run."""
        return self._made_from

    @functools.cached_property
    def aggregation(self) -> AggregationStages:
        return AggregationStages(self)

    @property
    def claim_splits(self) -> Sequence[str]:
        return (TRAIN, REPORT)

    def read_claims(self, split: str) -> Iterator[Claim]:
        """Questions in the form of claims, which retrieval and its measures take."""
        for question in self.read_questions(split):
            if gold := table_text.gold_tables(question):
                yield Claim(question.id, question.text, Label.SUPPORTS, tuple((table,) for table in gold))

    def read_questions(self, role: str, watch: Watch | None = None) -> Iterator[Question]:
        chosen = {REPORT: [self.report_split], VALIDATION: [self.validation_split]}
        for split in chosen.get(role, self.train_splits):
            yield from self.data.questions(split, watch)

    def checked_questions(self, role: str) -> Iterator[Question]:
        """The questions of a role. Raises an error for one that names a cell outside its table."""

        def stream(watch: Watch) -> Iterator[Question]:
            for question in self.read_questions(role, watch):
                self._check_cells(question, watch)
                yield question

        return told(stream, None)

    def _check_cells(self, question: Question, watch: Watch) -> None:
        for field in ("evidence", "operands"):
            for unit in filter(is_cell, getattr(question, field)):
                table_id, row, column = split_cell_id(unit)
                table = self.lookup(table_id)
                if table is not None and not (row < len(table.rows) and column < len(table.header)):
                    path, line = watch.where or (self.data.folder, None)
                    raise DataError(
                        f"{unit!r} of question {question.id!r} is past its table, which has "
                        f"{len(table.rows):,} rows and {len(table.header):,} columns",
                        path=path,
                        line=line,
                        field=field,
                    )

    @functools.cached_property
    def tables(self) -> TableStore:
        return TableStore.open(self.tables_folder)

    @functools.lru_cache(1 << 14)
    def lookup(self, table: str) -> Table | None:
        return self.tables.get(table)

    @kept
    def questions(self) -> dict[str, dict[str, Question]]:
        """Questions by role and id; reported ones are never trained on. Training questions are answered by cells. For
        reported ones only the table must be known: retrieval is measured on all of them, answers on those with a cell.
        """
        recipe, skipped = self.recipe, Counter()
        made = self._by_role(functools.partial(self._answered, skipped=skipped))
        tell(skipped)
        for role, found in made.items():
            needed = role == REPORT or recipe.learns or (role == VALIDATION and recipe.fuse_bm25)
            if role == REPORT and found and not recipe.scores:
                continue  # retrieval needs no cell
            if needed and not any(map(table_text.gold_tables, found.values())):
                raise LisaxError(f"{self.data.folder}: no question for '{role}' is answered by a cell")
        if recipe.aggregates:
            made |= {AGGREGATING[role]: found for role, found in self._by_role(self.aggregation.questions).items()}
        return made

    def _by_role(self, read: Callable[[str], Iterable[Question]]) -> dict[str, dict[str, Question]]:
        recipe = self.recipe
        reported = by_id(read(REPORT))
        reported = dict(itertools.islice(reported.items(), recipe.report_questions))
        taught = read(TRAIN) if recipe.learns or recipe.fuse_bm25 else ()
        train = {i: question for i, question in by_id(taught, reported).items() if i not in reported}
        if self.validation_split is None:
            chosen = splits.held_out(train.values(), recipe.validation_share, recipe.validation_by)
            held = {i: question for i, question in train.items() if i in chosen}
        else:
            taught = read(VALIDATION) if recipe.learns or recipe.fuse_bm25 else ()
            held = {i: question for i, question in by_id(taught, reported | train).items() if i not in reported}
        train = {i: question for i, question in train.items() if i not in held}
        return {
            TRAIN: dict(itertools.islice(train.items(), recipe.train_questions)),
            VALIDATION: dict(itertools.islice(held.items(), recipe.validation_questions)),
            REPORT: reported,
        }

    def _answered(self, role: str, skipped: Counter) -> Iterator[Question]:
        for question in self.checked_questions(role):
            cells, tables = table_text.gold_tables(question), self.gold_tables(question)
            if not all(table in self.tables for table in cells):
                skipped[NO_TABLE] += 1
            elif not tables:
                skipped[NO_EVIDENCE] += 1
            elif not cells and role != REPORT:
                skipped[NO_CELL] += 1
            elif role != REPORT and sum(map(is_cell, question.evidence)) > (self.recipe.answer_cells or math.inf):
                skipped[MANY_CELLS] += 1
            else:
                yield question

    def gold_tables(self, question: Question) -> tuple[str, ...]:
        """The tables that contain an answer, including those whose answer cell is unknown."""
        return table_text.gold_tables(question, self.tables.__contains__)

    @kept
    def claims(self) -> dict[str, dict[str, Claim]]:
        """The questions as claims by role and id, as retrieval and its measures take them."""
        return {
            role: table_text.as_claims(questions.values(), self.tables.__contains__)
            for role, questions in self.questions.items()
        }
