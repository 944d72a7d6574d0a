"""CLTR end to end on a small world, a few steps of a model."""

import functools
import hashlib
import json
import shutil
import zlib

import ir_measures
import numpy as np
import pytest
import ray_cluster
import stages_alone
from small_run import SmallRun

from lisax.cli import main
from lisax.corpora import open_folder
from lisax.devices import workers
from lisax.devices.workers import Workers
from lisax.errors import DataError, LisaxError
from lisax.formats.examples import read_examples
from lisax.formats.parts import OperationExample, PartExample
from lisax.formats.vocabulary import REQUIRED_WORDS, SentencePieceVocabulary, train_vocabulary
from lisax.papers.base import REPORT
from lisax.papers.cltr import operations
from lisax.papers.cltr import report as cltr_report
from lisax.papers.cltr.pool_scores import PoolScores, ScoredTable, pruning_curve, read_scores
from lisax.papers.cltr.questions import by_id
from lisax.papers.cltr.recipe import CltrRecipe
from lisax.papers.cltr.run import Cltr
from lisax.predict.answer_confidence import AnswerConfidence, features
from lisax.predict.table_answers import TableAnswerer
from lisax.records import Operation, Question, is_cell, split_cell_id
from lisax.retrieval import table_text
from lisax.retrieval.runs import read_qrels, read_run
from lisax.weights.checkpoints import resolve_checkpoint

RECIPE = """
include 'experiments/cltr/world_micro.gin'
CltrRecipe.train = {{'own': '{folder}/parts.gin', 'parts': '{folder}/parts.gin'}}
CltrRecipe.initial = {{'parts': 'own'}}
CltrRecipe.own_questions = 40
CltrRecipe.negative_columns = 1
CltrRecipe.vocabulary_size = 600
CltrRecipe.train_questions = 30
CltrRecipe.validation_questions = 8
CltrRecipe.report_questions = 10
CltrRecipe.validation_share = 0.3
CltrRecipe.pool = 6
CltrRecipe.fuse_bm25 = True
"""
STEPS = """
include 'experiments/cltr/micro.gin'
TRAIN_STEPS = 2
EVAL_PERIOD = 2
EVAL_STEPS = 1
BATCH_SIZE = 8
network.T5Config.num_encoder_layers = 1
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> SmallRun:
    run = SmallRun(tmp_path_factory.mktemp("cltr"), "cltr", Cltr, CltrRecipe)
    return run.made(RECIPE, {"parts": STEPS}, aggregations_per_table=1)


def transferred(folder, out, model, **fields):
    """The command that takes a trained model to the world's tables."""
    fields = {"pool": 6, "report_questions": 10} | fields
    given = [f"--gin.CltrRecipe.{name}={value}" for name, value in fields.items()]
    return ["run", "cltr", f"--data={folder}/world", f"--out={out}", f"--model={model}", *given]


def test_figures_are_trec_evals_of_the_saved_runs(finished):
    out = finished.out
    found = json.loads((out / "metrics.json").read_text())
    assert set(found["retrieval"]) == {"bm25", "max", "mean", "fused"} and found["best"] == "fused"
    assert found["questions"]["test"] == 10 and found["answered_by_cells"] == 9
    assert found["retrieval"]["bm25"]["success@5"] > 0.5
    ranks = {f"ndcg@{k}": f"nDCG@{k}" for k in (5, 10, 20)} | {"map": "AP"}
    ranks |= {
        f"{name}@{k}": f"{short}@{k}" for name, short in (("precision", "P"), ("success", "Success")) for k in (5, 10)
    }
    for order, figures in found["retrieval"].items():
        assert_measured(out, order, "tables", figures, ranks)
    assert set(found["answers"]) == {"bm25", "max", "mean", "fused", "gold_table"}
    for order, figures in found["answers"].items():
        run = order if order == "gold_table" else f"answers.{order}"
        assert_measured(out, run, "cells", figures, {"mrr": "RR", "hit@1": "Success@1"})
        assert 0 <= figures["hit@1"] <= figures["mrr"] <= 1
    assert found["differences"].keys() == {"map", "mrr", "hit@1"}
    for measure, of in found["differences"].items():
        figures = found["retrieval" if measure == "map" else "answers"]
        assert of["against"] == "fused" and of["variants"].keys() == figures.keys() - {"fused"}
        for order, one in of["variants"].items():
            assert one["difference"] == pytest.approx(figures[order][measure] - figures["fused"][measure])
    assert "MAP against best cell with BM25" in (out / "report.html").read_text(encoding="utf-8")


