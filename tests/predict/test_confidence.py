"""Calibrated probabilities of every kind of labeller, and verdicts that are not sure enough."""

import dataclasses
import json
import shutil

import numpy as np
import pytest

from lisax import Checker, DataError, Label, LisaxError, Verdict, Verifier
from lisax.cli import main
from lisax.corpora import table_predictions
from lisax.corpora.fever import read_predictions
from lisax.examples import example_pages
from lisax.files.writing import write_json, write_json_lines
from lisax.metrics.calibration import calibration, reliability
from lisax.metrics.temperature import Calibration
from lisax.predict.judging import abstain, choose, judge_dates
from lisax.predict.verdicts import write_predictions
from lisax.records import LABELS, Claim
from lisax.weights.model_card import ModelCard

CLAIM, OF_TABLES = "Vova Brugard was born in Torimoor.", "Torimoor has 39,000 people."
SENTENCES = ("pointwise", "listwise", "pair pointwise", "pair listwise", "pointer")
FITTED = Calibration(2.5, 100, "any")


@pytest.fixture
def with_fields(bundles, tmp_path):
    """Copies a bundle, with further fields in its `model.json`."""

    def copied(kind, **fields):
        folder = shutil.copytree(bundles[kind], tmp_path / kind.replace(" ", "_"), dirs_exist_ok=True)
        card = json.loads((bundles[kind] / "model.json").read_text())
        write_json(folder / "model.json", card | fields)
        return folder

    return copied


def shares_of(verdict):
    return np.array(list(verdict.probabilities.values()))


@pytest.mark.parametrize("kind", [*SENTENCES, "text to text", "fusion"])
def test_every_labeller_applies_its_temperature(pages, cells, bundles, with_fields, kind):
    index, claim = (pages, CLAIM) if kind in SENTENCES else (cells, OF_TABLES)
    plain = Checker(index, model=bundles[kind]).check(claim)
    made = Checker(index, model=with_fields(kind, calibration=dataclasses.asdict(FITTED))).check(claim)
    raw = shares_of(plain)
    # Table fusion has a temperature of true against false.
    among = slice(0, 2) if kind == "fusion" else slice(None)
    expected = np.zeros(3)
    expected[among] = FITTED.apply(raw[among])
    np.testing.assert_allclose(shares_of(made), expected, rtol=1e-6)
    assert made.label is plain.label and max(shares_of(made)) < max(raw)
    assert made.evidence == plain.evidence
    assert "calibration" not in ModelCard.read(bundles[kind])  # without one, nothing is changed


def test_a_temperature_holds_for_the_way_in_which_sentences_were_combined(pages, bundles, with_fields):
    fitted = with_fields("pointwise", calibration=dataclasses.asdict(FITTED))
    for aggregate in ("max", "sum"):
        plain, made = (Checker(pages, model=model, aggregate=aggregate) for model in (bundles["pointwise"], fitted))
        assert made.check(CLAIM) == plain.check(CLAIM)


@pytest.mark.parametrize("kind", ["pointwise", "listwise", "pointer", "fusion"])
def test_without_evidence_a_verdict_stays_certain(pages, cells, with_fields, kind):
    index = cells if kind == "fusion" else pages
    verdict = Checker(index, model=with_fields(kind, calibration=dataclasses.asdict(FITTED))).check("zzz ???")
    assert shares_of(verdict).tolist() == [0, 0, 1]


def test_the_precision_of_the_threshold_is_left_as_it_was_measured(cells, with_fields):
    fields = {"decision": {"threshold": 1e9, "in_data": True, "precision": 0.75}}
    plain = Checker(cells, model=with_fields("fusion", **fields)).check(OF_TABLES)
    fields["calibration"] = dataclasses.asdict(FITTED)
    made = Checker(cells, model=with_fields("fusion", **fields)).check(OF_TABLES)
    assert made.probabilities[Label.NOT_ENOUGH_INFO] == plain.probabilities[Label.NOT_ENOUGH_INFO] == 0.75
    np.testing.assert_allclose(shares_of(made)[:2] / 0.25, FITTED.apply(shares_of(plain)[:2] / 0.25), rtol=1e-6)


