"""Answers to questions over tables (CLTR, Table 3): mean reciprocal rank and Hit@1 of ranked answers.

By text, an answer is right if it equals an accepted one, with numbers, dates and words compared as for the labels
(`lisax.corpora.answer_cells.value_of`); by cell, if it is a gold cell. A text may be right by chance, in a cell of
another table; a cell may not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from lisax.corpora.answer_cells import value_of
from lisax.corpora.answer_predictions import RankedAnswers
from lisax.errors import DataError
from lisax.metrics.open_qa import exact_match
from lisax.records import Question, is_cell


def first_right(ranked: Sequence[str], right: Callable[[str], bool]) -> int | None:
    """The rank, from 1, of the first right answer; None without one."""
    return next((rank for rank, answer in enumerate(ranked, start=1) if right(answer)), None)


def evaluate(questions: Mapping[str, Question], answers: Mapping[str, RankedAnswers]) -> dict:
    """`mrr`, `hit@1` and the number of `questions`, by text and, under `cells`, by cell. Each covers the questions with
    gold answers of that sort, if `answers` has any of it. `exact_match` is that of the first text after SQuAD's
    normalisation (`open_qa`). A question without an answer counts as wrong.

    Raises DataError if there is nothing to count, or an answer belongs to no question."""
    if unknown := answers.keys() - questions.keys():
        raise DataError(f"answers to a question that is not asked: '{min(unknown)}'")
    by_text: list[int | None] = []
    exact: list[bool] = []
    by_cell: list[int | None] = []
    for name, question in questions.items():
        _, texts, cells = answers.get(name, RankedAnswers(name))
        if accepted := set(map(value_of, question.answers)):
            by_text.append(first_right(texts, lambda text: value_of(text) in accepted))
            exact.append(bool(texts) and exact_match(texts[0], question.answers))
        if gold := set(filter(is_cell, question.evidence)):
            by_cell.append(first_right(cells, gold.__contains__))
    figures = {}
    if by_text and any(ranked.texts for ranked in answers.values()):
        figures = _figures(by_text) | {"exact_match": sum(exact) / len(exact)}
    if by_cell and any(ranked.cells for ranked in answers.values()):
        figures["cells"] = _figures(by_cell)
    if not figures:
        raise DataError(
            "there is nothing to count: the questions have no answers and no cells as evidence, or none is predicted"
        )
    return figures


def _figures(ranks: Sequence[int | None]) -> dict:
    return {
        "mrr": sum(1 / rank for rank in ranks if rank) / len(ranks),
        "hit@1": sum(rank == 1 for rank in ranks) / len(ranks),
        "questions": len(ranks),
    }
