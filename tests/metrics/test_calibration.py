import dataclasses
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lisax.metrics.calibration import calibration, expected_error, reliability, risk_coverage
from lisax.records import LABELS, Claim, Prediction


def pair(*cases):
    """`cases`: (gold label, predicted label, probabilities)."""
    claims = {str(i): Claim(str(i), "c", LABELS[gold]) for i, (gold, _, _) in enumerate(cases)}
    verdicts = {str(i): Prediction(str(i), LABELS[said], p) for i, (_, said, p) in enumerate(cases)}
    return claims, verdicts


def test_by_hand():
    claims, verdicts = pair(
        (0, 0, (0.95, 0.05, 0.0)),
        (1, 0, (0.91, 0.09, 0.0)),
        (2, 2, (0.0, 0.0, 1.0)),
        (1, 1, (0.3, 0.45, 0.25)),
        (0, 1, (math.nan,) * 3),
    )
    rows = reliability(claims, verdicts)
    assert len(rows) == 10 and [row["count"] for row in rows] == [0, 0, 0, 0, 1, 0, 0, 0, 0, 3]
    assert rows[9] == {"low": 0.9, "high": 1.0, "count": 3, "confidence": pytest.approx(2.86 / 3), "accuracy": 2 / 3}
    assert rows[0] == {"low": 0.0, "high": 0.1, "count": 0, "confidence": None, "accuracy": None}
    figures = calibration(claims, verdicts)
    assert figures["expected_error"] == pytest.approx(abs(2.86 - 2) / 4 + 0.55 / 4)
    assert figures["brier"] == pytest.approx((0.005 + 0.91**2 * 2 + 0 + 0.3**2 + 0.55**2 + 0.25**2) / 4)
    assert figures["verdicts"] == 4


def test_overridden_verdicts_are_left_out_and_counted():
    claims, verdicts = pair((0, 0, (0.9, 0.1, 0.0)), (1, 1, (0.9, 0.1, 0.0)), (1, 1, (0.2, 0.8, 0.0)))
    for i, said in (("1", "SUPPORTS"), ("2", "REFUTES")):  # the second ruling agrees with the verifier
        verdicts[i] = dataclasses.replace(verdicts[i], temporal={"verifier_label": said})
    assert [row["count"] for row in reliability(claims, verdicts)] == [0] * 8 + [1, 1]
    figures = calibration(claims, verdicts)
    assert (figures["verdicts"], figures["overridden"]) == (2, 1)
    assert figures["brier"] == pytest.approx((0.02 + 0.08) / 2)


def test_without_probabilities_there_is_none():
    assert calibration(*pair((0, 0, (math.nan,) * 3))) is None
    assert expected_error(reliability(*pair((0, 0, (math.nan,) * 3)))) == 0


drawn = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.floats(0, 1)), min_size=1)


def pair_of(drawn):
    return pair(*((gold, said, tuple(p if i == said else 0.0 for i in range(3))) for gold, said, p in drawn))


@given(drawn, st.integers(1, 20))
def test_bins_hold_all_verdicts_and_their_means(cases, bins):
    claims, verdicts = pair_of(cases)
    rows = reliability(claims, verdicts, bins)
    assert sum(row["count"] for row in rows) == len(cases)
    assert 0 <= expected_error(rows) <= 1
    for row in rows:
        if row["count"]:
            assert row["low"] - 1e-9 <= row["confidence"] <= row["high"] + 1e-9


def test_the_surest_verdicts_come_first():
    claims, verdicts = pair(
        (0, 0, (0.9, 0.1, 0.0)),  # right
        (1, 0, (0.8, 0.2, 0.0)),  # wrong
        (1, 1, (0.3, 0.7, 0.0)),  # right
        (2, 1, (0.0, 0.6, 0.4)),  # wrong
        (0, 1, (math.nan,) * 3),
    )
    rows = risk_coverage(claims, verdicts, points=4)
    assert [row["coverage"] for row in rows] == [0.25, 0.5, 0.75, 1]
    assert [row["count"] for row in rows] == [1, 2, 3, 4]
    assert [row["min_confidence"] for row in rows] == [0.9, 0.8, 0.7, 0.6]
    assert [row["accuracy"] for row in rows] == pytest.approx([1, 1 / 2, 2 / 3, 1 / 2])
    assert calibration(claims, verdicts)["aurc"] == pytest.approx((0 + 1 / 2 + 1 / 3 + 1 / 2) / 4)
    assert calibration(claims, verdicts)["risk_coverage"][-1] == rows[-1]


def test_equally_sure_verdicts_have_no_order():
    claims, verdicts = pair((0, 0, (0.9, 0.1, 0.0)), (1, 0, (0.9, 0.1, 0.0)), (0, 0, (0.9, 0.1, 0.0)))
    assert [row["accuracy"] for row in risk_coverage(claims, verdicts, points=3)] == pytest.approx([2 / 3] * 3)
    assert risk_coverage(claims, {}) == []


@given(drawn, st.integers(1, 30))
def test_less_coverage_is_surer_and_all_of_it_is_the_accuracy(cases, points):
    claims, verdicts = pair_of(cases)
    rows = risk_coverage(claims, verdicts, points)
    assert len(rows) <= points and [row["count"] for row in rows] == sorted({row["count"] for row in rows})
    confidences = [row["min_confidence"] for row in rows]
    assert confidences == sorted(confidences, reverse=True) and rows[-1]["count"] == len(cases)
    assert rows[-1]["accuracy"] == pytest.approx(sum(gold == said for gold, said, _ in cases) / len(cases))
    for row in rows:
        kept = sum(p >= row["min_confidence"] for _, _, p in cases)
        assert row["count"] <= kept  # ties are cut
    assert 0 <= calibration(claims, verdicts)["aurc"] <= 1
