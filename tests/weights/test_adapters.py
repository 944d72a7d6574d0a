"""Low-rank adapters through the engine, by gin: trained beside a published encoder, saved alone, used as the whole."""

import dataclasses
import gc
import json
import shutil

import jax
import numpy as np
import pytest
from checkpoint_files import assert_same, parameters_of

from lisax import cli
from lisax.errors import DataError, LisaxError
from lisax.formats.examples import write_examples
from lisax.planning.machines import devices_of
from lisax.planning.plan import plan
from lisax.predict.model import Model
from lisax.predict.sentence_encoder import SentenceEncoder
from lisax.records import Label
from lisax.scoring.backends import JAX
from lisax.training.gin_files import configured, run_gin
from lisax.weights import sharing
from lisax.weights.interop.opening import open_checkpoint
from lisax.weights.interop.pieces import shapes_of
from lisax.weights.model_folder import ModelFolder
from tests.training import test_pair_runs as pair_runs
from tests.training.test_pair_runs import FILES, bindings, examples

data, located = pair_runs.data, pair_runs.located  # fixtures

POOLER, HEAD = ({f"{layer}/{name}" for name in ("kernel", "bias")} for layer in ("pooler", "pair/classes"))
TWO_LINES = ["train.adapter = @lora.Lora()", "lora.Lora.rank = 4"]
NO_DEV = "train.dev_data = None"


def train(folder, data, *lines, **values):
    given = {"TRAIN_STEPS": 150, "LEARNING_RATE": 3e-3, "WARMUP_STEPS": 20, "EVAL_PERIOD": 150}
    given |= {"INITIAL_CHECKPOINT_PATH": str(data / "hf")} | values
    return run_gin(FILES, [*bindings(folder, **given), *TWO_LINES, *lines])


