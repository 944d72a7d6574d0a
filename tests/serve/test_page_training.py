"""Training from feedback: one at a time, told of as it goes, stopped and continued; and once for real."""

import dataclasses
import functools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from small_models import label_bundle, pages, pair_bundle, tables

from lisax.corpora import open_folder
from lisax.errors import LisaxError
from lisax.files.writing import write_json
from lisax.formats.format import Format
from lisax.formats.labelling import LABEL_LISTWISE
from lisax.formats.parts import TABLE_PARTS, PartKind
from lisax.formats.tables import TABLE_FUSION, TABLES
from lisax.models.lora import MATRICES
from lisax.predict.opening import open_model
from lisax.predict.ranker import VectorRanker
from lisax.predict.verdicts import Evidence
from lisax.predict.verifier import verifier_of
from lisax.records import Claim, Document, Label, Question, Table
from lisax.serve import held_out, training
from lisax.serve.export import Export
from lisax.serve.models import LABELLER, PARTS, TABLE_VERIFIER
from lisax.serve.training import DONE, FAILED, RUNNING, STOPPED, Run, Training
from lisax.training.gin_files import parsed
from lisax.weights.model_folder import ModelFolder

# What stands in for `lisax`: it notes its arguments, and ends when it is told to, after it has saved; but a second
# Ctrl-C ends it at once.
STAND_IN = """
import pathlib, signal, sys, time
folder = pathlib.Path({folder!r})
with (folder / "calls").open("a") as calls:
    calls.write(sys.argv[1] + "\\n")
(folder / sys.argv[1]).write_text(" ".join(sys.argv[2:]))
stopped = []
def stop(number, _):
    stopped.append(number)
    if number == signal.SIGINT:
        signal.signal(signal.SIGINT, signal.default_int_handler)
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, stop)
(folder / "ready").touch()
while sys.argv[1] == "train" and not (folder / "go").exists():
    time.sleep(0.01)
    if stopped:
        time.sleep(0.3)
        (folder / "saved").touch()
        sys.exit(128 + stopped[-1])
if sys.argv[1] == "export":
    pathlib.Path(sys.argv[-1]).mkdir()
sys.exit(int((folder / "go").read_text() or 0))
"""


@pytest.fixture
def checkpoint(tmp_path):
    """As much of a bundle as a training looks at."""
    folder = tmp_path / "bundle"
    folder.mkdir()
    (folder / "model.safetensors").touch()
    (folder / "model.json").write_text(
        '{"architecture": {"vocab_size": 128, "emb_dim": 8}, "text": {"family": '
        '"table_parts", "preset": "paper", "max_tokens": 32}}'
    )
    return folder


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    (tmp_path / "lisax.py").write_text(STAND_IN.format(folder=str(tmp_path)))
    monkeypatch.setattr(training, "COMMAND", (sys.executable, str(tmp_path / "lisax.py")))
    return tmp_path


@pytest.fixture
def trainings(stand_in):
    return Training(stand_in / "training")


def asked() -> Export:
    (table,) = tables(1)
    return Export(
        questions={"q": Question("q", "What is the city of Mara Velin?", ("x",), (f"{table.id}#r0c1",))},
        tables={table.id: table},
    )


def until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_one_at_a_time_to_the_end(stand_in, trainings, checkpoint):
    run = trainings.start(PARTS, checkpoint, asked(), 10)
    until((stand_in / "calls").exists)
    assert trainings.is_running and trainings.get(1).state == RUNNING and trainings.get(1).step == 0
    with pytest.raises(LisaxError, match="one at a time"):
        trainings.start(PARTS, checkpoint, asked(), 10)
    (stand_in / "training/1/model").mkdir()
    (stand_in / "training/1/model/train_log.jsonl").write_text(
        '{"step": 3, "kind": "train", "loss": 0.5}\n{"step": 3, "kind": "dev", "loss": 9}\n{"step": 4, "ki'
    )
    assert (trainings.get(1).step, trainings.get(1).loss) == (3, 0.5)
    (stand_in / "go").touch()
    until(lambda: not trainings.is_running)
    assert trainings.get(1).state == DONE and trainings.bundle(run).is_dir()
    assert (stand_in / "calls").read_text().split() == ["train", "export"]
    gin = (stand_in / "training/1/run.gin").read_text()
    assert "emb_dim = 8" in gin and "'feedback_parts'" in gin and str(checkpoint) in gin


