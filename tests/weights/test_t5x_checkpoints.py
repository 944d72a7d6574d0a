"""Checkpoints that T5X itself wrote, through our reader and model."""

import json
import re
import shutil
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from checkpoint_files import assert_same, in_memory
from flax.serialization import msgpack_restore
from memory_task import config

from lisax.errors import LisaxError
from lisax.models.architectures import T5Config
from lisax.training.losses import Loss
from lisax.training.objectives import apply_model
from lisax.training.train import train
from lisax.training.train_log import read_train_log
from lisax.weights.checkpoints import CheckpointConfig, RestoreCheckpointConfig, flatten
from lisax.weights.interop.convert import export_checkpoint, import_checkpoint
from lisax.weights.interop.kinds import Kind
from lisax.weights.interop.t5x_native import write_native
from lisax.weights.model_folder import ModelFolder
from lisax.weights.restore import load_parameters

T5X = Path(__file__).parents[2].parent / "shared" / "data" / "t5x"
pytestmark = pytest.mark.skipif(not T5X.is_dir(), reason="no ../shared/data/t5x")


SCANNED = "t5_1_1_scanned"  # by T5X's scalable_t5


def _architecture(name):
    fields = json.loads((T5X / name / "reference.json").read_text())["architecture"]
    return T5Config(**fields, relative_bias_per_layer=name == SCANNED)


def _in_file(folder):
    """{name: array} of all that an Orbax checkpoint holds, in the shapes of the file."""
    import orbax.checkpoint as ocp

    return {
        name: np.asarray(leaf) for name, leaf in flatten(ocp.PyTreeCheckpointer().restore(folder / "state")).items()
    }


def _after_five_steps():
    """What T5X had after five further steps, under the names of an Orbax checkpoint."""
    arrays = dict(np.load(T5X / SCANNED / "after5.npz"))
    return {
        {"step": "state/step"}.get(name, re.sub("^slots/", "state/param_states/", name)): array
        for name, array in arrays.items()
    }


@pytest.mark.parametrize("layout", ["orbax", "native"])
@pytest.mark.parametrize("name", ["t5_1_1", "t5_1_0", SCANNED])
def test_logits_and_loss(name, layout):
    reference = json.loads((T5X / name / "reference.json").read_text())
    arrays = dict(np.load(T5X / name / "reference.npz"))
    parameters = load_parameters(ModelFolder.find(T5X / name / layout))
    if name != SCANNED:
        assert {path: list(leaf.shape) for path, leaf in flatten(parameters).items()} == reference["parameters"]
    batch = {feature: array for feature, array in arrays.items() if feature.endswith(("tokens", "weights"))}
    model = _architecture(name).for_inference()
    logits = jax.jit(apply_model, static_argnums=0)(model, parameters, batch)
    real = arrays["decoder_loss_weights"] > 0
    np.testing.assert_allclose(np.asarray(logits)[real], arrays["logits"][real], atol=1e-5)
    per_token = Loss(z_loss=reference["z_loss"]).per_token(logits, jnp.asarray(arrays["decoder_target_tokens"]))
    assert float(jnp.sum(per_token * arrays["decoder_loss_weights"])) == pytest.approx(reference["loss"], rel=1e-5)


@pytest.mark.parametrize("layout", ["orbax", "native"])
def test_training_goes_on_with_its_optimizer_state(tmp_path, capfd, layout):
    restore = RestoreCheckpointConfig(str(T5X / "t5_1_1" / layout), restore_optimizer=True)
    train(config(tmp_path, 2, model=_architecture("t5_1_1"), checkpoint=CheckpointConfig(restore=restore)))
    assert "with its optimizer state" in capfd.readouterr().err


@pytest.mark.parametrize("name", ["t5_1_1", "t5_1_0", SCANNED])
def test_native_is_written_as_t5x_writes_it(name, tmp_path):
    source = T5X / name / "native" / "checkpoint_0"
    written = export_checkpoint(ModelFolder.find(source), tmp_path / "out", Kind.NATIVE)
    theirs, ours = (msgpack_restore((folder / "checkpoint").read_bytes()) for folder in (source, written))
    assert ours["version"] == theirs["version"] == 3
    theirs, ours = flatten(theirs["optimizer"]), flatten(ours["optimizer"])
    assert ours.keys() == theirs.keys()
    for path, leaf in theirs.items():
        np.testing.assert_array_equal(ours[path], leaf, err_msg=path)
    for path in source.rglob("*"):
        if path.is_file() and path.name != "checkpoint":
            assert (written / path.relative_to(source)).read_bytes() == path.read_bytes()


