"""How probable it is that an answer, a sentence or a table's best cell, is right.

The probabilities of rows and columns give the likeliest answer among a table's cells, and are near 1 even if no table
has one. A logistic regression fitted on held-out questions, each asked twice, with and without its gold table in the
pool, turns them into a probability that the cell is right.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from lisax.metrics.calibration import binned, expected_error
from lisax.metrics.tables import choose_threshold
from lisax.predict import score_fusion
from lisax.retrieval.terms import count_terms
from lisax.weights.model_card import ModelCard

RIDGE = 1.0
ANSWERS = 5  # answers per question that it is fitted on


class Cells(NamedTuple):
    """The best cells of a question's tables, best first, [answers] each: their scores and their tables' scores in the
    pool.

    `best_retrieval` is the highest of these scores. `per_term`: whether they grow with the question, as BM25's do."""

    question: str
    scores: Sequence[float]
    retrieval: Sequence[float]
    best_retrieval: float
    per_term: bool = True


Asked = tuple[Cells, Sequence[bool]]  # a question's answers, and which are right


@dataclasses.dataclass(frozen=True, slots=True)
class AnswerConfidence:
    """`weights` of features of answers. `threshold`: where the best answer's probability is lower, no answer is given.
    `questions`: how many it was fitted on."""

    weights: tuple[float, ...]
    threshold: float
    questions: int = 0

    @classmethod
    def of(cls, card: ModelCard, field: str) -> AnswerConfidence:
        """The values fitted for a model, `field` of its card. Raises DataError if none were."""
        weights, threshold = card.needed(f"{field}.weights", f"{field}.threshold")
        return cls(tuple(weights), threshold, card[field].get("questions", 0))

    @classmethod
    def fit(cls, asked: Sequence[tuple[np.ndarray, Sequence[bool]]]) -> AnswerConfidence:
        """Fits the weights on the features [answers, features] of questions' answers, best first, and whether each is
        right; then the threshold with the greatest F1 of right best answers among all that are given."""
        rows, right = zip(*asked)
        weights = score_fusion.logistic(np.concatenate(rows), np.concatenate(right).astype(float), RIDGE)
        fitted = cls(tuple(weights.tolist()), 0.0, len(rows))
        best = [fitted.probabilities(row)[0] for row in rows]
        threshold = choose_threshold(best, [values[0] for values in right]).value
        return dataclasses.replace(fitted, threshold=min(threshold, 1.0))

    def probabilities(self, features: np.ndarray) -> np.ndarray:
        """The probability that each answer is right, float64 [answers], of features [answers, features]."""
        return score_fusion.probability(features, np.array(self.weights))


def leads(log_odds: np.ndarray) -> np.ndarray:
    """Subtracts from the log-odds of answers, best first, those of the best other answer; from those of an only answer
    those of a probability of 0."""
    # The best other answer of the first one is the second; of any other, the first.
    others = np.full(len(log_odds), log_odds[0] if len(log_odds) else 0.0)
    others[:1] = log_odds[1] if len(log_odds) > 1 else score_fusion.log_odds(np.zeros(1))
    return log_odds - others


def features(cells: Cells) -> np.ndarray:
    """float64 [answers, 5]: log-odds of the cell's score; by how much they exceed those of the best other answer; the
    table's score in the pool, BM25's per term of the question, and as a share of the pool's best; and 1."""
    log_odds = score_fusion.log_odds(np.array(cells.scores, float))
    retrieval = np.array(cells.retrieval, float)
    return np.stack(
        [
            log_odds,
            leads(log_odds),
            retrieval / max(count_terms(cells.question), 1) if cells.per_term else retrieval,
            retrieval / (cells.best_retrieval or 1.0),
            np.ones(len(log_odds)),
        ],
        axis=1,
    )


def fit(asked: Iterable[Asked]) -> AnswerConfidence | None:
    """See `AnswerConfidence.fit`; None unless some best answers are right and some are not."""
    asked = [(cells, right) for cells, right in asked if len(cells.scores)]
    first = [values[0] for _, values in asked]
    if not any(first) or all(first):
        return None
    return AnswerConfidence.fit([(features(cells), right) for cells, right in asked])


def figures(fitted: AnswerConfidence, asked: Iterable[Asked], unanswerable: Iterable[Asked]) -> dict:
    """Figures of the best answers to questions, and to the same questions without their gold tables.

    `kept_right`: the share of right answers that are given; `answered`: the share of questions that are answered;
    `precision`: the share of the answers given that are right; `refused_without_table`: the share of questions without
    their gold table that get no answer; `expected_error`: the expected calibration error over both kinds of
    questions."""
    pairs, others = (
        [(float(fitted.probabilities(features(cells))[0]), values[0]) for cells, values in some if len(cells.scores)]
        for some in (asked, unanswerable)
    )
    right = [share for share, is_right in pairs if is_right]
    given = [is_right for share, is_right in pairs if share >= fitted.threshold]
    return {
        "threshold": fitted.threshold,
        "questions": len(pairs),
        "kept_right": _mean([share >= fitted.threshold for share in right]),
        "answered": _mean([share >= fitted.threshold for share, _ in pairs]),
        "precision": _mean(given),
        "refused_without_table": _mean([share < fitted.threshold for share, _ in others]),
        "expected_error": expected_error(binned([*pairs, *others])),
    }


def _mean(values: Sequence[bool]) -> float | None:
    return sum(values) / len(values) if values else None
