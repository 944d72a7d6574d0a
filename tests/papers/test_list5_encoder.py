"""LisT5's steps on a pretrained encoder: its vectors select sentences, and its adapters label claims."""

import json
import types
from pathlib import Path

import pytest
import small_encoder
import stages_alone

from lisax import Checker, Index, cli
from lisax.corpora import open_folder
from lisax.errors import LisaxError
from lisax.papers.list5.recipe import Recipe
from lisax.papers.list5.report import finish
from lisax.papers.list5.run import List5
from lisax.papers.running import labeller_binding
from lisax.predict.ranker import Ranker
from lisax.predict.verifier import Verifier
from lisax.retrieval.runs import read_run
from lisax.sampling import written
from lisax.training.export import export_adapter
from lisax.weights.model_folder import ModelFolder

RECIPE = """
Recipe.backbone = '{encoder}'
Recipe.train = {{'rank': '{ranker}', 'label_listwise_infused': '{model}'}}
Recipe.initial = {{'rank': '{encoder}', 'label_listwise_infused': '{encoder}'}}
Recipe.max_tokens = 64
Recipe.list_max_tokens = 96
Recipe.infused_lists = 2
Recipe.list_sentences = 2
Recipe.leading = 4
Recipe.documents = 6
Recipe.candidates = 200
Recipe.ranking_window = (1, 12)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    models = {"model": ("list5/minilm_model",), "ranker": ("list5/minilm_model", "LABELS = 2")}
    return small_encoder.prepare(tmp_path_factory.mktemp("list5"), RECIPE, 60, models)


@pytest.fixture(scope="module")
def run(folder) -> List5:
    return small_encoder.finished(List5, Recipe, finish, folder)


def test_a_run_leaves_adapters_verdicts_and_figures(run, folder):
    figures = json.loads((run.out / "metrics.json").read_text())
    assert 0 < figures["claim_words"]["label_accuracy"] < 1
    assert "words of the claim" in (run.out / "report.html").read_text()
    assert figures["best_variant"] == "infused"
    assert set(figures["variants"]) == {"bm25", "infused", "infused_without_entities"}
    assert set(figures["selection"]) == {"bm25", "vectors", "rank"}
    card = ModelFolder.find(run.model_dir("label_listwise_infused")).card
    assert card["adapter"]["base"] == str(folder / "encoder") and card.calibration.claims > 0
    assert card["sentences"] == 2 and card["leading"] == 4  # of the five that are selected, in verdicts too
    verifier = Verifier.open(run.model_dir("label_listwise_infused"))
    assert (verifier.sentences, verifier.depth) == (2, 5)
    assert (run.out / "tokenizer.json").read_bytes() == (folder / "encoder/tokenizer.json").read_bytes()
    assert "sentence vectors and BM25" in (run.out / "report.html").read_text()


def test_the_checker_selects_and_labels_as_the_run(run, folder):
    index = Index.open(run.out / "index")
    claims = list(run.claims_of("test").values())[:6]
    model, settings = run.model_dir("label_listwise_infused"), {"documents": 6, "candidates": 200}
    checker = Checker(index, folder / "encoder", model, **settings)
    selected, verdicts = read_run(run.run_file("vectors", "test")), run.verdicts("infused", "test")
    for claim, verdict in zip(claims, checker.check_many(claims)):
        assert {one.unit for one in verdict.evidence} == {hit.id for hit in selected[claim.id][:5]}
        assert verdict.decided_by == verdict.evidence[0].unit
        assert list(verdict.probabilities.values()) == pytest.approx(verdicts[claim.id].probabilities, abs=1e-5)


@pytest.fixture(scope="module")
def reranked(run, folder, tmp_path_factory):
    """A run that trains a reranker, and takes the labeller of the other."""
    bindings = [
        labeller_binding(run.model_dir("label_listwise_infused")),
        f"Recipe.train = {{'rerank': '{run.recipe.train['rank']}'}}",
        f"Recipe.initial = {{'rerank': '{folder / 'encoder'}'}}",
        "Recipe.reranked = 4",
        "Recipe.reranking_window = (1, 6)",
        "Recipe.written = 6",
    ]
    out = tmp_path_factory.mktemp("reranked")
    (out / "data").symlink_to(folder / "world")
    recipe = Recipe.read([folder / "recipe.gin"], bindings)
    made = List5(open_folder(out / "data"), out / "out", recipe)
    made.run()
    finish(made)
    return made


def test_a_reranker_orders_the_best_by_vectors_again(reranked):
    figures = json.loads((reranked.out / "metrics.json").read_text())
    assert set(figures["selection"]) == {"bm25", "vectors", "rerank"} and set(figures["variants"]) == {"given"}
    assert figures["ranking"] == {
        name: value for name, value in figures["selection"]["rerank"].items() if name != "oracle_fever_score"
    }
    first, again = (read_run(reranked.run_file(name, "test")) for name in ("vectors", "rerank"))
    assert first.keys() == again.keys()
    for id, hits in again.items():
        ids, before = [hit.id for hit in hits], [hit.id for hit in first[id]]
        assert set(ids[:4]) == set(before[:4]) and ids[4:] == before[4:]
    assert any([hit.id for hit in hits] != [hit.id for hit in first[id]] for id, hits in again.items())


def test_negatives_of_a_reranker_are_of_its_window_and_of_written_documents(reranked):
    selected, claims = reranked.ranked("vectors", "train"), reranked.claims_of("train")
    examples, held_out = (
        [json.loads(line) for line in reranked.examples_file("rerank", role).read_text().splitlines()]
        for role in ("train", "dev")
    )
    assert [one["claim_id"] for one in examples[-6:]] == [one.claim_id for one in written.draw_pairs(6)]
    assert {one["label"] for one in examples} == {True, False}
    assert not [one for one in held_out if one["claim_id"].startswith("written")]
    for one in examples[:-6]:
        (sentence,) = one["sentences"]
        gold = sentence["id"] in claims[one["claim_id"]].gold_ids
        assert gold == one["label"] and (gold or sentence["id"] in selected[one["claim_id"]][:6])


def test_the_checker_ranks_with_a_reranker_as_the_run(reranked):
    index, claims = Index.open(reranked.out / "index"), list(reranked.claims_of("test").values())[:6]
    checker = Checker(index, reranked.model_dir("rerank"), reranked.recipe.labeller, documents=6, candidates=200)
    selected = read_run(reranked.run_file("rerank", "test"))
    for claim, found in zip(claims, checker.find(claims), strict=True):
        seen = [(one.unit, one.score) for one in found]
        assert seen == [(hit.id, pytest.approx(hit.score, abs=1e-5)) for hit in selected[claim.id]]


def test_a_bundle_of_a_reranker_ranks_as_its_checkpoint(reranked, tmp_path):
    bundle = export_adapter(ModelFolder.find(reranked.model_dir("rerank")), tmp_path / "bundle")
    evidence = ["Tarn is a town.", "Olin was born in Tarn.", "Olin is a poet."]
    rank = [
        Ranker.open(model).rank("Olin was born in Tarn.", evidence) for model in (bundle, reranked.model_dir("rerank"))
    ]
    assert [one.unit for one in rank[0]] == [one.unit for one in rank[1]]
    assert [one.score for one in rank[0]] == pytest.approx([one.score for one in rank[1]], abs=1e-5)


@pytest.fixture
def given(run, folder, tmp_path):
    """A run with the trained labeller of another, which trains nothing."""
    (tmp_path / "data").symlink_to(folder / "world")
    bindings = [
        labeller_binding(run.model_dir("label_listwise_infused")),
        f"Recipe.backbone = '{folder / 'encoder'}'",
        "Recipe.documents = 6",
        "Recipe.candidates = 200",
    ]
    recipe = Recipe.read(["experiments/list5/given.gin"], bindings)
    return List5(open_folder(tmp_path / "data"), tmp_path / "out", recipe)


def test_a_given_labeller_says_what_it_said_where_it_was_trained(run, given):
    given.run()
    assert "given labeller, not trained here" in finish(given)
    assert not (given.out / "models").exists()
    figures = json.loads((given.out / "metrics.json").read_text())
    assert figures["best_variant"] == "given" and figures["calibration"] == {}
    said, expected = given.verdicts("given", "test"), run.verdicts("infused", "test")
    assert said.keys() == expected.keys()
    for id, verdict in said.items():
        assert verdict.probabilities == pytest.approx(expected[id].probabilities, abs=1e-5)


def test_a_given_labeller_has_to_read_sentences(given, monkeypatch):
    monkeypatch.setattr(Verifier, "open", staticmethod(lambda source: types.SimpleNamespace(reads="tables")))
    with pytest.raises(LisaxError, match="label_listwise_infused labels claims from tables, not sentences"):
        given.run()


@pytest.mark.parametrize("command", [["demo"], ["run", "list5", "--data", "."]])
def test_a_labeller_that_is_not_there_is_told_before_all_else(tmp_path, command, capsys):
    assert cli.main([*command, "--model", str(tmp_path / "none"), "--out", str(tmp_path / "out")]) == 1
    assert f"{tmp_path / 'none'}: no such checkpoint or bundle" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_each_stage_reads_what_is_noted_and_writes_its_outputs_alone(run, folder, monkeypatch):
    stages_alone.check(lambda: List5(open_folder(folder / "world"), run.out, run.recipe), monkeypatch)
