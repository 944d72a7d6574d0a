"""LisT5 end to end at tiny size: every stage, interruption, and the verbs on what a run leaves."""

import dataclasses
import json
import signal
import subprocess
import sys

import ir_measures
import numpy as np
import pytest
import stages_alone
from ir_measures import AP, RR, nDCG
from small_run import SmallRun

import lisax
from lisax import cli
from lisax.corpora import open_folder
from lisax.corpora.fever import read_predictions
from lisax.errors import LisaxError
from lisax.papers.base import REPORT, TRAIN, VALIDATION
from lisax.papers.list5.recipe import Recipe
from lisax.papers.list5.run import VARIANTS, List5
from lisax.records import LABELS
from lisax.retrieval.runs import read_run
from lisax.weights.model_folder import ModelFolder

MODEL = """
include 'experiments/list5/micro.gin'
TRAIN_STEPS = 6
BATCH_SIZE = 8
EVAL_PERIOD = 3
EVAL_STEPS = 2
train.log_period = 1
utils.SaveCheckpointConfig.period = 2
network.T5Config:
  emb_dim = 16
  num_heads = 2
  num_encoder_layers = 1
  head_dim = 8
  mlp_dim = 32
"""
RECIPE = """
Recipe.train = {{
    'base': '{folder}/model.gin', 'rank_entities': '{folder}/model.gin',
    'label_pointwise': '{folder}/model.gin', 'label_listwise_infused': '{folder}/model.gin',
}}
Recipe.initial = {{'rank_entities': 'base', 'label_listwise_infused': 'label_pointwise'}}
Recipe.max_tokens = 96
Recipe.pointwise_max_tokens = 96
Recipe.list_max_tokens = 192
Recipe.vocabulary_size = 600
Recipe.train_claims = 60
Recipe.documents = 6
Recipe.candidates = 12
Recipe.ranking_window = (1, 12)
Recipe.labelling_window = (1, 10)
Recipe.fuse_bm25 = True
Recipe.attacks = True
Recipe.attacked_claims = 3
"""
OUTPUTS = (
    *"runs/candidates.test.trec runs/rank_entities.test.trec runs/fused.test.trec runs/rank_entities.train.trec".split(),
    *"examples/label_listwise_infused.train.jsonl predictions/infused.jsonl predictions/max.jsonl".split(),
)


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> SmallRun:
    run = SmallRun(tmp_path_factory.mktemp("list5"), "list5", List5, Recipe)
    return run.made(RECIPE, {"model": MODEL}, 60, seed=1)


def test_a_run_leaves_runs_predictions_figures_and_a_report(finished):
    folder, out = finished.folder, finished.out
    claims = {claim.id: claim for claim in open_folder(folder / "world").claims("test")}
    selected = read_run(out / "runs/rank_entities.test.trec")
    candidates = read_run(out / "runs/candidates.test.trec")
    assert all({hit.id for hit in hits} == {hit.id for hit in candidates[claim]} for claim, hits in selected.items())
    for variant in ("sum", "max", "first", "any", "infused", "bm25"):
        verdicts = list(read_predictions(out / f"predictions/{variant}.jsonl"))
        assert [verdict.claim_id for verdict in verdicts] == list(claims)
        assert all(len(verdict.evidence) <= 5 and abs(sum(verdict.probabilities) - 1) < 1e-3 for verdict in verdicts)
    figures = json.loads((out / "metrics.json").read_text())
    assert {"recall_complete@5", "recall_any@5"} <= figures["retrieval"].keys()
    assert {"recall@5", "map@5"} <= figures["ranking"].keys()
    assert {"fever_score", "label_accuracy", "evidence_precision", "evidence_recall", "evidence_f1"} <= figures[
        "fever"
    ].keys()
    assert figures["best_variant"] == "infused" and figures["fever"] == figures["variants"]["infused"]
    # A pointwise labeller has the temperature of one way of combining sentences.
    assert {"infused", "any", "bm25", "bm25_any"} <= figures["calibration"].keys() <= figures["variants"].keys()
    assert not {"max", "sum", "first"} & figures["calibration"].keys()
    for variant, found in figures["calibration"].items():
        fitted = ModelFolder.find(out / "models" / VARIANTS[variant][0]).card.calibration
        assert (found["temperature"], found["claims"]) == (fitted.temperature, fitted.claims) and fitted.claims > 0
        own = figures["variants"][variant]["calibration"]
        assert found["after"] == {name: own[name] for name in ("expected_error", "brier")} != found["before"]
    compared = {
        "fever_score": figures["variants"],
        "label_accuracy": figures["variants"],
        "attacked_fever_score": figures["attacks"]["by_kind"]["all attacks"]["variants"],
        "recall@5": figures["selection"],
    }
    assert figures["differences"].keys() == compared.keys()
    for measure, of in figures["differences"].items():
        rows, shown = compared[measure], of["against"]
        assert of["variants"].keys() == rows.keys() - {shown}
        for variant, one in of["variants"].items():
            value, best = (rows[name][measure.removeprefix("attacked_")] for name in (variant, shown))
            assert one["difference"] == pytest.approx(value - best) and one["low"] <= one["difference"] <= one["high"]
    by_kind = figures["attacks"]["by_kind"]
    assert by_kind["clean"]["variants"]["infused"]["fever_score"] == figures["fever"]["fever_score"]
    assert len(by_kind) > 4 and by_kind["all attacks"]["variants"].keys() == figures["variants"].keys()
    assert {"train.rank_entities", "predict.infused"} <= figures["seconds"].keys()
    page = (out / "report.html").read_text()
    assert "noise infused" in page and "FEVER score by attack" in page
    assert "FEVER score against listwise, noise infused" in page and next(iter(claims.values())).text.split()[0] in page