@pytest.fixture
def trained(stand_in, trainings):
    """(gin of a training of a pair scorer, the fields of its dataset, the arguments of the export)"""

    def trained(role: str, text_format: Format, export: Export, **fields):
        (stand_in / "go").touch()
        trainings.start(role, pair_bundle(stand_in, text_format, **fields), export, 40)
        until(lambda: not trainings.is_running)
        assert trainings.get(1).state == DONE, trainings.get(1).message
        with parsed([str(stand_in / "training/1/run.gin")]) as gin:
            found = {
                name: gin.query_parameter(f"{name}/macro.value")
                for name in ("LABELS", "POOLING", "LEARNING_RATE", "WARMUP_STEPS", "TASK_FEATURE_LENGTHS")
            }
            found |= {name: gin.query_parameter(name) for name in ("EncoderConfig.emb_dim", "lisax_format.preset")}
            with_adapter = "train.adapter" in gin.config_str()
            lora = ("rank", "alpha", "targets") if with_adapter else ()
            found |= {name: gin.query_parameter(f"Lora.{name}") for name in lora}
        return found, json.loads((stand_in / "training/1/dataset.json").read_text()), (stand_in / "export").read_text()

    return trained


def test_an_adapter_is_trained_further_and_exported_alone(trained, stand_in):
    gin, dataset, exported = trained(PARTS, TABLE_PARTS, asked(), adapter=True)
    assert gin["LABELS"] == 2 and gin["POOLING"] == "mean" and gin["EncoderConfig.emb_dim"] == 32
    assert (gin["rank"], gin["alpha"], gin["targets"]) == (2, 4.0, MATRICES) and gin["LEARNING_RATE"] == 3e-4
    assert gin["WARMUP_STEPS"] == 4 and gin["TASK_FEATURE_LENGTHS"] == {"inputs": 48, "targets": 1}
    assert dataset["vocabulary"] == str(stand_in / "encoder/tokenizer.json") and "preset" not in dataset
    assert exported.startswith("--adapter --model ")


def test_a_whole_pair_scorer_is_trained_at_a_lower_rate(trained, stand_in):
    (table,) = tables(1)
    export = Export(
        table_claims={"c": Claim("c", "Mara Velin lives in Tarn .", Label.SUPPORTS, ((table.id,),))},
        tables={table.id: table},
    )
    gin, dataset, exported = trained(TABLE_VERIFIER, TABLES, export, adapter=False, columns=2)
    assert gin["LABELS"] == 3 and gin["LEARNING_RATE"] == 3e-5 and "rank" not in gin
    assert dataset["columns"] == 2 and dataset["evidence"] == "tables"
    assert dataset["vocabulary"] == str(stand_in / "pairs/tokenizer.json") and exported.startswith("--model ")


def test_a_labeller_of_short_lists_is_trained_on_such(stand_in, trainings):
    (stand_in / "go").touch()
    bundle = pair_bundle(stand_in, LABEL_LISTWISE, adapter=True, sentences=2)
    trainings.start(LABELLER, bundle, refuted({page.id: page for page in pages(tables(4))}), 40)
    assert json.loads((stand_in / "training/1/dataset.json").read_text())["sentences"] == 2
    assert "'feedback_label_listwise_infused'" in (stand_in / "training/1/run.gin").read_text()
    until(lambda: not trainings.is_running)