@pytest.mark.parametrize(
    ("calibration", "field"),
    [
        ({"temperature": 0}, "calibration.temperature"),
        ({"temperature": "2"}, "calibration.temperature"),
        ({"temperature": float("nan")}, "calibration.temperature"),
        ({"claims": 3}, "calibration.temperature"),
        ({"temperature": 2, "claims": -1}, "calibration.claims"),
        ({"temperature": 2, "aggregate": 3}, "calibration.aggregate"),
        ([2.0], "calibration"),
    ],
)
def test_a_calibration_of_others_is_checked(with_fields, calibration, field):
    folder = with_fields("listwise")
    card = json.loads((folder / "model.json").read_text())
    (folder / "model.json").write_text(json.dumps(card | {"calibration": calibration}))
    with pytest.raises(DataError) as error:
        Verifier.open(folder)
    assert str(folder / "model.json") in str(error.value) and field in str(error.value)


def test_none_is_no_calibration(bundles, with_fields, pages):
    made = Checker(pages, model=with_fields("listwise", calibration=None))
    assert made.check(CLAIM) == Checker(pages, model=bundles["listwise"]).check(CLAIM)


# --- Abstention -----------------------------------------------------------------------------


def verdict(*shares, **more):
    label = LABELS[int(np.argmax(shares))]
    return Verdict("c", label, dict(zip(LABELS, shares, strict=True)), id="1", **more)


def test_what_is_not_sure_enough_is_not_enough_information():
    sure, unsure, neither = verdict(0.7, 0.2, 0.1), verdict(0.5, 0.4, 0.1), verdict(0.3, 0.3, 0.4)
    unknown = Verdict("c", Label.NOT_ENOUGH_INFO, {})
    kept, withheld, still, same = abstain([sure, unsure, neither, unknown], 0.6)
    assert (kept, same) == (sure, unknown)
    assert withheld.label is Label.NOT_ENOUGH_INFO and withheld.abstained and withheld.likeliest is Label.SUPPORTS
    assert withheld.probabilities == unsure.probabilities and "SUPPORTS has a probability of 0.500" in withheld.reason
    assert str(withheld).startswith("NOT ENOUGH INFO (abstained)  c\n") and "(abstained)" in withheld._repr_html_()
    assert still.label is Label.NOT_ENOUGH_INFO and still.abstained
    assert list(abstain([sure, unsure, neither], 0.0)) == [sure, unsure, neither]
    assert list(abstain([sure], 0.7)) == [sure]  # at the minimum is sure enough


def test_a_choice_of_two_labels():
    refuted, sure = verdict(0.1, 0.3, 0.6), verdict(0.8, 0.1, 0.1)
    unknown, published = Verdict("c", Label.NOT_ENOUGH_INFO, {}), Verdict("c", Label.SUPPORTS, {Label.SUPPORTS: 1.0})
    made, still, *same = choose([refuted, sure, unknown, published])
    assert made.label is Label.REFUTES and still.label is Label.SUPPORTS and same == [unknown, published]
    assert made.probabilities == pytest.approx({Label.SUPPORTS: 0.25, Label.REFUTES: 0.75})
    # A minimum confidence is then that of the two.
    assert next(abstain([made], 0.7)).label is Label.REFUTES and next(abstain([made], 0.8)).abstained


