"""Cross-validation (CLTR, section 4.2: five folds, four fifths for fine-tuning and one for validation)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

from lisax.errors import LisaxError
from lisax.records import Question

FOLDS = 5


class Fold(NamedTuple):
    """The training and held-out questions of one fold, both in the original order."""

    train: tuple[Question, ...]
    held_out: tuple[Question, ...]


def folds(questions: Sequence[Question], count: int = FOLDS, *, seed: int = 0) -> list[Fold]:
    """`count` folds in which each question is held out once, of sizes that differ by one question at most.

    They depend only on `seed` and the questions' ids, not on their order. Raises LisaxError for fewer questions than
    folds.
    """
    if count < 2 or len(questions) < count:
        raise LisaxError(
            f"cross-validation needs at least two folds and one question per fold; found {count} folds and "
            f"{len(questions)} questions"
        )
    dealt = sorted(questions, key=lambda question: hashlib.blake2b(f"{seed}:{question.id}".encode()).digest())
    fold_of = {question.id: number % count for number, question in enumerate(dealt)}
    return [
        Fold(
            tuple(question for question in questions if fold_of[question.id] != fold),
            tuple(question for question in questions if fold_of[question.id] == fold),
        )
        for fold in range(count)
    ]
