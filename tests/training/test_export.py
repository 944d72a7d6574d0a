"""Exported models, each read again in a fresh process and compared with the checkpoint they came from.

All is float32 of the same mathematics; products are summed in another order at most, hence 1e-5 on probabilities.
"""

import ast
import dataclasses
import functools
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest
from small_bundles import bundle

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
from lisax.records import LABELS
from lisax.scoring.backends import JAX
from lisax.scoring.claims import FusionScorer
from lisax.training import export
from lisax.weights.checkpoints import CheckpointWriter, SaveCheckpointConfig, TrainState, nested
from lisax.weights.interop import safetensors_files
from lisax.weights.interop.convert import export_checkpoint
from lisax.weights.interop.kinds import SAFETENSORS, Kind
from lisax.weights.interop.opening import open_checkpoint
from lisax.weights.model_folder import ModelFolder

MODEL = T5Config(
    vocab_size=384, emb_dim=16, num_heads=2, num_encoder_layers=2, num_decoder_layers=2, head_dim=8, mlp_dim=32
)
TEXTS = [f"Mara Velin wrote {n} books in Tarn, true or false." for n in ("two", "three", "ten")]
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
def exported(tmp_path_factory):
    """The bundle `verifier` with every program, beside the Hugging Face folder `hf`."""
    out = tmp_path_factory.mktemp("export") / "verifier"
    formats = [word for name in export.FORMATS for word in ("--format", name)]
    assert cli.main(["export", "--model", str(lisax.example_model()), "--out", str(out), *formats]) == 0
    export_checkpoint(ModelFolder.find(lisax.example_model()), out.parent / "hf", Kind.HUGGINGFACE)
    return out


def blocks() -> dict[str, str]:
    """The page's blocks of code, by the names of their programs."""
    page = (Path(__file__).parents[2] / "docs/checkpoints.md").read_text(encoding="utf-8")
    section = page.partition("## A bundle in other programs\n")[2].partition("\n## ")[0]
    names = "tokens", "onnxruntime", "writing", "jax", "tensorflow", "transformers", "pairs"
    return dict(zip(names, re.findall(r"```python\n(.*?)```", section, re.DOTALL), strict=True))


def examples(tokens: str) -> list[Example]:
    """The claims of a block of the page with their sentences."""
    claims = ast.literal_eval(re.search(r"claims = (\[.*?\n\])", tokens, re.DOTALL)[1])
    return [Example("", claim, (Passage("", title, sentence),)) for claim, title, sentence in claims]


def elsewhere(folder: Path, *names: str) -> tuple[list[str], np.ndarray]:
    """(The lines that the page's blocks print, their `probabilities`), in a process without LisaX, and but for JAX's
    block without JAX."""
    absent = ["lisax"] if "jax" in names else ["lisax", "jax"]
    code = [f"import sys\nsys.modules.update(dict.fromkeys({absent}))", *(blocks()[name] for name in names)]
    code.append("print(json.dumps(np.asarray(globals().get('probabilities', [])).tolist()))")
    *lines, probabilities = fresh_process("\n".join(code), cwd=folder).splitlines()
    return lines, np.array(json.loads(probabilities))


def fresh_process(code: str, *arguments, cwd: Path | None = None) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=cwd,
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


@pytest.mark.parametrize("tool", ["jax", "tensorflow", "transformers"])
def test_the_pages_code_labels_claims_as_lisax_does(tool, exported):
    for needed in (tool, "torch") if tool == "transformers" else (tool,):
        if importlib.util.find_spec(needed) is None:
            pytest.skip(f"needs {needed}")
    lines, found = elsewhere(exported.parent, "tokens", tool)
    wanted = Model.open(lisax.example_model(), backend=JAX).probabilities(examples(blocks()["tokens"]))
    np.testing.assert_allclose(found, wanted, atol=ATOL)
    labels = [LABELS[i] for i in wanted.argmax(axis=1)]
    assert lines[-1] == str(list(map(str, labels))) and len(set(labels)) > 1


def test_onnxruntime_labels_claims_and_writes_the_label_word(exported):
    pytest.importorskip("onnxruntime", reason="needs onnxruntime")
    (labels, *words), found = elsewhere(exported.parent, "tokens", "onnxruntime", "writing")
    wanted = Model.open(lisax.example_model(), backend=JAX).probabilities(examples(blocks()["tokens"]))
    np.testing.assert_allclose(found, wanted, atol=ATOL)
    assert labels == str([str(LABELS[i]) for i in wanted.argmax(axis=1)])
    assert words == [presets.PAPER.label_words[i] for i in wanted.argmax(axis=1)]