def test_what_was_fitted_goes_with_the_new_model(tmp_path):
    kept = {
        "fusion": [0.5, 3.0, -1.0],
        "retrieval": "vectors",
        "sentences": 3,
        "calibration": {"temperature": 1.5, "claims": 9, "aggregate": None},
        "answers": {"weights": [1.0] * 5, "threshold": 0.5, "questions": 9},
    }
    base = pair_bundle(tmp_path, TABLE_PARTS, adapter=True, **kept, step=7)
    (tmp_path / "model/checkpoint_20/state").mkdir(parents=True)
    write_json(tmp_path / "model/checkpoint_20/model.json", {"step": 20})
    training._keep_fitted(ModelFolder.find(base).card, tmp_path / "model")
    found = ModelFolder.find(tmp_path / "model/checkpoint_20").card
    kept["calibration"]["claims"] = 0  # it was not fitted for this one
    assert {name: found[name] for name in kept} == kept and found["step"] == 20 and "text" not in found


def test_what_the_page_cannot_train_says_why():
    class Fusion:
        format = TABLE_FUSION

    assert "table fusion" in training.why_not(Fusion())
    assert "vectors of an encoder as it was published" in training.why_not(object.__new__(VectorRanker))


def many(count: int = 12) -> Export:
    made = tables(min(count, 12))
    name = "q{}".format
    asked = [(name(i), made[i % len(made)]) for i in range(count)]
    return Export(
        questions={
            one: Question(one, f"What is the city of {table.rows[0][0]}?", ("x",), (f"{table.id}#r0c1",))
            for one, table in asked
        },
        judgements=[{"id": name(i), "question": "?", "table": "t", "relevant": False} for i in range(count)],
        tables={table.id: table for table in made},
    )


def test_about_a_fifth_is_held_out_and_measured_before_and_after(stand_in, trainings, checkpoint, monkeypatch):
    export = many(40)
    learned, held = export.divided()
    assert learned.questions.keys() | held.questions.keys() == export.questions.keys()
    assert not learned.questions.keys() & held.questions.keys() and 3 < len(held.questions) < 16
    for part in (learned, held):
        assert {one["id"] for one in part.judgements} == part.questions.keys() and part.tables == export.tables
    measure = stand_in / "measure.py"
    measure.write_text(
        "import json, sys\nrole, folder, before, after, out = sys.argv[1:]\n"
        "count = len(open(folder + '/questions.train.jsonl').readlines())\n"
        "open(out, 'w').write(json.dumps({'count': count, 'before': 1, 'after': 2}))"
    )
    monkeypatch.setattr(training, "MEASURE", (sys.executable, str(measure)))
    (stand_in / "go").touch()
    run = trainings.start(PARTS, checkpoint, export, 10)
    until(lambda: not trainings.is_running)
    done = trainings.get(1)
    assert done.state == DONE and run.examples == len(learned.questions)
    assert (done.count, done.before, done.after) == (len(held.questions), 1, 2)
    assert len((stand_in / "training/1/data/questions.train.jsonl").read_text().splitlines()) == len(learned.questions)


def test_what_a_model_gets_right_is_counted(tmp_path):
    """A model that finds the column `city` and the row of the name that is asked for, and one that finds neither."""
    export = many(6)
    export.write(tmp_path / "held")
    held = open_folder(tmp_path / "held")

    class Scorer:
        sign = 1

        def scores(self, question, kind, shown):
            asked = question.removeprefix("What is the city of ").removesuffix("?")
            for table in shown:
                parts = table.header if kind is PartKind.COLUMN else [row[0] for row in table.rows]
                found = np.array([part in (asked, table.header[1]) for part in parts], np.float32)
                yield found if self.sign > 0 else 1 - found

    scorer = Scorer()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lisax.predict.table_answers.PartScorer.of", lambda model: scorer)
        assert held_out.right(PARTS, None, held) == [True] * 6
        scorer.sign = -1
        assert held_out.right(PARTS, None, held) == [False] * 6


