"""Exported models, each read again in a fresh process and compared with the checkpoint they came from.

All is float32 of the same mathematics; products are summed in another order at most, hence 1e-5 on probabilities.
"""

import dataclasses
import functools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest

import lisax
from lisax import cli
from lisax.errors import DataError, LisaxError
from lisax.formats import presets
from lisax.formats.examples import Example, Passage
from lisax.formats.ranking import RANK
from lisax.formats.tables import TABLE_FUSION
from lisax.formats.vocabulary import train_vocabulary
from lisax.models.architectures import FusionConfig, T5Config, describe
from lisax.models.t5 import Transformer, initialize
from lisax.predict.model import Model
from lisax.records import Table
from lisax.scoring.fusion import FusionScorer
from lisax.training import export
from lisax.weights import safetensors_file
from lisax.weights.checkpoints import CheckpointWriter, SaveCheckpointConfig, nested
from lisax.weights.interop.kinds import SAFETENSORS
from lisax.weights.model_folder import ModelFolder
from lisax.weights.train_state import TrainState

MODEL = T5Config(
    vocab_size=384, emb_dim=16, num_heads=2, num_encoder_layers=2, num_decoder_layers=2, head_dim=8, mlp_dim=32
)
TEXTS = [f"Mara Velin wrote {n} books in Tarn, true or false." for n in ("two", "three", "ten")]
QUERY, SENTENCES = "Who wrote in Tarn?", ["Mara Velin wrote three books.", "Tarn lies far away and is old and small."]
TABLE = Table("t", "Books", ("writer", "books"), (("Mara Velin", "three"),))
ATOL = 1e-5


def save_checkpoint(
    model_dir: Path, vocabulary: Path, *, model: T5Config | FusionConfig = MODEL, text: dict | None = None
) -> Path:
    card = {"architecture": describe(model)} | (RANK.card(presets.PAPER, 64) if text is None else text)
    files = {"spiece.model": vocabulary.read_bytes()}
    with CheckpointWriter(model_dir, SaveCheckpointConfig(), card, files) as writer:
        return writer.save(TrainState(jnp.int32(0), initialize(model, 1), {}), {})


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory):
    return train_vocabulary(TEXTS, tmp_path_factory.mktemp("vocabulary") / "spiece.model", 120).path


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory, vocabulary):
    return save_checkpoint(tmp_path_factory.mktemp("checkpoint"), vocabulary)


@pytest.fixture(scope="module")
def exported(tmp_path_factory, checkpoint):
    out = tmp_path_factory.mktemp("export") / "bundle"
    assert (
        cli.main(
            [
                "export",
                "--model",
                str(checkpoint),
                "--out",
                str(out),
                "--format",
                "stablehlo",
                "--format",
                "savedmodel",
                "--format",
                "onnx",
            ]
        )
        == 0
    )
    return out


def examples() -> list[Example]:
    return [Example(str(i), QUERY, (Passage(str(i), "", text),)) for i, text in enumerate(SENTENCES)]


def relevance(path) -> list[float]:
    """The relevance of each sentence, in order."""
    return Model.open(path).probabilities(examples())[:, 0].tolist()


@pytest.fixture(scope="module")
def expected(checkpoint):
    """Relevance of each sentence by the checkpoint itself, in order."""
    return relevance(checkpoint)


def tokens_of(checkpoint) -> np.ndarray:
    """The inputs as the format makes them, int32 [2, length]."""
    model = Model.open(checkpoint)
    given = []
    model._scorer.probabilities = lambda tokens, progress: given.extend(tokens) or np.zeros((len(tokens), 2))
    model.probabilities(examples())
    width = max(map(len, given))
    return np.array([[*ids, *[0] * (width - len(ids))] for ids in given], np.int32)


def fresh_process(code: str, *arguments) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_no_file_names_a_place_of_the_machine_that_exported(exported):
    places = [
        str(Path(lisax.__file__).parents[1]).encode(),
        str(Path(jax.__file__).parents[1]).encode(),
        b"site-packages",
    ]
    for folder in (exported, lisax.example_model()):
        for file in filter(Path.is_file, Path(folder).rglob("*")):
            content = file.read_bytes()
            assert not [place for place in places if place in content], file


def test_stablehlo_is_read_by_jax_export(exported, expected, checkpoint, tmp_path):
    np.save(tmp_path / "tokens.npy", tokens_of(checkpoint))
    logits = json.loads(
        fresh_process(
            """
import sys, json, numpy as np
from jax import export
from safetensors.numpy import load_file

folder, tokens = sys.argv[1], np.load(sys.argv[2])
scorer = export.deserialize(open(f"{folder}/scorer.jax_export", "rb").read())
assert scorer.platforms == ("cpu", "cuda", "tpu"), scorer.platforms
print(json.dumps(scorer.call(load_file(f"{folder}/model.safetensors"), tokens)[0].tolist()))
""",
            exported,
            tmp_path / "tokens.npy",
        )
    )
    odds = np.exp(logits)
    np.testing.assert_allclose((odds / odds.sum(1, keepdims=True))[:, 0], expected, atol=ATOL)


