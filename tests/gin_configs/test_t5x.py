"""gin_configs/t5x: what T5X would be called with is what our engine is called with.

Without T5X only gin's side is checked, against the stand-in beside this file; with T5X installed, it trains and scores.
"""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lisax.formats import presets
from lisax.formats.examples import Example, Passage, write_examples
from lisax.formats.ranking import RANK
from lisax.formats.vocabulary import train_vocabulary
from lisax.training.gin_files import GIN_CONFIGS, configured

ROOT = GIN_CONFIGS.parent
SEARCH_PATHS = f"{GIN_CONFIGS / 't5x'},{GIN_CONFIGS}"
LENGTHS = "{'inputs': 64, 'targets': 2}"


TRAIN = ["MODEL_DIR = 'out'", "INITIAL_CHECKPOINT_PATH = 'given'"]
INFER = [
    "CHECKPOINT_PATH = 'm'",
    "INFER_OUTPUT_DIR = 'out'",
    "MIXTURE_OR_TASK_NAME = 'list5_rank'",
    "MIXTURE_OR_TASK_MODULE = 'tasks'",
    f"TASK_FEATURE_LENGTHS = {LENGTHS}",
    "infer.mode = 'score'",
]
EVAL = [INFER[0], "EVAL_OUTPUT_DIR = 'out'", *INFER[2:4]]
# Every experiment there is, by its path.
ALL = {
    str(path.relative_to(GIN_CONFIGS)): ("train", [str(path.relative_to(GIN_CONFIGS))], TRAIN)
    for path in sorted(GIN_CONFIGS.glob("experiments/*/*.gin"))
}
PAPERS = ["experiments/list5/model_xl.gin", "experiments/deseption/pairs_base.gin"]
RANKER = ["LEARNING_RATE = 1e-4", "MIXTURE_OR_TASK_NAME = 'list5_rank'"]
RUNS = ALL | {
    "ranker": ("train", PAPERS[:1], [*TRAIN, *RANKER]),
    "schedule": (
        "train",
        PAPERS[:1],
        [*TRAIN, *RANKER, "train.summarize_config_fn = @create_learning_rate_scheduler()"],
    ),
    "infer": ("infer", ["models/t5_1_1_small.gin", "runs/infer.gin"], INFER),
    "eval": ("evaluate", ["models/t5_1_1_small.gin", "runs/eval.gin"], EVAL),
}


@pytest.fixture(scope="module")
def under_t5x():
    """What gin gives to T5X's script, for each of RUNS."""
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("t5x_stand_in.py"), SEARCH_PATHS, json.dumps(RUNS)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def same(theirs, ours, names):
    assert [theirs[name] for name in names] == [_as_json(getattr(ours, name)) for name in names]


def _as_json(value):
    return list(value) if isinstance(value, tuple) else value


ARCHITECTURE = (
    "vocab_size dtype emb_dim num_heads num_encoder_layers num_decoder_layers head_dim mlp_dim "
    "mlp_activations dropout_rate logits_via_embedding"
).split()
DATA = "mixture_or_task_name task_feature_lengths split batch_size shuffle use_cached pack module".split()


@pytest.mark.parametrize("name", [*PAPERS, "ranker"])
def test_an_experiment_trains_the_same_under_t5x(name, under_t5x):
    theirs = under_t5x[name]
    with configured(*RUNS[name]) as ours:
        same(theirs, ours, ("model_dir", "total_steps", "relative_steps", "eval_period", "random_seed"))
        model = theirs["model"]
        same(model["module"]["config"], ours.model, ARCHITECTURE)
        found = (model["z_loss"], model["label_smoothing"], model["loss_normalizing_factor"])
        assert found == (ours.loss.z_loss, ours.loss.label_smoothing, ours.loss.normalizing_factor)
        same(
            model["optimizer_def"], ours.optimizer, ("decay_rate", "clipping_threshold", "multiply_by_parameter_scale")
        )
        same(theirs["train_dataset_cfg"], ours.train_data, DATA)
        same(theirs["train_eval_dataset_cfg"], ours.dev_data, DATA)
        same(theirs["checkpoint_cfg"]["save"], ours.checkpoint.save, ("period", "keep"))
        same(theirs["checkpoint_cfg"]["restore"], ours.checkpoint.restore, ("path", "mode"))


def test_the_schedule_is_the_same(under_t5x):
    with configured(*RUNS["ranker"]) as ours:
        same(
            under_t5x["schedule"]["summarize_config_fn"],
            ours.trainer.learning_rate_fn,
            ("factors", "base_learning_rate"),
        )


