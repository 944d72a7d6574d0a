"""Table verification on a pretrained encoder: one adapter of it labels claims from one table, and from several in turn."""

import json
from pathlib import Path

import numpy as np
import pytest
import small_encoder
import stages_alone

from lisax import Checker, Index, shipped
from lisax.cli import main
from lisax.corpora import open_folder
from lisax.errors import LisaxError
from lisax.formats.examples import read_examples
from lisax.formats.tables import TableExample
from lisax.papers.base import REPORT
from lisax.papers.open_tables.recipe import TableRecipe
from lisax.papers.open_tables.report import finish
from lisax.papers.open_tables.run import ORACLE, RETRIEVED, OpenTables
from lisax.predict.model import Model
from lisax.predict.table_verifier import ONE_BY_ONE, table_shares
from lisax.predict.verifier import Verifier, any_decides
from lisax.records import Label
from lisax.retrieval.cells import Strategy
from lisax.retrieval.runs import read_run
from lisax.retrieval.tables import build_index
from lisax.sampling.written import draw_tables
from lisax.weights.model_folder import ModelFolder

RECIPE = """
TableRecipe.backbone = '{encoder}'
TableRecipe.train = {{'claim_only': '{closed}', 'closed': '{closed}', 'joint_top3': '{fusion}'}}
TableRecipe.initial = {{'claim_only': '{encoder}', 'closed': '{encoder}', 'joint_top3': '{encoder}'}}
TableRecipe.table_tokens = 96
TableRecipe.claim_max_tokens = 40
TableRecipe.wrong_tables = 0.5
TableRecipe.train_claims = 40
TableRecipe.validation_claims = 12
TableRecipe.report_claims = 12
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    models = {"closed": ("open_tables/minilm_model",), "fusion": ("open_tables/minilm_fusion_model",)}
    return small_encoder.prepare(tmp_path_factory.mktemp("tables"), RECIPE, 100, models)


@pytest.fixture(scope="module")
def run(folder) -> OpenTables:
    return small_encoder.finished(OpenTables, TableRecipe, finish, folder)


def test_a_run_leaves_adapters_and_verdicts_on_given_and_on_found_tables(run, folder):
    figures = json.loads((run.out / "metrics.json").read_text())
    assert 0 < figures["claim_words"]["accuracy"] < 1 and "words of the claim" in (run.out / "report.html").read_text()
    assert set(figures["models"]) == {"claim_only", "closed", "joint_top3", ORACLE, RETRIEVED}
    assert figures["best_model"] == "closed"
    card = ModelFolder.find(run.model_dir("closed")).card
    assert card["adapter"]["base"] == str(folder / "encoder") and card.calibration.claims == 12
    assert (card["text"]["family"], card["text"]["tables"]) == ("tables", 1)
    assert "labels of each of 3 tables" in (run.out / "report.html").read_text()


def test_table_fusion_is_an_adapter_with_a_head(run, folder):
    card = ModelFolder.find(run.model_dir("joint_top3")).card
    assert card["adapter"]["base"] == str(folder / "encoder") and card["vocabulary"]["file"] == "tokenizer.json"
    model, examples = Model.open(run.model_dir("joint_top3")), run.examples("tables_top3", REPORT)
    expected = run.scores("joint_top3", REPORT)["probabilities"]
    np.testing.assert_allclose(model.probabilities(examples).probabilities, expected, atol=1e-5)
    assert [len(one.tables) for one in examples].count(3) > 6
    assert run.verdicts("joint_top3").keys() == {one.claim_id for one in examples}


def test_wrong_tables_are_learned_from_as_too_little(run):
    read = {
        name: list(read_examples(run.examples_file(f"tables_{name}", "train"), TableExample))
        for name in ("closed", "closed_and_wrong")
    }
    wrong = read["closed_and_wrong"][len(read["closed"]) :]
    assert read["closed_and_wrong"][: len(read["closed"])] == read["closed"] and 5 < len(wrong) < 35
    assert {example.label for example in wrong} == {Label.NOT_ENOUGH_INFO} and not any(one.gold[0] for one in wrong)


def test_a_teacher_is_learned_from(run, folder, tmp_path):
    teacher, settings = run.model_dir("closed"), {"losses.Loss.teacher": 0.7, "TRAIN_STEPS": 2}
    models = {"closed": (str(folder / "closed.gin"), settings)}
    lines = [
        f"TableRecipe.teacher = '{teacher}'",
        "TableRecipe.written = 9",
        f"TableRecipe.train = {models}",
        f"TableRecipe.initial = {{'closed': '{folder / 'encoder'}'}}",
    ]
    student = OpenTables(open_folder(folder / "world"), tmp_path, TableRecipe.read([folder / "recipe.gin"], lines))
    student.make("train.closed")
    examples = list(read_examples(student.examples_file("tables_closed_and_wrong", "train"), TableExample))
    written = {one.claim_id: one.row() for one in draw_tables(9, student.recipe.seed)}
    assert {one.claim_id: one.row() | {"taught": ()} for one in examples if one.claim_id in written} == {
        name: row | {"taught": ()} for name, row in written.items()
    }
    expected = Model.open(teacher).probabilities(examples)
    np.testing.assert_allclose([one.taught for one in examples], expected, atol=1e-3)
    assert (student.model_dir("closed") / "checkpoint_2").is_dir()


def test_the_checker_reads_tables_one_by_one(run, tmp_path):
    model, names = Model.open(run.model_dir("closed")), ("closed", f"top{ONE_BY_ONE}")
    one, several = (run.examples(f"tables_{name}", REPORT)[0] for name in names)
    assert table_shares(model, [one])[0] == pytest.approx(model.probabilities([one])[0], abs=1e-6)
    alone = [TableExample("", several.claim, (table,)) for table in several.tables]
    total = any_decides(model.probabilities(alone).astype(float), np.ones(len(alone)))
    empty = TableExample("", several.claim)
    assert table_shares(model, [several, empty]) == pytest.approx(np.array([total / total.sum(), [0, 0, 1]]), abs=1e-6)
    verifier = Verifier.open(run.model_dir("closed"))
    assert verifier.depth == ONE_BY_ONE and Verifier.open(run.model_dir("closed"), evidence=7).depth == 7
    claims = [run.claims[REPORT][example.claim_id] for example in run.examples(f"tables_top{ONE_BY_ONE}", REPORT)]
    verdicts = run.verdicts(RETRIEVED)
    build_index(run.data.tables(), tmp_path / "cells", Strategy.ENTITY_CHAR_23)
    checker, found = Checker(tmp_path / "cells", verifier=verifier), read_run(run.main_run)
    for claim, verdict in zip(claims, checker.check_many(claims)):
        assert [table.unit for table in verdict.evidence] == [hit.id for hit in found[claim.id]][:ONE_BY_ONE]
        made = verdicts[claim.id].verdict.probabilities
        assert list(verdict.probabilities.values()) == pytest.approx(made, abs=1e-5)


def test_where_no_model_is_named_the_shipped_one_checks_tables(run, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(shipped, "labeller", lambda reads, tier: run.model_dir("closed"))
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables/clubs.csv").write_text("town,club\nTarn,Tarn United\nOstra,Red Star\n")
    claim = "Tarn United is a club of Tarn."
    cells = Index.build(tmp_path / "tables", tmp_path / "cells", kind="cells")
    assert main(["check", claim, "--index", str(tmp_path / "cells"), "--json"]) == 0
    verdict = json.loads(capsys.readouterr().out)
    assert [one["unit"] for one in verdict["evidence"]] == ["clubs.csv"]
    assert Checker(cells).check(claim).to_dict() == verdict
    index = Index.build(tmp_path / "tables", tmp_path / "index", kind="tables")
    assert Checker(index).check(claim).label in Label


def test_without_a_shipped_labeller_of_tables_it_is_said_so(run, tmp_path, monkeypatch):
    monkeypatch.setattr(shipped, "FOLDER", tmp_path)
    with pytest.raises(LisaxError, match="no labeller over tables comes with LisaX: name a model"):
        Checker(Index.build(run.data.tables(), tmp_path / "index", kind="cells"))


@pytest.mark.slow
def test_each_stage_reads_what_is_noted_and_writes_its_outputs_alone(run, folder, monkeypatch):
    stages_alone.check(lambda: OpenTables(open_folder(folder / "world"), run.out, run.recipe), monkeypatch)
