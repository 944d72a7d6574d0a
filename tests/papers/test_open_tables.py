"""Open-domain table verification end to end on a small world, a few steps of each model."""

import dataclasses
import json
import shutil

import numpy as np
import pytest
import ray_cluster
import stages_alone
from small_run import SmallRun

import lisax
from lisax.cli import main
from lisax.devices.workers import Workers
from lisax.errors import DataError
from lisax.papers.base import REPORT
from lisax.papers.open_tables import report as open_tables_report
from lisax.papers.open_tables import run as open_tables
from lisax.papers.open_tables.recipe import TableRecipe, depth_of, is_fusion, task_of
from lisax.papers.open_tables.run import ORACLE, OpenTables
from lisax.predict.model import Model
from lisax.predict.table_verifier import TableDecision, judged, table_verdicts
from lisax.records import Label
from lisax.retrieval import documents
from lisax.retrieval.runs import read_run
from lisax.weights.checkpoints import resolve_checkpoint
from lisax.weights.model_folder import ModelFolder

RECIPE = """
include 'experiments/open_tables/world_micro.gin'
TableRecipe.train = {{
    'closed': '{folder}/text.gin',
    'top3': '{folder}/text.gin',
    'joint_top3': '{folder}/fusion.gin',
    'ternary_top3': ('{folder}/fusion.gin', {{'OBJECTIVE': 'ternary'}}),
}}
TableRecipe.compared = ('query-word',)
TableRecipe.initial = {{}}
TableRecipe.table_tokens = 64
TableRecipe.text_tokens = 128
TableRecipe.vocabulary_size = 600
TableRecipe.train_claims = 60
TableRecipe.validation_claims = 12
TableRecipe.report_claims = 20
"""
STEPS = "TRAIN_STEPS = 2\nEVAL_PERIOD = 2\nBATCH_SIZE = 8\nnetwork.T5Config.num_encoder_layers = 1\nnetwork.T5Config.num_decoder_layers = 1\n"


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> SmallRun:
    run = SmallRun(tmp_path_factory.mktemp("tables"), "open-tables", OpenTables, TableRecipe)
    include = "include 'experiments/open_tables/{}_micro.gin'\n".format
    return run.made(RECIPE, {"text": include("tables") + STEPS, "fusion": include("fusion") + STEPS})


@pytest.fixture(scope="module")
def by_hand(finished):
    """A folder with the bundles `joint_top3` and `top3`, and the arguments that name claims, an index and its run."""
    folder = finished.folder
    out, claims = folder / "by_hand", f"--claims={folder}/world/table_claims.test.jsonl"
    for model in ("joint_top3", "top3"):
        assert main(["export", f"--model={folder}/out/models/{model}", f"--out={out}/{model}"]) == 0
    assert main(["index", "cells", f"--corpus={folder}/world", f"--out={out}/index"]) == 0
    index = f"--index={out}/index"
    assert main(["retrieve", "cells", index, claims, f"--out={out}/run.trec", "--k=10"]) == 0
    return out, [claims, index, f"--run={out}/run.trec"]


def test_figures_of_every_part(finished):
    folder = finished.folder
    found = json.loads((folder / "out" / "metrics.json").read_text())
    assert found["best_model"] == "joint_top3" and found["tables"] == found["models"]["joint_top3"]
    assert set(found["models"]) == {"closed", "top3", "joint_top3", "ternary_top3", ORACLE}
    assert set(found["retrieval"]) == {"entity-char-2-3", "query-word"}
    assert set(found["calibration"]) == {"closed", "top3", "joint_top3", "ternary_top3"}
    for model, figures in found["calibration"].items():
        fitted = ModelFolder.find(folder / "out" / "models" / model).card.calibration
        assert (figures["temperature"], figures["claims"]) == (fitted.temperature, fitted.claims) and fitted.claims > 0
    against = found["differences"]["accuracy"]
    assert against["against"] == "joint_top3" and against["variants"].keys() == set(found["models"]) - {"joint_top3"}
    difference = found["models"]["closed"]["accuracy"] - found["tables"]["accuracy"]
    assert against["variants"]["closed"]["difference"] == pytest.approx(difference)
    linked, spans = (found["retrieval"]["entity-char-2-3"][mode]["hits@5"] for mode in ("linked", "spans"))
    assert linked >= spans > 0.5 and "linked" not in found["retrieval"]["query-word"]
    assert set(found["fusion"]) == {"joint_top3", "ternary_top3"}
    assert found["fusion"]["joint_top3"]["reranking"]["hits@3"] == pytest.approx(
        found["models"]["joint_top3"]["by_gold_rank"]["1"]["claims"] / 20
        + found["models"]["joint_top3"]["by_gold_rank"]["2-3"]["claims"] / 20
    )
    # The run has the reported claims alone; retrieval was reported of the whole split.
    fused = found["fusion"]["joint_top3"]
    assert fused["before_reranking"]["claims"] == fused["reranking"]["claims"] == 20 < found["claims"]["retrieval"]
    assert fused["before_reranking"]["hits@3"] == fused["reranking"]["hits@3"]
    assert found["tables"]["accuracy"] is not None and found["claims"]["test"] == 20


