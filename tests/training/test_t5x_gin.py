"""Gin files in T5X's own dialect, with its imports and its names, run as T5X runs them."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
import sentencepiece
import seqio
from memory_task import config

from lisax.cli import invoke
from lisax.errors import LisaxError
from lisax.formats.vocabulary import train_vocabulary
from lisax.models.architectures import T5Config
from lisax.models.decoding import Decoding
from lisax.training.data import DatasetConfig, VocabularyFile, check_vocabulary
from lisax.training.gin_files import configured
from lisax.training.gin_text import STRING
from lisax.training.losses import Loss
from lisax.training.optimizers import Adafactor, AdamW
from lisax.training.t5x_names import as_static
from lisax.training.task_metrics import Evaluator
from lisax.training.train import train
from lisax.training.train_log import read_train_log

MODEL = """
from __gin__ import dynamic_registration
import seqio
from t5x import adafactor
from t5x import models as t5x_models
from t5x.examples.t5 import network

DROPOUT_RATE = 0.0
OPTIMIZER = @adafactor.Adafactor()
adafactor.Adafactor.logical_factor_rules = @adafactor.standard_logical_factor_rules()
VOCABULARY = @seqio.ByteVocabulary()
MODEL = @t5x_models.EncoderDecoderModel()
t5x_models.EncoderDecoderModel:
  module = @network.Transformer()
  optimizer_def = %OPTIMIZER
  input_vocabulary = %VOCABULARY
  output_vocabulary = %VOCABULARY
  z_loss = 0.01
  loss_normalizing_factor = 'AVERAGE_PER_SEQUENCE'
network.Transformer.config = @network.T5Config()
network.T5Config:
  vocab_size = 384
  emb_dim = 16
  num_heads = 2
  head_dim = 8
  mlp_dim = 32
  num_encoder_layers = 1
  num_decoder_layers = 1
  dropout_rate = %DROPOUT_RATE
"""
TASK = """
  mixture_or_task_name = 'first_word'
  task_feature_lengths = {'inputs': 12, 'targets': 6}
  batch_size = 8
  seed = None
  shuffle = False
  module = 'tiny_task'
"""
TRAIN = f"""
from __gin__ import dynamic_registration
import __main__ as script
import seqio
from t5x import gin_utils
from t5x import partitioning
from t5x import trainer
from t5x import utils

MODEL_DIR = %gin.REQUIRED
script.train:
  model = %MODEL
  model_dir = %MODEL_DIR
  train_dataset_cfg = @train/utils.DatasetConfig()
  train_eval_dataset_cfg = @train_eval/utils.DatasetConfig()
  infer_eval_dataset_cfg = @infer_eval/utils.DatasetConfig()
  inference_evaluator_cls = @seqio.Evaluator
  checkpoint_cfg = @utils.CheckpointConfig()
  partitioner = @partitioning.PjitPartitioner()
  trainer_cls = @trainer.Trainer
  total_steps = 6
  eval_period = 3
  stats_period = 2
  random_seed = None
  use_hardware_rng = True
  summarize_config_fn = @gin_utils.summarize_gin_config
seqio.Evaluator:
  logger_cls = [@seqio.PyLoggingLogger, @seqio.JSONLogger]
  num_examples = 5
seqio.JSONLogger.write_n_results = 2
partitioning.PjitPartitioner:
  model_parallel_submesh = (1, 1, 1, 1)
  logical_axis_rules = @partitioning.standard_logical_axis_rules()
train/utils.DatasetConfig:{TASK}  split = 'train'
train_eval/utils.DatasetConfig:{TASK}  split = 'dev'
infer_eval/utils.DatasetConfig:{TASK}  split = 'dev'
utils.CheckpointConfig:
  save = @utils.SaveCheckpointConfig()
  restore = None
utils.SaveCheckpointConfig:
  period = 3
  keep = None
trainer.Trainer:
  num_microbatches = 0
  learning_rate_fn = @utils.create_learning_rate_scheduler()
