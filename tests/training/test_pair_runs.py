"""Pair scorers through the engine, by gin: from an encoder's published folder to probabilities of claims."""

import dataclasses
import itertools
import json
from collections import Counter

import numpy as np
import pytest
import small_tokenizers
from checkpoint_files import in_memory, parameters_of

from lisax import cli
from lisax.devices.batching import padded
from lisax.errors import LisaxError
from lisax.formats.examples import Example, Passage, read_examples, write_examples
from lisax.formats.vocabulary import train_vocabulary
from lisax.models.architectures import EncoderConfig, PairConfig
from lisax.models.t5 import initialize
from lisax.planning.machines import devices_of
from lisax.planning.plan import plan
from lisax.planning.plan_search import Setting
from lisax.predict.model import Model
from lisax.records import Label
from lisax.training.data import DatasetConfig, train_source
from lisax.training.gin_files import bindings_of, configured, run_gin
from lisax.training.inference import evaluate, infer
from lisax.weights.checkpoints import add_fitted, flatten
from lisax.weights.interop.architecture import shapes_of_model
from lisax.weights.interop.huggingface import write_huggingface
from lisax.weights.model_folder import ModelFolder

LABELS = list(Label)
ENCODER = {
    "vocab_size": 220,
    "emb_dim": 32,
    "num_heads": 2,
    "num_encoder_layers": 2,
    "mlp_dim": 48,
    "max_positions": 40,
}
T5 = "models/t5_1_1_micro.gin"


