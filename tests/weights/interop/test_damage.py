"""Damaged, foreign and hostile checkpoints: a sentence that names what is wrong, and nothing read from elsewhere."""

import json
import shutil

import numpy as np
import pytest
from checkpoint_files import T5_1_1, in_memory, parameters_of, random_parameters, small_vocabulary
from flax.serialization import msgpack_restore, msgpack_serialize
from memory_task import MODEL, config

from lisax import cli
from lisax.errors import LisaxError
from lisax.training.train import train
from lisax.weights.checkpoints import CheckpointConfig, RestoreCheckpointConfig, complete_steps
from lisax.weights.interop.convert import import_checkpoint
from lisax.weights.interop.huggingface import write_huggingface
from lisax.weights.interop.t5x_native import write_native
from lisax.weights.interop.t5x_orbax import write_orbax
from lisax.weights.model_folder import ModelFolder

EMBEDDING = "target.token_embedder.embedding"


@pytest.fixture
def native(tmp_path):
    folder = tmp_path / "checkpoint_7"
    folder.mkdir()
    write_native(folder, in_memory(random_parameters(T5_1_1)))
    return folder


# --- T5X's native layout ----------------------------------------------------------------------


def _reindex(folder, change):
    index = msgpack_restore((folder / "checkpoint").read_bytes())
    change(index["optimizer"]["target"]["token_embedder"])
    (folder / "checkpoint").write_bytes(msgpack_serialize(index))


@pytest.mark.parametrize(
    ("kvstore", "message"),
    [
        ({"driver": "file", "path": f"../elsewhere/{EMBEDDING}/"}, "outside the checkpoint"),
        ({"driver": "gcs", "bucket": "b", "path": f"../elsewhere/{EMBEDDING}/"}, "outside the checkpoint"),
        ({"driver": "file", "path": "ABSOLUTE"}, "outside the checkpoint"),
        ({"driver": "file", "path": "link"}, "outside the checkpoint"),
        ({"driver": "file", "path": 3}, "outside the checkpoint"),
        ({"driver": "http", "base_url": "http://127.0.0.1:9", "path": f"{EMBEDDING}/"}, "from 'http'"),
        ({"driver": "s3", "bucket": "b", "path": f"{EMBEDDING}/"}, "from 's3'"),
        ("file:///etc/", "from 'file:///etc/'"),
    ],
)
def test_arrays_elsewhere_are_not_read(tmp_path, native, kvstore, message):
    elsewhere = tmp_path / "elsewhere" / EMBEDDING
    shutil.copytree(native / EMBEDDING, elsewhere)
    (native / "link").symlink_to(elsewhere)
    if isinstance(kvstore, dict) and kvstore["path"] == "ABSOLUTE":
        kvstore = kvstore | {"path": str(native / EMBEDDING)}
    _reindex(native, lambda embedder: embedder["embedding"].update(kvstore=kvstore))
    with pytest.raises(LisaxError, match=message):
        parameters_of(native)


def test_a_copy_from_a_bucket_is_read_where_it_lies(native):
    _reindex(
        native,
        lambda embedder: embedder["embedding"].update(
            kvstore={"driver": "gcs", "bucket": "t5-data", "path": f"{EMBEDDING}/"}
        ),
    )
    np.testing.assert_array_equal(
        parameters_of(native)["token_embedder/embedding"],
        random_parameters(T5_1_1)["token_embedder/embedding"],
    )


def _truncate(path):
    path.write_bytes(path.read_bytes()[:-20])


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: _truncate(f / "checkpoint"), "'checkpoint' of the checkpoint .* cannot be read"),
        (lambda f: _truncate(f / EMBEDDING / "0.0"), "'token_embedder/embedding' of the checkpoint .* cannot be read"),
        (lambda f: shutil.rmtree(f / EMBEDDING), "has no array: the copy is not whole"),
        (lambda f: (f / "checkpoint").write_bytes(b"model_checkpoint_path: 1"), "checkpoint"),
        (lambda f: (f / "checkpoint").write_bytes(msgpack_serialize({"version": 1, "optimizer": {}})), "found 1"),
        (
            lambda f: _reindex(f, lambda e: e.update({"embedding/more": np.ones(1, np.float32)})),
            "has 'token_embedder/embedding/more' inside another array",
        ),
        (lambda f: _reindex(f, lambda e: e["embedding"].update(driver="n5")), "with driver 'n5'"),
        (
            lambda f: _reindex(f, lambda e: e["embedding"]["metadata"].update(shape=[90, 24])),
            r"is \[96, 24\] on disk, but its index has \[90, 24\]",
        ),
    ],
)
def test_damage_is_named(native, tmp_path, damage, message, capsys):
    damage(native)
    with pytest.raises(LisaxError, match=message):
        parameters_of(native)
    assert cli.main(["checkpoint", "import", str(native), "--out", str(tmp_path / "out")]) == 1
    assert capsys.readouterr().err.startswith("lisax: ")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checkpoint_7"]  # nothing half-written


