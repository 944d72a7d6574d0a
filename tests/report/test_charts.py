import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lisax.report import charts

finite = st.floats(-1e6, 1e6)


@given(st.lists(st.tuples(finite, finite), min_size=1, max_size=400))
def test_points_lie_in_the_frame_in_order(points):
    chart = charts.lines({"curve": points}, "x", "y", "d")
    drawn = chart.series[0].points
    assert len(drawn) <= charts.MAX_POINTS
    assert all(chart.left <= p.x <= chart.right and chart.top - 1e-6 <= p.y <= chart.bottom + 1e-6 for p in drawn)
    assert [p.x for p in drawn] == sorted(p.x for p in drawn)


@given(finite, st.floats(1e-3, 1e6))
def test_ticks_lie_within_and_are_few(low, width):
    ticks = charts.round_ticks(low, low + width)
    assert 1 <= len(ticks) <= 11 and ticks == sorted(set(ticks))
    slack = 1e-6 * max(width, abs(low), abs(low + width))  # nothing that could be seen
    assert all(low - slack <= tick <= low + width + slack for tick in ticks)


def test_ticks_are_round():
    assert charts.round_ticks(0, 1) == [0, 0.2, 0.4, 0.6, 0.8, 1]
    assert charts.round_ticks(3, 47) == [10, 20, 30, 40]
    assert charts.round_ticks(2, 2) == [2]
    assert [charts.number(v) for v in (1200, 0.25, 1e-4, 3.0)] == ["1,200", "0.25", "0.0001", "3"]


def test_points_that_are_no_numbers_are_left_out():
    assert charts.lines({"a": [(1, math.nan), (math.inf, 2)]}, "x", "y", "d") is None
    chart = charts.lines({"a": [(1, math.nan)], "b": [(1, 2.0)]}, "x", "y", "d")
    assert [series.name for series in chart.series] == ["b"]


def test_recall_is_drawn_by_the_logarithm_of_k():
    chart = charts.recall_chart({"BM25": {1: 0.2, 10: 0.5, 100: 0.8}})
    a, b, c = chart.series[0].points
    assert b.x - a.x == pytest.approx(c.x - b.x) and a.y > b.y > c.y
    assert c.text == "BM25: k 100, 80.0 %"
    assert charts.recall_chart({}) is None and charts.recall_chart({"a": {}}) is None


def test_reliability_bars_leave_out_empty_bins():
    empty = {"low": 0.0, "high": 0.5, "count": 0, "confidence": None, "accuracy": None}
    full = {"low": 0.5, "high": 1.0, "count": 4, "confidence": 0.8, "accuracy": 0.75}
    (bar,) = charts.reliability_bars([empty, full])
    x, y = charts.unit_scales()
    assert bar.y == y(0.75) and bar.mark_x == x(0.8) and bar.share == 1
    assert bar.text == "confidence 50 to 100 %: 4 claims, 75.0 % right"


def test_accuracy_by_coverage_is_said_in_words():
    rows = [
        {"coverage": 0.5, "count": 2, "min_confidence": 0.8, "accuracy": 1.0},
        {"coverage": 1.0, "count": 4, "min_confidence": 0.6, "accuracy": 0.75},
    ]
    chart = charts.risk_coverage_chart(rows)
    few, all_ = chart.series[0].points
    assert few.x < all_.x and few.y < all_.y
    assert all_.text == "accuracy: surest claims kept, % 100, 75.0 %"
    assert "100.0 % right among the surest 2 claims, 75.0 % among all 4" in chart.description
    assert charts.risk_coverage_chart([]) is None


def test_a_stage_of_training():
    rows = [
        {"step": 10, "kind": "train", "loss": 2.0, "learning_rate": 1e-3, "tokens_per_second": 900.0},
        {"step": 10, "kind": "dev", "claims/loss": 2.1, "claims/label_accuracy": 0.4, "claims/nothing": 17.0},
        {"step": 20, "kind": "train", "loss": 1.0},
        {"step": 20, "kind": "dev", "claims/loss": 1.2, "claims/label_accuracy": 0.75},
    ]
    stage = charts.stage("ranker", rows)
    assert [series.name for series in stage.loss.series] == ["training", "dev"]
    assert [series.name for series in stage.figures.series] == ["label accuracy"]
    assert stage.summary == "Loss 2 → 1 over 20 steps; best dev label accuracy 75.0 % at step 20."
    assert charts.stage("nothing", []) is None


def test_two_tasks_keep_their_names():
    rows = [{"step": 1, "kind": "dev", "a/accuracy": 0.5, "b/accuracy": 0.6}]
    assert [series.name for series in charts.stage("s", rows).figures.series] == ["a/accuracy", "b/accuracy"]
