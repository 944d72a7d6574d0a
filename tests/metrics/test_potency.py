"""Potency against hand-counted cases and the published figures."""

import json
import math

import pytest

from lisax.cli import invoke
from lisax.errors import DataError
from lisax.files.writing import write_json_lines
from lisax.metrics.potency import potency
from lisax.records import Claim, Label, Prediction

S, R, N = Label


def claim(id, label, kind="date"):
    return Claim(id, "x", label, () if label is N else ((f"P_{id}",),), kind=kind)


def verdict(id, label, evidence=True):
    return Prediction(id, label, (math.nan,) * 3, (f"P_{id}",) if evidence else ())


CLAIMS = {one.id: one for one in (claim("1", S), claim("2", R), claim("3", N, "conjunction"))}
GOOD = {i: verdict(i, one.label) for i, one in CLAIMS.items()}


def test_by_kind_label_and_system():
    # Right label without evidence is a break; the third claim needs no evidence.
    poor = GOOD | {"1": verdict("1", S, evidence=False), "3": verdict("3", S)}
    figures = potency(CLAIMS, {"good": GOOD, "poor": poor}, reviewed={"1": True, "2": False, "3": True})
    assert figures["potency"] == pytest.approx(1 / 3)
    assert figures["by_system"] == {"good": 0, "poor": pytest.approx(2 / 3)}
    assert figures["correct_rate"] == pytest.approx(2 / 3) and figures["adjusted_potency"] == pytest.approx(2 / 9)
    assert figures["accepted_potency"] == 0.5
    date = figures["by_kind"]["date"]
    assert (date["claims"], date["potency"], date["accepted_potency"]) == (2, 0.25, 0.5)
    assert date["by_label"]["SUPPORTS"] == {"claims": 1, "potency": 0.5}
    assert date["by_label"]["NOT ENOUGH INFO"]["potency"] is None


def test_the_correct_rate_is_over_what_was_reviewed():
    figures = potency(CLAIMS, {"good": GOOD}, reviewed={"1": True})
    assert (figures["reviewed"], figures["correct_rate"]) == (1, 1)
    unseen = figures["by_kind"]["conjunction"]
    assert (unseen["reviewed"], unseen["correct_rate"], unseen["adjusted_potency"]) == (0, None, None)
    for none in (None, {}):
        figures = potency(CLAIMS, {"good": GOOD}, reviewed=none)
        assert (figures["reviewed"], figures["correct_rate"], figures["adjusted_potency"]) == (0, None, None)


# FEVER 2.0, results: instances, raw potency, correct rate, potency, over its eight systems.
@pytest.mark.parametrize(
    "instances, raw, rate, adjusted",
    [(79, 78.80, 84.81, 66.83), (501, 68.51, 81.44, 55.79), (102, 79.66, 64.71, 51.54), (498, 60.34, 82.33, 49.68)],
)
def test_published_figures(instances, raw, rate, adjusted):
    claims = {str(i): claim(str(i), S) for i in range(instances)}
    broken = round(raw / 100 * instances * 8)
    systems = {str(s): {i: verdict(i, S if 8 * int(i) + s >= broken else R) for i in claims} for s in range(8)}
    figures = potency(claims, systems, {i: int(i) < round(rate / 100 * instances) for i in claims})
    assert 100 * figures["potency"] == pytest.approx(raw, abs=0.1)
    assert 100 * figures["correct_rate"] == pytest.approx(rate, abs=0.005)
    assert 100 * figures["adjusted_potency"] == pytest.approx(adjusted, abs=0.1)


def test_predictions_must_be_of_these_claims():
    with pytest.raises(DataError, match="without a prediction"):
        potency(CLAIMS, {"a": {"1": GOOD["1"]}})
    with pytest.raises(DataError, match="one system at least"):
        potency(CLAIMS, {})


def test_the_verb_reads_fever2_files_and_their_annotations(tmp_path, capsys):
    gold, predictions = tmp_path / "gold.jsonl", tmp_path / "ours.jsonl"
    fields = ("id", "label", "claim", "evidence", "attack", "annotation")
    refuted = (500002, "REFUTES", "c", [[[1, 2, "P_-LRB-x-RRB-", 3]]], "word replacement", "OK - fine")
    unknown = (500010, "NOT ENOUGH INFO", "d", [[[None, None, "Starrcade", -1]]], "Multihop", "UN - wrong")
    rows = [dict(zip(fields, values)) for values in (refuted, unknown)]
    write_json_lines(gold, rows)
    write_json_lines(
        predictions,
        ({"id": row["id"], "predicted_label": "REFUTES", "predicted_evidence": [["P_-LRB-x-RRB-", 3]]} for row in rows),
    )
    assert invoke(["score", "potency", "--gold", str(gold), "--predictions", str(predictions), "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)["potency"]
    assert figures["potency"] == 0.5 and figures["correct_rate"] == 0.5 and figures["adjusted_potency"] == 0.25
    assert figures["by_kind"]["lexical"]["potency"] == 0 and figures["by_kind"]["multi_hop"]["potency"] == 1
    assert figures["by_system"] == {"ours": 0.5}
