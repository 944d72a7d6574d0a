"""Verdicts over tables survive their file."""

from __future__ import annotations

import math

import pytest

from lisax.corpora.table_predictions import TableVerdict, read_predictions, write_predictions
from lisax.records import Claim, DataError, Label, Verdict

CLAIMS = {"1": Claim("1", "c", original_id=1), "b": Claim("b", "d")}
VERDICTS = [
    TableVerdict(Verdict("1", Label.SUPPORTS, (0.5, 0.25, 0.25), ("2-18.html.csv", "t2"), (0.75, 0.5)), 0.75),
    TableVerdict(Verdict("b", Label.NOT_ENOUGH_INFO, (0.0, 0.0, 1.0))),
]


def test_they_read_back_equal(tmp_path):
    assert write_predictions(tmp_path / "v.jsonl", VERDICTS, CLAIMS) == 2
    assert list(read_predictions(tmp_path / "v.jsonl")) == VERDICTS
    assert '"id": 1,' in (tmp_path / "v.jsonl").read_text()


def test_probabilities_may_be_unknown(tmp_path):
    unknown = TableVerdict(Verdict("b", Label.REFUTES, (math.nan,) * 3, ("t",)))
    write_predictions(tmp_path / "v.jsonl", [unknown], CLAIMS)
    (found,) = read_predictions(tmp_path / "v.jsonl")
    assert (
        all(map(math.isnan, found.verdict.probabilities))
        and "label_probabilities" not in (tmp_path / "v.jsonl").read_text()
    )


def test_a_verdict_without_its_claim_is_refused_and_nothing_written(tmp_path):
    with pytest.raises(DataError, match="claim '1', which is not among the claims"):
        write_predictions(tmp_path / "v.jsonl", VERDICTS, {})
    assert not list(tmp_path.iterdir())
