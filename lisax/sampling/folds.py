"""Cross-validation (CLTR, section 4.2: five folds, four fifths for fine-tuning and one for validation)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import NamedTuple

from lisax.errors import LisaxError
from lisax.records import Question, is_cell, split_cell_id

FOLDS = 5


class Fold(NamedTuple):
    """The training and held-out questions of one fold, both in the original order."""

    train: tuple[Question, ...]
    held_out: tuple[Question, ...]


def by_question(question: Question) -> str:
    return question.id


def by_table(question: Question) -> str:
    """The first table that answers the question; grouped by it, no table is both trained on and held out."""
    unit = question.evidence[0] if question.evidence else question.id
    return split_cell_id(unit)[0] if is_cell(unit) else unit


def folds(
    questions: Sequence[Question], count: int = FOLDS, *, group: Callable[[Question], str] = by_question, seed: int = 0
) -> list[Fold]:
    """`count` folds in which each question is held out once; questions of a group are held out together.

    The paper's folds are of single questions, `by_question`. Each group goes to the fold that has the fewest questions
    so far. The groups' order depends only on `seed` and their names, so the order of the questions does not matter.
    Raises LisaxError for fewer groups than folds.
    """
    sizes: dict[str, int] = {}
    for question in questions:
        name = group(question)
        sizes[name] = sizes.get(name, 0) + 1
    if count < 2 or len(sizes) < count:
        raise LisaxError(
            f"cross-validation needs at least two folds and one group of questions per fold; found "
            f"{count} folds and {len(sizes)} groups"
        )
    filled, fold_of = [0] * count, {}
    for name in sorted(sizes, key=lambda name: (-sizes[name], hashlib.blake2b(f"{seed}:{name}".encode()).digest())):
        fold_of[name] = fold = filled.index(min(filled))
        filled[fold] += sizes[name]
    of_question = [fold_of[group(question)] for question in questions]
    return [
        Fold(
            tuple(q for q, own in zip(questions, of_question) if own != fold),
            tuple(q for q, own in zip(questions, of_question) if own == fold),
        )
        for fold in range(count)
    ]