def test_figures_are_trec_evals_of_the_saved_runs(finished):
    folder, out = finished.folder, finished.out
    for path in (out / "runs").rglob("*.trec"):
        for query, hits in read_run(path).items():
            scores = np.array([hit.score for hit in hits], np.float32)
            assert (scores[1:] < scores[:-1]).all(), (path.name, query)
    claims = open_folder(folder / "world").claims("test")
    qrels = [ir_measures.Qrel(claim.id, unit, 1) for claim in claims for unit in claim.gold_ids]
    run = list(ir_measures.read_trec_run(str(out / "runs" / "fused.test.trec")))
    figures = json.loads((out / "metrics.json").read_text())["ranking"]
    theirs = ir_measures.calc_aggregate([AP @ 5, RR, nDCG @ 10], qrels, run)
    assert [figures[name] for name in ("map@5", "mrr", "ndcg@10")] == pytest.approx(
        [theirs[measure] for measure in (AP @ 5, RR, nDCG @ 10)]
    )


def test_a_second_run_does_nothing_again(finished, capfd):
    finished.again(capfd)


@pytest.mark.slow
def test_a_run_interrupted_in_every_way_completes_to_the_same_files(finished, tmp_path):
    command = [sys.executable, "-P", "-m", "lisax", *finished.into(tmp_path)]
    for number, mark, code in (
        (signal.SIGINT, "[retrieve]", 130),
        (signal.SIGKILL, "first step after", -9),
        (signal.SIGTERM, "first step after", 143),
        (signal.SIGKILL, "[select.rank_entities.train]", -9),
    ):
        with subprocess.Popen(
            command,
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            # A shell starts background jobs with Ctrl-C ignored, and children inherit that.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            text=True,
        ) as process:
            for line in process.stderr:
                if mark in line:
                    process.send_signal(number)
                    break
            rest = process.stderr.read()
        assert process.returncode == code, rest
        assert "Traceback" not in rest
        assert not (tmp_path / "metrics.json").exists()
    subprocess.run(command, check=True, capture_output=True)
    for name in OUTPUTS:
        assert (tmp_path / name).read_bytes() == (finished.out / name).read_bytes(), name
    first, second = (json.loads((path / "metrics.json").read_text()) for path in (finished.out, tmp_path))
    assert {k: v for k, v in first.items() if k != "seconds"} == {k: v for k, v in second.items() if k != "seconds"}


def test_until_stops_after_a_stage(finished, tmp_path, capfd):
    assert cli.main(finished.into(tmp_path, "--until", "vocabulary")) == 0
    assert (tmp_path / "spiece.model").exists() and not (tmp_path / "examples").exists()
    assert "stopped after vocabulary" in capfd.readouterr().err
    assert cli.main(finished.into(tmp_path / "none", "--until", "vocabluary")) == 1
    assert "no stage 'vocabluary'; its stages are index, attack, retrieve, vocabulary" in capfd.readouterr().err
    assert cli.main(["demo", "--out", str(tmp_path / "none"), "--until", "vocabluary"]) == 1
    assert "no stage 'vocabluary'" in capfd.readouterr().err
    assert not (tmp_path / "none").exists()


