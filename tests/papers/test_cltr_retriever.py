"""CLTR's tables found by vectors that are trained on questions with their tables."""

import json
from pathlib import Path

import pytest
import small_encoder
import stages_alone

from lisax.corpora import open_folder
from lisax.errors import LisaxError
from lisax.papers.base import REPORT, TRAIN, VALIDATION
from lisax.papers.cltr.recipe import CltrRecipe
from lisax.papers.cltr.report import finish
from lisax.papers.cltr.run import BM25, RETRIEVER, Cltr
from lisax.predict.dense_search import DenseSearch
from lisax.predict.retriever import Retriever
from lisax.retrieval.dense import source_of_vectors, weight_of
from lisax.retrieval.runs import read_run
from lisax.sampling.splits import source_of
from lisax.weights.model_folder import ModelFolder

RECIPE = """
CltrRecipe.backbone = '{encoder}'
CltrRecipe.train = {{'retriever': '{retriever}'}}
CltrRecipe.initial = {{'retriever': '{encoder}'}}
CltrRecipe.pool = 12
CltrRecipe.question_tokens = 24
CltrRecipe.train_questions = 40
CltrRecipe.validation_questions = 20
CltrRecipe.report_questions = 10
CltrRecipe.validation_share = 0.4
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    models = {"retriever": ("cltr/minilm_table_retriever",)}
    folder = small_encoder.prepare(tmp_path_factory.mktemp("cltr"), RECIPE, 100, models)
    (folder / "world/questions.dev.jsonl").unlink()  # so that questions are held out of train
    return folder


@pytest.fixture(scope="module")
def run(folder) -> Cltr:
    return small_encoder.finished(Cltr, CltrRecipe, finish, folder)


def test_each_question_is_learned_with_a_table_that_answers_it_and_others(run):
    for role in (TRAIN, VALIDATION):
        rows = [json.loads(line) for line in (run.out / f"examples/retriever.{role}.jsonl").read_text().splitlines()]
        assert rows
        for row in rows:
            gold = run.gold_tables(run.questions[role][row["question_id"]])
            tables = [passage[0] for passage in row["passages"]]
            assert len(set(tables)) == 3 and tables[0] in gold and not set(tables[1:]) & set(gold)


def test_no_table_is_both_learned_from_and_held_out(run):
    learned, held = (
        {source_of(question.evidence[0]) for question in run.questions[role].values()} for role in (TRAIN, VALIDATION)
    )
    assert learned and held and not learned & held


def test_tables_are_found_by_the_trained_vectors_with_a_fitted_weight(run):
    model = run.model_dir(RETRIEVER)
    assert ModelFolder.find(model).card["text"]["max_tokens"] == 48 and "adapter" in ModelFolder.find(model).card
    retriever = Retriever(model)
    assert retriever.cosines and source_of_vectors(run.index_folder, "tables") == str(model)
    search = DenseSearch.open(run.index_folder, only="tables")
    assert search.encoder.digest == retriever.digest and search.weight == weight_of(run.index_folder, "tables")
    pools = read_run(run.run_file(BM25))
    question = next(iter(run.questions[REPORT].values()))
    (found,) = search.search([question.text], 12)
    assert [hit.id for hit in pools[question.id]] == [table for table, _ in found]
    figures = json.loads((run.out / "metrics.json").read_text())
    assert set(figures["retrieval"]) == {"bm25"}


@pytest.mark.slow
def test_each_stage_reads_what_is_noted_and_writes_its_outputs_alone(run, folder, monkeypatch):
    stages_alone.check(lambda: Cltr(open_folder(folder / "world"), run.out, run.recipe), monkeypatch)


def test_an_index_that_is_given_has_its_own_vectors(run, tmp_path):
    other = Cltr(run.data, tmp_path, run.recipe, index=run.index_folder)
    with pytest.raises(LisaxError, match="for an index of the run's own"):
        other.stages()