@pytest.mark.parametrize("reads", ["sentences", "tables"])
def test_predictions_say_who_abstained_and_keep_the_probabilities_of_two_labels(tmp_path, reads):
    made = list(abstain([verdict(0.5, 0.4, 0.1, reads=reads), verdict(0.9, 0.1, 0.0, reads=reads)], 0.6))
    made += choose([verdict(0.1, 0.3, 0.6, reads=reads)])
    made = [dataclasses.replace(one, id=str(number)) for number, one in enumerate(made)]
    write_predictions(tmp_path / "p.jsonl", made)
    rows = [json.loads(line) for line in (tmp_path / "p.jsonl").read_text().splitlines()]
    assert [row.get("abstained") for row in rows] == [True, None, None]
    assert rows[0]["predicted_label"] == "NOT ENOUGH INFO" and rows[0]["label_probabilities"]["SUPPORTS"] == 0.5
    assert rows[2]["label_probabilities"] == pytest.approx({"SUPPORTS": 0.25, "REFUTES": 0.75})
    read = read_predictions if reads == "sentences" else table_predictions.read_predictions
    found = [one if reads == "sentences" else one.verdict for one in read(tmp_path / "p.jsonl")]
    assert found[:2] == [one.prediction() for one in made[:2]]
    assert found[2].label is Label.REFUTES and found[2].probabilities[:2] == pytest.approx((0.25, 0.75))
    (tmp_path / "p.jsonl").write_text(json.dumps(rows[0] | {"abstained": "yes"}) + "\n")
    with pytest.raises(DataError, match="abstained"):
        list(read(tmp_path / "p.jsonl"))


def test_reliability_is_that_of_the_verifiers_label():
    claims = {"1": Claim("1", "c", Label.SUPPORTS)}
    plain = {"1": verdict(0.5, 0.4, 0.1).prediction()}
    withheld = {"1": next(abstain([verdict(0.5, 0.4, 0.1)], 0.6)).prediction()}
    assert reliability(claims, withheld) == reliability(claims, plain)
    assert calibration(claims, withheld) == calibration(claims, plain)


def test_the_checker_abstains_and_dates_still_decide(pages, bundles):
    claims = ["Besa Siton was born in 1950.", CLAIM]
    plain = list(Checker(pages, verifier=bundles["listwise"], temporal=False).check_many(claims))
    checker = Checker(pages, verifier=bundles["listwise"], min_confidence=1.0)
    dated, withheld = checker.check_many(claims)
    assert dated.label is Label.REFUTES and not dated.abstained and "1861" in dated.reason and "1950" in dated.reason
    assert dated.ruling["verifier_label"] == plain[0].label and dated.probabilities == plain[0].probabilities
    assert withheld.abstained and withheld.label is Label.NOT_ENOUGH_INFO
    assert withheld.probabilities == plain[1].probabilities
    (again,) = judge_dates([withheld])
    assert again == withheld


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan")])
def test_a_confidence_that_is_no_probability(pages, bundles, value):
    with pytest.raises(LisaxError, match="minimum confidence from 0 to 1"):
        Checker(pages, verifier=bundles["listwise"], min_confidence=value)


def test_the_verbs_take_a_minimum(pages, bundles, cells, tmp_path, capsys):
    given = ["check", CLAIM, "--corpus", str(example_pages()), "--model", str(bundles["listwise"])]
    assert main([*given, "--min-confidence", "1"]) == 0
    assert capsys.readouterr().out.startswith("NOT ENOUGH INFO (abstained)")
    assert main([*given, "--min-confidence", "1.5"]) != 0
    write_json_lines(tmp_path / "claims.jsonl", [{"id": 1, "claim": OF_TABLES}])
    both = ["--index", str(cells.folder), "--claims", str(tmp_path / "claims.jsonl")]
    assert main(["retrieve", "cells", *both, "--out", str(tmp_path / "run")]) == 0
    verify = ["verify", *both, "--run", str(tmp_path / "run"), "--model", str(bundles["fusion"])]
    assert main([*verify, "--out", str(tmp_path / "p.jsonl"), "--min-confidence", "1"]) == 0
    (found,) = table_predictions.read_predictions(tmp_path / "p.jsonl")
    assert found.verdict.abstained and found.verdict.label is Label.NOT_ENOUGH_INFO
