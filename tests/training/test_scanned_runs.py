"""A model trained with its layers scanned, from gin to a bundle, to T5X and Hugging Face and back: the same scores."""

from __future__ import annotations

import shutil

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from checkpoint_files import assert_same, parameters_of
from memory_task import MODEL, config

from lisax import cli
from lisax.formats import presets
from lisax.formats.examples import Example, Passage, write_examples
from lisax.formats.ranking import RANK
from lisax.formats.vocabulary import train_vocabulary
from lisax.models.architectures import DualEncoderConfig, PointerConfig, SpanReaderConfig, T5Config, describe
from lisax.models.stacking import unstack
from lisax.models.t5 import initialize
from lisax.predict.model import Model
from lisax.training.optimizers import Adafactor
from lisax.training.train import train
from lisax.training.train_log import read_train_log
from lisax.weights.checkpoints import (
    CheckpointConfig,
    CheckpointWriter,
    RestoreCheckpointConfig,
    SaveCheckpointConfig,
    TrainState,
    flatten,
)
from lisax.weights.interop.convert import opened
from lisax.weights.interop.pieces import shapes_of
from lisax.weights.model_folder import ModelFolder
from lisax.weights.restore import load_parameters

LENGTHS = "{'inputs': 64, 'targets': 2}"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A data folder with one small ranking task."""
    folder = tmp_path_factory.mktemp("data")
    made = [
        Example(str(i), f"claim number {i}", (Passage(f"p_{i}", "Title", f"a text of {i}"),), label=bool(i % 2))
        for i in range(16)
    ]
    (folder / "examples").mkdir()
    for split in ("train", "dev"):
        write_examples(folder / "examples" / f"rank.{split}.jsonl", made)
    texts = [RANK.encode(example, preset=presets.get("paper"), count_tokens=len) for example in made]
    train_vocabulary([f"{text.inputs} true false weak" for text in texts], folder / "spiece.model", 110)
    return folder


@pytest.fixture(
    scope="module",
    params=[pytest.param(False, id="bias_shared"), pytest.param(True, id="bias_per_layer", marks=pytest.mark.slow)],
)
def run(request, data, tmp_path_factory):
    """(a function that calls a verb on the task, MODEL_DIR of a model that was trained)."""
    own = [
        *"--gin.T5Config.num_encoder_layers=2 --gin.T5Config.num_decoder_layers=2 --gin.VOCAB_SIZE=384".split(),
        *"--gin.MIXTURE_OR_TASK_MODULE=tasks --gin.MIXTURE_OR_TASK_NAME=list5_rank --gin.BATCH_SIZE=8".split(),
        f"--gin.T5Config.relative_bias_per_layer={request.param}",
        f"--gin.TASK_FEATURE_LENGTHS={LENGTHS}",
    ]
    folder = tmp_path_factory.mktemp("run")

    def call(verb, file, *bindings):
        return cli.main(
            [
                verb,
                "--gin_file=models/t5_1_1_tiny.gin",
                f"--gin_file=runs/{file}.gin",
                *own,
                *(f"--gin.{binding}" for binding in bindings),
            ]
        )

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LISAX_DATA", str(data))
        settings = ("TRAIN_STEPS=2", "PACK=False", "EVAL_PERIOD=2", "T5Config.scan_layers=True")
        assert call("train", "pretrain", f"MODEL_DIR={folder / 'model'}", *settings) == 0
        yield call, folder / "model"


def scores(call, checkpoint, out):
    assert call("infer", "infer", f"CHECKPOINT_PATH={checkpoint}", "infer.mode=score", f"INFER_OUTPUT_DIR={out}") == 0
    return (out / "list5_rank-score.jsonl").read_bytes()


@pytest.mark.slow
def test_scores_are_the_same_wherever_it_goes(run, tmp_path, capsys):
    call, model = run
    assert "encoder/encoder/mlp/wo/kernel" not in parameters_of(model)
    expected = scores(call, model, tmp_path / "own")
    unstacked = unstack(load_parameters(ModelFolder.find(model)))
    scans = {"t5x-native": True, "t5x-orbax": False}  # layers of training that starts there, with its optimizer
    for kind in ("t5x-native", "t5x-orbax", "huggingface"):
        there, back = tmp_path / kind, tmp_path / f"{kind}_back"
        assert cli.main(["checkpoint", "export", str(model), "--out", str(there), "--format", kind]) == 0
        if kind == "huggingface":  # training starts from the others below
            assert scores(call, there, tmp_path / f"{kind}_scores") == expected
        beside = next(model.glob("checkpoint_*")) / "spiece.model"
        assert cli.main(["checkpoint", "import", str(there), "--out", str(back), "--vocabulary", str(beside)]) == 0
        assert_same(parameters_of(back), unstacked)
        if kind in scans:
            capsys.readouterr()
            start = f"MODEL_DIR={there}_trained", f"INITIAL_CHECKPOINT_PATH={there}", "TRAIN_STEPS=3"
            form = "RestoreCheckpointConfig.restore_optimizer=True", f"T5Config.scan_layers={scans[kind]}"
            assert call("train", "finetune", *start, *form, "train.dev_data=None") == 0
            assert "with its optimizer state" in capsys.readouterr().err


def relevance(path) -> list[float]:
    texts = ("red fish", "blue", "a green fish in a red house")
    given = [Example(str(i), "red", (Passage(str(i), "", text),)) for i, text in enumerate(texts)]
    return Model.open(path).probabilities(given)[:, 0].tolist()


def test_the_bundle_scores_the_same(run, tmp_path):
    _, model = run
    expected = relevance(model)
    assert cli.main(["export", "--model", str(model), "--out", str(tmp_path / "bundle")]) == 0
    assert ModelFolder.find(tmp_path / "bundle").card["architecture"]["scan_layers"] is False
    np.testing.assert_allclose(relevance(tmp_path / "bundle"), expected, atol=1e-5)


def test_training_goes_on_in_the_folder_of_a_run_without_model_json(tmp_path, capfd):
    """As T5X leaves it. The architecture is that of the configuration, and then stands beside the checkpoint."""
    fields = {"model": MODEL.replaced(relative_bias_per_layer=True, scan_layers=True), "dev_data": None}
    train(config(tmp_path / "theirs", 3, **fields))
    checkpoint = tmp_path / "theirs" / "checkpoint_3"
    for path in checkpoint.iterdir():
        if path.name != "state":
            path.unlink()
    assert train(config(tmp_path / "theirs", 4, **fields)).step == 4
    assert "has no model.json, as T5X leaves it" in capfd.readouterr().err
    assert ModelFolder.find(checkpoint).card["step"] == 3
    assert ModelFolder.find(checkpoint).card["training"].items() >= {"first_step": 3, "slots_first_step": 0}.items()
    assert load_parameters(ModelFolder.find(checkpoint)).keys() == {"token_embedder", "encoder", "decoder"}
    with pytest.raises(Exception, match="are not those of the model"):
        shutil.rmtree(tmp_path / "theirs" / "checkpoint_4")
        (checkpoint / "model.json").unlink()
        train(config(tmp_path / "theirs", 4, model=MODEL.replaced(mlp_dim=64)))


def test_layers_with_a_bias_each_start_from_a_model_that_shares_it(tmp_path, capfd):
    model = MODEL.replaced(dropout_rate=0.0, num_encoder_layers=2)
    train(config(tmp_path / "shared", 2, model=model, dev_data=None))
    restore = RestoreCheckpointConfig(path=str(tmp_path / "shared"), restore_optimizer=True)
    train(
        config(
            tmp_path / "own",
            3,
            model=model.replaced(relative_bias_per_layer=True, scan_layers=True),
            checkpoint=CheckpointConfig(restore=restore),
            dev_data=None,
        )
    )
    assert "with its optimizer state" in capfd.readouterr().err
    train(config(tmp_path / "going", 3, model=model, checkpoint=CheckpointConfig(restore=restore), dev_data=None))
    first = [
        next(row["loss"] for row in read_train_log(tmp_path / name) if row["kind"] == "train")
        for name in ("own", "going")
    ]
    assert first[0] == pytest.approx(first[1], rel=1e-5)


T5 = T5Config(
    vocab_size=24, emb_dim=16, num_heads=2, num_encoder_layers=3, num_decoder_layers=2, head_dim=8, mlp_dim=32
)


# A reader has a T5's own parameters, and fusion a head beside an encoder, as the pointer has.
@pytest.mark.parametrize(
    "model", [PointerConfig(T5), DualEncoderConfig(T5), SpanReaderConfig(T5, 2)], ids=lambda one: type(one).__name__
)
def test_models_built_on_a_t5_come_out_too(tmp_path, model):
    scanned = model.replaced(scan_layers=True)
    parameters, optimizer = initialize(scanned, 1), Adafactor()
    with CheckpointWriter(tmp_path, SaveCheckpointConfig(), {"architecture": describe(scanned)}, {}) as writer:
        writer.save(TrainState(jnp.int32(0), parameters, optimizer.init(parameters)), {})
    checkpoint, architecture = opened(ModelFolder.find(tmp_path))
    assert architecture == model and checkpoint.scanned
    expected = jax.eval_shape(optimizer.init, unstack(parameters))
    assert shapes_of(checkpoint.slots) == {name: leaf.shape for name, leaf in flatten(expected).items()}
    assert_same(dict(checkpoint.read(checkpoint.parameters)), unstack(parameters))
