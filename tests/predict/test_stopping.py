"""Early stopping: which candidates are scored, what the table says, and what the curve counts."""

from __future__ import annotations

import numpy as np
import pytest

from lisax import Evidence, LisaxError
from lisax.formats.ranking import RANK
from lisax.predict.ranker import Ranker, SentenceRanker, stopping_ranker
from lisax.predict.stopping import Stopping, curve, fit, lines_of
from lisax.records import Claim, DataError, Hit, Label
from lisax.runtime.model_card import ModelCard


def drawn(count: int = 400, candidates: int = 40) -> list[list[float]]:
    """Scores that fall with the rank of retrieval, the more the easier a claim is."""
    draws = np.random.default_rng(0)
    return [
        (draws.random(candidates) * np.exp(-np.arange(candidates) * draws.choice([0.02, 0.5]))).tolist()
        for _ in range(count)
    ]


class Known:
    """A model whose score of a sentence stands in it, and which notes what it was asked for."""

    format = RANK

    def __init__(self):
        self.asked = []

    def probabilities(self, examples, progress=None):
        self.asked += [float(example.sentences[0].text) for example in examples]
        return np.array([[float(example.sentences[0].text), 0] for example in examples], np.float32)


def test_the_chance_is_that_of_held_out_claims():
    claims = drawn()
    table = fit(claims)
    seen, entered = 0, 0.0
    for scores in drawn(800)[400:]:
        chance = table.chance(scores[:20])
        if chance < 0.2:
            seen += 1
            entered += max(scores[20:]) > sorted(scores[:20])[-5]
    assert seen > 100 and entered / seen < 0.2
    assert table.chance(claims[0][:5]) == 1 and table.chance([0.5] * 15) == 1 and table.chance([0.5] * 400) == 1
    assert table.scored(claims[0], 0.0) == 40 and table.scored(claims[0], 1.0) == 10


def test_little_is_known_of_few_claims():
    assert min(fit([[1.0] * 10 + [0.0] * 10]).chances[0]) == 1 / 3  # of one claim, in which nothing entered
    with pytest.raises(LisaxError, match="no claim has more than 10 candidates"):
        fit([[0.1] * 10])


def test_a_ranker_scores_no_more_than_it_must_and_finds_the_same_best_five():
    table = Stopping(10, ((0.5,), (0.5,)), ((1.0, 0.01), (1.0, 0.01)), 100)
    easy = [0.9] * 5 + [0.1] * 20
    hard = [0.2] * 10 + [0.8] * 5 + [0.1] * 10
    evidence = [
        [Evidence(f"{name}_{i}", str(s)) for i, s in enumerate(scores)] for name, scores in (("e", easy), ("h", hard))
    ]
    model = Known()
    ranker = SentenceRanker(model, table, 0.05)
    told = []
    found = list(ranker.rank_many(["easy", "hard"], evidence, progress=told.append))
    assert (ranker.scored, ranker.offered, len(model.asked)) == (30, 50, 30)
    every = list(SentenceRanker(Known()).rank_many(["easy", "hard"], evidence))
    for stopped, whole in zip(found, every):
        assert [one.unit for one in stopped[:5]] == [one.unit for one in whole[:5]]
        assert {one.unit for one in stopped} == {one.unit for one in whole}
        assert [one.score for one in stopped] == sorted((one.score for one in stopped), reverse=True)
    assert [one.unit for one in found[0][10:]] == [f"e_{i}" for i in range(10, 25)]
    assert list(ranker.rank_many(["none"], [[]])) == [[]]


def test_the_curve_counts_what_is_saved_and_lost():
    table = Stopping(10, ((),), ((0.3,),), 10)
    hits = [Hit("c", f"P_{i}", i + 1, 1.0 if i == 15 else 0.5 - i / 100) for i in range(20)]
    claim = Claim("c", "x", Label.SUPPORTS, (("P_15",),))
    points = curve(table, {"c": claim}, {"c": hits}, (0.5, 0.1))
    assert [(p.scored, p.recall) for p in points] == [(1.0, 1.0), (0.5, 0.0), (1.0, 1.0)]
    assert "50.0        0.00 100.00" in lines_of(points)[2]


def test_a_table_goes_with_the_model(tmp_path):
    card = ModelCard(tmp_path, {"stopping": {"chunk": 10, "edges": [[0.5]], "chances": [[0.4, 0.1]], "claims": 7}})
    assert Stopping.of(card) == Stopping(10, ((0.5,),), ((0.4, 0.1),), 7)
    assert Stopping.of(ModelCard(tmp_path, {})) is None
    with pytest.raises(DataError, match="expected one more in each row"):
        Stopping.of(card.having(stopping={"chunk": 10, "edges": [[0.5]], "chances": [[0.4]], "claims": 7}))
    for wrong in ({"chunk": -3}, {"chunk": 2}, {"chunk": "10"}, {"edges": [["x"]]}, {"chances": 0.4}):
        given = {"chunk": 10, "edges": [[0.5]], "chances": [[0.4, 0.1]], "claims": 7} | wrong
        with pytest.raises(DataError, match=f"stopping.{next(iter(wrong))}': expected a"):
            Stopping.of(card.having(stopping=given))
    with pytest.raises(LisaxError, match="has no table of when to stop.*--fit-stopping"):
        stopping_ranker(SentenceRanker(Known()), 0.1)
    with pytest.raises(LisaxError, match="bm25 has no table of when to stop"):
        Ranker.open("bm25", stop=0.1)
