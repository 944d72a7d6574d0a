"""A trained ranker that orders the best of another one again."""

import json

import numpy as np
import pytest

from lisax.errors import DataError
from lisax.predict.ranker import Bm25Ranker, Reranker, Reranking, as_evidence
from lisax.weights.model_card import ModelCard

SENTENCES = ["Olin was born in Tarn.", "Olin is a poet of Tarn.", "Tarn is a town.", "Ostra lies by the sea."]


class Second:
    """Stands in for a trained ranker: a probability for each sentence, and what it was asked for."""

    def __init__(self, **probabilities: float):
        self.probabilities, self.asked = probabilities, []

    def scores(self, claims, evidence, *, spot=None):
        self.asked += [[one.text for one in found] for found in evidence]
        return [[self.probabilities[one.text.split()[-1].strip(".")] for one in found] for found in evidence]


def reranker(second, depth, weights=(1.0, 0.0, 0.0)):
    return Reranker(second, Bm25Ranker(), Reranking("bm25", depth, weights))


def texts(evidence):
    return [one.text for one in evidence]


def test_the_best_are_ordered_again_and_the_others_stay_below():
    second = Second(Tarn=0.2, town=0.9)
    first = Bm25Ranker().rank("Olin was born in Tarn.", SENTENCES)
    ranked = reranker(second, 3).rank("Olin was born in Tarn.", SENTENCES)
    assert second.asked == [texts(first)[:3]]
    assert texts(ranked) == ["Tarn is a town.", *texts(first)[:2], texts(first)[3]]
    assert [one.score for one in ranked] == pytest.approx([0.9, 0.2, 0.2, -1.0])


def test_the_score_is_the_probability_by_both():
    found = as_evidence(SENTENCES[:3])
    first = Bm25Ranker().rank("Olin was born in Tarn.", found)
    weights = (0.5, 2.0, -1.0)
    ranked = reranker(Second(Tarn=0.6, town=0.5), 3, weights).rank("Olin was born in Tarn.", found)
    best = max(one.score for one in first)
    for one in first:
        p = 0.5 if one.text == "Tarn is a town." else 0.6
        expected = 1 / (1 + np.exp(-(0.5 * np.log(p / (1 - p)) + 2.0 * one.score / best - 1.0)))
        assert next(new.score for new in ranked if new.unit == one.unit) == pytest.approx(expected)


def test_a_card_that_names_its_own_model_is_refused(tmp_path):
    (tmp_path / "model.json").write_text(json.dumps(Reranking(str(tmp_path), 10, (1.0, 2.0, 3.0)).described()))
    card = ModelCard.read(tmp_path)
    with pytest.raises(DataError, match="reranks.first.*expected bm25 or a sentence encoder"):
        Reranking.of(card).opened(card)
    assert isinstance(Reranking("bm25", 10, (1.0, 2.0, 3.0)).opened(card), Bm25Ranker)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_less_than_its_depth_is_ranked_whole(count):
    ranked = list(reranker(Second(Tarn=0.5), 10).rank_many(["Olin", "Tarn"], [as_evidence(SENTENCES[:count])] * 2))
    assert [len(found) for found in ranked] == [count, count]
    assert all(0 <= one.score <= 1 for found in ranked for one in found)


@pytest.mark.parametrize(
    ("field", "value"),
    [("depth", 0), ("weights", [1.0, 2.0]), ("weights", [1.0, 2.0, float("nan")]), ("first", 3), ("first", None)],
)
def test_a_card_that_is_wrong_is_told_by_its_field(tmp_path, field, value):
    card = Reranking("bm25", 10, (1.0, 2.0, 3.0)).described()
    card["reranks"][field] = value
    if value is None:
        del card["reranks"][field]
    (tmp_path / "model.json").write_text(json.dumps(card))
    with pytest.raises(DataError, match=f"reranks.{field}"):
        Reranking.of(ModelCard.read(tmp_path))