"""
THEIRS = Decoding(search="t5x", length_penalty=0.6)
USE = f"""
from __gin__ import dynamic_registration
import __main__ as used_script
from t5x import utils
CHECKPOINT_PATH = %gin.REQUIRED
OUT = %gin.REQUIRED
used_script.VERB:
  model = %MODEL
  dataset_cfg = @utils.DatasetConfig()
  restore_checkpoint_cfg = @utils.RestoreCheckpointConfig()
  output_dir = %OUT
utils.DatasetConfig:{TASK}  split = 'dev'
utils.RestoreCheckpointConfig:
  path = %CHECKPOINT_PATH
  dtype = 'bfloat16'
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dialect")
    (folder / "model.gin").write_text(MODEL)
    (folder / "train.gin").write_text(TRAIN)
    for verb in ("evaluate", "infer"):
        (folder / f"{verb}.gin").write_text(USE.replace("VERB", verb))
    return folder


def built(files, *bindings, run="train.gin", model="model.gin", verb="train"):
    with configured(verb, [model, run], ["MODEL_DIR = 'out'", *bindings], [str(files)]) as found:
        return found


def test_a_run_is_the_one_that_the_files_describe(files, capsys):
    run = built(files)
    assert isinstance(run.model, T5Config) and (run.model.emb_dim, run.model.dropout_rate) == (16, 0.0)
    assert run.loss == Loss(0.01, 0.0, "AVERAGE_PER_SEQUENCE") and run.optimizer == Adafactor()
    assert (run.total_steps, run.log_period, run.eval_period, run.random_seed) == (6, 2, 3, None)
    assert run.vocabulary == VocabularyFile(None) and run.use_hardware_rng and run.decoding == THEIRS
    assert (run.evaluator, run.infer_data.split, run.dev_data.split) == (Evaluator(5, 2), "dev", "dev")
    assert (run.checkpoint.save.period, run.checkpoint.save.keep, run.checkpoint.restore.path) == (3, None, None)
    assert run.partitioner.num_partitions == 1 and run.trainer.num_microbatches == 0
    assert (
        "these change nothing here: Adafactor.logical_factor_rules, train.summarize_config_fn."
        in capsys.readouterr().err
    )


def test_models_and_runs_of_either_combine(files):
    theirs = built(
        files, "TRAIN_STEPS = 5", "MIXTURE_OR_TASK_NAME = 'a'", "TASK_FEATURE_LENGTHS = {}", run="runs/pretrain.gin"
    )
    assert theirs.loss == Loss(0.01, 0.0, "AVERAGE_PER_SEQUENCE") and theirs.model.emb_dim == 16
    given = ["OPTIMIZER = @AdamW()", "LABEL_SMOOTHING = 0.1", "DROPOUT_RATE = 0.1"]
    ours = built(files, *given, model="models/t5_1_1_tiny.gin")
    assert ours.optimizer == AdamW() and ours.loss.label_smoothing == 0.1 and ours.total_steps == 6


@pytest.mark.parametrize(
    ("binding", "decoding"),
    [
        ("EncoderDecoderModel.predict_batch_with_aux.num_decodes = 4", dataclasses.replace(THEIRS, beam_size=4)),
        ("EncoderDecoderModel.decode_fn = @decoding.beam_search\nbeam_search.alpha = 1.0", Decoding(search="t5x")),
        (
            "EncoderDecoderModel.decode_fn = @decoding.temperature_sample\ntemperature_sample.topk = 7",
            Decoding(temperature=1.0, top_k=7),
        ),
    ],
)
def test_the_model_says_how_to_decode(files, binding, decoding):
    assert built(files, binding).decoding == decoding


@pytest.mark.parametrize(
    ("binding", "message"),
    [
        ("EncoderDecoderModel.feature_converter_cls = 3", "feature_converter_cls must be None, found 3: examples are"),
        ("EncoderDecoderModel.output_vocabulary = None", "input_vocabulary and output_vocabulary must be the same"),
        ("EncoderDecoderModel.loss_normalizing_factor = 'x'", "LOSS_NORMALIZING_FACTOR is 'x'"),
        ("EncoderDecoderModel.predict_batch_with_aux.num_decodes = 0", "num_decodes must be at least 1, found 0"),
        ("Adafactor.logical_factor_rules = {'embed': 1}", "logical_factor_rules must be 'standard' or None"),
        ("train.evaluator = @seqio.Evaluator()", "inference_evaluator_cls is T5X's name of train.evaluator: set one"),
    ],
)
def test_values_that_are_not_taken_are_errors(files, binding, message):
    with pytest.raises(LisaxError, match=message):
        built(files, binding)