def _five_steps(model_dir, **fields):
    arrays = dict(np.load(T5X / SCANNED / "reference.npz"))
    batch = {feature: array for feature, array in arrays.items() if feature.endswith(("tokens", "weights"))}
    train(config(model_dir, 5, train_data=lambda _: iter([batch] * 5), dev_data=None, log_period=1, **fields))
    return _in_file(model_dir / "checkpoint_5")


@pytest.mark.parametrize("layout", ["in place", "native"])
def test_five_further_steps_of_a_scanned_model_are_those_of_t5x(tmp_path, layout):
    """In the MODEL_DIR that T5X left, and in another that starts from its checkpoint."""
    fields = {}
    if layout == "in place":
        shutil.copytree(T5X / SCANNED / "orbax", tmp_path / "run")
    else:
        restore = RestoreCheckpointConfig(str(T5X / SCANNED / layout), restore_optimizer=True)
        fields = {"checkpoint": CheckpointConfig(restore=restore)}
    found, expected = _five_steps(tmp_path / "run", model=_architecture(SCANNED), **fields), _after_five_steps()
    assert found.keys() == expected.keys() and len(expected) == 29 + 4 * 29 + 1
    for name, array in expected.items():
        assert found[name].shape == array.shape, name
        np.testing.assert_allclose(found[name], array, atol=2e-6 * float(np.abs(array).max()), err_msg=name)
    losses = [row["loss"] for row in read_train_log(tmp_path / "run") if row["kind"] == "train"]
    theirs = json.loads((T5X / SCANNED / "after5.json").read_text())
    assert losses == pytest.approx([step["loss"] for step in theirs], rel=1e-6)


@pytest.fixture(scope="module")
def after_five_steps(tmp_path_factory):
    """A native checkpoint with the parameters and slots of T5X after its further steps."""
    folder, arrays = tmp_path_factory.mktemp("scanned") / "checkpoint_5", _after_five_steps()
    parts = (
        {name.removeprefix(f"{part}/"): array for name, array in arrays.items() if name.startswith(f"{part}/")}
        for part in ("target", "state/param_states")
    )
    folder.mkdir()
    write_native(folder, in_memory(*parts, step=5))
    return folder


@pytest.mark.parametrize("layers", [None, "stacked"])
def test_a_scanned_checkpoint_comes_back_bit_for_bit(after_five_steps, tmp_path, layers):
    """Through an import, and out again in both of T5X's layouts."""
    ours = import_checkpoint(ModelFolder.find(after_five_steps), tmp_path / "ours")
    native = export_checkpoint(ModelFolder.find(ours), tmp_path / "native", Kind.NATIVE, layers)
    orbax = export_checkpoint(ModelFolder.find(native), tmp_path / "orbax", Kind.ORBAX, layers)
    for folder in (ours, orbax):
        assert_same(_in_file(folder), _after_five_steps())
    for path in after_five_steps.rglob("*"):
        if path.is_file():
            assert (native / path.relative_to(after_five_steps)).read_bytes() == path.read_bytes()


def test_the_field_that_a_scanned_model_needs_is_named(tmp_path):
    restore = CheckpointConfig(restore=RestoreCheckpointConfig(str(T5X / SCANNED / "orbax")))
    model = _architecture(SCANNED).replaced(relative_bias_per_layer=False)
    with pytest.raises(LisaxError, match="set the backbone's relative_bias_per_layer = True$"):
        train(config(tmp_path / "new", 1, model=model, checkpoint=restore))
    shutil.copytree(T5X / SCANNED / "orbax", tmp_path / "theirs")
    with pytest.raises(LisaxError, match="relative_bias_per_layer = True and scan_layers = True$"):
        train(config(tmp_path / "theirs", 1, model=model.replaced(scan_layers=False)))
