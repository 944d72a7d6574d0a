"""Temperatures fitted on a user's own claims, and where they are stored."""

import json
import shutil

import numpy as np
import pytest
from small_bundles import TABLES

from lisax import Checker, Index, Label, LisaxError, Verifier
from lisax.cli import main
from lisax.corpora.fever import read_predictions
from lisax.files.writing import write_json, write_json_lines
from lisax.metrics import temperature
from lisax.metrics.temperature import Calibration
from lisax.predict import calibrating
from lisax.records import LABELS, Claim, Prediction
from lisax.weights.checkpoints import add_fitted, write_fitted
from lisax.weights.model_card import ModelCard

PEOPLE = ("Vova Brugard", "Lenas Brugard", "Besa Siton")
CLAIMS = [
    {"id": i, "claim": f"{person} was born in {place}.", "label": str(LABELS[(i + len(place)) % 3]), "evidence": []}
    for i, (person, place) in enumerate((person, place) for person in PEOPLE for place in ("Torimoor", "Ostra", "1871"))
]


@pytest.fixture
def claims(tmp_path):
    write_json_lines(tmp_path / "claims.jsonl", CLAIMS)
    return tmp_path / "claims.jsonl"


def gold(labels):
    return {str(i): Claim(str(i), "c", label) for i, label in enumerate(labels)}


def predictions(shares, evidence=("P_0",)):
    return {
        str(i): Prediction(str(i), LABELS[int(np.argmax(row))], tuple(row), evidence) for i, row in enumerate(shares)
    }


def test_a_temperature_is_of_claims_that_were_read(bundles):
    verifier = Verifier.open(bundles["listwise"])
    labels = [LABELS[0], LABELS[1], LABELS[2], LABELS[0]]
    shares = [(0.9, 0.1, 0.0), (0.8, 0.1, 0.1), (0.2, 0.2, 0.6), (0.7, 0.2, 0.1)]
    found = calibrating.fit(verifier, gold(labels), predictions(shares))
    wanted = temperature.fit(np.array(shares), np.array([0, 1, 2, 0]))
    assert found.temperature == pytest.approx(wanted.temperature) and found.claims == 4 and found.aggregate is None
    more = predictions([*shares, (float("nan"),) * 3, (0.5, 0.5, 0.0)])
    more["6"] = Prediction("6", LABELS[2], calibrating.UNREAD)
    assert calibrating.fit(verifier, gold([*labels, LABELS[0], None, LABELS[0]]), more) == found
    with pytest.raises(LisaxError, match="no labelled claims"):
        calibrating.fit(verifier, gold([LABELS[0]]), {})


def test_table_fusion_tells_true_from_false(bundles):
    verifier = Verifier.open(bundles["fusion"])
    labels = [LABELS[0], LABELS[1], LABELS[2], LABELS[0]]
    shares = [(0.18, 0.02, 0.8), (0.8, 0.2, 0.0), (0.9, 0.1, 0.0), (0.7, 0.3, 0.0)]
    found = calibrating.fit(verifier, gold(labels), predictions(shares))
    assert found == temperature.fit(np.array([(0.9, 0.1), (0.8, 0.2), (0.7, 0.3)]), np.array([0, 1, 0]))
    made = calibrating.recalibrated(predictions(shares), found, LABELS[:2])["0"].probabilities
    assert made[2] == 0.8 and made[:2] == pytest.approx(0.2 * found.apply(np.array([0.9, 0.1])))
    back = calibrating.before(calibrating.recalibrated(predictions(shares), found, LABELS[:2]), found, LABELS[:2])
    for one, other in zip(back.values(), predictions(shares).values()):
        assert one.probabilities == pytest.approx(other.probabilities)


@pytest.mark.parametrize("kind", ["pointwise", "pointer"])
def test_check_fits_a_temperature_on_the_users_claims(pages, bundles, claims, tmp_path, capsys, kind):
    model, out = shutil.copytree(bundles[kind], tmp_path / "model"), tmp_path / "verdicts.jsonl"
    given = ["check", "--claims", str(claims), "--index", str(pages.folder), "--model", str(model), "--out", str(out)]
    if kind != "pointer":  # which reads page by page; the command line would take the shipped ranker, Python BM25
        given += ["--ranker", "bm25"]
    assert main(given) == 0
    plain = out.read_text()
    assert main([*given, "--calibrate"]) == 0
    assert out.read_text() == plain  # with the probabilities that it was fitted on
    told = capsys.readouterr().err
    fitted = ModelCard.read(model).calibration
    assert f"temperature {fitted.temperature:.3f}, fitted on {fitted.claims} claims; expected calibration error" in told
    assert fitted.aggregate == ("any" if kind == "pointwise" else None)
    verdicts = {one.claim_id: one for one in read_predictions(out)}
    labelled = {str(row["id"]): Claim(str(row["id"]), row["claim"], Label(row["label"])) for row in CLAIMS}
    assert fitted == calibrating.fit(Verifier.open(model), labelled, verdicts)
    verdict = Checker(pages, model=model).check(CLAIMS[0]["claim"])
    expected = fitted.apply(np.array(verdicts["0"].probabilities))
    np.testing.assert_allclose(list(verdict.probabilities.values()), expected, rtol=1e-5)
    # Once more: it is the model's own probabilities that are fitted, not the calibrated ones.
    assert main([*given, "--calibrate"]) == 0 and out.read_text() == plain
    assert ModelCard.read(model).calibration == fitted
    if kind == "pointwise":
        add_fitted(model, {"calibration": {"temperature": 2.0, "biases": (0.5, 0.0, -0.5)}})
        assert main([*given, "--calibrate"]) == 0 and out.read_text() == plain
        assert ModelCard.read(model).calibration.biases == (0.5, 0.0, -0.5)  # they stay


