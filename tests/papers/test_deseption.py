"""DeSePtion end to end on a small world, a few steps of each model."""

import json
from collections import Counter

import pytest
import ray_cluster
import stages_alone
from small_run import SmallRun

import lisax
from lisax import world
from lisax.cli import main
from lisax.corpora import open_folder
from lisax.devices.workers import Workers
from lisax.errors import LisaxError
from lisax.formats.examples import read_examples
from lisax.papers import base
from lisax.papers.deseption import run as deseption
from lisax.papers.deseption.recipe import PointerRecipe
from lisax.papers.deseption.run import VARIANTS, Deseption
from lisax.papers.over_pages import _of_every_kind
from lisax.predict.verdicts import Evidence
from lisax.records import LABELS
from lisax.retrieval.runs import read_run
from lisax.weights.model_folder import ModelFolder

RECIPE = """
PointerRecipe.train = {{
    'titles': '{folder}/pairs.gin',
    'documents': ('{folder}/pointer.gin', {{'RELATION': 'none', 'BEST_METRIC': 'recall'}}),
    'evidence': '{folder}/pointer.gin',
    'evidence_set': (
        '{folder}/pointer.gin', {{'RELATION': 'set', 'evidence_pointer.PointerConfig.reward_weight': 1.0}}
    ),
}}
PointerRecipe.initial = {{'documents': 'titles'}}
PointerRecipe.candidates = 8
PointerRecipe.documents = 2
PointerRecipe.sentences = 10
PointerRecipe.title_tokens = 32
PointerRecipe.sentence_tokens = 48
PointerRecipe.vocabulary_size = 600
PointerRecipe.train_claims = 40
PointerRecipe.validation_claims = 10
PointerRecipe.report_claims = 30
PointerRecipe.attacked_claims = 6
PointerRecipe.attacked_share = 0.2
"""
STEPS = (
    "TRAIN_STEPS = 2\nEVAL_PERIOD = 2\nBATCH_SIZE = 8\nnetwork.T5Config.num_encoder_layers = 1\n"
    "network.T5Config.num_decoder_layers = 1\n"
)
POINTER = "evidence_pointer.PointerConfig:\n  hidden = 16\n  hops = 1\n  beam_size = 2\n  steps = 2\n"


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> SmallRun:
    run = SmallRun(tmp_path_factory.mktemp("deseption"), "deseption", Deseption, PointerRecipe)
    include = "include 'experiments/deseption/{}_micro.gin'\n".format
    return run.made(RECIPE, {"pairs": include("pairs") + STEPS, "pointer": include("pointer") + STEPS + POINTER})


def test_as_many_documents_are_pointed_to_as_the_recipe_says(tmp_path, monkeypatch):
    world.write(tmp_path / "world", 60, 0)
    train = dict.fromkeys(("documents", "evidence"), "experiments/deseption/pointer_micro.gin")
    recipe = PointerRecipe(train=train, documents=8)
    run, trained = Deseption(open_folder(tmp_path / "world"), tmp_path / "out", recipe), {}
    monkeypatch.setattr(
        base, "train_by_gin", lambda _, folder, *__, bindings, **___: trained.update({folder.name: bindings})
    )
    run.__dict__["vocabulary"] = None
    for model in ("documents", "evidence"):
        run.graph[f"train.{model}"].work()
    assert trained == {"documents": {"evidence_pointer.PointerConfig.steps": 8}, "evidence": None}


def test_the_encoder_of_sentences_learns_from_as_many_pairs_of_each_label(finished):
    for role in ("train", "dev"):
        labels = [
            example.label for example in read_examples(finished.out / "examples" / f"pointer_labels.{role}.jsonl")
        ]
        assert len(set(Counter(labels).values())) == 1 and set(labels) == set(LABELS)


def test_figures_of_every_part(finished):
    folder = finished.folder
    found = json.loads((folder / "out" / "metrics.json").read_text())
    # All but the one whose model the recipe does not train.
    assert found["variants"].keys() == VARIANTS.keys() - {"reinforced"} and found["best_variant"] == "joint_temporal"
    assert found["retrieval"]["test"]["candidates"] > 0.5
    assert found["calibration"].keys() == found["variants"].keys()
    fitted = ModelFolder.find(folder / "out" / "models" / "evidence").card.calibration
    assert found["calibration"]["joint"]["temperature"] == fitted.temperature and fitted.claims > 0
    for role in ("test", "attacked"):
        recalls = found["retrieval"][role]
        assert recalls["candidates"] >= max(recalls["documents"], recalls["first_candidates"])
        assert recalls["sentences"] <= recalls["documents"]
    assert found["differences"].keys() == {"fever_score", "label_accuracy", "attacked_fever_score"}
    for variant, one in found["differences"]["fever_score"]["variants"].items():
        value, best = (found["variants"][name]["fever_score"] for name in (variant, "joint_temporal"))
        assert one["difference"] == pytest.approx(value - best)
    by_kind = found["attacks"]["by_kind"]
    kinds = by_kind.keys() - {"clean", "all attacks"}
    assert len(kinds) >= 4 and all(by_kind[kind]["claims"] <= 6 for kind in kinds)
    assert (
        by_kind["all attacks"]["claims"]
        == sum(by_kind[kind]["claims"] for kind in kinds)
        == found["claims"]["attacked"]
    )
    assert by_kind["clean"]["variants"]["joint"]["fever_score"] == found["variants"]["joint"]["fever_score"]
    share = found["attacks"]["potency"]["by_system"]["joint"]
    assert share == pytest.approx(1 - by_kind["all attacks"]["variants"]["joint"]["fever_score"])


