"""The FEVER score: worked cases of the official scorer's own documentation and tests, and its rules."""

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lisax.errors import DataError
from lisax.metrics.fever import (
    Outcome,
    by_label,
    confusion,
    evaluate,
    fever_score,
    found,
    majority_verdicts,
    multi_evidence,
    oracle_score,
    outcome,
)
from lisax.records import LABELS, Claim, Prediction

S, R, N = LABELS


def verdict(claim_id, label, evidence=(), probabilities=(math.nan,) * 3):
    return Prediction(claim_id, label, probabilities, tuple(evidence))


def score(*cases):
    """`cases`: (gold label, gold sets, predicted label, predicted evidence)."""
    claims = {str(i): Claim(str(i), "c", gold, tuple(map(tuple, sets))) for i, (gold, sets, _, _) in enumerate(cases)}
    verdicts = {str(i): verdict(str(i), label, evidence) for i, (_, _, label, evidence) in enumerate(cases)}
    return fever_score(claims, verdicts)


PAIR = [["page1_1", "page2_2"]]


def test_the_official_readmes_example():
    figures = score((R, PAIR, R, ["page1_1"]), (R, PAIR, R, ["page1_1", "page2_2", "page3_3"]))
    assert (figures["fever_score"], figures["label_accuracy"]) == (0.5, 1.0)
    assert figures["evidence_precision"] == (1 + 2 / 3) / 2
    assert figures["evidence_recall"] == 0.5
    assert figures["evidence_f1"] == 2.0 * (5 / 6) * 0.5 / (5 / 6 + 0.5)


@pytest.mark.parametrize(
    "sets, predicted, right",
    [
        ([["page_0", "page_1"]], ["page_0"], False),  # part of a set
        ([["page_0"]], ["page_2"], False),  # wrong sentence
        ([["page_0"]], ["page1_0"], False),  # wrong page
        ([["page_0"]], ["page_0"], True),
        ([["page_0"], ["page1_0"]], ["page_0"], True),  # one of two sets
        ([["page2_0", "page1_1"], ["page2_0"]], ["page2_0"], True),  # part of one, all of the other
        ([["page1_1"], ["page2_0"]], ["page1_1", "page2_0"], True),
        (PAIR, ["page1_1", "page2_2", "page3_2"], True),  # more than is needed
        ([["page_0"]], [], False),
    ],
)
def test_strictness(sets, predicted, right):
    assert score((S, sets, S, predicted))["fever_score"] == right


def test_not_enough_info_needs_no_evidence_and_is_left_out_of_precision_and_recall():
    figures = score((N, [], N, ["x_1", "x_2"]), (N, [], R, []), (S, [["a_0"]], N, ["a_0"]))
    assert figures["fever_score"] == figures["label_accuracy"] == 1 / 3
    assert figures["evidence_precision"] == figures["evidence_recall"] == figures["evidence_f1"] == 1
    assert score((N, [], N, [])) == {
        "fever_score": 1.0,
        "label_accuracy": 1.0,
        "evidence_precision": 1.0,
        "evidence_recall": 0.0,
        "evidence_f1": 0.0,
    }


def test_nothing_predicted_is_precise_and_gold_without_sets_is_recalled_but_never_scores():
    figures = score((S, [["a_0"]], S, []), (R, [], R, []))
    assert figures["evidence_precision"] == 1 and figures["evidence_recall"] == 0.5
    assert figures["fever_score"] == 0


# --- Rules ----------------------------------------------------------------------------------

units = st.sampled_from([f"p_{i}" for i in range(8)])
label = st.sampled_from(LABELS)


@st.composite
def datasets(draw):
    claims, verdicts = {}, {}
    for i in map(str, range(draw(st.integers(1, 6)))):
        gold = draw(label)
        sets = () if gold is N else draw(st.lists(st.lists(units, min_size=1, max_size=3).map(tuple), max_size=3))
        claims[i] = Claim(i, "c", gold, tuple(sets))
        verdicts[i] = verdict(i, draw(label), draw(st.lists(units, max_size=8)))
    return claims, verdicts


def plainly(claims, verdicts):
    """The five figures once more, from the definitions alone, with lists and no sets of ours."""
    strict = accuracy = 0
    precisions, recalls = [], []
    for i, claim in claims.items():
        predicted = list(verdicts[i].evidence)[:5]
        whole = any(all(unit in predicted for unit in members) for members in claim.evidence_sets)
        accuracy += verdicts[i].label == claim.label
        strict += verdicts[i].label == claim.label and (claim.label is N or whole)
        if claim.label is not N:
            gold = [unit for members in claim.evidence_sets for unit in members]
            precisions.append(len([u for u in predicted if u in gold]) / len(predicted) if predicted else 1.0)
            recalls.append(float(whole or not claim.evidence_sets))
    p = sum(precisions) / len(precisions) if precisions else 1.0
    r = sum(recalls) / len(recalls) if recalls else 0.0
    return [strict / len(claims), accuracy / len(claims), p, r, 2 * p * r / (p + r) if p + r else 0.0]


@given(datasets())
def test_equal_to_the_definition_and_within_bounds(data):
    claims, verdicts = data
    figures = fever_score(claims, verdicts)
    assert list(figures.values()) == pytest.approx(plainly(claims, verdicts), abs=1e-15)
    oracle = oracle_score(claims, {i: v.evidence for i, v in verdicts.items()})
    assert 0 <= figures["fever_score"] <= min(figures["label_accuracy"], oracle) <= 1
    # Rounding may lift the mean of two equal figures above them.
    assert figures["evidence_f1"] <= max(figures["evidence_precision"], figures["evidence_recall"]) + 1e-15


