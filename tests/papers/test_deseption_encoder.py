"""DeSePtion on a pretrained encoder: both pointers start from it, and label claims end to end."""

import json
from pathlib import Path

import pytest
import small_encoder
import stages_alone

from lisax.corpora import open_folder
from lisax.papers.deseption.recipe import PointerRecipe
from lisax.papers.deseption.report import finish
from lisax.papers.deseption.run import Deseption
from lisax.predict.verifier import Verifier
from lisax.weights.model_folder import ModelFolder

RECIPE = """
PointerRecipe.backbone = '{encoder}'
PointerRecipe.train = {{'documents': '{documents}', 'evidence': '{evidence}'}}
PointerRecipe.initial = {{'documents': '{encoder}', 'evidence': '{encoder}'}}
PointerRecipe.attacks = False
PointerRecipe.hops = 1
PointerRecipe.candidates = 8
PointerRecipe.documents = 3
PointerRecipe.sentences = 10
PointerRecipe.title_tokens = 48
PointerRecipe.sentence_tokens = 64
PointerRecipe.train_claims = 40
PointerRecipe.validation_claims = 10
PointerRecipe.report_claims = 12
"""
POINTER = "evidence_pointer.PointerConfig:\n  hidden = 16\n  hops = 1\n  beam_size = 2\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    titles = ("RELATION = 'none'", "BEST_METRIC = 'recall'")
    models = {
        name: ("deseption/minilm_pointer", POINTER, *more) for name, more in (("documents", titles), ("evidence", ()))
    }
    return small_encoder.prepare(tmp_path_factory.mktemp("deseption"), RECIPE, 80, models)


@pytest.fixture(scope="module")
def run(folder) -> Deseption:
    return small_encoder.finished(Deseption, PointerRecipe, finish, folder)


@pytest.mark.slow
def test_a_run_leaves_adapters_with_pointers_verdicts_and_figures(run, folder):
    figures = json.loads((run.out / "metrics.json").read_text())
    assert 0 < figures["claim_words"]["label_accuracy"] < 1
    assert "words of the claim" in (run.out / "report.html").read_text()
    assert set(figures["variants"]) == {"joint", "joint_temporal", "joint_without_ranking"}
    for name in ("documents", "evidence"):
        card = ModelFolder.find(run.model_dir(name)).card
        assert card["adapter"]["base"] == str(folder / "encoder") and card["vocabulary"]["file"] == "tokenizer.json"
    verdicts = [json.loads(line) for line in run.predictions_of("joint", "test").read_text().splitlines()]
    assert len(verdicts) == 12 and all(sum(one["label_probabilities"].values()) == pytest.approx(1) for one in verdicts)
    shares = Verifier.open(run.model_dir("evidence")).verify("A claim.", ["A sentence.", "Two."]).probabilities
    assert sum(shares.values()) == pytest.approx(1)


@pytest.mark.slow
def test_each_stage_reads_what_is_noted_and_writes_its_outputs_alone(run, folder, monkeypatch):
    stages_alone.check(lambda: Deseption(open_folder(folder / "world"), run.out, run.recipe), monkeypatch)
