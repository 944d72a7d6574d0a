"""The temporal step after a verifier: which labels give way, and how predictions carry the ruling."""

import json

import pytest

from lisax import cli
from lisax.corpora.fever import read_predictions, write_predictions
from lisax.formats.examples import Passage
from lisax.papers.list5.recipe import Recipe
from lisax.predict.inference import judge_dates
from lisax.records import Claim, DataError, Label, Verdict

MILL = Passage("Red_Mill_3", "Red Mill", "Red Mill was founded in 1992 .")
CLAIMS = {"1": Claim("1", "Red Mill was founded before 1990."), "2": Claim("2", "Red Mill is red.")}
VERDICTS = [
    Verdict(i, Label.NOT_ENOUGH_INFO, (0.1, 0.2, 0.7), ("Red_Mill_3", "Red_Mill_9"), (0.9, 0.5)) for i in CLAIMS
]


def judged():
    return list(judge_dates(VERDICTS, CLAIMS, {"Red_Mill_3": MILL}.get))


def test_only_what_dates_decide_is_changed_and_the_verifiers_word_is_kept():
    ruled, left = judged()
    assert left == VERDICTS[1]
    assert ruled.label is Label.REFUTES and ruled.probabilities == VERDICTS[0].probabilities
    assert ruled.temporal["rules"] == ["before"] and ruled.temporal["verifier_label"] == "NOT ENOUGH INFO"
    assert ruled.temporal["evidence"][0]["id"] == "Red_Mill_3"


def test_predictions_carry_the_ruling_beside_the_other_fields(tmp_path):
    write_predictions(tmp_path / "p.jsonl", judged(), CLAIMS, str)
    rows = [json.loads(line) for line in (tmp_path / "p.jsonl").read_text().splitlines()]
    assert ["temporal" in row for row in rows] == [True, False]
    assert list(read_predictions(tmp_path / "p.jsonl")) == judged()
    (tmp_path / "p.jsonl").write_text(json.dumps(rows[0] | {"temporal": "before"}) + "\n")
    with pytest.raises(DataError, match="temporal"):
        list(read_predictions(tmp_path / "p.jsonl"))


def test_it_is_off_unless_asked_for(capsys):
    assert Recipe(train={"rank_entities": "x"}).temporal is False
    with pytest.raises(SystemExit):
        cli.main(["verify", "--help"])
    assert "--temporal" in capsys.readouterr().out
