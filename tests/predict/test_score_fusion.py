"""The ranker beside BM25: what is fitted finds the better of the two, or what both know together."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lisax.errors import LisaxError
from lisax.predict.score_fusion import features, fit, fuse
from lisax.records import Claim, Hit, Label


def hits(query, scores):
    ranked = sorted(scores.items(), key=lambda pair: -pair[1])
    return [Hit(query, unit, rank, score) for rank, (unit, score) in enumerate(ranked, start=1)]


def world(rng, ranker_noise, bm25_noise, claims=60, sentences=20):
    found, ranked, lexical = [], {}, {}
    for i in map(str, range(claims)):
        gold = np.arange(sentences) == rng.integers(sentences)
        units = [f"P{i}_{n}" for n in range(sentences)]
        found.append(Claim(i, "c", Label.SUPPORTS, ((units[int(gold.argmax())],),)))
        odds = 4.0 * gold - 2 + ranker_noise * rng.normal(size=sentences)
        ranked[i] = hits(i, dict(zip(units, 1 / (1 + np.exp(-odds)))))
        lexical[i] = hits(i, dict(zip(units, np.abs(10 * gold + bm25_noise * rng.normal(size=sentences)))))
    return found, ranked, lexical


def right(claims, run):
    return np.mean([run[claim.id][0].id in claim.gold_ids for claim in claims])


def fused(claims, ranked, lexical, weights):
    run: dict = {}
    for hit in fuse(ranked, lexical, weights):
        run.setdefault(hit.query_id, []).append(hit)
    return run


@pytest.mark.parametrize("noise", [(0.2, 30), (5, 1), (2.5, 5)])
def test_fusion_is_no_worse_than_the_better_of_both(noise):
    rng = np.random.default_rng(0)
    weights = fit(*world(rng, *noise))
    claims, ranked, lexical = world(rng, *noise)
    together = right(claims, fused(claims, ranked, lexical, weights))
    assert together >= max(right(claims, ranked), right(claims, lexical)) - 0.02
    if noise == (2.5, 5):
        assert together > max(right(claims, ranked), right(claims, lexical)) + 0.05


def test_features_of_sentences_that_bm25_did_not_find():
    rows = features(hits("q", {"a_0": 0.5, "b_0": 1.0}), hits("q", {"a_0": 4.0, "c_0": 8.0}))
    assert rows.shape == (2, 3) and rows[1].tolist() == [0.0, 0.5, 1.0]
    assert rows[0][1] == 0 and np.isfinite(rows).all()


@given(st.dictionaries(st.sampled_from([f"p_{i}" for i in range(9)]), st.floats(0, 1), min_size=1))
def test_fusing_keeps_the_sentences_and_gives_probabilities_in_order(scores):
    run = list(fuse({"q": hits("q", scores)}, {}, np.array([1.0, 1.0, 0.0])))
    assert {hit.id for hit in run} == scores.keys() and [hit.rank for hit in run] == list(range(1, len(run) + 1))
    assert all(0 <= b.score <= a.score <= 1 for a, b in itertools.pairwise(run))
    assert 0 <= run[-1].score <= run[0].score <= 1


def test_nothing_to_fit_is_said():
    with pytest.raises(LisaxError, match="both gold and other"):
        fit([Claim("1", "c", Label.SUPPORTS, (("a_0",),))], {"1": hits("1", {"b_0": 0.5})}, {})
