"""Ranking measures: hand values, equality with trec_eval, and LisT5's definitions."""

import math

import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from lisax.errors import DataError
from lisax.metrics.ranking import complete_recall, mean_f1, ordered_ids, qrels_of, sentence_selection, trec_measures
from lisax.records import Claim, Hit, Label


def run_of(**rankings):
    """Query to hits with falling scores, from a string of one-letter ids."""
    return {
        query: [Hit(query, unit, rank, 1 / rank) for rank, unit in enumerate(units, start=1)]
        for query, units in rankings.items()
    }


def claim(claim_id, *sets):
    return Claim(claim_id, "c", Label.SUPPORTS, tuple(map(tuple, sets)))


def test_trec_measures_by_hand():
    qrels = {"q": {"a": 1, "c": 1, "x": 1, "d": 0}, "empty": {"a": 1}}
    figures = trec_measures(qrels, run_of(q="abcdef"), cutoffs=(1, 5))
    assert figures["precision@5"] == pytest.approx((2 / 5 + 0) / 2)
    assert figures["map@5"] == pytest.approx(((1 / 1 + 2 / 3) / 3 + 0) / 2)
    assert figures["recall@1"] == pytest.approx((1 / 3) / 2)
    assert figures["recall@5"] == pytest.approx((2 / 3) / 2)
    assert figures["mrr"] == pytest.approx(1 / 2)
    ideal = 1 + 1 / math.log2(3) + 1 / 2
    assert figures["ndcg@10"] == pytest.approx((1 + 1 / 2) / ideal / 2)


def test_f1_of_a_short_run_divides_by_the_whole_depth():
    claims = [claim("q", "a"), claim("missing", "a"), claim("two", "ab")]
    assert mean_f1(claims, run_of(q="ab", two="ba")) == pytest.approx((2 * 0.2 / 1.2 + 0 + 2 * 0.4 / 1.4) / 3)


ids = st.permutations("abcdefghijkl").map("".join)


@settings(max_examples=50)
@given(
    st.lists(
        st.tuples(ids, st.dictionaries(st.sampled_from("abcdefghijklmn"), st.integers(0, 2), min_size=1)),
        min_size=1,
        max_size=4,
    )
)
def test_equal_to_trec_eval(cases):
    run = run_of(**{f"q{i}": units for i, (units, _) in enumerate(cases)})
    qrels = {f"q{i}": judged for i, (_, judged) in enumerate(cases) if any(judged.values())}
    if not qrels:
        with pytest.raises(DataError, match="nothing relevant"):
            trec_measures(qrels, run)
        return
    names = {
        "P_5": "precision@5",
        "map_cut_5": "map@5",
        "recall_5": "recall@5",
        "recall_10": "recall@10",
        "ndcg_cut_10": "ndcg@10",
        "recip_rank": "mrr",
    }
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"P.5", "map_cut.5", "recall.5,10", "ndcg_cut.10", "recip_rank"})
    theirs = evaluator.evaluate({q: {hit.id: hit.score for hit in hits} for q, hits in run.items()})
    ours = trec_measures(qrels, run)
    for name, our_name in names.items():
        assert ours[our_name] == pytest.approx(sum(row[name] for row in theirs.values()) / len(qrels), abs=1e-12)


def test_equal_scores_keep_their_ranks_and_falling_scores_win_over_ranks():
    saturated = {"q": [Hit("q", "b", 1, 1.0), Hit("q", "z", 2, 1.0), Hit("q", "a", 3, 1.0)]}
    assert ordered_ids(saturated["q"]) == ["b", "z", "a"]
    assert trec_measures({"q": {"b": 1}}, saturated)["mrr"] == 1  # trec_eval alone would put z first
    assert ordered_ids([Hit("q", "a", 1, 0.1), Hit("q", "b", 2, 0.9)]) == ["b", "a"]


CLAIMS = {
    c.id: c for c in (claim("1", "a"), claim("2", "ab", "x"), claim("3", "mn"), Claim("4", "c", Label.NOT_ENOUGH_INFO))
}
RUN = run_of(**{"1": "abcdef", "2": "bcdaef", "3": "mabcdn", "4": "abc"})


def test_complete_recall_wants_a_whole_set():
    assert complete_recall(CLAIMS.values(), RUN, (1, 3, 4, 5, 6)) == {1: 1 / 3, 3: 1 / 3, 4: 2 / 3, 5: 2 / 3, 6: 1}


def test_sentence_selection_by_hand():
    figures = sentence_selection(CLAIMS, RUN, cutoffs=(1, 6))
    assert figures["claims"] == 3
    assert figures["precision@5"] == pytest.approx((1 + 2 + 1) / 5 / 3)
    assert figures["recall@5"] == 2 / 3 and figures["unit_recall@5"] == pytest.approx((1 + 2 / 3 + 1 / 2) / 3)
    own = [2 * 0.2 / 1.2, 2 * 0.4 / 1.4, 0]  # the third claim's set is not whole among five
    assert figures["f1@5"] == mean_f1(CLAIMS.values(), RUN) == pytest.approx(sum(own) / 3)
    p, r = 4 / 15, 2 / 3
    assert figures["f1_of_means@5"] == pytest.approx(2 * p * r / (p + r))
    assert figures["map@5"] == pytest.approx((1 + (1 + 2 / 4) / 3 + 1 / 2) / 3)
    assert {"recall@1", "recall@6", "unit_recall@1", "unit_recall@6"} <= figures.keys()


def test_qrels_of_claims():
    assert qrels_of(CLAIMS.values()) == {"1": {"a": 1}, "2": {"a": 1, "b": 1, "x": 1}, "3": {"m": 1, "n": 1}}
    with pytest.raises(DataError, match="no claim has gold evidence"):
        complete_recall([CLAIMS["4"]], RUN)