def examples(seed, count):
    """Claims whose label shows in a word of the evidence, which is not always at the same place."""
    rng = np.random.default_rng(seed)
    found = []
    for i in range(count):
        label, (year, number) = LABELS[i % 3], rng.choice(np.arange(1901, 1960), 2, replace=False)
        words = {
            Label.SUPPORTS: f"The {number} harbour was opened.",
            Label.REFUTES: f"The harbour {number} was number 7.",
            Label.NOT_ENOUGH_INFO: f"Anna {number}, town of Anna.",
        }
        evidence = Passage(f"P_{i}", "Town", words[label])
        found.append(Example(str(i), f"The harbour was opened in {year}.", (evidence,), (), label))
    return found


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A data folder for LISAX_DATA, with the published folder of an encoder, `hf`, beside it."""
    folder = tmp_path_factory.mktemp("data")
    for split, count in (("train", 240), ("dev", 30)):
        write_examples(folder / f"examples/label_listwise.{split}.jsonl", examples(len(split), count))
    (folder / "hf").mkdir()
    write_huggingface(folder / "hf", in_memory(flatten(initialize(ENCODER_CONFIG, 3))), ENCODER_CONFIG)
    small_tokenizers.wordpiece(folder / "hf" / "tokenizer.json")
    (folder / "tokenizer.json").write_bytes((folder / "hf" / "tokenizer.json").read_bytes())
    return folder


ENCODER_CONFIG = EncoderConfig(**ENCODER, pooler=True)


@pytest.fixture(autouse=True)
def located(data, monkeypatch):
    monkeypatch.setenv("LISAX_DATA", str(data))
    monkeypatch.delenv("LISAX_VOCABULARY", raising=False)


def bindings(model_dir, **values):
    sizes = [f"EncoderConfig.{name} = {value}" for name, value in (ENCODER | {"separator_id": 3}).items()]
    given = {
        "MODEL_DIR": model_dir,
        "MIXTURE_OR_TASK_MODULE": "tasks",
        "MIXTURE_OR_TASK_NAME": "list5_pair_label_listwise",
        "TASK_FEATURE_LENGTHS": {"inputs": 32, "targets": 1},
        "INITIAL_CHECKPOINT_PATH": None,
        "BATCH_SIZE": 24,
        "EVAL_PERIOD": 1000,
        "DROPOUT_RATE": 0.0,
    } | values
    return sizes + bindings_of(given)


FILES = ["models/minilm.gin", "models/pair.gin", "runs/finetune_encoder.gin"]


@pytest.fixture(scope="module")
def trained(data, tmp_path_factory):
    model_dir = tmp_path_factory.mktemp("pair")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LISAX_DATA", str(data))
        patch.delenv("LISAX_VOCABULARY", raising=False)
        values = {"TRAIN_STEPS": 120, "LEARNING_RATE": 3e-3, "WARMUP_STEPS": 20, "EVAL_PERIOD": 120}
        values |= {"INITIAL_CHECKPOINT_PATH": str(data / "hf")}
        return run_gin(FILES, bindings(model_dir, **values))


def test_a_pupil_learns_what_its_teacher_reads(data, tmp_path, monkeypatch):
    """Labels that are all the same, and a teacher that is right; batches have rows of one bucket of lengths."""
    for split, count in (("train", 240), ("dev", 30)):
        made = examples(len(split), count)
        if split == "train":
            shares = [tuple(0.9 if label == one.label else 0.05 for label in LABELS) for one in made]
            made = [
                dataclasses.replace(one, label=LABELS[0], taught=taught)
                for one, taught in zip(made, shares, strict=True)
            ]
        write_examples(tmp_path / f"examples/label_listwise.{split}.jsonl", made)
    (tmp_path / "tokenizer.json").write_bytes((data / "tokenizer.json").read_bytes())
    monkeypatch.setenv("LISAX_DATA", str(tmp_path))
    values = {"TRAIN_STEPS": 120, "LEARNING_RATE": 3e-3, "WARMUP_STEPS": 20, "EVAL_PERIOD": 120}
    values |= {"INITIAL_CHECKPOINT_PATH": str(data / "hf"), "TASK_FEATURE_LENGTHS": {"inputs": 32, "targets": 4}}
    taught = {"losses.Loss.teacher": 1.0, "losses.Loss.temperature": 2.0, "train/utils.DatasetConfig.buckets": (24,)}
    result = run_gin(FILES, bindings(tmp_path / "pair", **values, **taught))
    assert result.metrics["accuracy"] > 0.9
    with pytest.raises(LisaxError, match="with losses.Loss.teacher the class and a probability of each; expected 1"):
        run_gin(FILES, bindings(tmp_path / "other", **values))


def test_a_batch_has_rows_of_one_bucket_of_lengths(data):
    config = DatasetConfig("list5_pair_label_listwise", {"inputs": 32, "targets": 1}, batch_size=8, module="tasks")
    bucketed = dataclasses.replace(config, buckets=(20, 24))

    def rows(batches):
        return Counter(row[row != 0].tobytes() for batch in batches for row in batch["encoder_input_tokens"])

    found = list(itertools.islice(train_source(bucketed)(0), 30))
    widths = Counter(batch["encoder_input_tokens"].shape[1] for batch in found)
    assert set(widths) <= {20, 24, 32} and len(widths) > 1
    for batch in found:
        tokens = batch["encoder_input_tokens"]
        lengths = (tokens != 0).sum(axis=1)
        shorter = max(bound for bound in (0, 20, 24) if bound < tokens.shape[1])
        assert len(tokens) == 8 and lengths.min() > shorter and lengths.max() <= tokens.shape[1]
    assert rows(found).keys() <= rows(itertools.islice(train_source(config)(0), 60)).keys()
    later = next(train_source(bucketed)(7))
    np.testing.assert_array_equal(later["encoder_input_tokens"], found[7]["encoder_input_tokens"])
    for wrong in ((24, 20), (32,), (0,)):
        with pytest.raises(LisaxError, match="ascending lengths below the 32 of the inputs"):
            train_source(dataclasses.replace(config, buckets=wrong))


def test_it_learns(trained):
    assert set(trained.metrics) == {"loss", "accuracy"} and trained.metrics["accuracy"] > 0.9
    card = ModelFolder.find(trained.model_dir).card
    assert card["architecture"]["kind"] == "pair" and card["architecture"]["backbone"]["kind"] == "encoder"
    assert card["text"]["labels"] == [label.value for label in LABELS] and card["text"]["family"] == "label_listwise"
    assert card["vocabulary"]["file"] == "tokenizer.json"


def test_its_probabilities_are_those_of_training(trained, data):
    model = Model.open(trained.model_dir)
    dev = list(read_examples(data / "examples/label_listwise.dev.jsonl"))
    found = model.probabilities(dev)
    assert found.shape == (30, 3) and found.dtype == np.float32
    np.testing.assert_allclose(found.sum(1), 1, atol=1e-5)
    right = [model.card["text"]["labels"][best] == example.label.value for best, example in zip(found.argmax(1), dev)]
    assert sum(right) / len(right) == pytest.approx(trained.metrics["accuracy"])
    assert model.probabilities([]).shape == (0, 3)


def test_eval_and_infer(trained, data, tmp_path):
    def given(**values):
        lines = bindings("", CHECKPOINT_PATH=str(trained.model_dir), **values | {"BATCH_SIZE": 16})
        return [line for line in lines if line.split(" =")[0] not in TRAINING]

    with configured("eval", [*FILES[:2], "runs/eval.gin"], given(EVAL_OUTPUT_DIR=str(tmp_path / "eval"))) as config:
        found = evaluate(config)
    assert found["accuracy"] == pytest.approx(trained.metrics["accuracy"]) == found["label_accuracy"]
    with configured("infer", [*FILES[:2], "runs/infer.gin"], given(INFER_OUTPUT_DIR=str(tmp_path / "infer"))) as config:
        lines = [json.loads(line) for line in infer(config).read_text().splitlines()]
    assert len(lines) == 30 and lines[0]["inputs"]["inputs_pretokenized"].startswith("The harbour was opened in 19")
    dev = list(read_examples(data / "examples/label_listwise.dev.jsonl"))
    expected = Model.open(trained.model_dir).probabilities(dev)
    np.testing.assert_allclose([[*line["prediction"].values()] for line in lines], expected, atol=1e-5)


TRAINING = {"MODEL_DIR", "INITIAL_CHECKPOINT_PATH", "EVAL_PERIOD"}


def test_it_begins_as_the_published_encoder(data, tmp_path, capfd):
    values = {"TRAIN_STEPS": 1, "LEARNING_RATE": 0.0, "INITIAL_CHECKPOINT_PATH": str(data / "hf")}
    lines = ["AdamW.weight_decay = 0.0", "EncoderConfig.scan_layers = True", "train.dev_data = None"]
    run_gin(FILES, [*bindings(tmp_path, **values), *lines])
    assert "has only the backbone: pair begins fresh" in capfd.readouterr().err
    own, theirs = parameters_of(tmp_path), parameters_of(data / "hf")
    assert theirs.keys() - own.keys() == {"pooler/kernel", "pooler/bias"}
    for name in own.keys() & theirs.keys():
        np.testing.assert_allclose(own[name], theirs[name], atol=1e-6, err_msg=name)


def test_on_a_t5(data, tmp_path, monkeypatch):
    train_vocabulary(small_tokenizers.TEXTS, tmp_path / "spiece.model", 200)
    monkeypatch.setenv("LISAX_VOCABULARY", str(tmp_path / "spiece.model"))
    values = {"TRAIN_STEPS": 2, "VOCAB_SIZE": 384, "EVAL_PERIOD": 2}
    given = [line for line in bindings(tmp_path / "pair", **values) if not line.startswith("EncoderConfig")]
    result = run_gin([T5, *FILES[1:]], given)
    assert np.isfinite(result.metrics["loss"])
    model = Model.open(tmp_path / "pair")
    assert model.probabilities(examples(0, 3)).shape == (3, 3)
    assert model.vocabulary.path.name == "spiece.model"


def test_export_keeps_the_tokenizer_and_writes_a_graph_for_onnxruntime(trained, data, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime", reason="needs onnxruntime")
    out = ["--out", str(tmp_path / "bundle"), "--format", "onnx"]
    assert cli.main(["export", "--model", str(trained.model_dir), *out]) == 0
    bundle = ["model.json", "model.safetensors", "scorer.json", "scorer.onnx", "tokenizer.json"]
    assert sorted(path.name for path in (tmp_path / "bundle").iterdir()) == bundle
    some, model = examples(1, 5), Model.open(trained.model_dir, backend="jax")
    expected = model.probabilities(some)
    np.testing.assert_allclose(Model.open(tmp_path / "bundle", backend="jax").probabilities(some), expected)
    pairs = (model.format.pair(example, preset=model.preset) for example in some)
    ids = [model.vocabulary.encode_pair(*pair, model.max_tokens).ids for pair in pairs]
    session = onnxruntime.InferenceSession(tmp_path / "bundle/scorer.onnx", providers=["CPUExecutionProvider"])
    (found,) = session.run(["probabilities"], {"tokens": padded(ids, len(ids), max(map(len, ids)))})
    np.testing.assert_allclose(found, expected, atol=1e-5)
    calibrated = {"temperature": 2.0, "biases": [0.1] * len(model.card["text"]["labels"])}
    add_fitted(tmp_path / "bundle", {"calibration": calibrated})
    again = ["export", "--model", str(tmp_path / "bundle"), "--out", str(tmp_path / "again"), "--format", "onnx"]
    assert cli.main(again) == 0
    assert json.loads((tmp_path / "again/scorer.json").read_text()).items() >= calibrated.items()


@pytest.mark.parametrize("program", ["train", "score"])
def test_a_plan(tmp_path, program):
    given = [*bindings(tmp_path, TRAIN_STEPS=1), "EncoderConfig.scan_layers = True"]
    with configured("train", FILES, given) as config:
        found = plan(config, program, devices_of("cpu-1"))
        assert found.fits and found.costs.flops > 0 and found.examples == 24
        assert "--gin.EncoderConfig.scan_layers=True" in Setting.of(config).bindings()


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"LABELS": 2}, "has the classes SUPPORTS, REFUTES, .*, and the model has 2: set LABELS=3"),
        ({"TASK_FEATURE_LENGTHS": {"inputs": 32, "targets": 2}}, "'targets' is the class, one number"),
        ({"TASK_FEATURE_LENGTHS": {"inputs": 64, "targets": 1}}, "texts of 64 tokens, and the model has 40 positions"),
        ({"PACK": True}, "pairs of texts cannot be packed"),
    ],
)
def test_what_does_not_fit_is_told(tmp_path, values, told):
    with pytest.raises(LisaxError, match=told):
        run_gin(FILES, bindings(tmp_path, TRAIN_STEPS=1, **values))


@pytest.mark.parametrize("name", ["minilm", "mpnet", "bert_base", "roberta_large"])
def test_models_of_gin_files(tmp_path, name):
    given = [line for line in bindings(tmp_path, TRAIN_STEPS=1) if not line.startswith("EncoderConfig")]
    with configured("train", [f"models/{name}.gin", *FILES[1:]], given) as config:
        assert type(config.model) is PairConfig and type(config.optimizer).__name__ == "AdamW"
    sizes = {"minilm": 22_565_376, "mpnet": 108_895_872, "bert_base": 108_891_648, "roberta_large": 354_310_144}
    parameters = sizes[name]
    assert sum(int(np.prod(shape)) for shape in shapes_of_model(config.model.backbone).values()) == parameters