def test_the_page_shows_tables_with_marked_rows_and_escapes_them(finished):
    folder = finished.folder
    page = (folder / "out" / "report.html").read_text(encoding="utf-8")
    assert 'class="marked"' in page and "Head 1, gold table at 1" in page and "Is the gold table there?" in page
    assert "Tables reranked by p(s)" in page and 'http-equiv="Content-Security-Policy"' in page


def test_a_second_run_does_nothing_again(finished, capfd):
    assert open_tables.NO_UNDECIDED in finished.again(capfd)
    assert open_tables.NO_UNDECIDED[1:] in (finished.out / "report.html").read_text(encoding="utf-8")


def test_verdicts_name_the_tables_that_were_read(finished):
    folder = finished.folder
    run = read_run(folder / "out" / "runs" / "entity-char-2-3.spans.test.trec")
    for line in (folder / "out" / "predictions" / "joint_top3.jsonl").read_text().splitlines():
        row = json.loads(line)
        assert row["predicted_evidence"] == [hit.id for hit in run[row["id"]]][:3]
        assert sum(row["evidence_scores"]) == pytest.approx(1) and row["predicted_label"] in ("SUPPORTS", "REFUTES")


def test_on_the_gold_table_only_claims_count_that_it_decides(finished):
    run = finished()
    reported = run.claims[REPORT]
    reported |= {i: dataclasses.replace(reported[i], label=Label.NOT_ENOUGH_INFO) for i in list(reported)[:5]}
    run.undecided_claims = True
    found = open_tables_report._figures(run)
    assert found["models"][ORACLE]["claims"] == 15 and found["models"]["closed"]["claims"] == 20
    (table,) = (table for table in open_tables_report._verdict_tables(run, found) if table.name == "Verification")
    assert "'fusion on the gold table' is of the 15 claims that a gold table decides" in table.explanation


def test_what_does_not_suffice_is_not_enough_information():
    pairs = np.array([[[0.4, 0.1], [0.3, 0.2]], [[0.1, 0.8], [0.05, 0.05]], [[0, 0], [0, 0]]])
    shares, _, relevance = judged(pairs, np.array([0.2, 0.9, 0.9]), TableDecision(0.2, True, 0.75))
    assert shares[0] == pytest.approx([0.25 * 0.7, 0.25 * 0.3, 0.75]) and shares[2].tolist() == [0, 0, 1]
    assert shares[1] == pytest.approx([0.15, 0.85, 0]) and relevance[0] == pytest.approx([0.5, 0.5])
    unknown, _, _ = judged(
        pairs, np.array([0.2, 0.9, 0.9]), TableDecision(0.2, True)
    )  # how often that is right is not known
    assert np.isnan(unknown[0]).all() and unknown[1:] == pytest.approx(shares[1:])
    verdicts = list(table_verdicts(["c"] * 3, [()] * 3, unknown))
    assert not verdicts[0].probabilities and "label_probabilities" not in verdicts[0].submission()
    assert [verdict.label for verdict in verdicts] == [Label.NOT_ENOUGH_INFO, Label.REFUTES, Label.NOT_ENOUGH_INFO]
    shares, _, _ = judged(pairs, None, None)
    assert shares[0] == pytest.approx([0.7, 0.3, 0])


def test_names_of_models():
    assert task_of("closed") == "tables_closed" and task_of("joint_top5_no_attention") == "tables_fusion_top5"
    assert [depth_of(name) for name in ("claim_only", "one", "top10", "uniform_top5")] == [0, 1, 10, 5]
    assert is_fusion("ternary_top1") and not is_fusion("top5")
    assert TableRecipe(train={"joint_top3": "a", "joint_top5_no_attention": "b", "closed": "c"}).main == "joint_top3"
    assert TableRecipe(train={"joint_top5": "a", "joint_top1": "b", "closed": "c"}).closest_to_gold == "joint_top1"
    assert TableRecipe(train={"closed": "c"}).closest_to_gold is None