def test_of_a_table_as_many_columns_are_read_as_by_the_page(tmp_path, monkeypatch):
    rows = tuple(tuple(f"cell {row}{i}" for i in range(8)) for row in (1, 2))
    wide = Table("wide", "Towns", tuple(f"column {i}" for i in range(8)), rows)
    claims = {"c": Claim("c", "The sixth is Cell 16 .", Label.SUPPORTS, ((wide.id,),))}
    Export(table_claims=claims, tables={wide.id: wide}).write(tmp_path / "held")
    read = []

    class Verifier:
        depth, columns = 1, 2

        def verify(self, claim, evidence):
            read.extend(evidence)
            return SimpleNamespace(label=Label.SUPPORTS)

    monkeypatch.setattr(held_out, "verifier_of", lambda model: Verifier())
    assert held_out.right(TABLE_VERIFIER, None, open_folder(tmp_path / "held")) == [True]
    (evidence,) = read
    assert len(evidence.table.header) == 2 and "column 6" in evidence.table.header


def test_no_file_of_the_current_folder_is_run(tmp_path):
    for name in sys.stdlib_module_names:
        (tmp_path / f"{name}.py").write_text(f"raise SystemExit('{name} of the current folder')")
    done = subprocess.run([*training.COMMAND, "train", "--help"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == "" and "--gin_file" in done.stdout


HOSTILE = "x', 1)\nimport os\nMODEL_DIR = '"


@pytest.mark.parametrize(
    ("pair", "place", "value", "complaint"),
    [
        (False, "architecture/x = 1\nimport antigravity\nnetwork.T5Config.remat", "none", "is none that is known here"),
        (False, "architecture/dtype", HOSTILE, "'architecture.dtype': must be one of"),
        (False, "architecture/emb_dim", "8\nimport antigravity", "'architecture.emb_dim': must be a whole number"),
        (False, "text/preset", HOSTILE, "'text.preset': must be one of"),
        (False, "text/family", HOSTILE, "'text.family': there is no format"),
        (True, "architecture/backbone/emb_dim", "8\nimport x", "'architecture.backbone.emb_dim': must be a whole"),
        (True, "architecture/backbone/x = 1\nimport antigravity", 1, "is none that is known here"),
        (True, "architecture/pooling", HOSTILE, "'architecture.pooling': must be one of"),
        (True, "adapter/rank", "2\nimport antigravity", "'adapter.rank': must be a whole number"),
        (True, "adapter/targets", HOSTILE, "'adapter.targets': an adapter that is trained here has targets among"),
        (
            True,
            "adapter/targets",
            "layers_0/.*",
            "'adapter.targets': an adapter that is trained here has targets among",
        ),
        (True, "columns", "3\nimport antigravity", "'columns': must be a whole number"),
    ],
)
def test_nothing_that_a_bundle_says_is_run(stand_in, trainings, checkpoint, pair, place, value, complaint):
    bundle = pair_bundle(stand_in, TABLE_PARTS, adapter=True) if pair else checkpoint
    card = json.loads((bundle / "model.json").read_text())
    *folders, name = place.split("/")
    functools.reduce(dict.__getitem__, folders, card)[name] = value
    (bundle / "model.json").write_text(json.dumps(card))
    with pytest.raises(LisaxError, match=complaint):
        trainings.start(PARTS, bundle, asked(), 10)
    assert trainings.runs() == [] and os.listdir(stand_in / "training") == ["lock"]


@pytest.mark.parametrize("name", ["it's", "two\nimport antigravity", 'a"b%c@d'])
def test_folders_of_any_name_are_literals_in_the_gin_file(stand_in, checkpoint, name):
    (stand_in / "go").write_text("0")
    checkpoint = checkpoint.rename(stand_in / name)
    trainings = Training(stand_in / name / "training")
    trainings.start(PARTS, checkpoint, asked(), 10)
    until(lambda: not trainings.is_running)
    with parsed([str(stand_in / name / "training/1/run.gin")]) as gin:
        assert gin.query_parameter("INITIAL_CHECKPOINT_PATH/macro.value") == str(checkpoint)
        assert gin.query_parameter("MODEL_DIR/macro.value") == str(stand_in / name / "training/1/model")
        assert gin.query_parameter("T5Config.emb_dim") == 8
    assert "antigravity" not in sys.modules


def test_a_token_is_not_handed_on(stand_in, trainings, checkpoint, monkeypatch):
    for name in ("LISAX_TOKEN", "LISAX_TOKENS", "LISAX_OPERATOR_TOKEN"):
        monkeypatch.setenv(name, "right-token")
    (stand_in / "lisax.py").write_text(f"import os\nopen({str(stand_in / 'seen')!r}, 'w').write(str(dict(os.environ)))")
    trainings.start(PARTS, checkpoint, asked(), 10)
    until(lambda: not trainings.is_running)
    assert "LISAX_TASKS" in (seen := (stand_in / "seen").read_text()) and "right-token" not in seen


def test_a_relative_folder_is_written_in_full(stand_in, checkpoint, monkeypatch):
    """So that the command in `run.gin` can be repeated from anywhere."""
    monkeypatch.chdir(stand_in)
    (stand_in / "go").write_text("0")
    trainings = Training(Path("training"))
    run = trainings.start(PARTS, checkpoint, asked(), 10)
    until(lambda: not trainings.is_running)
    gin = (stand_in / "training/1/run.gin").read_text()
    assert f"MODEL_DIR = '{stand_in}/training/1/model'" in gin
    assert f"LISAX_TASKS={stand_in}/training/1/dataset.json" in gin
    assert trainings.bundle(run).is_absolute()


def test_what_fails_is_told_and_can_go_on(stand_in, trainings, checkpoint):
    (stand_in / "go").write_text("3")
    trainings.start(PARTS, checkpoint, asked(), 10)
    until(lambda: not trainings.is_running)
    assert trainings.get(1).state == FAILED and "status 3" in trainings.get(1).message
    (stand_in / "go").write_text("0")
    trainings.go_on(1)
    until(lambda: not trainings.is_running)
    assert trainings.get(1).state == DONE
    with pytest.raises(LisaxError):
        trainings.go_on(1)


def test_stopping_and_ending_the_page(stand_in, trainings, checkpoint):
    trainings.start(PARTS, checkpoint, asked(), 10)
    until((stand_in / "calls").exists)
    trainings.stop()
    assert trainings.get(1).state == STOPPED and not trainings.is_running
    trainings._note(trainings.get(1), RUNNING)  # as a page leaves it that is killed
    assert Training(stand_in / "training").get(1).state == STOPPED


def test_a_training_that_another_ends_by_sigterm_is_stopped_and_nothing_is_exported(stand_in, trainings, checkpoint):
    trainings.start(PARTS, checkpoint, asked(), 10)
    until((stand_in / "ready").exists)
    trainings._process.terminate()
    until(lambda: not trainings.is_running)
    assert trainings.get(1).state == STOPPED
    assert (stand_in / "calls").read_text().split() == ["train"]


def test_of_servers_on_one_folder_one_trains_and_any_can_stop_it(stand_in, checkpoint):
    first = Training(stand_in / "training")
    first.start(PARTS, checkpoint, asked(), 10)
    until((stand_in / "ready").exists)
    second = Training(stand_in / "training")
    assert second.is_running and second.get(1).state == first.get(1).state == RUNNING
    for begins in (lambda: second.start(PARTS, checkpoint, asked(), 10), lambda: second.go_on(1)):
        with pytest.raises(LisaxError, match="one at a time|cannot be resumed"):
            begins()
    second.close()
    assert first.is_running
    second.stop()
    until(lambda: not first.is_running)
    assert first.get(1).state == second.get(1).state == STOPPED
    assert [path.name for path in (stand_in / "training").iterdir() if path.is_dir()] == ["1"]
    (stand_in / "go").write_text("0")
    second.go_on(1)
    until(lambda: not second.is_running)
    assert first.get(1).state == DONE


@pytest.mark.parametrize("is_stopped", [True, False])
def test_ctrl_c_in_the_terminal_reaches_the_training_too_which_saves_all_the_same(
    stand_in, trainings, checkpoint, is_stopped
):
    trainings.start(PARTS, checkpoint, asked(), 10)
    until((stand_in / "ready").exists)
    trainings._process.send_signal(signal.SIGINT)
    if is_stopped:  # by the page, which ends as well
        time.sleep(0.1)
        trainings.stop()
    until(lambda: not trainings.is_running)
    assert (stand_in / "saved").exists() and trainings.get(1).state == STOPPED
    assert (stand_in / "calls").read_text().split() == ["train"]


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="only where util-linux is installed")
def test_a_page_that_is_killed_leaves_no_training_running(stand_in, checkpoint):
    card = stand_in / "training/1"
    card.mkdir(parents=True)
    write_json(card / "training.json", dataclasses.asdict(Run(1, PARTS, 10, 1, str(checkpoint), time.time(), STOPPED)))
    code = f"""if True:
        import sys, time
        from pathlib import Path
        from lisax.serve import held_out, training
        training.COMMAND = (sys.executable, {str(stand_in / "lisax.py")!r})
        training.Training(Path({str(stand_in / "training")!r})).go_on(1)
        time.sleep(600)"""
    page = subprocess.Popen([sys.executable, "-c", code])
    until((stand_in / "ready").exists)
    page.kill()
    page.wait()
    until((stand_in / "saved").exists)


def test_nothing_is_begun_without_something_to_learn(stand_in, trainings, checkpoint):
    for role, export, steps, complaint in (
        (PARTS, Export(), 10, "nothing to learn"),
        (LABELLER, asked(), 10, "nothing to learn"),
        (PARTS, asked(), 0, "from 1 to"),
    ):
        with pytest.raises(LisaxError, match=complaint):
            trainings.start(role, checkpoint, export, steps)
    assert trainings.runs() == []


def refuted(documents: dict[str, Document]) -> Export:
    """For each page a claim that its second sentence refutes."""
    claims = {
        name: Claim(
            name,
            f"{page.title} was born in 1800 .",
            Label.REFUTES,
            ((page.sentences[1].id,),),
            tuple(sentence.id for sentence in page.sentences),
        )
        for name, page in documents.items()
    }
    return Export(claims=claims, pages=documents)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["t5", "adapter", "pair"])