@given(datasets(), units)
def test_evidence_beyond_five_changes_nothing(data, more):
    claims, verdicts = data
    padded = {
        i: verdict(i, v.label, [*v.evidence, more] if len(v.evidence) >= 5 else v.evidence) for i, v in verdicts.items()
    }
    assert fever_score(claims, padded) == fever_score(claims, verdicts)


@given(datasets())
def test_outcomes_and_confusion_agree_with_the_score(data):
    claims, verdicts = data
    figures = evaluate(claims, verdicts)
    assert figures["outcomes"][Outcome.CORRECT] / len(claims) == figures["fever_score"]
    assert sum(figures["outcomes"].values()) == len(claims)
    matrix = confusion(claims, verdicts)
    assert sum(map(sum, matrix)) == len(claims)
    assert sum(matrix[i][i] for i in range(3)) / len(claims) == figures["label_accuracy"]
    right_without_evidence = figures["outcomes"][Outcome.EVIDENCE_MISSING]
    assert right_without_evidence == sum(
        v.label == claims[i].label is not N and not found(claims[i], v.evidence) for i, v in verdicts.items()
    )


# --- Beside the official figures ------------------------------------------------------------


CLAIMS = {
    c.id: c
    for c in (
        Claim("1", "one sentence", S, (("a_0",),)),
        Claim("2", "two sentences", S, (("a_0", "b_0"),)),
        Claim("3", "two, either way", R, (("a_0", "b_0"), ("c_0", "d_0", "e_0"))),
        Claim("4", "one of the sets is single", R, (("a_0", "b_0"), ("c_0",))),
        Claim("5", "none", N),
    )
}


def test_multi_evidence_counts_claims_all_of_whose_sets_are_large():
    verdicts = {
        "1": verdict("1", S),
        "2": verdict("2", S, ["a_0"]),
        "3": verdict("3", S, ["a_0", "b_0"]),
        "4": verdict("4", R),
        "5": verdict("5", N),
    }
    expected = {"claims": 2, "label_accuracy": 0.5, "fever_score": 0.0, "found_claims": 1, "found_label_accuracy": 0.0}
    assert multi_evidence(CLAIMS, verdicts) == expected
    only = {"1": CLAIMS["1"]}
    assert multi_evidence(only, {"1": verdicts["1"]})["label_accuracy"] is None


def test_oracle_counts_claims_whose_evidence_was_selected():
    assert oracle_score(CLAIMS, {"1": ["a_0"], "3": ["c_0", "d_0"], "4": ["z_0", "c_0"]}) == 3 / 5


def test_majority_baseline():
    verdicts = majority_verdicts(CLAIMS.values(), CLAIMS)
    assert {v.label for v in verdicts.values()} == {S}  # as many REFUTES: the first of the labels
    assert verdicts["1"].probabilities == (0.4, 0.4, 0.2)
    assert fever_score(CLAIMS, verdicts)["label_accuracy"] == 2 / 5
    with pytest.raises(DataError, match="claims that have labels"):
        majority_verdicts([Claim("b", "blind")], CLAIMS)


def test_confusion_and_figures_by_label():
    verdicts = {i: verdict(i, predicted) for i, predicted in zip("12345", (S, R, R, R, S))}
    matrix = confusion(CLAIMS, verdicts)
    assert matrix == ((1, 1, 0), (0, 2, 0), (1, 0, 0))
    assert by_label(matrix) == {
        "SUPPORTS": {"precision": 0.5, "recall": 0.5, "f1": 0.5},
        "REFUTES": {"precision": 2 / 3, "recall": 1.0, "f1": 0.8},
        "NOT ENOUGH INFO": {"precision": None, "recall": 0.0, "f1": 0.0},
    }


def test_outcomes():
    one = CLAIMS["1"]
    assert outcome(one, verdict("1", S, ["a_0"])) is Outcome.CORRECT
    assert outcome(one, verdict("1", S)) is Outcome.EVIDENCE_MISSING
    assert outcome(one, verdict("1", N, ["a_0"])) is Outcome.WRONG_WITH_EVIDENCE
    assert outcome(one, verdict("1", N)) is Outcome.WRONG_WITHOUT_EVIDENCE
    assert outcome(CLAIMS["5"], verdict("5", R)) is Outcome.WRONG_LABEL


@pytest.mark.parametrize(
    "claims, verdicts, message",
    [
        ({}, {}, "no claims"),
        (CLAIMS, {}, "5 claims without a prediction, for example '1'"),
        ({"1": CLAIMS["1"]}, {"1": verdict("1", S), "9": verdict("9", S)}, "1 prediction for a claim that is not"),
        ({"b": Claim("b", "blind")}, {"b": verdict("b", S)}, "claim 'b' has no label"),
    ],
)
def test_what_cannot_be_evaluated_is_said(claims, verdicts, message):
    with pytest.raises(DataError, match=message):
        evaluate(claims, verdicts)


def test_gold_predicted_is_perfect_on_real_claims():
    path = Path(__file__).parents[3] / "shared/data/fever/dev.jsonl"
    if not path.exists():
        pytest.skip("no real data here")
    from lisax.corpora import read_claims

    claims = {claim.id: claim for claim in read_claims(path)}
    smallest = {i: min(claim.evidence_sets, key=len, default=()) for i, claim in claims.items()}
    verdicts = {i: verdict(i, claim.label, smallest[i]) for i, claim in claims.items()}
    figures = fever_score(claims, verdicts)
    assert figures["label_accuracy"] == figures["evidence_precision"] == 1
    whole = sum(len(members) <= 5 for members in smallest.values()) / len(claims)
    assert figures["fever_score"] == pytest.approx(whole) and whole > 0.99