@pytest.mark.parametrize("kind", ["pair pointwise", "pair relative"])
def test_the_pages_code_scores_pairs_as_lisax_does(kind, tmp_path):
    """The second kind fills with another id than 0."""
    source, out = bundle(tmp_path / "model", kind), tmp_path / "verifier"
    export.export(ModelFolder.find(source), out, ["onnx", "stablehlo"])
    wanted = Model.open(source, backend=JAX).probabilities(examples(blocks()["pairs"]))
    assert np.ptp(wanted, axis=0).max() > 10 * ATOL
    for tool in ("onnxruntime", "jax"):
        lines, found = elsewhere(tmp_path, "pairs", tool)
        np.testing.assert_allclose(found, wanted, atol=ATOL)
        assert lines[-1] == str([str(LABELS[i]) for i in wanted.argmax(axis=1)])


def test_the_program_is_the_model_at_any_length(exported):
    """Beyond the farthest distance that has a bias of its own, and with one token."""
    scorer = jax.export.deserialize((exported / export.EXPORTED_NAME).read_bytes())
    assert scorer.platforms == ("cpu", "cuda", "tpu")
    parameters = safetensors_files.read(exported / SAFETENSORS)
    config = open_checkpoint(ModelFolder.find(exported)).architecture
    pieces = [Model.open(exported).vocabulary.piece_id(word) for word in presets.PAPER.label_words]
    score, rng = jax.jit(scorer.call), np.random.default_rng(0)
    model = jax.jit(functools.partial(Transformer(config).apply, method="first_step_logits"))
    for shape in ((1, 1), (3, 40), (2, 300)):
        tokens = rng.integers(2, 380, shape).astype(np.int32)
        wanted = model({"params": nested(parameters)}, tokens, jnp.array(pieces))
        np.testing.assert_allclose(score(parameters, tokens)[1], wanted, atol=10 * ATOL)


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


def test_without_a_text_format_there_is_nothing_to_score(vocabulary, tmp_path, capsys):
    checkpoint = save_checkpoint(tmp_path / "model", vocabulary, text={})
    out = ["export", "--model", str(checkpoint), "--out"]
    assert cli.main([*out, str(tmp_path / "a"), "--format", "stablehlo"]) == 1
    assert "label words" in capsys.readouterr().err and not (tmp_path / "a").exists()
    assert cli.main([*out, str(tmp_path / "b")]) == 0
    files = {"model.json", "model.safetensors", "spiece.model"}
    assert {path.name for path in (tmp_path / "b").iterdir()} == files
    assert cli.main([*out, str(tmp_path / "b")]) == 1 and "is there already" in capsys.readouterr().err
    with pytest.raises(LisaxError, match="no export format is named 'tflite'"):
        export.export(ModelFolder.find(checkpoint), tmp_path / "c", ["tflite"])
    assert cli.main([*out, str(tmp_path / "c"), "--format", "onnx"]) == 0  # it may write
    graphs = {"encoder_model.onnx", "decoder_model.onnx"}
    assert {path.name for path in (tmp_path / "c").iterdir()} == files | graphs | {export.SCORER_NAME}


def test_a_model_trained_on_bytes_is_refused_with_the_reason(tmp_path):
    card = {"architecture": describe(MODEL), "vocabulary": {"kind": "bytes", "pieces": 259, "extra_ids": 0}}
    card |= RANK.card(presets.PAPER, 64)
    with CheckpointWriter(tmp_path / "model", SaveCheckpointConfig(), card, {}) as writer:
        checkpoint = writer.save(TrainState(jnp.int32(0), initialize(MODEL, 1), {}), {})
    message = "checkpoint_0 was trained on bytes, which only `lisax train`, `eval` and `infer` read: to export or use"
    with pytest.raises(LisaxError, match=message):
        export.export(ModelFolder.find(checkpoint), tmp_path / "out")
    with pytest.raises(LisaxError, match=message):
        Model.open(checkpoint)


@pytest.mark.parametrize(
    "kind, form, message",
    [
        ("fusion", "onnx", "are exported as ONNX; found table fusion on T5"),
        ("pointer", "onnx", "are exported as ONNX; found evidence pointer on T5"),
        (
            "reader",
            "stablehlo",
            "there is no StableHLO program and no SavedModel of dual encoders, readers and encoders",
        ),
    ],
)
def test_a_model_without_a_program_is_refused_before_anything_is_written(kind, form, message, tmp_path, capsys):
    source = bundle(tmp_path / "model", kind)
    assert cli.main(["export", "--model", str(source), "--out", str(tmp_path / "out"), "--format", form]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line and not (tmp_path / "out").exists()


@pytest.mark.parametrize(("files", "code"), [(None, 0), ([], 0), (["../x"], 1), (["absent.json"], 1)])
def test_other_files_of_a_model_are_names_of_files_beside_it(files, code, tmp_path, capsys):
    source = bundle(tmp_path / "model", "ranker", files=files)
    assert cli.main(["export", "--model", str(source), "--out", str(tmp_path / "out")]) == code
    assert (tmp_path / "out").exists() == (code == 0) and ("Traceback" not in capsys.readouterr().err)