def assert_measured(out, run, what, figures, measures):
    """These figures are trec_eval's of a saved run, whose scores fall."""
    scored = list(ir_measures.read_trec_run(str(out / "runs" / f"{run}.test.trec")))
    of_query = {
        query: [hit.score for hit in hits] for query, hits in read_run(out / "runs" / f"{run}.test.trec").items()
    }
    assert scored and all((np.diff(np.array(scores, np.float32)) < 0).all() for scores in of_query.values())
    qrels = list(ir_measures.read_trec_qrels(str(out / "runs" / f"{what}.test.qrels")))
    theirs = ir_measures.calc_aggregate(map(ir_measures.parse_measure, measures.values()), qrels, scored)
    for name, measure in measures.items():
        assert figures[name] == pytest.approx(theirs[ir_measures.parse_measure(measure)]), (run, name)


def test_retrieval_counts_every_question_whose_table_is_known(tmp_path):
    tables = [
        {"id": f"t{i}", "title": word, "header": ["a"], "rows": [[word]]} for i, word in enumerate(("oak", "elm"))
    ]
    evidence = {"cell": ["t0#r0c0"], "table": ["t1"], "operands": ["t0"], "elsewhere": ["t9"], "none": []}
    asked = [
        {"id": i, "question": "Which oak?", "answers": ["oak"], "evidence": units} for i, units in evidence.items()
    ]
    asked[2]["operands"] = ["t0#r0c0"]
    (tmp_path / "tables.jsonl").write_text("".join(json.dumps(table) + "\n" for table in tables))
    for split in ("train", "dev"):
        (tmp_path / f"questions.{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in asked))
    run = Cltr(open_folder(tmp_path), tmp_path / "out", CltrRecipe(pool=2))
    run.run()
    cltr_report.finish(run)
    found = json.loads((tmp_path / "out" / "metrics.json").read_text())
    assert found["questions"]["test"] == 3 and found["retrieval"]["bm25"]["success@1"] == pytest.approx(2 / 3)
    seen = read_qrels(tmp_path / "out" / "runs" / "tables.test.qrels")
    assert seen == {"cell": {"t0": 1}, "table": {"t1": 1}, "operands": {"t0": 1}}
    assert read_qrels(tmp_path / "out" / "runs" / "cells.test.qrels") == {"cell": {"t0#r0c0": 1}}


def test_answers_are_the_best_cells_of_the_tables_in_their_order(finished):
    out = finished.out
    scored = {pool.id: pool for pool in read_scores(out / "predictions" / "scores.test.jsonl")}
    tables, answers = (read_run(out / "runs" / f"{name}.test.trec") for name in ("max", "answers.max"))
    for query, hits in tables.items():
        best = {table.id: table for table in scored[query].tables}
        found = [hit.score for hit in hits]
        assert found == pytest.approx(sorted((table.max for table in best.values()), reverse=True), rel=1e-6)
        assert [hit.id for hit in answers[query]] == [best[hit.id].cell for hit in hits]
    gold = read_run(out / "runs" / "gold_table.test.trec")
    for query, cells in read_qrels(out / "runs" / "cells.test.qrels").items():
        assert set(cells) & {hit.id for hit in gold[query]}


def test_the_page_has_the_papers_two_tables_and_the_curve(finished):
    page = (finished.out / "report.html").read_text(encoding="utf-8")
    assert "Table retrieval" in page and "E2E_GNQ: MTR, pairwise" in page and "gold table given" in page
    assert "Work that can be spared: best cell with BM25" in page and "best cell with BM25" in page
    maps = (finished.out / "heatmaps.html").read_text(encoding="utf-8")
    assert maps.count("<section>") == 10 and 'id="q9t0-r0c0"' in maps


def test_the_same_answers_through_an_index_and_a_bundle(finished):
    folder, out = finished.folder, finished.out
    assert main(["export", "--model", str(out / "models" / "parts"), "--out", str(folder / "bundle")]) == 0
    answerer = TableAnswerer.open(out / "index", folder / "bundle")
    questions = {question.id: question for question in open_folder(folder / "world").questions("test")}
    pool = next(read_scores(out / "predictions" / "scores.test.jsonl"))
    answerer.weights = None
    found = answerer.answer(questions[pool.id].text, pool=6, keep=3)
    seen = [scores.score() for scores in found]
    assert seen == pytest.approx([table.max for table in pool.ordered("max")[:3]], abs=1e-5)


@pytest.fixture
def refitted(finished):
    """A run whose fitted values a test replaces; afterwards they are its own again."""
    yield finished()
    finished().graph["answer"].work()


def test_weights_of_a_run_go_with_its_model(finished, refitted):
    run, folder, out = refitted, finished.folder, finished.out
    run.fusion_weights = np.array([0.7, 2.0, -1.0])  # what two steps have taught may count for nothing
    run.graph["answer"].work()
    assert main(["export", "--model", str(out / "models" / "parts"), "--out", str(folder / "weighed")]) == 0
    answerer = TableAnswerer.open(out / "index", folder / "weighed")
    assert answerer.weights.tolist() == [0.7, 2.0, -1.0]
    questions = {question.id: question for question in open_folder(folder / "world").questions("test")}
    for query, hits in read_run(out / "runs" / "fused.test.trec").items():
        found = answerer.answer(questions[query].text, pool=6, keep=3)
        seen = [(scores.table.id, scores.relevance) for scores in found]
        assert seen == [(hit.id, pytest.approx(hit.score, abs=1e-5)) for hit in hits[:3]]


def test_probabilities_of_answers_are_fitted_on_what_the_answerer_sees(finished):
    run, out = finished(), finished.out
    answerer = TableAnswerer.open(out / "index", out / "models" / "parts")
    answerer.weights, answerer.confidence = run.stored_weights, AnswerConfidence((0.1, 0.2, 0.3, 0.4, -2.0), 0.5)
    whole, without = run.answered(REPORT)
    pools = {pool.id: pool for pool in run.scores(REPORT)}
    questions = [run.questions[REPORT][i] for i in pools if any(map(is_cell, run.questions[REPORT][i].evidence))]
    assert len(questions) == len(whole) == len(without) > 0
    for question, (cells, right), (others, wrong) in zip(questions, whole, without):
        found = answerer.answer(question.text, pool=6, keep=5)
        assert [one.confidence for one in found] == pytest.approx(
            answerer.confidence.probabilities(features(cells)), abs=1e-4
        )
        gold = set(run.gold_tables(question))
        assert right == [f"{one.table.id}#r{one.best[0]}c{one.best[1]}" in question.evidence for one in found]
        assert not any(wrong) and len(others.scores) >= len(cells.scores) - len(gold)


def test_a_fitted_probability_of_answers_goes_with_the_model(finished, refitted):
    run, out = refitted, finished.out
    run.answer_confidence = AnswerConfidence((0.1, 0.2, 0.3, 0.4, -2.0), 0.25, 7)
    run.graph["answer"].work()
    assert TableAnswerer.open(out / "index", out / "models" / "parts").confidence == run.answer_confidence
    found = cltr_report.figures(run)
    assert found["no_answer"]["threshold"] == 0.25 and found["no_answer"]["questions"] > 0
    (table,) = (table for table in cltr_report.result_tables(found) if table.name == "No answer here")
    assert table.rows[0].values == tuple(found["no_answer"][key] for _, key in cltr_report.NO_ANSWER)


def test_transfer_needs_no_training(finished, capsys):
    folder = finished.folder
    other = folder / "transfer"
    command = transferred(folder, other, f"{folder}/out/models/parts")
    assert main(command) == 0
    assert not (other / "models").exists()
    ours, theirs = (json.loads((path / "metrics.json").read_text()) for path in (other, folder / "out"))
    assert ours["retrieval"]["max"] == theirs["retrieval"]["max"] and ours["best"] == "max"
    assert main([*finished.into(folder / "no")[:4], "--column-model=x"]) == 2
    assert "--column-model needs --model DIR" in capsys.readouterr().err
    assert main(["run", "list5", "--data", "x", "--folds", "3"]) == 2
    assert "No such option '--folds'" in capsys.readouterr().err


def digests(folder):
    return {
        path.relative_to(folder): (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_a_given_model_is_not_written_to_and_nothing_is_reranked_a_second_time(finished, capfd):
    folder = finished.folder
    mine, other = folder / "mine", folder / "fused_transfer"
    shutil.copytree(folder / "out" / "models" / "parts", mine)
    before = digests(mine)
    command = transferred(folder, other, mine, fuse_bm25=True, validation_share=0.3, validation_questions=8)
    assert main(command) == 0
    assert digests(mine) == before
    runs = digests(other / "predictions") | digests(other / "runs")
    capfd.readouterr()
    assert main(command) == 0
    stages = [line for line in capfd.readouterr().err.splitlines() if line.startswith("[")]
    assert stages and all(line.endswith("done before") for line in stages)
    assert digests(mine) == before and digests(other / "predictions") | digests(other / "runs") == runs
    assert len(json.loads((other / "metrics.json").read_text())["fusion"]) == 3


@pytest.fixture(scope="module")
def head(finished):
    """The model of rows and columns as if it were one of operations, with a vocabulary that has their words."""
    folder = finished.folder / "head"
    shutil.copytree(resolve_checkpoint(finished.out / "models" / "parts"), folder)
    train_vocabulary(["query header relevant year"] * 20, folder / "spiece.model", 120, [*REQUIRED_WORDS, *Operation])
    card = json.loads((folder / "model.json").read_text())
    card["text"] |= {"family": "table_operation", "words": list(Operation)}
    (folder / "model.json").write_text(json.dumps(card))
    return folder


class Hashing:
    """Stands in for `LabelScorer`, which would compile: logits that depend on nothing but the tokens."""

    def __init__(self, config, parameters, pieces, *, max_tokens, source):
        self.pieces = pieces

    def logits(self, tokens):
        logits = [
            [zlib.crc32(np.asarray([piece, *ids], np.int32).tobytes()) / 2**31 for piece in self.pieces]
            for ids in tokens
        ]
        return np.array(logits, np.float32)


def test_operations_make_answers_of_cells(finished, head, capfd, monkeypatch):
    folder = finished.folder
    monkeypatch.setenv("LISAX_BACKEND", "jax")
    monkeypatch.setattr("lisax.scoring.texts.LabelScorer", Hashing)
    out = folder / "aggregated"
    command = transferred(folder, out, f"{folder}/out/models/parts", aggregation_threshold=0.6)
    command.append(f"--aggregation-model={head}")
    assert main(command) == 0
    found = json.loads((out / "metrics.json").read_text())["aggregation"]
    operations = found["by_operation"]
    assert found["threshold"] == 0.6 and operations["all"]["questions"] == 19  # nine have a cell
    assert sum(operations[name]["questions"] for name in ("count", "sum", "average") if name in operations) == 10
    tables = {table.id: table for table in open_folder(folder / "world").tables()}
    shown = {
        pool.id: pool.shown
        for role in ("test", "test.aggregation")
        for pool in read_scores(out / "predictions" / f"scores.{role}.jsonl")
    }
    predicted = [json.loads(line) for line in (out / "predictions" / "answers.test.jsonl").read_text().splitlines()]
    assert len({one["operation"] for row in predicted for one in row["tables"]}) == 6
    assert any("value" in one for row in predicted for one in row["tables"])
    for row in predicted:
        assert [one["table"] for one in row["tables"]] == [table for table, *_ in shown[row["id"]]]
        for text, one, (table, _, rows, _) in zip(row["answers"], row["tables"], shown[row["id"]]):
            if "value" not in one:
                _, i, j = split_cell_id(one["cell"])
                assert text == tables[table].rows[i][j]
            elif one["operation"] == "count":
                assert text == str(sum(np.array(rows) >= 0.6)) == str(len(one["cells"]))
    assert "Operations" in (out / "report.html").read_text(encoding="utf-8")
    capfd.readouterr()
    predictions = out / "predictions" / "answers.test.jsonl"
    seen = main(["score", "answers", f"--gold={folder}/world/questions.test.jsonl", f"--predictions={predictions}"])
    assert seen == 0
    assert main(command) == 0
    assert "[aggregate] done before" in capfd.readouterr().err
    assert main([*command[:4], f"--aggregation-model={head}"]) == 2


def test_what_a_head_learns_from(finished):
    folder = finished.folder
    out = folder / "learned"
    train = f"{{'parts': '{folder}/parts.gin', 'aggregation': 'experiments/cltr/micro.gin'}}"
    learned = [f"--gin.CltrRecipe.train={train}", "--gin.CltrRecipe.initial={}"]
    assert main(finished.into(out, *learned, "--until=examples")) == 0
    asked = {question.id: question for question in open_folder(folder / "world").questions("train")}
    headers = list(read_examples(out / "examples" / "operations.train.jsonl", OperationExample))
    assert len(headers) == 60 and sum(bool(asked[one.claim_id].operands) for one in headers) == 30
    assert all(one.label == asked[one.claim_id].operation for one in headers)
    parts = read_examples(out / "examples" / "parts_rows.train.jsonl", PartExample)
    rows = {(part.claim_id, part.unit_id) for part in parts if part.label}
    for one in headers:
        wanted = {(one.claim_id, cell.rpartition("c")[0]) for cell in asked[one.claim_id].operands}
        assert wanted <= rows
    vocabulary = SentencePieceVocabulary(out / "spiece.model")
    assert all(vocabulary.piece_id(word) for word in Operation)


@pytest.mark.slow
def test_a_head_is_trained_and_its_threshold_fitted(finished):
    folder = finished.folder
    out = folder / "trained"
    (folder / "aggregation.gin").write_text(STEPS.replace("parts_world", "aggregation"))
    train = f"{{'parts': '{folder}/parts.gin', 'aggregation': '{folder}/aggregation.gin'}}"
    models = [f"--gin.CltrRecipe.train={train}", "--gin.CltrRecipe.initial={'aggregation': 'parts'}"]
    assert main(finished.into(out, *models)) == 0
    found = json.loads((out / "metrics.json").read_text())
    aggregated = found["aggregation"]
    assert 0 <= aggregated["threshold"] <= 1 and aggregated["by_operation"]["all"]["questions"] == 19
    card = json.loads((resolve_checkpoint(out / "models" / "aggregation") / "model.json").read_text())
    assert card["text"]["words"] == list(Operation)
    stages = ["train.parts", "train.aggregation", "rerank.dev.aggregation", "rerank.test.aggregation", "aggregate"]
    assert all(stage in found["seconds"] for stage in stages)


@pytest.mark.slow
def test_cross_validation_asks_every_question_once(finished, monkeypatch):
    folder, folds = finished.folder, ["--folds=2", "--gin.CltrRecipe.report_questions=5"]
    out = folder / "folds"
    assert main(finished.into(out, *folds)) == 0
    found = json.loads((out / "metrics.json").read_text())
    asked = [set(read_qrels(out / "folds" / str(i) / "runs" / "tables.test.qrels")) for i in range(2)]
    assert not asked[0] & asked[1] and found["questions"] == 10 == len(asked[0] | asked[1])
    seen = found["mean"]["hit@1"]
    assert seen == pytest.approx(sum(fold["answers"]["fused"]["hit@1"] for fold in found["folds"]) / 2)
    assert (out / "models" / "own").exists() and not (out / "folds" / "0" / "own").exists()  # once for all folds
    assert f"'{out.resolve()}/models/own'" in (out / "folds" / "1" / "models" / "parts" / "config.gin").read_text()
    assert not (out / "folds" / "0" / "index").exists() and "2-fold" in (out / "report.html").read_text()
    opened, results = [], workers._Cluster.results
    monkeypatch.setattr(workers._Cluster, "results", lambda *given: opened.append(given) or results(*given))
    with ray_cluster.started(workers=2):
        assert main(finished.into(folder / "at_workers", *folds, "--workers=ray,2")) == 0
    assert len(opened) > 4  # both folds search and rank there
    runs = sorted(file.relative_to(out) for file in out.glob("folds/*/runs/*"))
    assert runs and all((folder / "at_workers" / run).read_bytes() == (out / run).read_bytes() for run in runs)


def test_an_id_of_two_questions_is_refused():
    one, other = Question("1", "What?"), Question("1", "Who?")
    assert by_id([one, one]) == {"1": one} == by_id([one], {"1": one, "2": other})
    for questions, others in (([one, other], {}), ([one], {"1": other})):
        with pytest.raises(LisaxError, match="the id '1' stands for two questions"):
            by_id(questions, others)


@pytest.mark.parametrize("field", ["evidence", "operands"])
def test_cells_past_their_table_are_refused(tmp_path, field):
    (tmp_path / "tables.jsonl").write_text('{"id": "t", "title": "", "header": ["a"], "rows": [["1"]]}\n')
    question = {"id": "1", "question": "What?", "answers": ["1"], "evidence": ["t#r0c0"]} | {field: ["t#r1c0"]}
    for split in ("train", "dev"):
        (tmp_path / f"questions.{split}.jsonl").write_text(json.dumps(question) + "\n")
    run = Cltr(open_folder(tmp_path), tmp_path / "out", CltrRecipe())
    with pytest.raises(DataError, match=f"dev.jsonl:1: field '{field}': 't#r1c0' of question '1' is past its table"):
        run.make("retrieve")


def test_data_without_questions(tmp_path):
    (tmp_path / "tables.jsonl").write_text('{"id": "t", "title": "", "header": ["a"], "rows": [["1"]]}\n')
    (tmp_path / "pages.jsonl").write_text('{"id": "p", "title": "p", "sentences": ["p"]}\n')
    with pytest.raises(LisaxError, match="questions for train, dev are needed, found none"):
        Cltr(open_folder(tmp_path), tmp_path / "out", CltrRecipe())


def test_tables_teach_by_questions_made_of_them(finished):
    out = finished.out
    rows = list(read_examples(out / "own" / "examples" / "parts_rows.train.jsonl", PartExample))
    tables = {table.id: table for table in open_folder(finished.folder / "world").tables()}
    assert {row.claim_id[:3] for row in rows} == {"own"} and len(
        {row.claim_id for row in rows}
    ) == 28  # 30 % are held out
    for kind in ("rows", "columns"):
        parts = list(read_examples(out / "own" / "examples" / f"parts_{kind}.train.jsonl", PartExample))
        gold = {part.claim_id: part.unit_id.partition("#")[0] for part in parts if part.label}
        assert any(part.unit_id.partition("#")[0] != gold[part.claim_id] for part in parts)
    assert all(row.unit_id.partition("#")[0] in tables for row in rows)
    assert f"'{out.resolve()}/models/own'" in (out / "models" / "parts" / "config.gin").read_text()  # where it began


def table(name: str, retrieval: float, best: float, bound: float) -> ScoredTable:
    return ScoredTable(name, retrieval, best, best / 2, bound, f"{name}#r0c0", "x", (80, 20))


def test_what_can_be_spared():
    tables = (table("a", 9, 0.5, 0.6), table("b", 8, 0.1, 0.2), table("c", 7, 0.9, 0.95), table("d", 6, 0.05, 0.55))
    pool = PoolScores("q", tables, (("c#r0c0", 0.9),), (("c", 7.0, (0.9,), (1.0,)),))
    assert PoolScores.from_line(pool.line()) == pool
    curve = pruning_curve([pool], [1, 2, 3], top=2)
    assert [(point["same"], point["cost"]) for point in curve["pool"]] == [(0, 0.25), (0, 0.5), (1, 0.75)]
    # Columns of all four, then rows of c, of a, of d.
    assert [(point["same"], point["cost"]) for point in curve["reach"]] == [(0, 0.4), (1, 0.6), (1, 0.8)]
    # After c and a, d may still have .55.
    assert curve["exact"] == [{"limit": None, "same": 1.0, "cost": 0.8}]
    assert pruning_curve([PoolScores("q", ())], [1]) == {}
    # By what BM25 says, with little from cells: the pool's first two, which a bound tells at once.
    curve = pruning_curve(
        [pool],
        [1, 2],
        top=2,
        worth=lambda tables, of: np.array([table.retrieval + getattr(table, of) / 10 for table in tables]),
    )
    assert [point["same"] for point in curve["pool"]] == [0, 1] and curve["exact"][0]["cost"] == 0.6


@pytest.mark.slow
def test_each_stage_reads_what_is_noted_and_writes_its_outputs_alone(finished, monkeypatch):
    stages_alone.check(finished, monkeypatch)


@pytest.mark.slow
def test_workers_write_the_files_of_one_process(finished, head, monkeypatch):
    monkeypatch.setattr(table_text, "QUESTIONS_AT_A_TIME", 7)
    monkeypatch.setattr(operations, "QUESTIONS_AT_A_TIME", 7)
    models = {"parts": f"{finished.out}/models/parts", "aggregation": str(head)}
    few = ["CltrRecipe.pool = 6", "CltrRecipe.report_questions = 10", "CltrRecipe.aggregation_threshold = 0.6"]
    recipe = CltrRecipe.read(["experiments/cltr/transfer.gin"], [f"CltrRecipe.models = {models}", *few])
    made = functools.partial(Cltr, open_folder(finished.folder / "world"), finished.folder / "given", recipe)
    made().run()
    with ray_cluster.started(workers=2):
        stages_alone.check(made, monkeypatch, ["retrieve", "rerank.test", "aggregate"], Workers("ray", 2))
