"""Training, evaluation and inference of a seqio task from gin files, as a user runs them."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import numpy as np
import pytest
from all_batches import eval_batches

from lisax.cli import invoke
from lisax.errors import LisaxError
from lisax.models.architectures import describe, from_description
from lisax.training.data import (
    DatasetConfig,
    Prefetched,
    VocabularyFile,
    import_task_module,
    longest,
    provider_of,
    task_modules,
    train_source,
)
from lisax.training.gin_files import GIN_CONFIGS, bindings_of, configured, parsed, rewrite_gin_flags, run_gin
from lisax.training.task_metrics import Evaluator
from lisax.training.train_log import read_train_log

LENGTHS = {"inputs": 12, "targets": 6}
TINY = {
    "MIXTURE_OR_TASK_MODULE": "tiny_task",
    "MIXTURE_OR_TASK_NAME": "first_word",
    "TASK_FEATURE_LENGTHS": LENGTHS,
    "BATCH_SIZE": 8,
    "VOCAB_SIZE": 384,
    "T5Config.num_encoder_layers": 1,
    "T5Config.num_decoder_layers": 1,
}
FILES = ["models/t5_1_1_tiny.gin", "runs/pretrain.gin"]


def _dataset(**changes):
    fields = {"mixture_or_task_name": "first_word", "task_feature_lengths": LENGTHS, "batch_size": 8}
    return DatasetConfig(**fields | {"module": "tiny_task"} | changes)


# --- Data ----------------------------------------------------------------------------------


@pytest.mark.parametrize("pack", [False, True])
def test_stream_repeats_and_skips_exactly(pack):
    source = train_source(_dataset(pack=pack))
    first = [batch for batch, _ in zip(source(0), range(12))]
    again = [batch for batch, _ in zip(source(5), range(7))]
    for a, b in zip(first[5:], again, strict=True):
        assert a.keys() == b.keys()
        for name in a:
            np.testing.assert_array_equal(a[name], b[name])
    assert first[0]["encoder_input_tokens"].shape == (8, 12)
    assert ("encoder_segment_ids" in first[0]) is pack
    other = next(train_source(_dataset(pack=pack, seed=1))(0))
    assert any((other[name] != first[0][name]).any() for name in other)


def test_evaluation_reads_each_example_once_and_fills_the_last_batch():
    batches = list(eval_batches(_dataset(split="dev")))
    assert [len(batch["decoder_target_tokens"]) for batch in batches] == [8, 8]
    assert sum(int((batch["decoder_loss_weights"].sum(-1) > 0).sum()) for batch in batches) == 11
    assert longest(_dataset(split="dev", task_feature_lengths=None)) == {"inputs": 8, "targets": 6}


def test_prefetch_hands_over_errors_and_ends():
    def broken():
        yield 1
        raise ValueError("no more")

    with Prefetched(broken()) as items:
        assert next(items) == 1
        with pytest.raises(ValueError, match="no more"):
            next(items)
    with Prefetched(iter(range(10**9))) as endless:  # left early: the thread must end
        next(endless)
    assert not endless._thread.is_alive()


# --- gin -----------------------------------------------------------------------------------


def test_the_current_folder_is_searched_only_for_what_is_not_installed(tmp_path, monkeypatch):
    (tmp_path / "registers_tasks.py").write_text("found = __file__")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path])
    import_task_module("seqio.vocabularies")
    assert str(tmp_path) not in sys.path
    import_task_module("registers_tasks")
    assert sys.modules.pop("registers_tasks").found == str(tmp_path / "registers_tasks.py")


def test_a_users_own_package_called_tasks_keeps_its_name_beside_ours(tmp_path, monkeypatch):
    for name, text in (
        ("__init__", "import seqio; seqio.MixtureRegistry.add('users_own', ['list5_rank'], default_rate=1.0)"),
        ("extra", ""),
    ):
        (tmp_path / "tasks").mkdir(exist_ok=True)
        (tmp_path / "tasks" / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "tasks", raising=False)
    assert task_modules("tasks") == ["lisax.tasks", "tasks"]
    assert task_modules("tasks.register") == ["lisax.tasks.register"]
    assert task_modules("tasks.extra") == ["tasks.extra"]
    assert task_modules("lisax.tasks") == ["lisax.tasks"] and task_modules("mine.tasks") == ["mine.tasks"]
    # Ours does for what it registers, theirs for the rest.
    provider_of(DatasetConfig("list5_rank", None, module="tasks"))
    assert "tasks" not in sys.modules
    assert provider_of(DatasetConfig("users_own", None, module="tasks")).name == "users_own"
    assert sys.modules.pop("tasks").__file__ == str(tmp_path / "tasks" / "__init__.py")


def test_without_such_a_package_tasks_is_ours(tmp_path, monkeypatch):
    (tmp_path / "tasks").mkdir()  # a folder of files, say
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path and not (Path(path) / "tasks").is_dir()])
    assert task_modules("tasks") == ["lisax.tasks"]
    monkeypatch.syspath_prepend(GIN_CONFIGS.parent)  # where a checkout's own `tasks` lies, for T5X
    assert task_modules("tasks") == ["lisax.tasks"]
    assert task_modules("tasks.tables") == ["lisax.tasks.tables"]


def test_flags():
    kept = [
        "TRAIN_STEPS=10",
        "T5Config.dtype='bfloat16'",
        "LENGTHS={'inputs': 5}",
        "OPTIMIZER=@AdamW()",
        "EVAL_STEPS=None",
    ]
    given = ["--gin_file=a.gin", "--gin.MODEL_DIR=out/x", *(f"--gin.{one}" for one in kept)]
    expected = ["--gin_file=a.gin", "--gin_bindings=MODEL_DIR='out/x'", *(f"--gin_bindings={one}" for one in kept)]
    assert rewrite_gin_flags(given) == expected


@pytest.mark.parametrize("path", sorted(GIN_CONFIGS.glob("models/t5_1_*.gin")), ids=lambda path: path.stem)
def test_every_model_file(path):
    with parsed([f"models/{path.name}"], ["DROPOUT_RATE = 0.1"]) as gin:
        model = gin.get_configurable("T5Config")()
    assert model.dropout_rate == 0.1 and model.vocab_size == 32128
    assert model.logits_via_embedding == path.stem.startswith("t5_1_0")
    assert from_description(describe(model)) == model


@pytest.mark.parametrize(
    ("files", "bindings", "message"),
    [
        (
            ["models/t5_1_1_tiny.gin", "runs/finetune.gin"],
            ["MODEL_DIR = 'x'"],
            "these must be given: --gin.INITIAL_CHECKPOINT_PATH=…, --gin.MIXTURE_OR_TASK_NAME=…",
        ),
        (["nowhere.gin"], [], "there is no gin file 'nowhere.gin'"),
        (["models/t5_1_1_tiny.gin"], ["T5Config.layers = 3"], "doesn't have a parameter named 'layers'"),
        (["models/t5_1_1_tiny.gin"], ["MODEL_DIR = "], "gin: "),
        (FILES, ["BATCHSIZE = 4"], "the macro BATCHSIZE is set and nothing reads it. Did you mean BATCH_SIZE?"),
    ],
)
def test_mistakes_in_gin(files, bindings, message):
    with pytest.raises(LisaxError, match=message), parsed(files, bindings):
        pass


def _config(*bindings, files=FILES):
    given = ["MODEL_DIR = 'out'", "TRAIN_STEPS = 2", *bindings_of(TINY), *bindings]
    with configured("train", files, given) as config:
        return config


@pytest.mark.parametrize(
    ("binding", "message"),
    [
        ("BATCH_SIZE = 'abc'", "DatasetConfig.batch_size (set by BATCH_SIZE) must be a whole number, found 'abc'"),
        ("TRAIN_STEPS = 1e3", "train.total_steps (set by TRAIN_STEPS) must be a whole number or None, found 1000.0"),
        ("RestoreCheckpointConfig.path = ['a', 'b']", "RestoreCheckpointConfig.path must be one checkpoint, found 2"),
        ("PjitPartitioner.logical_axis_rules = ['batch']", "must be Sequence[tuple[str, str | None]], found ['batch']"),
        ("TASK_FEATURE_LENGTHS = {'inputs': 'a'}", "must be Mapping[str, int] or None"),
        ("Trainer.learning_rate_fn = 0.1", "Trainer.learning_rate_fn must be Callable, found 0.1"),
    ],
)
def test_a_value_of_another_type_is_named(binding, message):
    with pytest.raises(LisaxError, match=re.escape(message)) as raised:
        _config(binding)
    assert ".gin:" not in str(raised.value)  # the line that a file has is not that of the value


def test_names_of_t5x_work(capsys):
    assert _config("RestoreCheckpointConfig.path = []").checkpoint.restore.path is None
    assert _config("RestoreCheckpointConfig.path = ['a']").checkpoint.restore.path == "a"
    assert not _config("SHUFFLE_TRAIN_EXAMPLES = False").train_data.shuffle and _config().train_data.shuffle
    given = ["USE_HARDWARE_RNG = True", "JSON_WRITE_N_RESULTS = 5", "EVALUATOR_NUM_EXAMPLES = 7"]
    config = _config(*given, "train.stats_period = 9", "T5Config.remat_policy = 'minimal'")
    assert config.use_hardware_rng and config.evaluator == Evaluator(7, 5) and config.log_period == 9
    assert config.model.remat == "minimal"
    assert _config("train.infer_eval_dataset_cfg = @infer_eval/utils.DatasetConfig()").infer_data.split == "dev"
    assert _config("train_eval/DatasetConfig.trim_output_features = False").dev_data.trim_output_features is False
    vocabulary = _config(
        "VOCABULARY = @seqio.SentencePieceVocabulary()", "SentencePieceVocabulary.sentencepiece_model_file = 'a'"
    ).vocabulary
    assert vocabulary == VocabularyFile("a")
    assert capsys.readouterr().err == ""
    _config("EVALUATOR_USE_MEMORY_CACHE = False", "SaveCheckpointConfig.save_dataset = True")
    notes = capsys.readouterr().err
    assert "note: EVALUATOR_USE_MEMORY_CACHE changes nothing: " in notes
    assert "note: of T5X's names these change nothing here: SaveCheckpointConfig.save_dataset. docs/gin.md" in notes


@pytest.mark.parametrize(
    ("binding", "message"),
    [
        ("train.actions = None", "train.actions is T5X's, and LisaX does not read it: .*docs/gin.md lists T5X's names"),
        ("OPTIMIZER = @optimizers.chain()", "optimizers.chain is T5X's, .*@optimizers.AdamW"),
        ("train.use_orbax = False", "train.use_orbax must be True, found False: checkpoints are Orbax's"),
        ("RestoreCheckpointConfig.mode = 'all'", "mode must be 'specific' or 'latest', found 'all'"),
        ("train.stats_perod = 5", "train doesn't have a parameter named 'stats_perod'. Did you mean stats_period?"),
        ("SaveCheckpontConfig.keep = 5", "no configurable 'SaveCheckpontConfig'. Did you mean SaveCheckpointConfig?"),
        (
            "trian/DatasetConfig.pack = True",
            "the scope trian/DatasetConfig is set and nothing reads it. Did you mean train",
        ),
        (
            "train.log_period = 3\ntrain.stats_period = 5",
            "train.stats_period is T5X's name of train.log_period: set one",
        ),
    ],
)
def test_names_that_are_not_read_are_errors(binding, message):
    with pytest.raises(LisaxError, match=message):
        _config(binding)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "\nEVAL_PERIOD = 'a'\n",
            "mine.gin:2: train.eval_period (set by EVAL_PERIOD) must be a whole number, found 'a'",
        ),
        (
            "# a\n\ntrain:\n  log_period = 3\n  eval_period = 'x'\n",
            "mine.gin:5: train.eval_period must be a whole numb",
        ),
        (
            "\n\nBATCHSIZE = 4\n",
            "mine.gin:3: the macro BATCHSIZE is set and nothing reads it. Did you mean BATCH_SIZE?",
        ),
        (
            "include 'runs/pretrain.gin'\nEVAL_PERIOD = %EVALPERIOD\n",
            "mine.gin:2: the macro EVALPERIOD is read and nothing sets it. Give --gin.EVALPERIOD=…",
        ),
        (
            "\ntrain.log_period = %EVAL_PERIODS\n",
            "mine.gin:2: the macro EVAL_PERIODS is read and nothing sets it. Did you mean EVAL_PERIOD?",
        ),
        ("\ninclude 'runs/no.gin'\n", "mine.gin:2: there is no gin file 'runs/no.gin'"),
        ("train.actions = {}\n", "mine.gin:1: train.actions is T5X's"),
        ("\nfrom t5x.contrib.moe import models\n", "from t5x.contrib.moe import models: T5X's core is read"),
        ("\n# für uns\n", "mine.gin:2: byte 4 is not UTF-8"),
        ("\ntrain.log_period = [1,\n 2\n\nX = 3\n", "mine.gin:2: a bracket or a quote is not closed"),
        ("# a\r\n\r\nBATCHSIZE = 4\r\n", "mine.gin:3: the macro BATCHSIZE is set and nothing reads it"),
    ],
)
def test_an_error_of_a_file_has_its_line(tmp_path, text, message):
    (tmp_path / "mine.gin").write_text(text, encoding="latin-1", newline="")
    with pytest.raises(LisaxError, match=re.escape(message)):
        _config(files=[*FILES, str(tmp_path / "mine.gin")])


def test_a_typed_macro_of_other_runs_is_an_error():
    given = ["LEARNING_RATE = 1e-4", "MODEL_DIR = 'out'", "TRAIN_STEPS = 2", *bindings_of(TINY)]
    with configured("train", FILES, given):  # a recipe gives the same bindings to all its models
        pass
    message = "the macro LEARNING_RATE is set and nothing reads it"
    with pytest.raises(LisaxError, match=message), configured("train", FILES, given, typed=True):
        pass


def test_a_macro_that_a_users_own_file_reads_is_none_of_ours(tmp_path):
    (tmp_path / "mine.gin").write_text("MY_PERIOD = 7\ntrain.log_period = %MY_PERIOD\n")
    assert _config(files=[*FILES, str(tmp_path / "mine.gin")]).log_period == 7


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"MIXTURE_OR_TASK_NAME": "fist_word"}, "no seqio task or mixture is named 'fist_word'. Did you mean first_w"),
        ({"MIXTURE_OR_TASK_MODULE": "no_such_module"}, "there is no module 'no_such_module'"),
        ({"EVAL_SPLIT": "test"}, "'first_word' has no split 'test'; it has dev, many, train"),
        ({"VOCAB_SIZE": 128}, "has 259 pieces but the model's embedding has 128 rows"),
        ({"TASK_FEATURE_LENGTHS": {"inputs": 4}}, "must give a length for 'targets'"),
        ({"TASK_FEATURE_LENGTHS": None}, "TASK_FEATURE_LENGTHS must be given"),
        ({"USE_CACHED_TASKS": True}, "USE_CACHED_TASKS is True, but 'first_word'"),
        ({"BATCH_SIZE": 0}, "BATCH_SIZE is 0"),
        ({"LOSS_NORMALIZING_FACTOR": "x"}, "LOSS_NORMALIZING_FACTOR is 'x'"),
        ({"LABEL_SMOOTHING": 1.0}, "LABEL_SMOOTHING must be at least 0 and below 1, found 1.0"),
    ],
)
def test_mistakes_are_found_before_training(tmp_path, values, message):
    with pytest.raises(LisaxError, match=message):
        run_gin(FILES, bindings_of(TINY | {"MODEL_DIR": tmp_path / "out", "TRAIN_STEPS": 2} | values))
    assert not (tmp_path / "out").exists()


# --- Runs ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gin") / "model"
    values = TINY | {
        "MODEL_DIR": folder,
        "TRAIN_STEPS": 60,
        "PACK": False,
        "EVAL_PERIOD": 30,
        "train.log_period": 10,
        "create_learning_rate_scheduler.factors": "constant",
        "create_learning_rate_scheduler.base_learning_rate": 0.02,
        "BEST_METRIC": "sequence_accuracy",
    }
    return run_gin(FILES, bindings_of(values), card={"format_preset": "paper"})


def test_run_from_gin(trained):
    assert trained.metrics["sequence_accuracy"] > 0.6
    gin_text = (trained.latest / "config.gin").read_text()
    assert "TRAIN_STEPS = 60" in gin_text and gin_text == (trained.model_dir / "config.gin").read_text()
    card = json.loads((trained.latest / "model.json").read_text())
    assert card["format_preset"] == "paper"
    assert card["vocabulary"] == {"kind": "bytes", "pieces": 259, "extra_ids": 0}
    assert card["training"]["data"]["task"] == "first_word"
    assert trained.best is not None
    import gin

    assert gin.config_str().strip() == ""  # nothing is left behind


def test_command_line_packed_and_resumed(tmp_path, capsys):
    flags = [
        "--gin_file=models/t5_1_1_tiny.gin",
        "--gin_file=mine.gin",
        f"--gin_search_paths={tmp_path}",
        "--gin_bindings=PACK=True",
        *(f"--gin.{name}={value}" for name, value in TINY.items()),
    ]
    (tmp_path / "mine.gin").write_text("include 'runs/pretrain.gin'\ntrain.log_period = 1\nOPTIMIZER = @AdamW()\n")
    for folder, stops, more in (("whole", [4], []), ("parts", [2, 4], ["--gin.train.dev_data=None"])):
        for steps in stops:
            own = [f"--gin.MODEL_DIR={tmp_path / folder}", f"--gin.TRAIN_STEPS={steps}"]
            assert invoke(["train", *flags, *own, *more]) == 0
    whole, parts = (
        [(row["step"], row["loss"]) for row in read_train_log(tmp_path / name) if row["kind"] == "train"]
        for name in ("whole", "parts")
    )
    assert whole == parts and len(whole) == 4
    assert str(tmp_path / "parts" / "checkpoint_4") in capsys.readouterr().out


@pytest.mark.parametrize("mode", ["predict", "score"])
def test_infer(trained, tmp_path, mode):
    flags = _flags("infer", trained, tmp_path, **{"infer.mode": mode})
    assert invoke(["infer", *flags]) == 0
    rows = [json.loads(line) for line in (tmp_path / f"first_word-{mode}.jsonl").read_text().splitlines()]
    assert len(rows) == 11
    assert rows[1]["inputs"]["inputs_pretokenized"] == "no 1"
    if mode == "predict":
        right = sum(row["prediction"] == row["inputs"]["targets_pretokenized"] for row in rows)
        assert right / 11 > 0.6
    else:
        assert all(row["score"] < 0 for row in rows)
        shard = [*flags, "--gin.infer.shard_id=1", "--gin.infer.num_shards=3"]
        assert invoke(["infer", *shard]) == 0
        part = (tmp_path / "first_word-score.jsonl-00001-of-00003").read_text().splitlines()
        scores = [row["score"] for row in rows[1::3]]
        assert [json.loads(line)["score"] for line in part] == pytest.approx(scores, rel=1e-4)


def _flags(verb, trained, out, **values):
    return [
        "--gin_file=models/t5_1_1_tiny.gin",
        f"--gin_file=runs/{verb}.gin",
        f"--gin.CHECKPOINT_PATH={trained.model_dir}",
        f"--gin.{verb.upper()}_OUTPUT_DIR={out}",
        *(f"--gin.{name}={value}" for name, value in (TINY | values).items()),
    ]


def test_infer_with_beams_and_samples(trained, tmp_path):
    def rows(folder, **values):
        assert invoke(["infer", *_flags("infer", trained, tmp_path / folder, **values)]) == 0
        return [json.loads(line) for line in (tmp_path / folder / "first_word-predict.jsonl").read_text().splitlines()]

    for row in rows("beams", BEAM_SIZE=3):
        scores = [hypothesis["score"] for hypothesis in row["hypotheses"]]
        assert 1 <= len(scores) <= 3 and scores == sorted(scores, reverse=True)  # only hypotheses with EOS have a score
        assert row["prediction"] == row["hypotheses"][0]["prediction"]
    sampling = {"decoding.Decoding.temperature": 2.0, "decoding.Decoding.seed": 7}
    first = rows("first", **sampling)
    assert first == rows("again", **sampling, BATCH_SIZE=4)  # whatever stands beside an example in its batch
    assert first != rows("other", **sampling | {"decoding.Decoding.seed": 8})


@pytest.mark.slow
def test_infer_goes_on_after_kill_9_in_the_middle_of_a_file(trained, tmp_path, capsys):
    def flags(folder):
        return _flags("infer", trained, tmp_path / folder, SPLIT="many", **{"infer.mode": "score"})

    assert invoke(["infer", *flags("whole")]) == 0
    file = tmp_path / "cut" / "first_word-score.jsonl"
    gathering = file.with_name(f"{file.name}.partial")
    killed = subprocess.Popen(
        [sys.executable, "-P", "-m", "lisax", "infer", *flags("cut")],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(GIN_CONFIGS.parent), str(Path(__file__).parent)])},
    )
    while killed.poll() is None and not (gathering.is_file() and b"#group 0\n" in gathering.read_bytes()):
        time.sleep(0.001)
    killed.kill()
    assert killed.wait() == -signal.SIGKILL and not file.exists()
    gathering.write_bytes(gathering.read_bytes() + b'{"inputs": {"in')  # as a write that was cut leaves it
    capsys.readouterr()
    assert invoke(["infer", *flags("cut")]) == 0
    assert "resumes after" in capsys.readouterr().err
    assert file.read_bytes() == (tmp_path / "whole" / file.name).read_bytes()
    assert len(file.read_text().splitlines()) == 2000 and not gathering.exists()


def test_eval(trained, tmp_path, capsys):
    flags = [flag for flag in _flags("eval", trained, tmp_path) if "TASK_FEATURE_LENGTHS" not in flag]
    assert invoke(["eval", *flags]) == 0
    metrics = json.loads((tmp_path / "first_word-dev.json").read_text())["metrics"]
    assert metrics["exact"] > 0.6 and metrics["mean_score"] < 0
    assert metrics["sequence_accuracy"] == pytest.approx(trained.metrics["sequence_accuracy"])
    assert "exact\t" in capsys.readouterr().out


def test_another_architecture_of_the_same_shapes_is_refused(trained, tmp_path):
    changed = {"T5Config.mlp_activations": ("silu", "linear")}
    message = (
        r"T5Config.mlp_activations is \('silu', 'linear'\), and .*checkpoint_.0 was trained with \('gelu', 'linear'\)"
    )
    with pytest.raises(LisaxError, match=message):
        run_gin(FILES, bindings_of(TINY | {"MODEL_DIR": trained.model_dir, "TRAIN_STEPS": 61} | changed))
    with pytest.raises(LisaxError, match=message):
        invoke(["eval", *_flags("eval", trained, tmp_path / "eval", **changed)])
    with pytest.raises(LisaxError, match=message):
        invoke(["infer", *_flags("infer", trained, tmp_path / "infer", **changed)])
    free = {"ACTIVATION_DTYPE": "bfloat16", "DROPOUT_RATE": 0.3}
    assert invoke(["eval", *_flags("eval", trained, tmp_path / "eval", **free)]) == 0


def test_another_vocabulary_is_refused(tmp_path):
    import two_tasks

    values = TINY | {"MIXTURE_OR_TASK_MODULE": "two_tasks", "MIXTURE_OR_TASK_NAME": "mt5_words"}
    of_run = {"MODEL_DIR": tmp_path / "model", "train.dev_data": None, "PACK": False}
    trained = run_gin(FILES, bindings_of(values | of_run | {"TRAIN_STEPS": 1}))
    path = trained.latest / "model.json"
    card = json.loads(path.read_text())
    card["vocabulary"]["sha256"] = "0" * 64  # as if the file was trained again since
    path.write_text(json.dumps(card))
    file = re.escape(str(two_tasks.FOLDER / "mt5.model"))
    message = (
        f"checkpoint_1 was trained with another vocabulary than '{file}' of 'mt5_words': its own is .*spiece.model"
    )
    with pytest.raises(LisaxError, match=message):
        run_gin(FILES, bindings_of(values | of_run | {"TRAIN_STEPS": 2}))
    with pytest.raises(LisaxError, match=message):
        invoke(["eval", *_flags("eval", trained, tmp_path / "eval", **values)])
    with pytest.raises(LisaxError, match=message):
        invoke(["infer", *_flags("infer", trained, tmp_path / "infer", **values)])


def test_no_files():
    with pytest.raises(click.UsageError, match="gin files are needed: .*runs/finetune.gin"):
        invoke(["train"])
