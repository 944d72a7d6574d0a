"""CLTR's steps on a pretrained encoder: its vectors find tables, and an adapter of it scores rows and columns."""

import json
from pathlib import Path

import numpy as np
import pytest
import small_encoder
import stages_alone

from lisax import Answerer, shipped
from lisax.cli import main
from lisax.corpora import open_folder
from lisax.errors import DataError, LisaxError
from lisax.papers.base import REPORT
from lisax.papers.cltr import pool_scores
from lisax.papers.cltr.recipe import CltrRecipe
from lisax.papers.cltr.report import finish
from lisax.papers.cltr.run import BM25, FUSED, Cltr
from lisax.predict.dense_search import DenseSearch
from lisax.predict.table_answers import TableAnswerer
from lisax.records import Hit, is_cell
from lisax.retrieval import table_text
from lisax.retrieval.runs import read_run
from lisax.weights.model_folder import ModelFolder

RECIPE = """
CltrRecipe.backbone = '{encoder}'
CltrRecipe.train = {{'parts': '{parts}'}}
CltrRecipe.initial = {{'parts': '{encoder}'}}
CltrRecipe.max_tokens = 64
CltrRecipe.pool = 12
CltrRecipe.scored = 4
CltrRecipe.train_questions = 30
CltrRecipe.validation_questions = 20
CltrRecipe.report_questions = 10
CltrRecipe.validation_share = 0.4
CltrRecipe.negative_tables = 1
CltrRecipe.negative_parts = 1
CltrRecipe.hard_parts = 1
CltrRecipe.answer_cells = 1
CltrRecipe.fuse_bm25 = True
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    models = {"parts": ("cltr/minilm_parts",)}
    return small_encoder.prepare(tmp_path_factory.mktemp("cltr"), RECIPE, 100, models)


@pytest.fixture(scope="module")
def run(folder) -> Cltr:
    return small_encoder.finished(Cltr, CltrRecipe, finish, folder)


def test_a_run_leaves_an_adapter_with_weights_for_tables_found_by_vectors(run, folder):
    card = ModelFolder.find(run.model_dir("parts")).card
    assert card["adapter"]["base"] == str(folder / "encoder")
    assert card["text"]["family"] == "table_parts" and card["text"]["labels"] == ["relevant", "not relevant"]
    assert card["retrieval"] == "vectors"
    figures = json.loads((run.out / "metrics.json").read_text())
    assert set(figures["retrieval"]) == {"bm25", "max", "mean", "fused"}
    assert "BM25 and vectors" in (run.out / "report.html").read_text()


def test_tables_are_found_by_words_and_vectors_and_those_not_scored_follow(run):
    pools = read_run(run.run_file(BM25))
    question = next(iter(run.questions[REPORT].values()))
    (found,) = DenseSearch.open(run.index_folder, only="tables").search([question.text], 12)
    assert [hit.id for hit in pools[question.id]] == [table for table, _ in found]
    for query, hits in read_run(run.run_file(FUSED)).items():
        ids = [hit.id for hit in pools[query]]
        assert {hit.id for hit in hits[:4]} == set(ids[:4]) and [hit.id for hit in hits[4:]] == ids[4:]


def test_questions_that_many_cells_answer_are_not_learned_from(run):
    assert all(sum(map(is_cell, question.evidence)) == 1 for question in run.questions["train"].values())


def test_answers_are_those_of_the_run(run):
    answerer = TableAnswerer.open(run.index_folder, run.model_dir("parts"))
    for pool in list(run.scores())[:3]:
        question = run.questions[REPORT][pool.id]
        found = answerer.rank(question.text, [(answerer.table(one.id), one.retrieval) for one in pool.tables])
        assert [one.score() for one in found] == pytest.approx([one.max for one in pool.tables], abs=1e-5)
        # Scoring columns first and dropping hopeless tables gives the same.
        best = sorted(found, key=lambda one: -one.value)[0]
        (first,) = answerer.answer(question.text, 4, 1)
        assert first.value == pytest.approx(best.value, abs=1e-5)


def test_an_answerer_needs_the_vectors(run, folder, tmp_path):
    table_text.build_index(run.data.tables(), tmp_path / "words")
    with pytest.raises(DataError, match="this index has no vectors: make them by `lisax index vectors"):
        Answerer.open(tmp_path / "words", run.model_dir("parts"))
    answers = Answerer.open(run.index_folder, run.model_dir("parts"), min_confidence=0.0).ask("Who lives in Tarn?")
    assert answers and all(0 <= answer.probability <= 1 for answer in answers)


def test_where_no_model_is_named_the_shipped_one_answers(run, folder, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(shipped, "parts", lambda: run.model_dir("parts"))
    monkeypatch.setattr(shipped, "ENCODER", str(folder / "encoder"))
    monkeypatch.setenv("LISAX_CACHE", str(tmp_path / "cache"))
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables/clubs.csv").write_text("town,club\nTarn,Tarn United\nOstra,Red Star\n")
    question = "Which club is from Tarn?"
    assert main(["ask", question, "--corpus", str(tmp_path / "tables"), "--min-confidence", "0", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out.splitlines()[0])  # others are rows, which it would show after it
    assert answer["evidence"]["unit"].startswith("clubs") and 0 <= answer["probability"] <= 1
    given = Answerer.open(run.index_folder, min_confidence=0.0).ask(question)
    named = Answerer.open(run.index_folder, run.model_dir("parts"), min_confidence=0.0).ask(question)
    assert [str(answer) for answer in given] == [str(answer) for answer in named]
    (tmp_path / "asked.jsonl").write_text(json.dumps({"id": "q", "question": question, "answers": ["Tarn United"]}))
    out = tmp_path / "answers.jsonl"
    command = ["answer", "--index", str(run.index_folder), "--questions", str(tmp_path / "asked.jsonl")]
    assert main([*command, "--out", str(out)]) == 0 and "of 1 questions with answers" in capsys.readouterr().out
    row = json.loads(out.read_text())
    assert row["id"] == "q" and len(row["answers"]) == sum("abstained" not in found for found in row["found"])
    assert main([*command, "--out", str(out), "--retriever", str(folder / "encoder")]) != 0
    assert "leave the retriever out" in capsys.readouterr().err


def test_without_a_shipped_model_of_rows_it_is_said_so(run, tmp_path, monkeypatch):
    monkeypatch.setattr(shipped, "FOLDER", tmp_path)
    with pytest.raises(LisaxError, match="no model of table rows and columns comes with LisaX: name one"):
        Answerer.open(run.index_folder)


def test_tables_that_were_not_scored_stand_behind_all_others():
    runs = {"q": [Hit("q", "b", 1, 0.4), Hit("q", "a", 2, 0.2)]}
    pool = {"q": [Hit("q", table, rank, 9.0 - rank) for rank, table in enumerate("abcd", start=1)]}
    found = list(pool_scores.with_others(runs, pool))
    assert [(hit.id, hit.rank) for hit in found] == [("b", 1), ("a", 2), ("c", 3), ("d", 4)]
    assert (np.diff([hit.score for hit in found]) < 0).all()


@pytest.mark.slow
def test_each_stage_reads_what_is_noted_and_writes_its_outputs_alone(run, folder, monkeypatch):
    stages_alone.check(lambda: Cltr(open_folder(folder / "world"), run.out, run.recipe), monkeypatch)