def test_a_dry_run_prints_the_plan_and_writes_nothing(finished, tmp_path, capfd):
    out = finished.out
    before = sorted((path, path.stat().st_mtime_ns) for path in out.rglob("*"))
    assert cli.main(finished.into(out, "--dry-run")) == 0
    plan = capfd.readouterr().out
    assert "examples.rank: done\n    after retrieve\n    reads ranking_window = [1, 12]," in plan
    assert f"stages, 0 of them to do, in {out}" in plan
    assert cli.main(finished.into(out, "--dry-run", "--gin.Recipe.labelling_window=(1, 9)")) == 0
    plan = capfd.readouterr().out
    assert "examples.label: again: labelling_window changed" in plan and "select.fused.train: done" in plan
    assert "train.label_pointwise: again: examples.label changed" in plan
    assert sorted((path, path.stat().st_mtime_ns) for path in out.rglob("*")) == before
    assert cli.main(["demo", "--dry-run", "--out", str(tmp_path / "demo"), "--until", "retrieve"]) == 0
    assert capfd.readouterr().out.splitlines()[-1] == f"2 stages, 2 of them to do, in {tmp_path / 'demo'}"
    assert not (tmp_path / "demo").exists()


def test_the_second_hop_widens_retrieval_and_selection(finished, tmp_path):
    recipe = dataclasses.replace(finished().recipe, hops=2, fuse_bm25=False)
    run = List5(finished().data, tmp_path, recipe)
    run.make("retrieve")
    first = run.run_file("rank_entities", REPORT)
    first.write_bytes(run.run_file("candidates", REPORT).read_bytes())  # as if a model had ranked them
    run._hop(recipe.first_selector, REPORT)
    before, after = read_run(first), read_run(run.run_file(recipe.selector, REPORT))
    assert before.keys() == after.keys()
    assert any({hit.id for hit in after[claim]} - {hit.id for hit in hits} for claim, hits in before.items())
    assert all([hit.id for hit in after[claim][:3]] == [hit.id for hit in hits[:3]] for claim, hits in before.items())
    assert {f"select.hops.{role}" for role in (TRAIN, VALIDATION, REPORT)} <= set(run.graph)


def test_verbs_on_a_bundle_give_the_runs_own_results(finished, tmp_path, capsys):
    folder, out = finished.folder, finished.out
    claims = str(folder / "world" / "claims.test.jsonl")
    index = ["--claims", claims, "--index", str(out / "index")]
    for model in ("rank_entities", "label_listwise_infused"):
        assert cli.main(["export", "--model", str(out / "models" / model), "--out", str(tmp_path / model)]) == 0
    run, predictions, dated = (tmp_path / name for name in ("run.trec", "predictions.jsonl", "dated.jsonl"))
    rerank = ["rerank", f"--model={tmp_path}/rank_entities", *index, f"--run={out}/runs/candidates.test.trec"]
    assert cli.main([*rerank, f"--out={run}"]) == 0
    assert run.read_bytes() == (out / "runs/rank_entities.test.trec").read_bytes()
    verify = ["verify", f"--model={tmp_path}/label_listwise_infused", *index, f"--run={out}/runs/fused.test.trec"]
    assert cli.main([*verify, f"--out={predictions}"]) == 0
    assert predictions.read_bytes() == (out / "predictions/infused.jsonl").read_bytes()
    assert cli.main([*verify, f"--out={dated}", "--temporal"]) == 0
    both = list(zip(read_predictions(predictions), read_predictions(dated), strict=True))
    assert any(after.temporal for _, after in both)
    for before, after in both:
        assert before.label == (after.temporal["verifier_label"] if after.temporal else after.label)
        assert before == dataclasses.replace(after, label=before.label, temporal=None)
    capsys.readouterr()
    assert cli.main(["score", "fever", "--gold", claims, "--predictions", str(predictions), "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert "fever_score" in json.dumps(figures)

    ranked = lisax.load(str(tmp_path / "rank_entities")).rank("a claim", ["one text", "another text"])
    assert sorted(one.unit for one in ranked) == ["0", "1"] and ranked[0].score >= ranked[1].score
    shares = lisax.load(str(tmp_path / "label_listwise_infused")).verify("a claim", ["one text"]).probabilities
    assert set(shares) == set(LABELS) and abs(sum(shares.values()) - 1) < 1e-5
    with pytest.raises(LisaxError, match="a labeller is wanted here"):
        lisax.Verifier.open(tmp_path / "rank_entities")
    assert (
        cli.main(["export", "--model", str(out / "models/rank_entities"), "--out", str(tmp_path / "rank_entities")])
        == 1
    )
    (tmp_path / "rank_entities" / "model.safetensors").write_bytes(b"cut")
    with pytest.raises(LisaxError, match="safetensors"):
        lisax.load(str(tmp_path / "rank_entities"))


@pytest.mark.slow
def test_each_stage_reads_what_is_noted_and_writes_its_outputs_alone(finished, monkeypatch):
    stages_alone.check(finished, monkeypatch)
