"""Checkpoints from one layout to another and back: parameters, slots and step stay what they were."""

import dataclasses
import json

import pytest
from checkpoint_files import (
    T5_1_0,
    T5_1_1,
    assert_same,
    in_memory,
    parameters_of,
    random_parameters,
    slots_of,
    small_vocabulary,
)

from lisax import cli
from lisax.weights.interop.huggingface import write_huggingface
from lisax.weights.interop.opening import open_checkpoint
from lisax.weights.interop.safetensors_files import stored_arrays
from lisax.weights.interop.t5x_native import write_native
from lisax.weights.model_folder import ModelFolder

MODELS = {"t5_1_1": T5_1_1, "t5_1_0": T5_1_0}


def _native(folder, config, step=7):
    parameters = random_parameters(config)
    folder = folder / f"checkpoint_{step}"
    folder.mkdir(parents=True)
    write_native(folder, in_memory(parameters, slots_of(parameters), step))
    return folder


@pytest.mark.parametrize("name", MODELS)
def test_native_to_ours_and_back(tmp_path, name, capsys):
    native = _native(tmp_path / "first", MODELS[name])
    parameters = random_parameters(MODELS[name])
    assert cli.main(["checkpoint", "import", str(tmp_path / "first"), "--out", str(tmp_path / "ours")]) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "ours" / "checkpoint_7")
    again = [f"--out={tmp_path}/again", "--format=t5x-native"]
    assert cli.main(["checkpoint", "export", f"{tmp_path}/ours", *again]) == 0
    for path in (native, tmp_path / "ours", tmp_path / "again"):
        checkpoint = open_checkpoint(ModelFolder.find(path))
        assert checkpoint.step == 7
        assert_same(dict(checkpoint.read(checkpoint.parameters)), parameters)
        assert_same(dict(checkpoint.read(checkpoint.slots)), slots_of(parameters))
    card = ModelFolder.find(tmp_path / "ours").card
    assert card["architecture"]["num_encoder_layers"] == 3 and card["step"] == 7
    assert card["architecture"]["logits_via_embedding"] == MODELS[name].logits_via_embedding


@pytest.mark.parametrize("name", MODELS)
def test_ours_to_hugging_face_and_back(tmp_path, name):
    _native(tmp_path / "first", MODELS[name])
    for source, out, kind in (("first", "theirs", "huggingface"), ("theirs", "back", "t5x-orbax")):
        made = [f"--out={tmp_path / out}", f"--format={kind}"]
        assert cli.main(["checkpoint", "export", f"{tmp_path / source}", *made]) == 0
    for path in ("theirs", "back"):
        assert_same(parameters_of(tmp_path / path), random_parameters(MODELS[name]))
    found = ModelFolder.find(tmp_path / "back").card["architecture"]["mlp_activations"]
    assert found == list(MODELS[name].mlp_activations)


def test_shards(tmp_path):
    parameters = random_parameters(T5_1_1)
    write_huggingface(tmp_path, in_memory(parameters), T5_1_1, shard_bytes=20_000)
    index = json.loads((tmp_path / "model.safetensors.index.json").read_text())
    assert len(set(index["weight_map"].values())) > 2
    assert sum(array.nbytes for array in parameters.values()) == index["metadata"]["total_size"]
    assert index["weight_map"].keys() == stored_arrays(tmp_path).keys()
    assert_same(parameters_of(tmp_path), parameters)


def test_show(tmp_path, capsys):
    _native(tmp_path / "first", T5_1_1)
    assert cli.main(["checkpoint", "show", str(tmp_path / "first")]) == 0
    shown = capsys.readouterr().out
    count = sum(array.size for array in random_parameters(T5_1_1).values())
    for text in ("t5x-native", f"{count:,} in", "m, v, v_col, v_row", "token_embedder/embedding", "[96, 24]"):
        assert text in shown
    assert "step            7" in shown


def test_architecture_of_a_gin_file(tmp_path, capsys):
    _native(tmp_path / "first", T5_1_1)
    import_ = ["checkpoint", "import", f"{tmp_path}/first", f"--out={tmp_path}/ours"]
    import_ += ["--gin_file=models/t5_1_1_tiny.gin"]
    assert cli.main(import_) == 1
    assert "are not those of the model" in capsys.readouterr().err and not (tmp_path / "ours").exists()
    fields = ("vocab_size", "emb_dim", "num_heads", "head_dim", "mlp_dim", "num_encoder_layers", "num_decoder_layers")
    bindings = [flag for name in fields for flag in ("--gin_bindings", f"T5Config.{name} = {getattr(T5_1_1, name)}")]
    assert cli.main([*import_, *bindings, "--gin_bindings", "T5Config.mlp_activations = ('silu', 'linear')"]) == 0
    assert ModelFolder.find(tmp_path / "ours").card["architecture"]["mlp_activations"] == ["silu", "linear"]


def test_bundle_of_a_foreign_checkpoint(tmp_path, capsys):
    config = dataclasses.replace(T5_1_1, vocab_size=160)
    _native(tmp_path / "first", config)
    export = ["export", "--model", str(tmp_path / "first"), "--out", str(tmp_path / "bundle")]
    assert cli.main(export) == 1
    assert "has no vocabulary next to it" in capsys.readouterr().err and not (tmp_path / "bundle").exists()
    vocabulary = small_vocabulary(tmp_path)
    made = [f"--out={tmp_path}/ours", f"--vocabulary={vocabulary}"]
    assert cli.main(["checkpoint", "import", f"{tmp_path}/first", *made]) == 0
    theirs = [f"--out={tmp_path}/theirs", "--format=huggingface"]
    assert cli.main(["checkpoint", "export", f"{tmp_path}/ours", *theirs]) == 0
    export[2] = str(tmp_path / "theirs")
    assert cli.main(export) == 0
    card = ModelFolder.find(tmp_path / "bundle").card
    assert_same(parameters_of(tmp_path / "bundle"), random_parameters(config))
    assert (tmp_path / "bundle" / "spiece.model").read_bytes() == vocabulary.read_bytes()
    assert card["architecture"]["vocab_size"] == 160
    assert card["vocabulary"] == ModelFolder.find(tmp_path / "ours").card["vocabulary"]


def test_nothing_is_overwritten(tmp_path, capsys):
    _native(tmp_path / "first", T5_1_1)
    (tmp_path / "out").mkdir()
    for action in (["import"], ["export", "--format", "huggingface"], ["export", "--format", "t5x-native"]):
        assert cli.main(["checkpoint", *action, str(tmp_path / "first"), "--out", str(tmp_path / "out")]) == 1
        assert "is there already" in capsys.readouterr().err
    assert list((tmp_path / "out").iterdir()) == []
