"""Training-time figures on hand-made results."""

from __future__ import annotations

import math

import pytest

from lisax.tasks import metrics


def test_accuracy_and_its_balanced_kin():
    targets = [{"target": word} for word in ("true", "true", "true", "weak")]
    assert metrics.accuracy(targets, ["true", "true", " true", "true"]) == {"accuracy": 0.75}
    assert metrics.label_accuracy(targets, ["true"] * 4) == {"label_accuracy": 0.75, "balanced_accuracy": 0.5}


def test_ranking_figures_by_claim():
    claims = ["a"] * 4 + ["b"] * 2 + ["c"]
    relevant = [False, True, False, True, False, True, False]
    scores = [0.9, 0.8, 0.1, 0.2, 0.3, 0.7, 0.5]
    figures = metrics.ranking_figures(claims, relevant, scores, cutoff=2)
    assert figures["precision@2"] == pytest.approx((1 / 2 + 1 / 2) / 2)
    assert figures["recall@2"] == pytest.approx((1 / 2 + 1) / 2)
    assert figures["f1@2"] == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert figures["map@2"] == pytest.approx(((1 / 2) / 2 + 1) / 2)


def test_scores_of_the_target_word_become_relevance():
    targets = [{"claim_id": "a", "relevant": True}, {"claim_id": "a", "relevant": False}]
    good = metrics.ranking_scores(targets, [math.log(0.9), math.log(0.8)])
    bad = metrics.ranking_scores(targets, [math.log(0.3), math.log(0.2)])
    assert good["map@5"] == 1 and bad["map@5"] == 0.5


def test_the_first_relevant_part_of_each_question():
    questions = ["a"] * 4 + ["b"] * 2 + ["none"]
    relevant = [False, True, False, True, True, False, False]
    figures = metrics.part_figures(questions, relevant, [0.9, 0.8, 0.85, 0.7, 0.6, 0.5, 1.0])
    assert figures == {"mrr": pytest.approx((1 / 3 + 1) / 2), "hit@1": 0.5}
    # Where all are alike the relevant part is not the first.
    assert metrics.part_figures(["a"] * 4, [True, False, False, False], [0.5] * 4) == {"mrr": 0.25, "hit@1": 0.0}
    assert metrics.part_figures([], [], []) == {"mrr": 0.0, "hit@1": 0.0}
    targets = [{"class": i % 2, "claim_id": f"q{i // 2}"} for i in range(4)]
    shares = [(0.9, 0.1), (0.2, 0.8), (0.3, 0.7), (0.6, 0.4)]
    assert metrics.pair_parts(targets, shares) == {"mrr": 0.75, "hit@1": 0.5}