def test_there_is_a_bias_for_each_label(bundles, pages, tmp_path):
    model = shutil.copytree(bundles["listwise"], tmp_path / "model")
    known = list(Checker(pages, model=model).check(CLAIMS[0]["claim"]).probabilities.values())
    biases = (0.0, 20.0, 0.0)
    add_fitted(model, {"calibration": {"temperature": 1.0, "biases": biases}})
    verdict = Checker(pages, model=model).check(CLAIMS[0]["claim"])
    assert verdict.label is LABELS[1]
    expected = Calibration(1.0, biases=biases).apply(np.array(known))
    np.testing.assert_allclose(list(verdict.probabilities.values()), expected, rtol=1e-4)
    add_fitted(model, {"calibration": {"temperature": 1.0, "biases": [0.5]}})
    with pytest.raises(LisaxError, match="calibration.biases.: has 1 for 3 labels"):
        Checker(pages, model=model)


def test_verify_fits_a_temperature_of_tables(bundles, tmp_path):
    cells = Index.build(TABLES, tmp_path / "cells", kind="cells")
    model = shutil.copytree(bundles["fusion"], tmp_path / "model")
    rows = [("Torimoor has 18,400 people.", "SUPPORTS"), ("Ostra has 10 people.", "REFUTES")]
    write_json_lines(
        tmp_path / "claims.jsonl",
        ({"id": i, "claim": text, "label": label, "evidence": []} for i, (text, label) in enumerate(rows)),
    )
    both = ["--index", str(cells.folder), "--claims", str(tmp_path / "claims.jsonl")]
    assert main(["retrieve", "cells", *both, "--out", str(tmp_path / "run")]) == 0
    verify = ["verify", *both, f"--run={tmp_path}/run", f"--model={model}", f"--out={tmp_path}/p.jsonl"]
    assert main([*verify, "--calibrate"]) == 0
    assert ModelCard.read(model).calibration.claims == 2


def test_what_cannot_be_calibrated(pages, bundles, claims, tmp_path, capsys):
    given = ["check", "--index", str(pages.folder), "--calibrate", "--model"]
    assert main([*given, str(bundles["listwise"]), "A claim."]) != 0
    assert "--claims FILE and --out FILE" in capsys.readouterr().err
    write_json_lines(tmp_path / "bare.jsonl", ({"id": row["id"], "claim": row["claim"]} for row in CLAIMS))
    out = ["--out", str(tmp_path / "out.jsonl")]
    assert main([*given, str(bundles["listwise"]), "--claims", str(tmp_path / "bare.jsonl"), *out]) != 0
    assert "bare.jsonl: a temperature is fitted on labelled claims" in capsys.readouterr().err
    assert not (tmp_path / "out.jsonl").exists()  # it is said before the work
    with pytest.raises(LisaxError, match="model by name"):
        calibrating.check_calibratable("minilm", [], claims)


# --- Where it is stored -----------------------------------------------------------------------


@pytest.fixture
def model_dir(bundles, tmp_path):
    """A MODEL_DIR with two checkpoints, as far as their cards go."""
    for step in (5, 10):
        folder = tmp_path / "run" / f"checkpoint_{step}"
        (folder / "state").mkdir(parents=True)
        shutil.copy(bundles["listwise"] / "model.json", folder)
    return tmp_path / "run"


def test_a_checkpoints_temperature_is_beside_it(model_dir):
    assert add_fitted(model_dir, {"calibration": {"temperature": 2.0}}) == model_dir / "fitted.json"
    assert ModelCard.read(model_dir / "checkpoint_10").calibration == Calibration(2.0)
    assert ModelCard.read(model_dir / "checkpoint_5").calibration is None
    write_fitted(model_dir, {"fusion": [1.0, 2.0, 3.0]})
    add_fitted(model_dir, {"calibration": {"temperature": 3.0}})
    card = ModelCard.read(model_dir / "checkpoint_10")
    assert card["fusion"] == [1.0, 2.0, 3.0] and card.calibration == Calibration(3.0)
    # What was fitted for another checkpoint is replaced.
    add_fitted(model_dir / "checkpoint_5", {"calibration": {"temperature": 4.0}})
    assert ModelCard.read(model_dir / "checkpoint_5").calibration == Calibration(4.0)
    assert "fusion" not in ModelCard.read(model_dir / "checkpoint_5")
    assert ModelCard.read(model_dir / "checkpoint_10").calibration is None


def test_a_bundles_temperature_is_in_its_model_json(bundles, tmp_path):
    model = shutil.copytree(bundles["listwise"], tmp_path / "model")
    before = json.loads((model / "model.json").read_text())
    assert add_fitted(model, {"calibration": {"temperature": 2.0}}) == model / "model.json"
    assert json.loads((model / "model.json").read_text()) == before | {"calibration": {"temperature": 2.0}}


def test_mistakes_in_what_was_fitted_name_its_file(model_dir):
    write_json(model_dir / "fitted.json", {"checkpoint": "checkpoint_10", "calibration": {"temperature": -1}})
    with pytest.raises(LisaxError, match=r"fitted.json.*calibration.temperature"):
        ModelCard.read(model_dir / "checkpoint_10")
