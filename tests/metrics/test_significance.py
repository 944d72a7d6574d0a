"""The paired bootstrap against what theory and a plain resampling of claims give."""

import dataclasses
import doctest
import json
import math
import random

import numpy as np
import pytest

from lisax.errors import LisaxError
from lisax.metrics import significance
from lisax.metrics.fever import claim_scores, fever_score
from lisax.metrics.ranking import (
    answer_measures,
    complete_recall,
    complete_sets,
    qrels_of,
    query_scores,
    table_measures,
)
from lisax.metrics.significance import paired_bootstrap
from lisax.papers import reporting
from lisax.records import Claim, Hit, Label, Prediction


def test_the_example_of_the_docstring():
    assert not doctest.testmod(significance).failed


def scores(seed, size, right):
    draw = random.Random(seed)
    return {f"c{i}": float(draw.random() < right) for i in range(size)}


def test_interval_and_p_value_are_those_of_resampled_claims():
    first, second = scores(5, 400, 0.6), scores(6, 400, 0.67)
    found = paired_bootstrap(first, second)
    differences = np.array([second[i] - first[i] for i in first])
    assert math.isclose(found.difference, differences.mean()) and found.claims == 400
    rng = np.random.default_rng(5)
    plain = differences[rng.integers(0, 400, (10_000, 400))].mean(1)
    assert np.allclose((found.low, found.high), np.quantile(plain, (0.025, 0.975)), atol=0.01)
    # Normal theory, which 400 claims come close to.
    z = differences.mean() / (differences.std() / math.sqrt(400))
    assert abs(found.p_value - math.erfc(abs(z) / math.sqrt(2))) < 0.02


def test_no_difference_is_none_and_a_clear_one_is_never_certain():
    same = scores(1, 50, 0.5)
    found = paired_bootstrap(same, same)
    assert (found.difference, found.low, found.high, found.p_value) == (0, 0, 0, 1)
    found = paired_bootstrap(dict.fromkeys(same, 0.0), dict.fromkeys(same, 1.0), samples=999)
    assert (found.difference, found.low, found.high) == (1, 1, 1) and found.p_value == pytest.approx(0.002)
    assert paired_bootstrap(scores(1, 60, 0.5), scores(2, 60, 0.5)).p_value > 0.05


def test_the_order_is_a_matter_of_sign_and_the_seed_of_the_digits():
    first, second = scores(1, 90, 0.5), scores(2, 90, 0.8)
    there, back = paired_bootstrap(first, second), paired_bootstrap(second, first)
    assert there.difference == -back.difference and there.low == pytest.approx(-back.high, abs=0.02)
    assert there == paired_bootstrap(first, second) != paired_bootstrap(first, second, seed=1)


@pytest.mark.parametrize("rights", [(0.5, 0.52), (0.5, 0.62), (0.5, 0.68)])
def test_p_value_and_interval_agree_about_zero(rights):
    for seed in range(20):
        found = paired_bootstrap(scores(seed, 80, rights[0]), scores(seed + 100, 80, rights[1]), samples=1999)
        if found.p_value < 0.05:
            assert found.low > 0 or found.high < 0


def test_systems_are_compared_on_what_both_have():
    first = {"a": 1.0, "b": 0.0}
    assert paired_bootstrap(first, {"b": 1.0, "c": 0.0}).claims == 1
    with pytest.raises(LisaxError, match="none in common"):
        paired_bootstrap(first, {"c": 1.0})


def test_scores_of_claims_have_the_figures_as_their_means():
    claims = {
        "1": Claim("1", "a", Label.SUPPORTS, (("P_0", "P_1"),)),
        "2": Claim("2", "b", Label.NOT_ENOUGH_INFO),
        "3": Claim("3", "c", Label.REFUTES, (("Q_0",), ("Q_2",))),
    }
    made = {
        "1": Prediction("1", Label.SUPPORTS, (math.nan,) * 3, ("P_1",)),
        "2": Prediction("2", Label.NOT_ENOUGH_INFO, (math.nan,) * 3, ()),
        "3": Prediction("3", Label.REFUTES, (math.nan,) * 3, ("Q_2",)),
    }
    of, figures = claim_scores(claims, made), fever_score(claims, made)
    assert of["fever_score"] == {"1": 0, "2": 1, "3": 1} and of["label_accuracy"] == {"1": 1, "2": 1, "3": 1}
    for measure, by_claim in of.items():
        assert np.mean(list(by_claim.values())) == figures[measure]
    run = {"1": [Hit("1", "P_1", 1, 2.0), Hit("1", "P_0", 2, 1.0)], "3": [Hit("3", "X_0", 1, 1.0)]}
    whole = complete_sets(claims.values(), run, 2)
    assert whole == {"1": 1, "3": 0} and complete_recall(claims.values(), run, [2]) == {2: 0.5}
    run["3"] += [Hit("3", "Q_0", 2, 0.5)]
    qrels = qrels_of(claims.values()) | {"4": {"R_0": 1}}  # found nothing
    of = query_scores(qrels, run)
    wanted = answer_measures(qrels, run) | {"map": table_measures(qrels, run)["map"]}
    assert {measure: np.mean(list(by_query.values())) for measure, by_query in of.items()} == pytest.approx(wanted)
    assert list(of["map"]) == ["1", "3", "4"]


def test_a_report_compares_each_variant_with_the_one_it_shows():
    of = {"ours": scores(1, 80, 0.9), "theirs": scores(2, 80, 0.5), "other": {"elsewhere": 1.0}}
    found = reporting.differences(
        {"fever_score": ("ours", of), "map": (None, of), "mrr": ("ours", {"ours": of["ours"]})}
    )
    assert list(found) == ["fever_score"] and list(found["fever_score"]["variants"]) == ["theirs"]
    one = paired_bootstrap(of["ours"], of["theirs"])
    assert found["fever_score"] == {"against": "ours", "variants": {"theirs": dataclasses.asdict(one)}}
    json.dumps(found)
    (table,) = reporting.difference_tables(found, lambda measure, variant: f"{variant} by {measure}")
    assert table.name == "FEVER score against ours by fever_score"
    assert [row.name for row in table.rows] == ["theirs by fever_score"]
    assert table.rows[0].values == (one.difference, one.low, one.high, one.p_value)