@pytest.mark.parametrize(
    ("verb", "fields"), [("infer", ("mode", "output_dir", "shard_id", "num_shards")), ("eval", ("output_dir",))]
)
def test_inference_and_evaluation_are_the_same_under_t5x(verb, fields, under_t5x):
    theirs = under_t5x[verb]
    with configured(verb, *RUNS[verb][1:]) as ours:
        same(theirs, ours, fields)
        same(theirs["model"]["module"]["config"], ours.model, ARCHITECTURE)
        same(theirs["dataset_cfg"], ours.dataset, DATA)
        same(theirs["restore_checkpoint_cfg"], ours.restore, ("path", "mode"))
    assert theirs["restore_checkpoint_cfg"]["dtype"] == "float32"


def test_the_experiments_that_run_under_t5x_are_those_it_says(under_t5x):
    head = (GIN_CONFIGS / "t5x" / "runs" / "train.gin").read_text().partition("from __gin__")[0]
    said = {name for name in ALL if name in head.partition("# All others")[0]}
    runs = {name for name in ALL if "refused" not in under_t5x[name]}
    # What others include is no experiment.
    assert said == runs - {"experiments/udt_qa/questions_common_base.gin"} == set(PAPERS)


@pytest.fixture
def data(tmp_path):
    """A data folder with one small ranking task."""
    made = [
        Example(str(i), f"claim number {i}", (Passage(f"p_{i}", "Title", f"a text of {i}"),), label=bool(i % 2))
        for i in range(40)
    ]
    (tmp_path / "examples").mkdir()
    for split in ("train", "dev"):
        write_examples(tmp_path / "examples" / f"rank.{split}.jsonl", made)
    texts = [RANK.encode(example, preset=presets.get("paper"), count_tokens=len) for example in made]
    train_vocabulary([f"{text.inputs} true false weak" for text in texts], tmp_path / "spiece.model", 110)
    return tmp_path


def test_t5x_iterates_over_our_tasks_as_its_infer_does(data, monkeypatch):
    monkeypatch.setenv("LISAX_DATA", str(data))
    import seqio
    import tensorflow as tf

    import lisax.tasks  # noqa: F401

    lengths = {"inputs": 64, "targets": 2}
    rows = seqio.get_mixture_or_task("list5_rank").get_dataset(
        sequence_length=lengths,
        split="dev",
        shuffle=False,
        num_epochs=1,
        shard_info=seqio.ShardInfo(0, 1),
        use_cached=False,
        seed=0,
    )
    features = seqio.EncDecFeatureConverter(pack=False)(rows, task_feature_lengths=lengths)
    chunks = tf.data.Dataset.zip((rows, features)).padded_batch(25)
    assert [len(chunk["decoder_target_tokens"]) for _, chunk in chunks] == [25, 15]
    # Why runs/infer.gin says checkpoint_ds_iter = False.
    with pytest.raises(tf.errors.FailedPreconditionError, match="stateful"):
        tf.train.Checkpoint(ds=iter(chunks)).write(str(data / "iterator"))


@pytest.mark.skipif(importlib.util.find_spec("t5x") is None, reason="T5X is not installed")
def test_t5x_trains_and_its_checkpoint_scores_the_same_here(data):
    environment = os.environ | {"PYTHONPATH": str(ROOT), "LISAX_DATA": str(data), "JAX_PLATFORMS": "cpu"}
    task = {
        "MIXTURE_OR_TASK_MODULE": "'tasks'",
        "MIXTURE_OR_TASK_NAME": "'list5_rank'",
        "TASK_FEATURE_LENGTHS": LENGTHS,
        "BATCH_SIZE": "8",
    }

    def call(*command, run, **bindings):
        flags = [
            "--gin_file=models/t5_1_1_tiny.gin",
            f"--gin_file=runs/{run}.gin",
            *(f"--gin.{name}={value}" for name, value in (task | bindings).items()),
        ]
        done = subprocess.run(
            [sys.executable, "-m", *command, *flags], cwd=ROOT, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout

    def scores(path):
        return [json.loads(line)["score"] for line in Path(path).read_text().splitlines()]

    search = f"--gin_search_paths={SEARCH_PATHS}"
    call(
        "t5x.train",
        search,
        run="pretrain",
        MODEL_DIR=f"'{data / 'model'}'",
        TRAIN_STEPS="2",
        EVAL_PERIOD="2",
        EVAL_STEPS="1",
        PACK="False",
        **{"utils.SaveCheckpointConfig.period": "2"},
    )
    given = {"CHECKPOINT_PATH": f"'{data / 'model' / 'checkpoint_2'}'", "infer.mode": "'score'"}
    call("t5x.infer", search, run="infer", INFER_OUTPUT_DIR=f"'{data / 'theirs'}'", **given)
    printed = call("lisax", "infer", run="infer", INFER_OUTPUT_DIR=f"'{data / 'ours'}'", **given)
    theirs = scores(data / "theirs" / "list5_rank-score.jsonl-00000-of-00001")
    assert scores(printed.strip().splitlines()[-1]) == pytest.approx(theirs, abs=1e-4)
