"""Checkpoints that T5X itself wrote, through our reader and model."""

import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax.serialization import msgpack_restore
from memory_task import config

from lisax.models.architectures import T5Config
from lisax.training.losses import Loss
from lisax.training.objectives import apply_model
from lisax.training.train import train
from lisax.weights.checkpoints import CheckpointConfig, RestoreCheckpointConfig, flatten
from lisax.weights.interop.convert import export_checkpoint
from lisax.weights.interop.kinds import Kind
from lisax.weights.model_folder import ModelFolder
from lisax.weights.restore import load_parameters

T5X = Path(__file__).parents[2].parent / "shared" / "data" / "t5x"
pytestmark = pytest.mark.skipif(not T5X.is_dir(), reason="no ../shared/data/t5x")


def _architecture(name):
    fields = json.loads((T5X / name / "reference.json").read_text())["architecture"]
    return T5Config(**{field: value for field, value in fields.items() if field != "scan_layers"})


@pytest.mark.parametrize("layout", ["orbax", "native"])
@pytest.mark.parametrize("name", ["t5_1_1", "t5_1_0"])
def test_logits_and_loss(name, layout):
    reference = json.loads((T5X / name / "reference.json").read_text())
    arrays = dict(np.load(T5X / name / "reference.npz"))
    parameters = load_parameters(ModelFolder.find(T5X / name / layout))
    assert {path: list(leaf.shape) for path, leaf in flatten(parameters).items()} == reference["parameters"]
    batch = {feature: array for feature, array in arrays.items() if feature.endswith(("tokens", "weights"))}
    logits = jax.jit(apply_model, static_argnums=0)(_architecture(name), parameters, batch)
    real = arrays["decoder_loss_weights"] > 0
    np.testing.assert_allclose(np.asarray(logits)[real], arrays["logits"][real], atol=1e-5)
    per_token = Loss(z_loss=reference["z_loss"]).per_token(logits, jnp.asarray(arrays["decoder_target_tokens"]))
    assert float(jnp.sum(per_token * arrays["decoder_loss_weights"])) == pytest.approx(reference["loss"], rel=1e-5)


@pytest.mark.parametrize("layout", ["orbax", "native"])
def test_training_goes_on_with_its_optimizer_state(tmp_path, capfd, layout):
    restore = RestoreCheckpointConfig(str(T5X / "t5_1_1" / layout), restore_optimizer=True)
    train(config(tmp_path, 2, model=_architecture("t5_1_1"), checkpoint=CheckpointConfig(restore=restore)))
    assert "with its optimizer state" in capfd.readouterr().err


@pytest.mark.parametrize("name", ["t5_1_1", "t5_1_0"])
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