def test_scalable_networks_have_a_bias_in_each_layer(files):
    text = MODEL.replace("t5x.examples.t5 ", "t5x.examples.scalable_t5 ")
    (files / "scalable.gin").write_text(
        f"{text}  scan_layers = True\n  remat_policy = 'minimal'\n  param_scan_axis = 1\n"
    )
    model = built(files, model="scalable.gin").model
    assert model.relative_bias_per_layer and model.scan_layers and model.remat == "minimal"


def test_what_a_network_leaves_open_is_as_in_t5x(files):
    """Its defaults are not those of our own `T5Config`, which our model files do not leave open."""
    for network in ("t5", "scalable_t5"):
        text = MODEL.replace("t5x.examples.t5 ", f"t5x.examples.{network} ").partition("  emb_dim")[0]
        (files / "open.gin").write_text(text)
        model = built(files, model="open.gin").model
        assert (model.emb_dim, model.num_heads, model.head_dim, model.mlp_dim) == (512, 8, 64, 2048)
        assert (model.num_encoder_layers, model.num_decoder_layers, model.mlp_activations) == (6, 6, ("relu",))
        assert model.dropout_rate == 0.1 and model.scan_layers == (network == "scalable_t5")
    assert T5Config().mlp_activations == ("gelu", "linear")


def test_imports_keep_their_lines_and_quoted_text_stays():
    text = "import t5x.utils as u  # ours\nimport json\nNAME = 'u.x'\nu.CheckpointConfig.save = @train/u.SaveCheckpointConfig()\n"
    read = "\nimport json\nNAME = 'u.x'\nutils.CheckpointConfig.save = @train/utils.SaveCheckpointConfig()\n"
    assert as_static(text, STRING) == read
    assert as_static("eval_script.evaluate:\n  model = 'evaluate'\n", STRING) == "eval:\n  model = 'evaluate'\n"
    assert as_static("evaluate_all = 1\nx.evaluated = 2", STRING) == "evaluate_all = 1\nx.evaluated = 2"


@pytest.fixture(scope="module")
def trained(files, tmp_path_factory):
    """(the folder of a model with scanned layers, its flags, the rows of its log's evaluations, which decode)"""
    folder = tmp_path_factory.mktemp("trained")
    flags = [f"--gin_search_paths={files}", "--gin_file=model.gin"]
    flags += ["--gin.T5Config.scan_layers=True", "--gin.EncoderDecoderModel.predict_batch_with_aux.num_decodes=2"]
    assert invoke(["train", *flags, "--gin_file=train.gin", f"--gin.MODEL_DIR={folder}"]) == 0
    rows = [row for row in read_train_log(folder) if row["kind"] == "dev"]
    assert [row["step"] for row in rows] == [3, 6]
    assert all({"exact", "mean_score", "loss"} <= row.keys() for row in rows)
    lines = [json.loads(x) for x in (folder / "inference_eval/first_word-000006.jsonl").read_text().splitlines()]
    assert len(lines) == 2 and lines[0].keys() == {"inputs", "target", "prediction", "hypotheses", "score"}
    assert lines[1]["inputs"]["inputs_pretokenized"] == "no 1" and lines[1]["target"] == "no"
    return folder, flags, rows


def test_training_evaluates_by_decoding_and_the_verbs_use_the_model(trained, tmp_path, capsys):
    folder, flags, rows = trained
    used = [f"--gin.CHECKPOINT_PATH={folder}", f"--gin.OUT={tmp_path / 'used'}"]
    assert invoke(["eval", *flags, "--gin_file=evaluate.gin", *used]) == 0
    metrics = json.loads((tmp_path / "used/first_word-dev.json").read_text())["metrics"]
    assert {"exact", "mean_score", "loss"} <= metrics.keys()
    assert metrics["loss"] == pytest.approx(rows[-1]["loss"], rel=1e-2)  # parameters are rounded
    assert metrics["loss"] != rows[-1]["loss"]
    assert invoke(["infer", *flags, "--gin_file=infer.gin", *used]) == 0
    lines = Path(capsys.readouterr().out.splitlines()[-1]).read_text().splitlines()
    assert len(lines) == 11 and len(json.loads(lines[0])["hypotheses"]) in (1, 2)
    fresh = [*used, "--gin.RestoreCheckpointConfig.fallback_to_scratch=True"]
    with pytest.raises(LisaxError, match="fallback_to_scratch is for training"):
        invoke(["infer", *flags, "--gin_file=infer.gin", *fresh])