def test_tensorflow_runs_the_saved_model_without_jax(exported, expected, checkpoint, tmp_path):
    np.save(tmp_path / "tokens.npy", tokens_of(checkpoint))
    found = json.loads(
        fresh_process(
            """
import sys, json, numpy as np
sys.modules["jax"] = None  # importing it would fail
import tensorflow as tf

score = tf.saved_model.load(sys.argv[1]).signatures["serving_default"]
tokens = np.load(sys.argv[2])
every = [score(tokens=tf.constant(tokens))["probabilities"].numpy().tolist()]
every.append([score(tokens=tf.constant(row[None]))["probabilities"].numpy()[0].tolist() for row in tokens])
print(json.dumps(every))
""",
            exported / export.SAVED_MODEL_NAME,
            tmp_path / "tokens.npy",
        ).splitlines()[-1]
    )
    for probabilities in found:
        np.testing.assert_allclose(np.array(probabilities)[:, 0], expected, atol=ATOL)


def test_onnxruntime_runs_the_exported_graph(exported, expected, checkpoint, tmp_path):
    np.save(tmp_path / "tokens.npy", tokens_of(checkpoint))
    logits = json.loads(
        fresh_process(
            """
import sys, json, numpy as np
import onnxruntime

session = onnxruntime.InferenceSession(f"{sys.argv[1]}/scorer.onnx", providers=["CPUExecutionProvider"])
print(json.dumps(session.run(None, {"tokens": np.load(sys.argv[2])})[0].tolist()))
""",
            exported,
            tmp_path / "tokens.npy",
        )
    )
    odds = np.exp(logits)
    np.testing.assert_allclose((odds / odds.sum(1, keepdims=True))[:, 0], expected, atol=ATOL)


def test_the_program_is_the_model_at_any_length(exported):
    """Beyond the farthest distance that has a bias of its own, and with one token."""
    scorer = jax.export.deserialize((exported / export.EXPORTED_NAME).read_bytes())
    parameters = safetensors_file.read(exported / SAFETENSORS)
    pieces = [Model.open(exported).vocabulary.piece_id(word) for word in RANK.words(presets.PAPER)]
    score, rng = jax.jit(scorer.call), np.random.default_rng(0)
    model = jax.jit(functools.partial(Transformer(MODEL).apply, method="first_step_logits"))
    for shape in ((1, 1), (3, 40), (2, 300)):
        tokens = rng.integers(2, 380, shape).astype(np.int32)
        wanted = model({"params": nested(parameters)}, tokens, jnp.array(pieces))
        np.testing.assert_allclose(score(parameters, tokens)[0], wanted, atol=ATOL)


@pytest.mark.parametrize("objective, heads", [("joint", 2), pytest.param("ternary", 0, marks=pytest.mark.slow)])
def test_the_programs_of_table_fusion(vocabulary, tmp_path, objective, heads):
    checkpoint = save_checkpoint(
        tmp_path / "model",
        vocabulary,
        model=FusionConfig(MODEL, objective, heads),
        text=TABLE_FUSION.card(presets.PAPER, 48, 3),
    )
    folder = export.export(ModelFolder.find(checkpoint), tmp_path / "bundle", ["savedmodel"])
    tokens = np.random.default_rng(0).integers(2, 380, (2, 3, 11)).astype(np.int32)
    np.save(tmp_path / "tokens.npy", tokens)
    of_tensorflow = json.loads(
        fresh_process(
            """
import sys, json, numpy as np
sys.modules["jax"] = None  # importing it would fail
import tensorflow as tf

score = tf.saved_model.load(sys.argv[1]).signatures["serving_default"]
print(json.dumps({name: x.numpy().tolist() for name, x in score(tokens=tf.constant(np.load(sys.argv[2]))).items()}))
""",
            folder / export.SAVED_MODEL_NAME,
            tmp_path / "tokens.npy",
        ).splitlines()[-1]
    )
    ours = FusionScorer.open(ModelFolder.find(checkpoint), texts=3, max_tokens=11).probabilities(tokens.tolist())
    for name, wanted in ours._asdict().items():
        np.testing.assert_allclose(np.reshape(of_tensorflow[name], wanted.shape), wanted, atol=ATOL)


def test_what_does_not_belong_together_is_told(exported, vocabulary, tmp_path):
    folder = shutil.copytree(exported, tmp_path / "bundle", ignore=shutil.ignore_patterns("saved_model"))
    whole = (folder / SAFETENSORS).read_bytes()
    for damaged in (b"", whole[:5], whole[:300], whole[:-4], whole + b"more"):
        (folder / SAFETENSORS).write_bytes(damaged)
        with pytest.raises(DataError, match="model.safetensors: not a whole safetensors file"):
            Model.open(folder)
    other = save_checkpoint(tmp_path / "other", vocabulary, model=dataclasses.replace(MODEL, num_encoder_layers=1))
    shutil.copyfile(export.export(ModelFolder.find(other), tmp_path / "small") / SAFETENSORS, folder / SAFETENSORS)
    with pytest.raises(LisaxError, match="missing encoder/layers_1/"):
        Model.open(folder)
    (folder / SAFETENSORS).write_bytes(whole)


def test_without_a_text_format_there_is_no_program(vocabulary, tmp_path, capsys):
    checkpoint = save_checkpoint(tmp_path / "model", vocabulary, text={})
    out = ["export", "--model", str(checkpoint), "--out"]
    assert cli.main([*out, str(tmp_path / "a"), "--format", "stablehlo"]) == 1
    assert "label words" in capsys.readouterr().err and not (tmp_path / "a").exists()
    assert cli.main([*out, str(tmp_path / "b")]) == 0
    assert sorted(path.name for path in (tmp_path / "b").iterdir()) == [
        "model.json",
        "model.safetensors",
        "spiece.model",
    ]
    with pytest.raises(LisaxError, match="no export format is named 'tflite'"):
        export.export(ModelFolder.find(checkpoint), tmp_path / "c", ["tflite"])
