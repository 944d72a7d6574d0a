"""The optional aggregation head in a run of CLTR: its training examples, its answers and its accuracy.

The paper has no such head; its released code had one. Questions answered by a count, a sum or an average of cells have
roles of their own, with those cells as evidence. Rows are trained on them too, so that the rows to be added up are
found.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lisax.corpora.answer_cells import value_of
from lisax.errors import LisaxError
from lisax.files.reading import read_json_lines
from lisax.files.writing import write_json_lines
from lisax.formats.examples import write_examples
from lisax.papers.base import REPORT, TRAIN, VALIDATION
from lisax.papers.cltr.pool_scores import PoolScores
from lisax.papers.cltr.recipe import AGGREGATION, CltrRecipe
from lisax.papers.stages import Stage
from lisax.predict import aggregation
from lisax.predict.aggregation import Aggregator, aggregate
from lisax.predict.answerer import QUESTIONS_AT_A_TIME
from lisax.progress import say
from lisax.records import Operation, Question, Table, split_cell_id
from lisax.retrieval.table_store import TableStore
from lisax.retrieval.table_text import gold_tables
from lisax.sampling import part_examples

if TYPE_CHECKING:
    from lisax.papers.cltr.run import Cltr

AGGREGATING = {role: f"{role}.{AGGREGATION}" for role in (TRAIN, VALIDATION, REPORT)}
UNKNOWN = "unknown"


def _open_aggregating(
    model: Path, threshold: float, tables: Path
) -> Callable[[Sequence[tuple[str, PoolScores]]], list[dict[str, Any]]]:
    aggregator, lookup = Aggregator.open(model, threshold), TableStore.open(tables).get
    return lambda pairs: [
        aggregation.line(pool.id, aggregator.answers(question, pool.first_tables(lookup))) for question, pool in pairs
    ]


class AggregationStages:
    """The stages of the head and its hooks in other stages; empty for a recipe without a head."""

    def __init__(self, run: Cltr):
        self._run = run

    @property
    def recipe(self) -> CltrRecipe:
        return self._run.recipe

    # --- Hooks for other stages ---------------------------------------------------------------

    @property
    def scored_roles(self) -> tuple[str, ...]:
        """The roles whose tables are scored."""
        if not self.recipe.aggregates:
            return ()
        held = self.recipe.learns and self.recipe.aggregation_threshold is None
        return (*([AGGREGATING[VALIDATION]] if held else []), AGGREGATING[REPORT])

    @property
    def retrieved_roles(self) -> list[str]:
        """The roles whose tables are retrieved, to be scored or to provide negatives."""
        negatives = self.recipe.aggregates and self.recipe.learns and self.recipe.negative_tables
        return [role for role in AGGREGATING.values() if negatives or role in self.scored_roles]

    def questions(self, role: str) -> Iterator[Question]:
        """The questions of a role that are answered by an aggregate of several cells."""
        for question in self._run.checked_questions(role):
            if question.operands and not gold_tables(question):
                question = dataclasses.replace(question, evidence=question.operands)
                if all(table in self._run.tables for table in gold_tables(question)):
                    yield question

    @property
    def example_files(self) -> dict[str, Path]:
        return {
            role: self._run.out / "examples" / part_examples.operations_file(role)
            for role in (TRAIN, VALIDATION)
            if AGGREGATION in self.recipe.train
        }

    def write_examples(self) -> None:
        for role, path in self.example_files.items():
            made = part_examples.operations(self._run.learned(role), self._run.lookup)
            count = write_examples(path, made)
            if not count:
                raise LisaxError(
                    f"{self._run.data.folder}: no question for '{role}' has its operation, which a model "
                    f"'{AGGREGATION}' learns from"
                )
            say(f"  {count:,} headers for {role}")

    # --- The stage ----------------------------------------------------------------------------

    @property
    def file(self) -> Path:
        return self._run.predictions_file(f"answers.{REPORT}")

    def stages(self) -> list[Stage]:
        recipe = self.recipe
        if not recipe.aggregates:
            return []
        reranked = [f"rerank.{role}" for role in (REPORT, *self.scored_roles)]
        after = reranked if AGGREGATION in recipe.models else [*reranked, f"train.{AGGREGATION}"]
        return [Stage("aggregate", after, [self.file], self._answer)]

    def _answer(self) -> None:
        run, threshold = self._run, self.threshold
        say(f"  rows from a probability of {threshold:.4f} on")
        opens = functools.partial(_open_aggregating, run.model_dir(AGGREGATION), threshold, run.tables_folder)
        pairs = (
            (run.questions[role][pool.id].text, pool)
            for role, asked in self._asked.items()
            for pool in run.scores(role)
            if pool.id in asked
        )
        write_json_lines(self.file, run.at_workers(opens, pairs, QUESTIONS_AT_A_TIME, "questions"))

    @functools.cached_property
    def _asked(self) -> dict[str, dict[str, Question]]:
        """The reported questions by id: those answered by one cell, and those answered by an aggregate of several."""
        by_cell = {i: question for i, question in self._run.questions[REPORT].items() if gold_tables(question)}
        return {REPORT: by_cell, AGGREGATING[REPORT]: self._run.questions[AGGREGATING[REPORT]]}

    @functools.cached_property
    def threshold(self) -> float:
        """The given threshold, or one fitted on held-out questions whose table is among the first by best cell."""
        run, role = self._run, AGGREGATING[VALIDATION]
        if self.recipe.aggregation_threshold is not None:
            return self.recipe.aggregation_threshold
        if role not in self.scored_roles:
            return aggregation.THRESHOLD
        held = []
        for pool in run.scores(role):
            right = part_examples.answering_cells(run.questions[role][pool.id])
            held += [
                (rows, {split_cell_id(cell)[1] for cell in right[table]})
                for table, _, rows, _ in pool.shown
                if table in right
            ]
        return aggregation.fit_threshold(held)

    def figures(self) -> dict[str, Any]:
        """`threshold`; and for each operation (`unknown` where the question's is not known) and `all`: `questions`,
        `operation_accuracy` on the first table, and `hit@1`, the share of questions whose first answer is right.

        An answer is right if it equals an accepted one, or the result of the operation on the operands."""
        asked = {i: question for questions in self._asked.values() for i, question in questions.items()}
        found: dict[str, list[tuple[bool | None, bool]]] = {}
        for _, row in read_json_lines(self.file):
            question, first = asked[row["id"]], next(iter(row["tables"]), None)
            name = UNKNOWN if question.operation is None else str(question.operation)
            known = None if question.operation is None else first is not None and first["operation"] == name
            right = first is not None and value_of(row["answers"][0]) in accepted(question, self._run.lookup)
            for group in (name, "all"):
                found.setdefault(group, []).append((known, right))
        order = [name for name in (*Operation, UNKNOWN, "all") if name in found]
        return {"threshold": self.threshold, "by_operation": {str(name): _shares(found[name]) for name in order}}


def accepted(question: Question, lookup: Callable[[str], Table | None]) -> set[tuple]:
    """The values of the right answers, as `answer_cells.value_of` reads them."""
    texts = set(question.answers)
    if question.operands and all(lookup(split_cell_id(cell)[0]) for cell in question.operands):
        made = aggregate(question.operation, _texts(question.operands, lookup)) if question.operation else None
        texts |= {made.text} if made else set()
    return set(map(value_of, texts))


def _texts(cells: Iterable[str], lookup: Callable[[str], Table | None]) -> Mapping[str, str]:
    places = {cell: split_cell_id(cell) for cell in cells}
    return {cell: lookup(table).rows[i][j] for cell, (table, i, j) in places.items()}


def _shares(members: list[tuple[bool | None, bool]]) -> dict[str, Any]:
    known = [right for right, _ in members if right is not None]
    return {
        "questions": len(members),
        "operation_accuracy": sum(known) / len(known) if known else None,
        "hit@1": sum(right for _, right in members) / len(members),
    }