# --- Other models -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p: p.pop("decoder/layers_1/mlp/wo/kernel"), "missing decoder/layers_1/mlp/wo/kernel"),
        (lambda p: p.update({"encoder/layers_0/extra/kernel": np.ones(2, np.float32)}), "extra encoder/layers_0/extra"),
        (
            lambda p: p.update({"decoder/layers_0/mlp/wo/kernel": np.ones((41, 24), np.float32)}),
            r"decoder/layers_0/mlp/wo/kernel is \[41, 24\], expected \[40, 24\]",
        ),
        (
            lambda p: p.update({"decoder/logits_dense/kernel": np.ones((24, 100), np.float32)}),
            r"decoder/logits_dense/kernel is \[24, 100\], expected \[24, 96\]",
        ),
        (lambda p: p.pop("token_embedder/embedding"), "'token_embedder/embedding' is missing"),
    ],
)
def test_wrong_parameters_are_named(tmp_path, change, message):
    parameters = random_parameters(T5_1_1)
    change(parameters)
    (tmp_path / "checkpoint_7").mkdir()
    write_orbax(tmp_path / "checkpoint_7", in_memory(parameters))
    with pytest.raises(LisaxError, match=message):
        import_checkpoint(ModelFolder.find(tmp_path), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_vocabulary_of_another_size(native, tmp_path):
    vocabulary = small_vocabulary(tmp_path)
    with pytest.raises(LisaxError, match="has 1[0-9][0-9] pieces .* has 96 rows: it is another model's vocabulary"):
        import_checkpoint(ModelFolder.find(native), tmp_path / "out", vocabulary=vocabulary)
    assert not (tmp_path / "out").exists()


# --- Hugging Face -----------------------------------------------------------------------------


def test_pickled_weights_are_refused(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "pytorch_model.bin").write_bytes(b"\x80\x04")
    with pytest.raises(LisaxError, match=r"\.bin is pickled Python\) are not loaded. Convert .*save_pretrained"):
        parameters_of(tmp_path)


def _edit(folder, **changes):
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model_type": "bart"}, "'model_type': a model of another kind than is read here"),
        ({"model_type": "umt5"}, "missing .*decoder.block.1.layer.0.SelfAttention.relative_attention_bias"),
        ({"vocab_size": 100}, r"of another shape: .*shared.weight is \[96, 24\], expected \[100, 24\]"),
        ({"num_layers": 200}, "too few for the 202 layers"),
        ({"num_layers": 10**9}, "'num_layers': must be a whole number from 0 to 256, found 1000000000"),
        ({"num_layers": 2}, r"extra encoder.block.2.layer"),
        ({"d_ff": 41}, r"wi_0.weight is \[40, 24\], expected \[41, 24\]"),
        ({"d_model": "24"}, "'d_model': expected a positive integer, found '24'"),
        ({"feed_forward_proj": "gated-tanh"}, "'feed_forward_proj': expected one of"),
        ({"relative_attention_max_distance": 64}, "our T5 has 128, found 64"),
    ],
)
def test_other_models_are_named(tmp_path, changes, message):
    write_huggingface(tmp_path, in_memory(random_parameters(T5_1_1)), T5_1_1)
    _edit(tmp_path, **changes)
    with pytest.raises(LisaxError, match=message):
        parameters_of(tmp_path)


def test_shards_elsewhere_and_missing(tmp_path):
    write_huggingface(tmp_path, in_memory(random_parameters(T5_1_1)), T5_1_1, shard_bytes=20_000)
    path = tmp_path / "model.safetensors.index.json"
    index = json.loads(path.read_text())
    shard = index["weight_map"]["shared.weight"]
    path.write_text(json.dumps({"weight_map": index["weight_map"] | {"shared.weight": f"../{shard}"}}))
    with pytest.raises(LisaxError, match="is outside the checkpoint's folder"):
        parameters_of(tmp_path)
    path.write_text(json.dumps(index))
    (tmp_path / shard).unlink()
    with pytest.raises(LisaxError, match="no such file: the copy of the checkpoint is not whole"):
        parameters_of(tmp_path)


# --- Training from them -----------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["huggingface", "t5x-native"])
def test_training_starts_from_other_layouts(tmp_path, kind, capfd):
    parameters, source = random_parameters(MODEL), tmp_path / "source"
    source.mkdir()
    if kind == "huggingface":
        write_huggingface(source, in_memory(parameters), MODEL)
    else:
        write_native(source, in_memory(parameters))
    result = train(
        config(
            tmp_path / "out",
            None,
            relative_steps=1,
            checkpoint=CheckpointConfig(restore=RestoreCheckpointConfig(str(source))),
        )
    )
    assert result.step == (1 if kind == "huggingface" else 8)
    assert f"from {source}" in capfd.readouterr().err
    moved = result.parameters["token_embedder"]["embedding"] - parameters["token_embedder/embedding"]
    assert 0 < np.abs(moved).max() < 0.5


def test_checkpoints_of_t5x_in_the_model_dir_stay(tmp_path):
    folder = tmp_path / "checkpoint_7"
    folder.mkdir()
    write_native(folder, in_memory(random_parameters(MODEL)))
    with pytest.raises(LisaxError, match="native layout.*choose another MODEL_DIR"):
        train(config(tmp_path, 9))
    assert (folder / "checkpoint").is_file() and complete_steps(tmp_path) == []
