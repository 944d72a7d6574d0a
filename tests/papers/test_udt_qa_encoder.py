"""UDT-QA on a pretrained encoder: its vectors as published and trained, and a reader that points on it."""

import dataclasses
import json
from pathlib import Path

import pytest
import small_encoder
import stages_alone

from lisax.corpora import open_folder
from lisax.errors import LisaxError
from lisax.papers.udt_qa.recipe import QuestionRecipe
from lisax.papers.udt_qa.report import finish
from lisax.papers.udt_qa.run import UdtQa
from lisax.predict.sentence_encoder import SentenceEncoder
from lisax.retrieval.dense import DenseIndex
from lisax.weights.model_folder import ModelFolder

RECIPE = """
QuestionRecipe.backbone = '{encoder}'
QuestionRecipe.train = {{'retriever': '{retriever}', 'retriever_second': '{retriever}', 'reader': '{reader}'}}
QuestionRecipe.initial = {{'retriever': '{encoder}', 'reader': '{encoder}'}}
QuestionRecipe.learned_from = ('text',)
QuestionRecipe.indexes = ('text',)
QuestionRecipe.passages = 5
QuestionRecipe.question_tokens = 32
QuestionRecipe.passage_tokens = 96
QuestionRecipe.mined = 10
QuestionRecipe.retrieved = 20
QuestionRecipe.train_questions = 24
QuestionRecipe.validation_claims = 8
QuestionRecipe.report_claims = 10
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    models = {name: (f"udt_qa/minilm_{name}",) for name in ("retriever", "reader")}
    return small_encoder.prepare(tmp_path_factory.mktemp("udt"), RECIPE, 60, models)


def finished(folder, out, recipe) -> tuple[UdtQa, dict]:
    """(the run, its figures)"""
    run = UdtQa(open_folder(folder / "world"), out, recipe)
    run.run()
    print(finish(run))
    return run, json.loads((run.out / "metrics.json").read_text())


@pytest.fixture(scope="module")
def trained(folder) -> tuple[UdtQa, dict]:
    return finished(folder, folder / "out", QuestionRecipe.read([folder / "recipe.gin"]))


@pytest.mark.slow
def test_a_run_leaves_adapters_answers_and_figures(trained, folder):
    run, figures = trained
    assert set(figures["settings"]["text/text"]["retrieval"]) == {"bm25", "dense", "fused"}
    for name in ("retriever_text", "retriever_second_text", "reader_text"):
        card = ModelFolder.find(run.model_dir(name)).card
        assert card["vocabulary"]["file"] == "tokenizer.json" and card["adapter"]["base"] == str(folder / "encoder")
    assert any(row["found"] for row in run.answers("text", "text"))


@pytest.mark.slow
def test_without_a_trained_retriever_the_published_vectors_are_searched(trained, folder):
    readers = {"reader": trained[0].recipe.train["reader_text"]}
    recipe = dataclasses.replace(QuestionRecipe.read([folder / "recipe.gin"]), train=readers)
    run, figures = finished(folder, folder / "zero_shot", recipe)
    encoder = SentenceEncoder.open(folder / "encoder")
    assert DenseIndex.open(run.index_folder("text", "text")).models == {encoder.digest}
    found, learned = (one["settings"]["text/text"]["retrieval"] for one in (figures, trained[1]))
    assert found["bm25"] == learned["bm25"] and set(found) == {"bm25", "dense", "fused"}


def test_a_generating_reader_is_for_a_t5(folder):
    line = "QuestionRecipe.train = {'reader': 'experiments/udt_qa/reader_micro.gin'}"
    recipe = QuestionRecipe.read([folder / "recipe.gin"], [line])
    with pytest.raises(LisaxError, match="a reader that generates answers, which is for T5"):
        UdtQa(open_folder(folder / "world"), folder / "generating", recipe)


@pytest.mark.slow
def test_each_stage_reads_what_is_noted_and_writes_its_outputs_alone(trained, folder, monkeypatch):
    run, recipe = trained[0], QuestionRecipe.read([folder / "recipe.gin"])
    stages_alone.check(lambda: UdtQa(open_folder(folder / "world"), run.out, recipe), monkeypatch)