def test_a_labeller_learns_from_feedback(tmp_path, kind):
    card = {"calibration": {"temperature": 1.5, "claims": 9, "aggregate": None}}
    if kind == "t5":
        bundle, card = label_bundle(tmp_path, 4), {"fusion": [0.5, 3.0, -1.0]}
        write_json(bundle / "model.json", {**ModelFolder.find(bundle).card, **card})
    else:
        card |= {"sentences": 2} if kind == "adapter" else {}
        bundle = pair_bundle(tmp_path, LABEL_LISTWISE, adapter=kind == "adapter", **card)
        card["calibration"] |= {"claims": 0}
    documents = {page.id: page for page in pages(tables(4))}
    trainings = Training(tmp_path / "training")
    run = trainings.start(LABELLER, bundle, refuted(documents), 20)
    until(lambda: not trainings.is_running, 500)
    done, trained = trainings.get(1), trainings.bundle(run)
    assert done.state == DONE, trainings.last_lines(done)
    assert done.step == 20 and done.count > 0 and (kind == "t5" or done.after >= done.before)
    evidence = [Evidence("a_0", "She was born in 1912 .", "Mara Velin")]
    before, after = (
        verifier_of(open_model(path)).verify("Mara Velin was born in 1800 .", evidence) for path in (bundle, trained)
    )
    assert after.probabilities[Label.REFUTES] > before.probabilities[Label.REFUTES]
    found = ModelFolder.find(trained).card
    assert {name: found.get(name) for name in card} == card and ("adapter" in found) == (kind == "adapter")
    assert kind == "t5" or (trained / "tokenizer.json").is_file() == (kind == "pair")
