"""The temporal step after a verifier: which labels give way, and how predictions carry the ruling."""

import json

import pytest

from lisax.corpora.fever import read_predictions
from lisax.errors import DataError
from lisax.formats.examples import Passage
from lisax.predict.judging import judge_dates
from lisax.predict.verdicts import Evidence, Verdict, write_predictions
from lisax.records import LABELS, Label

MILL = Passage("Red_Mill_3", "Red Mill", "Red Mill was founded in 1992 .")
CLAIMS = {"1": "Red Mill was founded before 1990.", "2": "Red Mill is red."}
EVIDENCE = (Evidence(MILL.id, MILL.text, MILL.title, "sentence 3", 0.9),)
SHARES = dict(zip(LABELS, (0.1, 0.2, 0.7)))
VERDICTS = [Verdict(text, Label.NOT_ENOUGH_INFO, SHARES, EVIDENCE, id=i) for i, text in CLAIMS.items()]


def judged():
    return list(judge_dates(VERDICTS, {"Red_Mill_3": MILL}.get))


def test_only_what_dates_decide_is_changed_and_the_verifiers_word_is_kept():
    ruled, left = judged()
    assert left == VERDICTS[1]
    assert ruled.label is Label.REFUTES and ruled.probabilities == VERDICTS[0].probabilities
    assert ruled.ruling["rules"] == ["before"] and ruled.ruling["verifier_label"] == "NOT ENOUGH INFO"
    assert ruled.ruling["evidence"][0]["id"] == "Red_Mill_3" and ruled.reason == ruled.ruling["reason"]


def test_predictions_carry_the_ruling_beside_the_other_fields(tmp_path):
    write_predictions(tmp_path / "p.jsonl", judged())
    rows = [json.loads(line) for line in (tmp_path / "p.jsonl").read_text().splitlines()]
    assert ["temporal" in row for row in rows] == [True, False]
    assert list(read_predictions(tmp_path / "p.jsonl")) == [verdict.prediction() for verdict in judged()]
    (tmp_path / "p.jsonl").write_text(json.dumps(rows[0] | {"temporal": "before"}) + "\n")
    with pytest.raises(DataError, match="temporal"):
        list(read_predictions(tmp_path / "p.jsonl"))