@pytest.fixture(scope="module")
def trained(data, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LISAX_DATA", str(data))
        patch.delenv("LISAX_VOCABULARY", raising=False)
        return train(tmp_path_factory.mktemp("adapter"), data)


def test_it_learns_and_the_backbone_stays(trained, data):
    assert trained.metrics["accuracy"] > 0.5  # a third by chance; the tokenizer is trained anew each time
    own, base = parameters_of(trained.model_dir), parameters_of(data / "hf")
    changed = {name for name in own.keys() & base.keys() if not np.array_equal(own[name], base[name])}
    assert len(changed) == 2 * 6 and all(name.endswith("/kernel") for name in changed)
    assert own.keys() - base.keys() == HEAD


def test_it_is_saved_alone(trained, data):
    saved = shapes_of(open_checkpoint(ModelFolder.find(trained.model_dir), alone=True).parameters)
    assert {name.rpartition("/")[2] for name in saved} == {"lora_a", "lora_b", "kernel", "bias"}
    assert saved["encoder/layers_1/mlp/wi/lora_a"] == (32, 4) and saved["encoder/layers_1/mlp/wi/lora_b"] == (4, 48)
    assert "token_embedder/embedding" not in saved
    described = ModelFolder.find(trained.model_dir).card["adapter"]
    assert (described["rank"], described["base"]) == (4, str(data / "hf")) and len(described["base_sha256"]) == 64


def test_what_is_read_computes_what_was_trained(trained, data):
    model = Model.open(trained.model_dir)
    assert model.vocabulary.path.name == "tokenizer.json"
    some = examples(1, 30)
    found = model.probabilities(some)
    right = [model.card["text"]["labels"][best] == example.label.value for best, example in zip(found.argmax(1), some)]
    assert sum(right) / len(right) > 0.5
    dev = trained.metrics["accuracy"]
    again = train(trained.model_dir, data)  # nothing is left to train
    assert again.metrics["accuracy"] == dev and again.step == 150


def test_stopped_and_continued_it_is_the_same(data, tmp_path):
    """With stacked layers and everything that is kept split over devices."""
    lines = ["EncoderConfig.scan_layers = True", "PjitPartitioner.parameter_partitioning_dims = 2"]
    whole = train(tmp_path / "whole", data, *lines, TRAIN_STEPS=4)
    train(tmp_path / "parts", data, *lines, NO_DEV, TRAIN_STEPS=2)
    parts = train(tmp_path / "parts", data, *lines, NO_DEV, TRAIN_STEPS=4)
    found = parameters_of(parts.model_dir)
    assert found.keys() == parameters_of(data / "hf").keys() - POOLER | HEAD
    assert_same(found, parameters_of(whole.model_dir))


def test_another_adapter_or_base_is_not_continued(trained, data, tmp_path):
    with pytest.raises(LisaxError, match="was begun with the adapter .*'alpha': 8.0.*'alpha': 4.0"):
        train(trained.model_dir, data, "lora.Lora.alpha = 4.0", TRAIN_STEPS=151)


def test_a_plan_counts_what_is_kept(data, tmp_path):
    lines = [*bindings(tmp_path, TRAIN_STEPS=1, INITIAL_CHECKPOINT_PATH=str(data / "hf")), *TWO_LINES]
    found = []
    for given in (lines, [line for line in lines if line not in TWO_LINES]):
        with configured("train", FILES, given) as config:
            found.append(plan(config, "train", devices_of("cpu-1")))
    adapter, whole = found
    assert adapter.fits and whole.parameters < adapter.parameters < whole.parameters + 10_000
    assert adapter.state < whole.state / 2  # no optimizer slots of what is kept
    assert adapter.costs.flops < 0.9 * whole.costs.flops  # and no gradients


def test_exported_whole_or_alone_it_scores_the_same(trained, tmp_path):
    some, expected = examples(1, 8), Model.open(trained.model_dir)
    for flags in ([], ["--adapter"]):
        out = tmp_path / f"bundle{len(flags)}"
        assert cli.main(["export", "--model", str(trained.model_dir), "--out", str(out), *flags]) == 0
        found = Model.open(out)
        np.testing.assert_allclose(found.probabilities(some), expected.probabilities(some), atol=1e-6)
    assert sorted(path.name for path in (tmp_path / "bundle1").iterdir()) == ["model.json", "model.safetensors"]
    assert "adapter" not in json.loads((tmp_path / "bundle0" / "model.json").read_text())
    sizes = [(tmp_path / f"bundle{i}" / "model.safetensors").stat().st_size for i in (0, 1)]
    assert sizes[1] < sizes[0] / 2


def test_another_training_starts_from_it(trained, data, tmp_path):
    values = {"INITIAL_CHECKPOINT_PATH": str(trained.model_dir), "TRAIN_STEPS": None, "TRAIN_STEPS_RELATIVE": 2}
    lines = ["EncoderConfig.scan_layers = True", "lora.Lora.rank = None"]  # it has the first one's rank
    on_top = train(tmp_path / "second", data, *lines, NO_DEV, **values, LEARNING_RATE=0.0)
    one = parameters_of(trained.model_dir)
    assert_same(parameters_of(on_top.model_dir), one, atol=1e-6)
    opened = [Model.open(run.model_dir, backend="onnx") for run in (trained, on_top)]
    np.testing.assert_allclose(*(model.probabilities(examples(1, 4)) for model in opened), atol=1e-6)
    described, first = ModelFolder.find(on_top.model_dir).card, ModelFolder.find(trained.model_dir).card
    assert described["adapter"] == first["adapter"]  # it is that adapter, further trained, and not one beside it
    assert described["training"]["first_step"] == first["step"]
    ranked_otherwise = train(tmp_path / "third", data, "lora.Lora.rank = 2", NO_DEV, **values, LEARNING_RATE=0.0)
    found = ModelFolder.find(ranked_otherwise.model_dir).card["adapter"]["base"]
    assert found == str(open_checkpoint(ModelFolder.find(trained.model_dir)).folder)
    assert_same(parameters_of(ranked_otherwise.model_dir), one, atol=1e-6)
    given = bindings(tmp_path / "full", **values, LEARNING_RATE=0.0)
    fully = run_gin(FILES, [*given, NO_DEV, "AdamW.weight_decay = 0.0"])  # without an adapter: all of it is trained
    assert_same(parameters_of(fully.model_dir), one, atol=1e-6)


def test_a_training_for_other_classes_takes_the_adapter_without_its_head(trained, data, tmp_path, capsys):
    for split in ("train", "dev"):
        judged = [dataclasses.replace(one, label=one.label is Label.SUPPORTS) for one in examples(2, 24)]
        write_examples(data / f"examples/rank.{split}.jsonl", judged)
    values = {"INITIAL_CHECKPOINT_PATH": str(trained.model_dir), "MIXTURE_OR_TASK_NAME": "list5_pair_rank", "LABELS": 2}
    values |= {"TRAIN_STEPS": None, "TRAIN_STEPS_RELATIVE": 2, "LEARNING_RATE": 0.0}
    ranker = train(tmp_path / "ranker", data, NO_DEV, **values)
    assert "has another head: this one begins fresh" in capsys.readouterr().err
    one, other = parameters_of(trained.model_dir), parameters_of(ranker.model_dir)
    assert (one["pair/classes/kernel"].shape[1], other["pair/classes/kernel"].shape[1]) == (3, 2)
    assert_same(*({name: part[name] for name in part.keys() - HEAD} for part in (one, other)), atol=1e-6)
    below = train(tmp_path / "below", data, NO_DEV, "lora.Lora.rank = 2", **values)
    assert "it stays as it is, below this one" in capsys.readouterr().err
    assert_same(
        *({name: part[name] for name in part.keys() - HEAD} for part in (one, parameters_of(below.model_dir))),
        atol=1e-6,
    )
    assert cli.main(["export", "--model", str(below.model_dir), "--out", str(tmp_path / "alone"), "--adapter"]) == 0
    assert Model.open(tmp_path / "alone").vocabulary.path == Model.open(trained.model_dir).vocabulary.path


@pytest.mark.parametrize(
    ("lines", "values", "told"),
    [
        (["lora.Lora.rank = 0"], {}, "Lora.rank"),
        (["lora.Lora.targets = '('"], {}, "not a regular expression"),
        (["lora.Lora.targets = 'nothing'"], {}, "matches no matrix of the backbone: nothing"),
        ([], {"INITIAL_CHECKPOINT_PATH": None}, "give that as INITIAL_CHECKPOINT_PATH"),
    ],
)
def test_what_cannot_be_trained_is_told(data, tmp_path, lines, values, told):
    with pytest.raises(LisaxError, match=told):
        train(tmp_path, data, *lines, **values)


def test_adapters_and_their_backbone_are_in_memory_once(trained, data, tmp_path):
    values = {"TRAIN_STEPS": 1, "LEARNING_RATE": 0.0}
    other = train(tmp_path / "other", data, "lora.Lora.targets = 'query'", NO_DEV, **values)
    models = [Model.open(folder, backend=JAX)._scorer for folder in (trained.model_dir, other.model_dir)]
    backbone = SentenceEncoder.open(data / "hf", backend=JAX).encoder
    parameters = (jax.tree.leaves(one._loop.parameters) for one in (*models, backbone))
    shared, of_other, alone = ({id(leaf) for leaf in leaves} for leaves in parameters)
    assert alone < shared and alone < of_other and len(shared & of_other) == len(alone) == len(backbone.leaves)
    assert len(shared - of_other) == 2 * 6 * 2 + 2 and len(of_other - shared) == 2 * 2 + 2


def test_what_nobody_uses_goes(trained, data):
    model = Model.open(trained.model_dir, backend=JAX)
    of_base = len(SentenceEncoder.open(data / "hf", backend=JAX).encoder.leaves)
    assert len(sharing._placed) == of_base
    del model
    gc.collect()
    assert not sharing._placed


@pytest.fixture(scope="module")
def bundle(trained, tmp_path_factory):
    folder = tmp_path_factory.mktemp("alone") / "bundle"
    assert cli.main(["export", "--model", str(trained.model_dir), "--out", str(folder), "--adapter"]) == 0
    return folder


@pytest.fixture
def alone(bundle, data, tmp_path):
    """The adapter as a bundle, and a copy of the encoder that it names."""
    shutil.copytree(data / "hf", tmp_path / "hf")
    shutil.copytree(bundle, tmp_path / "bundle")
    described(tmp_path / "bundle", base=str(tmp_path / "hf"))
    return tmp_path / "bundle"


def described(bundle, **fields):
    path = bundle / "model.json"
    card = json.loads(path.read_text())
    card["adapter"] |= fields
    path.write_text(json.dumps(card))


def flipped(alone):
    weights = alone.parent / "hf" / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)


@pytest.mark.parametrize(
    ("damaged", "told"),
    [
        (lambda alone: shutil.rmtree(alone.parent / "hf"), "model.json: field 'adapter.base': .*is missing: "),
        (flipped, "trained on weights with the sha256"),
        (lambda alone: described(alone, base=str(alone), base_sha256=None), "at most 8 adapters"),
        (lambda alone: described(alone, rank=3), "adapter.rank"),
        (lambda alone: described(alone, alpha="x"), "adapter.alpha"),
        (lambda alone: described(alone, base=3), "adapter.base"),
    ],
)
def test_what_is_wrong_with_an_adapter_or_its_base_is_told(alone, damaged, told):
    damaged(alone)
    with pytest.raises(DataError, match=told):
        parameters_of(alone)


def test_a_base_of_another_vocabulary_is_told(alone):
    tokenizer = alone.parent / "hf" / "tokenizer.json"
    tokenizer.write_text(tokenizer.read_text() + "\n")
    with pytest.raises(DataError, match="field 'vocabulary.sha256': is .*, and that of .*hf/tokenizer.json is "):
        Model.open(alone)
