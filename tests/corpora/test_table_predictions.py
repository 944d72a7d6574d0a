"""Verdicts over tables survive their file."""

import math

from lisax.corpora.table_predictions import TablePrediction, prediction_row, read_predictions
from lisax.files.writing import write_json_lines
from lisax.records import Label, Prediction

VERDICTS = [
    TablePrediction(Prediction("1", Label.SUPPORTS, (0.5, 0.25, 0.25), ("2-18.html.csv", "t2"), (0.75, 0.5)), 0.75),
    TablePrediction(Prediction("b", Label.NOT_ENOUGH_INFO, (0.0, 0.0, 1.0))),
]


def write(path, verdicts):
    ids = {"1": 1, "b": "b"}
    write_json_lines(path, ({"id": ids[one.verdict.claim_id]} | prediction_row(one) for one in verdicts))


def test_they_read_back_equal(tmp_path):
    write(tmp_path / "v.jsonl", VERDICTS)
    assert list(read_predictions(tmp_path / "v.jsonl")) == VERDICTS
    assert '"id": 1,' in (tmp_path / "v.jsonl").read_text()


def test_probabilities_may_be_unknown(tmp_path):
    unknown = TablePrediction(Prediction("b", Label.REFUTES, (math.nan,) * 3, ("t",)))
    write(tmp_path / "v.jsonl", [unknown])
    (found,) = read_predictions(tmp_path / "v.jsonl")
    assert all(map(math.isnan, found.verdict.probabilities))
    assert "label_probabilities" not in (tmp_path / "v.jsonl").read_text()