@pytest.mark.parametrize("model", ["joint_top3", "top3"])
def test_export_retrieve_and_verify_by_hand(finished, by_hand, tmp_path, model):
    """The verbs, on a bundle and an index of their own, say what the pipeline said."""
    folder, (bundles, given) = finished.folder, by_hand
    assert main(["verify", f"--model={bundles / model}", *given, f"--out={tmp_path}/predictions.jsonl"]) == 0
    rows = {row["id"]: row for row in map(json.loads, (tmp_path / "predictions.jsonl").read_text().splitlines())}
    for line in (folder / "out" / "predictions" / f"{model}.jsonl").read_text().splitlines():
        row = json.loads(line)
        assert rows[row["id"]]["predicted_evidence"] == row["predicted_evidence"]
        assert rows[row["id"]]["label_probabilities"] == pytest.approx(row["label_probabilities"], abs=1e-5)


@pytest.mark.parametrize("model", ["joint_top3", "top3"])
def test_a_card_that_does_not_say_how_many_tables_are_read_is_refused(by_hand, tmp_path, model):
    bundle = shutil.copytree(by_hand[0] / model, tmp_path / "bundle")
    card = json.loads((bundle / "model.json").read_text())
    for given in ({}, *({"tables": wrong} for wrong in (0, -1, "3", True, None, 2.0))):
        text = {name: value for name, value in card["text"].items() if name != "tables"} | given
        (bundle / "model.json").write_text(json.dumps(card | {"text": text}))
        with pytest.raises(DataError, match="model.json.*text.tables"):
            lisax.load(str(bundle))


def test_a_model_knows_the_threshold_that_was_chosen_for_it(finished, by_hand, tmp_path, capfd):
    folder, (bundles, given) = finished.folder, by_hand
    bundle = shutil.copytree(bundles / "joint_top3", tmp_path / "bundle")
    fitted = json.loads((folder / "out" / "metrics.json").read_text())["fusion"]["joint_top3"]["at_threshold"]
    decision = TableDecision.of(Model.open(bundle).card)
    chosen = fitted["threshold"]
    assert decision == (None if chosen is None else TableDecision(chosen, False, decision.precision))
    card = json.loads((bundle / "model.json").read_text())

    def decides(**decision) -> None:
        (bundle / "model.json").write_text(json.dumps(card | {"decision": {"threshold": 9.0} | decision}))

    def rows() -> list[dict]:
        return [json.loads(line) for line in (tmp_path / "decided.jsonl").read_text().splitlines()]

    def labels(*options: str) -> set[str]:
        assert main(["verify", f"--model={bundle}", *given, f"--out={tmp_path}/decided.jsonl", *options]) == 0
        return {row["predicted_label"] for row in rows()}

    decides(in_data=True, precision=0.7)
    assert labels() == {"NOT ENOUGH INFO"}
    for row in rows():
        assert row["label_probabilities"]["NOT ENOUGH INFO"] == 0.7
        assert sum(row["label_probabilities"].values()) == pytest.approx(1)
    assert labels("--threshold=9") == {"NOT ENOUGH INFO"} and not any("label_probabilities" in row for row in rows())
    assert labels("--threshold=-inf") <= {"SUPPORTS", "REFUTES"}
    capfd.readouterr()
    decides(in_data=False)
    assert labels() <= {"SUPPORTS", "REFUTES"}
    assert "no claim that has a table is NOT ENOUGH INFO; --threshold=9.0 was chosen" in capfd.readouterr().err


def test_a_model_that_was_damaged_and_trained_again_keeps_its_threshold(finished, capfd):
    folder, command = finished.folder, finished.command
    model = folder / "out" / "models" / "joint_top3"
    before, predictions = TableDecision.of(Model.open(model).card), folder / "out" / "predictions" / "joint_top3.jsonl"
    written = predictions.stat().st_mtime_ns
    assert before is not None
    (resolve_checkpoint(model) / "state" / "_METADATA").unlink()
    assert main(command) == 0
    said = capfd.readouterr().err
    assert "[train.joint_top3] is made again" in said and "[predict.joint_top3] done before" in said
    assert TableDecision.of(Model.open(model).card) == before and predictions.stat().st_mtime_ns == written


@pytest.mark.slow
def test_each_stage_reads_what_is_noted_and_writes_its_outputs_alone(finished, monkeypatch):
    stages_alone.check(finished, monkeypatch)


@pytest.mark.slow
def test_workers_write_the_files_of_one_process(finished, monkeypatch):
    monkeypatch.setattr(documents, "CLAIMS_AT_A_TIME", 7)
    monkeypatch.setattr(open_tables, "VERIFIED_AT_A_TIME", 7)
    names = ["retrieve", "compare", "predict.closed", "predict.joint_top3"]
    with ray_cluster.started(workers=2):
        stages_alone.check(finished, monkeypatch, names, Workers("ray", 2))
