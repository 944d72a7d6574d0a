"""`lisax run udt-qa` at the smallest size: its stages, their files, the report, resumption."""

import dataclasses
import functools
import json

import pytest
import ray_cluster
import stages_alone
from small_bundles import bundle

from lisax import cli, world
from lisax.corpora import open_folder
from lisax.devices.workers import Workers
from lisax.errors import LisaxError
from lisax.papers import base
from lisax.papers.udt_qa import run as udt_qa
from lisax.papers.udt_qa.recipe import QuestionRecipe
from lisax.papers.udt_qa.run import UdtQa
from lisax.predict import reader, verbalizer
from lisax.predict.opening import open_model
from lisax.predict.reader import Reader
from lisax.retrieval.mixed import MixedIndex
from lisax.retrieval.passages import Source

GIN = """
include 'experiments/udt_qa/{file}'
T5Config.emb_dim = 16
T5Config.head_dim = 8
T5Config.num_heads = 2
T5Config.mlp_dim = 16
T5Config.num_encoder_layers = 1
TRAIN_STEPS = 2
EVAL_PERIOD = 2
BATCH_SIZE = 4
"""
RECIPE = """
QuestionRecipe.train = {{'retriever': '{d}/retriever.gin', 'retriever_second': '{d}/retriever.gin',
                        'reader_first': ('{d}/reader.gin', {{'PASSAGES': 1}}), 'reader': '{d}/reader.gin'}}
QuestionRecipe.learned_from = ('text',)
QuestionRecipe.indexes = ('text', 'verbalized')
QuestionRecipe.passages = 5
QuestionRecipe.question_tokens = 16
QuestionRecipe.passage_tokens = 64
QuestionRecipe.mined = 10
QuestionRecipe.retrieved = 20
QuestionRecipe.vocabulary_size = 500
QuestionRecipe.train_questions = 24
QuestionRecipe.validation_claims = 8
QuestionRecipe.report_claims = 10
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("udt")
    for name, file in (("retriever", "retriever_micro.gin"), ("reader", "span_reader_micro.gin")):
        (folder / f"{name}.gin").write_text(GIN.format(file=file), encoding="utf-8")
    (folder / "recipe.gin").write_text(RECIPE.format(d=folder), encoding="utf-8")
    arguments = ["run", "udt-qa", "--pages=120", f"--out={folder}/out", f"--gin_file={folder}/recipe.gin"]
    assert cli.main(arguments) == 0
    return folder / "out", arguments


def test_figures_of_every_setting_are_written_with_the_papers_beside(run):
    out, _ = run
    found = json.loads((out / "metrics.json").read_text())
    assert set(found["settings"]) == {"text/text", "text/verbalized"}
    for of in found["settings"].values():
        assert set(of["retrieval"]) == {"bm25", "dense", "fused"} and of["questions"] == 10
    assert found["indexes"]["verbalized"]["table"]["form"] == "verbalized"
    of = found["differences"]["exact_match"]
    (other,) = set(found["settings"]) - {of["against"]}
    value, best = (found["settings"][name]["exact_match"] for name in (other, of["against"]))
    assert of["variants"][other]["difference"] == pytest.approx(value - best) and value <= best
    page = (out / "report.html").read_text()
    assert "Hot-swap" in page and "+ tables, verbalized" in page and "Natural Questions" in page


def test_answers_lead_to_a_unit_that_holds_them(run):
    out, _ = run
    index = MixedIndex.open(out / "index" / "verbalized.text")
    assert list(index.sources) == list(Source)
    rows = [json.loads(line) for line in (out / "answers" / "text.verbalized.jsonl").read_text().splitlines()]
    answers = [answer for row in rows for answer in row["found"]]
    assert answers and all(0 < answer["probability"] <= 1.0001 for answer in answers)
    for answer in answers:
        passage = index.passage(answer["passage"])
        assert passage.text[answer["begin"] : answer["end"]] == answer["answer"]
        assert answer["unit"] in passage.provenance


def test_a_second_run_does_nothing_and_another_setting_what_depends_on_it(run, capfd):
    _out, arguments = run
    capfd.readouterr()
    assert cli.main(arguments) == 0
    said = capfd.readouterr().err
    for stage in ("train.reader_text", "swap.text.verbalized", "answer.text.verbalized"):
        assert f"[{stage}] done before" in said
    assert cli.main([*arguments, "--gin.QuestionRecipe.report_claims=4"]) == 0
    said = capfd.readouterr().err
    assert "[train.reader_text] done before" in said and "[answer.text.verbalized] done before" not in said


def test_given_data_loses_no_page_unless_it_is_said(run, tmp_path, capfd):
    given = ["run", "udt-qa", "--data", str(run[0] / "world"), "--out", str(tmp_path), "--until", "verbalize"]
    assert cli.main(given) == 0
    said = capfd.readouterr().err
    assert "[verbalize]" in said and "withholds" not in said
    assert cli.main([*given, "--gin.QuestionRecipe.withheld_pages=0.25"]) == 0
    assert "withholds the text of 25% of the pages" in capfd.readouterr().err


def test_data_without_pages_is_refused_before_the_first_stage(run, tmp_path, capfd):
    for file in (run[0] / "world").iterdir():
        if file.name.startswith(("tables", "questions")):
            (tmp_path / file.name).symlink_to(file)
    assert cli.main(["run", "udt-qa", "--data", str(tmp_path), "--out", str(tmp_path / "out")]) == 1
    said = capfd.readouterr().err
    assert f"{tmp_path}: pages are needed" in said and "[verbalize]" not in said


def test_a_reader_reads_what_it_is_given(run):
    reader = Reader(run[0] / "models" / "reader_text")
    index = MixedIndex.open(run[0] / "index" / "text")
    passages = [index.passage(hit) for hit, _ in index.search(["born"], 3)[0]]
    (answers, none) = reader.read([("Who was born?", passages), ("Who?", [])])
    assert answers and none == []
    assert sum(answer.probability for answer in answers) <= 1.0001
    (alone,) = reader.read([("Who was born?", passages)])
    assert [answer.text for answer in alone] == [answer.text for answer in answers]


def test_questions_are_answered_from_the_command_line(run, tmp_path, capsys):
    out, _ = run
    questions = tmp_path / "questions.jsonl"
    questions.write_text("".join((out / "world" / "questions.dev.jsonl").read_text().splitlines(True)[:3]))
    arguments = [
        "answer",
        f"--index={out}/index/text",
        f"--reader={out}/models/reader_text",
        f"--questions={questions}",
        f"--out={tmp_path}/answers.jsonl",
    ]
    retriever = ["--retriever", str(out / "models" / "retriever_second_text")]
    for more in ([], [*retriever, "--method", "dense"], retriever):
        assert cli.main([*arguments, *more]) == 0
        assert "of 3 questions" in capsys.readouterr().out
        assert len((tmp_path / "answers.jsonl").read_text().splitlines()) == 3
    # Bundles answer as their checkpoints do.
    for name in ("retriever_second_text", "reader_text"):
        assert cli.main(["export", "--model", str(out / "models" / name), "--out", str(tmp_path / name)]) == 0
    before = (tmp_path / "answers.jsonl").read_text()
    found = cli.main([*arguments, f"--reader={tmp_path}/reader_text", f"--retriever={tmp_path}/retriever_second_text"])
    assert found == 0
    assert (tmp_path / "answers.jsonl").read_text() == before
    with pytest.raises(LisaxError, match="'retrieve', which checks no claims"):
        open_model(tmp_path / "retriever_second_text")
    assert cli.main([*arguments, "--method", "dense"]) == 2
    assert "needs --retriever" in capsys.readouterr().err
    wrong = ["--retriever", str(out / "models" / "retriever_text")]
    assert cli.main([*arguments, *wrong]) == 1 and "vectors of another retriever" in capsys.readouterr().err
    assert cli.main([*arguments, "--retriever", str(out / "models" / "reader_text")]) == 1
    assert "of the format retrieve, found 'point'" in capsys.readouterr().err


def test_a_reader_learns_as_many_passages_as_the_recipe_says(tmp_path, monkeypatch):
    world.write(tmp_path / "world", 60)
    gin = "experiments/udt_qa/span_reader_micro.gin"  # which says 5
    recipe = QuestionRecipe(train={"reader": gin}, method="bm25", passages=10, passage_tokens=64)
    learned = UdtQa(open_folder(tmp_path / "world"), tmp_path / "out", recipe)
    trained = []
    monkeypatch.setattr(base, "train_by_gin", lambda *_, **options: trained.append(options))
    learned.__dict__["vocabulary"] = None
    learned.graph["train.reader_text"].work()
    (options,) = trained
    assert options["lengths"]["inputs"] == 640 and options["bindings"] == {"PASSAGES": 10}


def test_the_number_of_answered_questions_changes_nothing_that_models_learn(run):
    out, _ = run
    recipe = QuestionRecipe.read([out.parent / "recipe.gin"])
    done = UdtQa(open_folder(out / "world"), out, recipe)
    assert "report_claims" in done.runner.settings("answer.text.text")
    learning = done.before(*(f"train.{model}" for model in done.recipe.train))
    assert "index.text" in learning
    assert not any("report_claims" in done.runner.settings(name) for name in learning)


def test_models_of_each_index_start_from_those_before_them():
    initial = QuestionRecipe.read(["experiments/udt_qa/world.gin"]).expanded().initial
    found = {name: start for name, start in initial.items() if "second" in name}
    assert found == {f"retriever_second_{index}": f"retriever_{index}" for index in ("text", "raw", "verbalized")}
    assert initial["reader_raw"] == "reader_first_raw" and initial["reader_first_raw"].startswith("warm_up/")


@pytest.mark.slow
def test_each_stage_reads_what_is_noted_and_writes_its_outputs_alone(run, monkeypatch):
    out, arguments = run
    assert cli.main(arguments) == 0
    recipe = QuestionRecipe.read([out.parent / "recipe.gin"])
    stages_alone.check(lambda: UdtQa(open_folder(out / "world"), out, recipe), monkeypatch)


@pytest.mark.slow
def test_workers_write_the_files_of_one_process(run, tmp_path, monkeypatch):
    out, _ = run
    recipe = QuestionRecipe.read([str(out.parent / "recipe.gin")])
    monkeypatch.setattr(udt_qa, "CLAIMS_AT_A_TIME", 5)
    monkeypatch.setattr(reader, "QUESTIONS_AT_A_TIME", 5)
    monkeypatch.setattr(verbalizer, "UNITS_AT_A_TIME", 50)
    by_model = dataclasses.replace(recipe, verbalizer=str(bundle(tmp_path / "verbalizer", "verbalizer")))
    with ray_cluster.started(workers=2):
        names = ["examples.retriever_second_text", "answer.text.verbalized"]
        made = functools.partial(UdtQa, open_folder(out / "world"), out, recipe)
        stages_alone.check(made, monkeypatch, names, Workers("ray", 2))
        made = functools.partial(UdtQa, open_folder(out / "world"), out, by_model)
        stages_alone.check(made, monkeypatch, ["verbalize"], Workers("ray", 2))