def test_attacked_claims_are_among_those_of_train(finished):
    run = finished()
    clean, mixed = len(run.data_claims("train")), len(run.claims["train"])
    assert (mixed - clean) / mixed == pytest.approx(0.2, abs=0.01)
    assert set(run.data_claims("test")) == set(run.claims["test"])


def test_a_second_run_does_nothing_again(finished, capfd):
    finished.again(capfd)


def test_verdicts_are_of_sentences_of_the_documents_pointed_to(finished):
    folder = finished.folder
    documents = read_run(folder / "out" / "runs" / "documents.attacked.trec")
    candidates = read_run(folder / "out" / "runs" / "candidates.attacked.trec")
    rows = [json.loads(line) for line in (folder / "out/predictions/joint.attacked.jsonl").read_text().splitlines()]
    for row in rows:
        pages = [hit.id for hit in documents[row["id"]]]
        assert len(pages) == 2 and set(pages) <= {hit.id for hit in candidates[row["id"]]}
        assert {page.replace(" ", "_") for page, _ in row["predicted_evidence"]} <= set(pages)
        assert len(row["predicted_evidence"]) == 2 and sum(row["label_probabilities"].values()) == pytest.approx(1)


def test_a_bundle_answers_in_python_and_by_the_verbs(finished):
    folder = finished.folder
    bundles = {name: str(folder / name) for name in ("documents", "evidence")}
    for name, bundle in bundles.items():
        assert main(["export", "--model", str(folder / "out" / "models" / name), "--out", bundle]) == 0
    pages = [Evidence(str(i), "", title) for i, title in enumerate(("One page", "Another", "A third", "A fourth"))]
    assert len({one.unit for one in lisax.load(bundles["documents"]).rank("A claim.", pages)}) == 2
    with pytest.raises(LisaxError, match="points to documents"):
        lisax.Verifier.open(bundles["documents"])
    verdict = lisax.load(bundles["evidence"]).verify("A claim.", ["A sentence.", "Two."])
    assert sum(verdict.probabilities.values()) == pytest.approx(1)
    claims, out = folder / "out" / "attacks" / "claims.test.jsonl", folder / "by_hand.jsonl"
    given = [f"--index={folder}/out/index", f"--claims={claims}", f"--run={folder}/out/runs/documents.attacked.trec"]
    assert main(["verify", f"--model={bundles['evidence']}", *given, f"--out={out}"]) == 0
    assert len(out.read_text().splitlines()) == len(claims.read_text().splitlines())


def test_eval_and_infer_read_the_task(finished, monkeypatch):
    folder = finished.folder
    monkeypatch.setenv("LISAX_DATA", str(folder / "out"))
    card = json.loads(next((folder / "out/models/evidence").glob("checkpoint_*/model.json")).read_text())
    values = {
        "CHECKPOINT_PATH": f"{folder}/out/models/evidence",
        "TASK_FEATURE_LENGTHS": {"inputs": 480, "targets": 80},
        "VOCAB_SIZE": card["architecture"]["backbone"]["vocab_size"],
    }
    sizes = "PointerConfig.hidden=16 PointerConfig.hops=1 PointerConfig.beam_size=2 PointerConfig.steps=2".split()
    given = "BATCH_SIZE=8 MIXTURE_OR_TASK_MODULE=tasks MIXTURE_OR_TASK_NAME=pointer_sentences".split()
    given += ["T5Config.num_encoder_layers=1", "T5Config.num_decoder_layers=1", *sizes]
    given += [f"{name}={value}" for name, value in values.items()]
    flags = [f"--gin_file=models/{name}.gin" for name in ("t5_1_1_micro", "evidence_pointer")]
    flags += [f"--gin.{one}" for one in given]
    assert main(["eval", *flags, "--gin_file=runs/eval.gin", f"--gin.EVAL_OUTPUT_DIR={folder}/eval"]) == 0
    metrics = json.loads((folder / "eval/pointer_sentences-dev.json").read_text())["metrics"]
    assert metrics.keys() == {"loss", "recall", "accuracy", "score", "pointed_recall"}
    assert main(["infer", *flags, "--gin_file=runs/infer.gin", f"--gin.INFER_OUTPUT_DIR={folder}/infer"]) == 0
    rows = [json.loads(line) for line in (folder / "infer/pointer_sentences-predict.jsonl").read_text().splitlines()]
    assert len(rows) == 10 and all(len(row["prediction"]) == 2 and len(row["labels"]) == 3 for row in rows)


def test_kinds_take_turns():
    class Made:
        def __init__(self, kind):
            self.kind = kind

    attacks = [(f"{kind}{i}", Made(kind)) for kind, count in (("a", 5), ("b", 1), ("c", 3)) for i in range(count)]
    kinds = [attack.kind for _, attack in _of_every_kind(attacks, 6)]
    assert sorted(map(kinds.count, "abc")) == [1, 2, 3] and kinds.count("b") == 1
    assert len(_of_every_kind(attacks, None, 2)) == 5


@pytest.mark.slow
def test_each_stage_reads_what_is_noted_and_writes_its_outputs_alone(finished, monkeypatch):
    stages_alone.check(finished, monkeypatch)


@pytest.mark.slow
def test_workers_write_the_files_of_one_process(finished, monkeypatch):
    monkeypatch.setattr(deseption, "CLAIMS_AT_A_TIME", 7)
    with ray_cluster.started(workers=2):
        names = ["retrieve", "point.test", "hop.test", "calibrate.evidence", "predict.joint"]
        stages_alone.check(finished, monkeypatch, names, Workers("ray", 2))
