"""A model that starts from the parameters of another: T5X's `assignment_map`, `strict` and `fallback_to_scratch`."""

import dataclasses

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import orbax.checkpoint as ocp
import pytest
from checkpoint_files import assert_same, parameters_of
from memory_task import MODEL, config

from lisax.errors import LisaxError
from lisax.models.t5 import initialize
from lisax.training.train import train
from lisax.weights.checkpoints import CheckpointConfig, RestoreCheckpointConfig, SaveCheckpointConfig, flatten

DEEPER = dataclasses.replace(MODEL, num_encoder_layers=2)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return train(config(tmp_path_factory.mktemp("whole"), 3))


def start(folder, whole, model=MODEL, **restore):
    """The parameters that a run begins with, and its optimizer's slots."""
    from lisax.devices.partitioning import Partitioner
    from lisax.training.start import begin
    from lisax.training.train_config import check

    wanted = RestoreCheckpointConfig(str(whole.latest), **restore)
    run = config(folder, 4, model=model, checkpoint=CheckpointConfig(SaveCheckpointConfig(), wanted))
    said = []
    began = begin(run, check(run, Partitioner.over_all_devices()), Partitioner.over_all_devices(), said.append)
    return flatten(began.state.parameters), flatten(began.state.slots), said


def test_missing_parameters_begin_fresh(whole, tmp_path):
    with pytest.raises(LisaxError, match="encoder/layers_1"):
        start(tmp_path, whole, DEEPER)
    parameters, slots, said = start(tmp_path, whole, DEEPER, fallback_to_scratch=True)
    old, drawn = parameters_of(whole.latest), flatten(initialize(DEEPER))
    assert drawn.keys() > old.keys()
    assert_same(parameters, drawn | old)
    assert any(np.asarray(slots[name]).any() for name in slots if "encoder/layers_0/mlp" in name)
    assert not any(np.asarray(slots[name]).any() for name in slots if "encoder/layers_1" in name)
    assert "encoder/layers_1/mlp/wo/kernel" in said[0] and "begin fresh" in said[0]
    assert "with its optimizer state" in said[1]


def test_stacked_layers_take_the_same(whole, tmp_path):
    scanned = dataclasses.replace(DEEPER, scan_layers=True)
    parameters, _, _ = start(tmp_path, whole, scanned, fallback_to_scratch=True)
    old = parameters_of(whole.latest)
    stacked = parameters["encoder/encoder/mlp/wo/kernel"]
    np.testing.assert_array_equal(stacked[:, 0], old["encoder/layers_0/mlp/wo/kernel"])
    np.testing.assert_array_equal(stacked[:, 1], flatten(initialize(DEEPER))["encoder/layers_1/mlp/wo/kernel"])


def test_names_are_mapped_and_left_out(whole, tmp_path):
    rules = [
        (r"target/encoder/layers_\d/(.*)", r"target/encoder/layers_0/\1"),
        (r"target/decoder/logits_dense/kernel", None),
    ]
    parameters, _, said = start(tmp_path, whole, DEEPER, assignment_map=rules, fallback_to_scratch=True)
    old = parameters_of(whole.latest)
    for layer in (0, 1):
        name = "attention/query/kernel"
        np.testing.assert_array_equal(parameters[f"encoder/layers_{layer}/{name}"], old[f"encoder/layers_0/{name}"])
    assert said[0].endswith("does not have decoder/logits_dense/kernel, which begins fresh")
    assert "with its optimizer state" in said[1]


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ([(r"target/encoder/(layers_9)/.*", r"\1")], "'target/encoder/\\(layers_9\\)/.*' matches no name of the model"),
        ([(r"target/(.*)", r"target/old_\1")], "takes 'target/decoder/.*' from 'target/old_decoder/.*does not have"),
    ],
)
def test_rules_that_do_not_fit_are_named(whole, tmp_path, rules, message):
    with pytest.raises(LisaxError, match=message):
        start(tmp_path, whole, assignment_map=rules)


def test_a_checkpoint_may_have_more_than_the_model(whole, tmp_path):
    deeper = train(config(tmp_path / "deeper", 1, model=DEEPER))
    with pytest.raises(LisaxError, match="encoder/layers_1"):
        start(tmp_path / "strict", deeper)
    parameters, _, said = start(tmp_path / "loose", deeper, strict=False)
    assert parameters.keys() == flatten(initialize(MODEL)).keys() and "its optimizer state" in said[0]
    np.testing.assert_array_equal(
        parameters["encoder/layers_0/mlp/wo/kernel"], flatten(deeper.parameters)["encoder/layers_0/mlp/wo/kernel"]
    )


def test_parameters_are_rounded_to_the_type(whole, tmp_path):
    parameters, slots, _ = start(tmp_path, whole, dtype="bfloat16")
    for name, array in parameters_of(whole.latest).items():
        assert parameters[name].dtype == jnp.float32
        np.testing.assert_array_equal(parameters[name], array.astype(ml_dtypes.bfloat16).astype(np.float32))
    exact = start(tmp_path, whole)[1]
    assert all((np.asarray(slots[name]) == np.asarray(exact[name])).all() for name in exact)


def test_parameters_are_saved_in_the_type_and_training_goes_on(tmp_path):
    save = SaveCheckpointConfig(period=None, dtype="bfloat16")
    result = train(config(tmp_path, 4, save=save))
    with ocp.PyTreeCheckpointer() as checkpointer:
        stored = checkpointer.restore(result.latest / "state")
    assert {str(leaf.dtype) for leaf in jax.tree.leaves(stored["target"])} == {"bfloat16"}
    assert {str(leaf.dtype) for leaf in jax.tree.leaves(stored["state"]["param_states"])} == {"float32"}
    assert [folder.name for folder in tmp_path.glob("checkpoint_*")] == ["checkpoint_4"]  # only the last step
    again = train(config(tmp_path, 5, save=save))
    assert again.step == 5 and {leaf.dtype for leaf in jax.tree.leaves(again.parameters)} == {np.dtype("float32")}


def test_expressions_are_checked():
    with pytest.raises(LisaxError, match="assignment_map: '.*' -> 'b' is not a regular expression"):
        RestoreCheckpointConfig("x", assignment_map=[("(a", "b")])
    with pytest.raises(LisaxError, match="dtype must be 'float32', 'bfloat16' or 'float16', found 'int8'"):
        RestoreCheckpointConfig("x", dtype="int8")
    with pytest.raises(LisaxError, match="dtype must be 'float32' or 'bfloat16', found 'float16'"):
        SaveCheckpointConfig(dtype="float16")