def test_evaluation_of_some_examples_writes_some(trained, tmp_path):
    folder, flags, _ = trained
    ours = [
        *"--gin_file=runs/eval.gin --gin.MIXTURE_OR_TASK_NAME=first_word --gin.MIXTURE_OR_TASK_MODULE=tiny_task".split(),
        *(f"--gin.CHECKPOINT_PATH={folder}", f"--gin.EVAL_OUTPUT_DIR={tmp_path / 'used'}"),
        *"--gin.EVALUATOR_NUM_EXAMPLES=4 --gin.JSON_WRITE_N_RESULTS=None".split(),
    ]
    assert invoke(["eval", *flags, *ours]) == 0
    assert len((tmp_path / "used/first_word-dev.jsonl").read_text().splitlines()) == 4


@pytest.mark.slow
def test_dropout_by_xlas_generator_is_another_and_resumes(tmp_path):
    def losses(folder, *steps, **fields):
        for step in steps:
            train(config(tmp_path / folder, step, **fields))
        return [row["loss"] for row in read_train_log(tmp_path / folder) if row["kind"] == "train"]

    whole = losses("whole", 6, use_hardware_rng=True)
    assert losses("parts", 3, 6, use_hardware_rng=True) == whole != losses("plain", 6)


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    """A task with a SentencePiece vocabulary of its own, and the file of it."""
    path = tmp_path_factory.mktemp("pieces") / "spiece.model"
    train_vocabulary([f"claim number {i} is true or false" for i in range(50)], path, 80)
    feature = seqio.Feature(seqio.SentencePieceVocabulary(str(path), extra_ids=10))
    seqio.TaskRegistry.add(
        "pieces_of_its_own",
        source=seqio.FunctionDataSource(lambda split, shuffle_files, seed=None: None, splits=["train"]),
        preprocessors=[],
        output_features={"inputs": feature, "targets": feature},
    )
    yield DatasetConfig("pieces_of_its_own", None), path
    seqio.TaskRegistry.remove("pieces_of_its_own")


def test_a_models_vocabulary_is_that_of_the_task(task, tmp_path):
    dataset, path = task
    copied, other = tmp_path / "copied.model", tmp_path / "other.model"
    copied.write_bytes(path.read_bytes())
    train_vocabulary([f"quite another {i} text" for i in range(50)], other, 60)
    for wanted in (None, VocabularyFile(str(path), 10), VocabularyFile(str(copied), 10)):
        check_vocabulary(dataset, wanted)
    assert sentencepiece.SentencePieceProcessor(model_file=str(other)).get_piece_size() == 60
    for wanted in (VocabularyFile(str(other), 10), VocabularyFile(None), VocabularyFile(str(copied), 5)):
        with pytest.raises(LisaxError, match="'pieces_of_its_own' has '.*spiece.model': they must be the same"):
            check_vocabulary(dataset, wanted)
    with pytest.raises(LisaxError, match=r"nowhere.model' cannot be read: .*VOCABULARY=None takes the task's"):
        check_vocabulary(dataset, VocabularyFile(str(tmp_path / "nowhere.model")))


def test_longer_features_are_an_error_where_they_are_not_cut():
    from lisax.training.data import train_source

    dataset = DatasetConfig("first_word", {"inputs": 4, "targets": 6}, batch_size=2, module="tiny_task")
    assert next(train_source(dataset)(0))["encoder_input_tokens"].shape == (2, 4)
    whole = DatasetConfig(**{**vars(dataset), "trim_output_features": False})
    with pytest.raises(Exception, match=r"(?i)must be|exceed|shape|length"):
        np.asarray(next(train_source(whole)(0))["encoder_input_tokens"])
