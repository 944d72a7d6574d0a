"""Figures over tables: hand-made cases, and the definitions that they must equal."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisax.errors import DataError, LisaxError
from lisax.metrics import tables
from lisax.records import Claim, Hit, Label, Prediction

S, R, N = Label.SUPPORTS, Label.REFUTES, Label.NOT_ENOUGH_INFO


def claim(name, label, gold=None, kind=None):
    return Claim(name, "text", label, ((gold,),) if gold else (), kind=kind)


def verdict(name, label, *evidence):
    return Prediction(name, label, (math.nan,) * 3, evidence)


def run_of(ranked):
    return {
        query: [Hit(query, table, i, 1 / i) for i, table in enumerate(ids, start=1)] for query, ids in ranked.items()
    }


CLAIMS = {
    c.id: c
    for c in (
        claim("a", S, "t1", "simple"),
        claim("b", R, "t2", "simple"),
        claim("c", S, "t3", "complex"),
        claim("d", R, "t4", "complex"),
        claim("e", S, "t5", "complex"),
        claim("f", N),
    )
}
RANKED = {
    "a": ["t1", "t9"],
    "b": ["t1", "t2", "t3"],
    "c": ["t1", "t2", "t4", "t5", "t3"],
    "d": [*(f"x{i}" for i in range(8)), "t4"],
    "e": [*(f"x{i}" for i in range(10)), "t5"],
}
VERDICTS = {
    v.claim_id: v
    for v in (
        verdict("a", S, "t1"),
        verdict("b", S, "t1", "t2"),
        verdict("c", S, "t1"),
        verdict("d", R, "x1"),
        verdict("e", R, "x1"),
        verdict("f", S),
    )
}


def test_hits_by_kind():
    figures = tables.hits(CLAIMS, run_of(RANKED))
    assert figures == {
        "hits@1": 0.2,
        "hits@3": 0.4,
        "hits@5": 0.6,
        "hits@10": 0.8,
        "claims": 5,
        "mrr": pytest.approx((1 + 1 / 2 + 1 / 5 + 1 / 9 + 1 / 11) / 5),
        "by_kind": figures["by_kind"],
    }
    assert figures["by_kind"]["simple"]["hits@1"] == 0.5 and figures["by_kind"]["complex"]["claims"] == 3
    with pytest.raises(DataError, match="no claim has a gold table"):
        tables.hits({"f": CLAIMS["f"]}, run_of(RANKED))


@given(st.lists(st.integers(0, 2), min_size=1, max_size=6), st.integers(0, 7))
def test_hits_lie_between_those_of_gold_tables_last_and_first_among_equals(scores, gold):
    ranked = [
        Hit("a", f"t{i}", rank, score)
        for rank, (score, i) in enumerate(sorted(zip(scores, range(len(scores))), key=lambda pair: -pair[0]), start=1)
    ]
    claims = {"a": claim("a", S, f"t{gold}")}
    bounds = tables.hits_among_equals(claims, {"a": ranked}, (1, 2, 3))
    own = tables.hits(claims, {"a": ranked}, (1, 2, 3))
    for k in ("hits@1", "hits@2", "hits@3"):
        assert bounds["last"][k] <= own[k] <= bounds["first"][k]
    if len(set(scores)) == len(scores):
        assert bounds["last"] == bounds["first"]


def test_hits_among_equals():
    ranked = [
        Hit("a", name, rank, score) for rank, (name, score) in enumerate((("x", 3), ("y", 2), ("t1", 2), ("z", 2)), 1)
    ]
    found = tables.hits_among_equals({"a": CLAIMS["a"]}, {"a": ranked}, (1, 2, 3, 4))
    assert found["first"] == {"hits@1": 0, "hits@2": 1, "hits@3": 1, "hits@4": 1}
    assert found["last"] == {"hits@1": 0, "hits@2": 0, "hits@3": 0, "hits@4": 1}


def test_hits_are_what_ir_measures_calls_success():
    from ir_measures import Success, calc_aggregate

    run = run_of(RANKED)
    qrels = {c.id: {c.evidence_sets[0][0]: 1} for c in CLAIMS.values() if c.evidence_sets}
    values = calc_aggregate(
        [Success @ k for k in tables.CUTOFFS],
        qrels,
        {query: {hit.id: hit.score for hit in of_query} for query, of_query in run.items()},
    )
    assert {f"hits@{k}": values[Success @ k] for k in tables.CUTOFFS}.items() <= tables.hits(CLAIMS, run).items()


def test_accuracy_by_gold_rank_and_kind():
    figures = tables.evaluate(CLAIMS, VERDICTS, run_of(RANKED))
    assert figures["accuracy"] == 0.5 and figures["claims"] == 6 and figures["majority"] == 0.5
    assert figures["by_gold_rank"] == {
        "1": {"accuracy": 1, "claims": 1},
        "2-3": {"accuracy": 0, "claims": 1},
        "4-5": {"accuracy": 1, "claims": 1},
        "6-10": {"accuracy": 1, "claims": 1},
        "missing": {"accuracy": 0, "claims": 1},
    }
    assert figures["by_kind"]["complex"] == {"accuracy": pytest.approx(2 / 3), "claims": 3}
    assert figures["confusion"]["NOT ENOUGH INFO"]["SUPPORTS"] == 1 and "sufficiency" not in figures
    by_evidence = tables.evaluate(CLAIMS, VERDICTS)["by_gold_rank"]
    assert by_evidence["missing"]["claims"] == 3 and by_evidence["6-10"] == {"accuracy": None, "claims": 0}
    with pytest.raises(DataError, match="1 claim without a prediction, for example 'f'"):
        tables.evaluate(CLAIMS, {i: v for i, v in VERDICTS.items() if i != "f"})


def test_sufficiency_is_held_against_the_tables_that_were_read():
    figures = tables.evaluate(
        CLAIMS, VERDICTS, sufficiency={"a": 0.9, "b": 0.8, "c": 0.3, "d": 0.2, "e": 0.1, "f": 0.0}
    )
    assert figures["sufficiency"] == {
        "claims": 6,
        "found": {
            "average_precision": 1.0,
            "best_f1": 1.0,
            "most_frequent": {"accuracy": 1 - 2 / 6, "precision": 2 / 6},
        },
        "missing": {"average_precision": 1.0, "best_f1": 1.0, "most_frequent": {"accuracy": 4 / 6, "precision": 4 / 6}},
    }
    # A table that was read decides no claim without enough information, though it be the claim's own.
    undecided = CLAIMS | {"a": claim("a", N, "t1")}
    found = tables.evaluate(undecided, VERDICTS, sufficiency=dict.fromkeys(CLAIMS, 0.5))["sufficiency"]["found"]
    assert found["most_frequent"]["precision"] == 1 / 6
    assert tables.sufficiency_figures([0.5, 0.6], [True, True])["found"]["average_precision"] is None


# scores, positives, the area by hand: each new recall times the precision at its threshold.
HAND_MADE = [
    # scikit-learn's own example of average_precision_score
    ([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1], 0.5 * 1 + 0.5 * 2 / 3),
    ([3, 2, 1], [1, 0, 1], 0.5 * 1 + 0.5 * 2 / 3),
    ([1, 1, 1, 1], [1, 0, 0, 0], 1 / 4),  # one threshold, all called
    ([5, 5, 4, 3, 3], [1, 0, 1, 1, 0], 1 / 3 * 1 / 2 + 1 / 3 * 2 / 3 + 1 / 3 * 3 / 5),
    ([1, 2, 3], [1, 0, 0], 1 / 3),
    ([1], [1], 1.0),
]


@pytest.mark.parametrize("scores, positives, area", HAND_MADE)
def test_the_area_is_average_precision(scores, positives, area):
    assert tables.average_precision(tables.precision_recall(scores, positives)) == pytest.approx(area, abs=1e-15)


scored = st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=1, max_size=30).filter(
    lambda pairs: any(positive for _, positive in pairs)
)


@settings(max_examples=150)
@given(scored)
def test_curve_and_threshold_are_what_counting_gives(pairs):
    scores, positives = zip(*pairs)
    curve = tables.precision_recall(scores, positives)
    best = {"f1": 0.0, "accuracy": positives.count(False) / len(pairs)}
    assert curve.thresholds.tolist() == sorted(set(scores), reverse=True)
    area = last = 0.0
    for threshold, precision, recall in zip(*curve):
        called = [positive for score, positive in pairs if score >= threshold]
        right = sum(called)
        assert (precision, recall) == (right / len(called), right / sum(positives))
        area, last = area + (recall - last) * precision, recall
        best["f1"] = max(best["f1"], 2 * right / (len(called) + sum(positives)))
        best["accuracy"] = max(best["accuracy"], np.mean([(s >= threshold) == p for s, p in pairs]))
    assert tables.average_precision(curve) == pytest.approx(area)
    for measure, value in best.items():
        chosen = tables.choose_threshold(scores, positives, measure)
        assert chosen.reached == pytest.approx(value)
        assert tables.at_threshold(scores, positives, chosen.value)[measure] == pytest.approx(value)
    for threshold, precision, recall in zip(*curve):
        figures = tables.at_threshold(scores, positives, threshold)
        assert (figures["precision"], figures["recall"]) == (precision, recall)


def test_thresholds_that_cannot_be():
    with pytest.raises(DataError, match="no positive"):
        tables.precision_recall([1.0], [False])
    with pytest.raises(DataError, match="NaN"):
        tables.precision_recall([math.nan, 1], [True, False])
    with pytest.raises(LisaxError, match="'f1' or 'accuracy', found 'f2'"):
        tables.choose_threshold([1], [True], "f2")
    with pytest.raises(LisaxError, match="a score and a class for each claim"):
        tables.precision_recall([1, 2], [True])


def test_figures_at_a_threshold_of_other_data():
    found = tables.at_threshold([0.9, 0.4, 0.6, 0.1], [True, True, False, False], 0.5)
    assert found == {"precision": 0.5, "recall": 0.5, "f1": 0.5, "accuracy": 0.5}
    assert tables.at_threshold([0.1], [False], 0.5) == {"precision": None, "recall": None, "f1": None, "accuracy": 1}


def test_estimators():
    irrelevant = np.array([[0.9, 0.2, 0.0], [0.7, 0.0, 0.0], [0.0, 0.0, 0.0]])
    present = np.array([[True, True, False], [True, False, False], [False] * 3])
    assert tables.ternary_sufficiency(irrelevant, present) == pytest.approx([0.8, 0.3, 0])
    # The last but one has a single table, which has all of p(s): that says nothing of it.
    shares = np.array([[1, 0, 0], [0.5, 0.5, 0], [1 / 3] * 3, [1, 0, 0], [0, 0, 0]])
    there = np.arange(3) < np.array([3, 2, 3, 1, 0])[:, None]
    entropy = tables.joint_entropy(shares, there)
    assert entropy == pytest.approx([0, math.log(2), math.log(3), math.log(3), math.log(3)])
