"""What LisT5's paper has and the plain recipe leaves out, at tiny size: a live wiki, the grid of k1 and b, a ranker that is
not trained here, balanced labels, and checkpoints chosen by R@5 and FEVER score."""

import json
from collections import Counter

import pytest
import stages_alone
from test_list5 import MODEL

from lisax import world
from lisax.corpora import open_folder
from lisax.metrics.ranking import complete_sets
from lisax.papers.base import REPORT, TRAIN, VALIDATION
from lisax.papers.list5.recipe import Recipe
from lisax.papers.list5.report import finish
from lisax.papers.list5.run import List5
from lisax.retrieval.fusion import alternate, in_turn
from lisax.retrieval.recall import recall
from lisax.retrieval.runs import read_run
from lisax.weights.checkpoints import resolve_checkpoint
from tests.wiki_server import serving, titles

RECIPE = """
Recipe.train = {{'rank_entities': '{model}', 'label_pointwise': '{model}', 'label_listwise_infused': '{model}'}}
Recipe.initial = {{'label_listwise_infused': 'label_pointwise'}}
Recipe.max_tokens = 96
Recipe.pointwise_max_tokens = 96
Recipe.list_max_tokens = 192
Recipe.vocabulary_size = 600
Recipe.train_claims = 60
Recipe.documents = 6
Recipe.candidates = 12
Recipe.ranking_window = (1, 12)
Recipe.labelling_window = (1, 10)
Recipe.method = 'mediawiki'
Recipe.wiki = '{wiki}'
Recipe.k1_grid = (0.6, 1.2)
Recipe.b_grid = (0.0, 0.5, 1.0)
Recipe.balanced_labels = True
Recipe.choose_checkpoints = True
Recipe.zero_shot = '{zero_shot}'
"""


@pytest.fixture(scope="module")
def of_paper(tmp_path_factory):
    """(a function that makes the finished run anew, the requests to its wiki, the wiki's search). Its given ranker is BM25."""
    folder = tmp_path_factory.mktemp("list5")
    world.write(folder / "world", 60, seed=1)
    (folder / "model.gin").write_text(MODEL)
    pages = list(open_folder(folder / "world").documents())

    def search(query):
        words = query.split()
        return [page.title for page in pages if all(word in f"{page.title} {page.text}" for word in words)]

    with (
        pytest.MonkeyPatch.context() as patch,
        serving(lambda asked: titles(*search(asked["srsearch"]))) as (url, requests),
    ):
        patch.setenv("LISAX_CONTACT", "me@example.org")
        patch.setenv("LISAX_CACHE", str(tmp_path_factory.mktemp("cache")))
        made = RECIPE.format(model=folder / "model.gin", wiki=url, zero_shot="bm25")
        (folder / "of_paper.gin").write_text(made)

        def run():
            return List5(open_folder(folder / "world"), folder / "of_paper", Recipe.read([folder / "of_paper.gin"]))

        run().run()
        yield run, requests, search


@pytest.mark.slow
def test_a_live_wiki_is_searched_for_entities_in_turn_with_bm25(of_paper):
    make, requests, search = of_paper
    run = make()
    claims = list(run.claims_of(REPORT).values())
    asked = [parameters["srsearch"] for parameters, _ in requests]
    assert len(set(asked)) == len(asked) and not {claim.text.rstrip(".") for claim in claims} & set(asked)
    documents = read_run(run.run_file("documents", REPORT))
    scored = run.index.bm25.search([claim.text for claim in claims], 6)
    for claim, hits in zip(claims, scored, strict=True):
        found = in_turn([search(entity) for entity in run.spotter.spot(claim.text)])
        wanted = alternate(
            [page for page, _ in hits], list(dict.fromkeys(map(run.index.titles.page_with_title, found)))[:6], 6
        )
        assert [hit.id for hit in documents[claim.id]] == wanted or not run.spotter.spot(claim.text)


@pytest.mark.slow
def test_k1_and_b_are_those_of_the_grid_that_find_most(of_paper):
    run = of_paper[0]()
    tried = json.loads((run.out / "grid.json").read_text())
    assert {(one["k1"], one["b"]) for one in tried} == {(k1, b) for k1 in (0.6, 1.2) for b in (0.0, 0.5, 1.0)}
    assert [one["recall"]["6"] for one in tried] == sorted((one["recall"]["6"] for one in tried), reverse=True)
    settings = run.index.bm25.settings
    assert (settings["k1"], settings["b"]) == (tried[0]["k1"], tried[0]["b"])
    held = run.claims_of(VALIDATION).values()
    pages = {
        claim.id: [page for page, _ in found]
        for claim, found in zip(held, run.index.bm25.search([c.text for c in held], 6))
    }
    assert recall(held, pages, [6])["recall_complete@6"] == tried[0]["recall"]["6"]


@pytest.mark.slow
def test_labellers_are_trained_on_equally_many_of_each_label(of_paper):
    run = of_paper[0]()
    for name in ("label_pointwise", "label_listwise_infused"):
        rows = [json.loads(line) for line in run.examples_file(name, TRAIN).read_text().splitlines()]
        assert len(set(Counter(row["label"] for row in rows).values())) == 1 and len(rows) > 6


@pytest.mark.slow
def test_checkpoints_are_chosen_by_what_they_do_on_held_out_claims(of_paper):
    run = of_paper[0]()
    for model, measure in (
        ("rank_entities", "recall@5"),
        ("label_pointwise", "fever_score"),
        ("label_listwise_infused", "fever_score"),
    ):
        folder = run.model_dir(model)
        chosen = json.loads((folder / "chosen.json").read_text())
        assert chosen["metric"] == measure
        assert set(chosen["tried"]) == {path.name.split("_")[1] for path in folder.glob("checkpoint_*")}
        assert len(chosen["tried"]) >= 3 and chosen["value"] == max(chosen["tried"].values())
        assert (
            resolve_checkpoint(folder).name
            == chosen["checkpoint"]
            == f"checkpoint_{max(chosen['tried'], key=chosen['tried'].get)}"
        )
    held = [claim for claim in run.claims_of(VALIDATION).values() if claim.gold_ids]
    chosen = json.loads((run.model_dir("rank_entities") / "chosen.json").read_text())
    selected = complete_sets(held, read_run(run.run_file("rank_entities", VALIDATION)))
    assert sum(selected.values()) / len(held) == chosen["value"]
    # What starts from a model waits for its choice.
    assert "choose.label_pointwise" in run.graph["train.label_listwise_infused"].after


@pytest.mark.slow
def test_a_given_ranker_is_a_row_of_the_report(of_paper):
    run = of_paper[0]()
    finish(run)
    figures = json.loads((run.out / "metrics.json").read_text())
    assert {"zero_shot", "rank_entities", "bm25"} == figures["selection"].keys()
    assert {"zero_shot", "bm25"} == figures["differences"]["recall@5"]["variants"].keys()
    page = (run.out / "report.html").read_text()
    assert "given ranker, not trained here" in page and "BM25 by k1 and b" in page


@pytest.mark.slow
def test_what_the_paper_has_is_declared_stage_by_stage(of_paper, monkeypatch):
    names = ("grid", "index", "retrieve", "examples.label", "select.zero_shot.test", "choose.rank_entities",
             "choose.label_pointwise", "select.bm25.test")  # fmt: skip
    stages_alone.check(of_paper[0], monkeypatch, names)
