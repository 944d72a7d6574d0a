"""Stacked layers, as programs that scan over them write them, become the unrolled tree."""

import dataclasses

import numpy as np
import pytest
from checkpoint_files import T5_1_0, T5_1_1, assert_same, in_memory, parameters_of, random_parameters, slots_of
from flax.serialization import msgpack_restore

from lisax import cli
from lisax.errors import LisaxError
from lisax.weights.checkpoints import flatten
from lisax.weights.interop import convert
from lisax.weights.interop.kinds import Kind
from lisax.weights.interop.opening import open_checkpoint
from lisax.weights.interop.t5x_native import write_native
from lisax.weights.interop.t5x_orbax import write_orbax
from lisax.weights.model_folder import ModelFolder


def _stacked(parameters, axis, inner="{stack}", heads=None):
    """The layers of each stack in one array, under `{stack}/{inner}`; with `heads`, kernels have them apart."""
    stacked = {name: array for name, array in parameters.items() if "/layers_" not in name}
    for stack in ("encoder", "decoder"):
        first = f"{stack}/layers_0/"
        count = sum(name.startswith(f"{stack}/layers_") and name.endswith("mlp/wo/kernel") for name in parameters)
        for name in [name for name in parameters if name.startswith(first)]:
            rest = name.removeprefix(first)
            layers = [parameters[f"{stack}/layers_{i}/{rest}"] for i in range(count)]
            if heads and rest.endswith("out/kernel"):
                layers = [layer.reshape(heads, -1, layer.shape[1]) for layer in layers]
            elif heads and "attention/" in rest:
                layers = [layer.reshape(len(layer), heads, -1) for layer in layers]
            stacked[f"{stack}/{inner.format(stack=stack)}/{rest}"] = np.stack(layers, axis)
    return stacked


@pytest.mark.parametrize(
    ("config", "axis", "inner", "heads", "write"),
    [
        (T5_1_1, 1, "{stack}", None, write_native),
        (T5_1_1, 1, "{stack}", 2, write_native),
        (T5_1_0, 1, "layers", None, write_orbax),
        (T5_1_1, 0, "{stack}", None, write_orbax),
        (T5_1_1, 0, "{stack}", 2, write_native),
    ],
)
def test_layers_are_unstacked(tmp_path, config, axis, inner, heads, write, capsys):
    parameters = random_parameters(config)
    stacked = _stacked(parameters, axis, inner, heads)
    assert len(stacked) < len(parameters)
    (tmp_path / "checkpoint_7").mkdir()
    write(tmp_path / "checkpoint_7", in_memory(stacked, slots_of(stacked)))
    checkpoint = open_checkpoint(ModelFolder.find(tmp_path))
    assert checkpoint.scanned and checkpoint.step == 7
    assert_same(dict(checkpoint.read(checkpoint.slots)), slots_of(parameters))
    assert_same(parameters_of(tmp_path), parameters)
    assert cli.main(["checkpoint", "show", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "layers stacked (scanned)" in shown and "values: m, v, v_col, v_row" in shown
    assert cli.main(["checkpoint", "import", str(tmp_path), "--out", str(tmp_path / "ours")]) == 0
    assert_same(parameters_of(tmp_path / "ours"), parameters)


def _written(folder, parameters):
    write_native(folder, in_memory(parameters))
    return folder


@pytest.mark.parametrize("layers", [None, "separate"])
def test_relative_bias_of_each_layer(tmp_path, layers, capsys):
    """As T5X's scalable_t5 has it: its tree comes back as it was, or with a name for each layer."""
    config = dataclasses.replace(T5_1_1, relative_bias_per_layer=True)
    parameters = random_parameters(config)
    stacked = _stacked(parameters, 1)
    assert stacked["encoder/encoder/relpos_bias/rel_embedding"].shape == (2, 3, 32)
    source = _written(tmp_path, stacked)
    found = convert.opened(ModelFolder.find(source))[1]
    assert found == dataclasses.replace(config, mlp_activations=("gelu", "linear"))
    written = convert.export_checkpoint(ModelFolder.find(source), tmp_path / "out", Kind.NATIVE, layers)
    assert ("no example network of T5X reads" in capsys.readouterr().err) == (layers == "separate")
    index = flatten(msgpack_restore((written / "checkpoint").read_bytes())["optimizer"]["target"])
    found = {name.removesuffix("/kvstore/path").removesuffix("/driver") for name in index}
    assert found >= (stacked if layers is None else parameters).keys()
    assert_same(parameters_of(written), parameters)


def test_t5x_stacks_no_layers_that_share_their_bias(tmp_path):
    _written(tmp_path, _stacked(random_parameters(T5_1_1), 1))
    with pytest.raises(LisaxError, match="use --layers separate"):
        convert.export_checkpoint(ModelFolder.find(tmp_path), tmp_path / "out", Kind.NATIVE, "stacked")
    assert not (tmp_path / "out").exists()


def test_layers_that_cannot_be_told(tmp_path):
    stacked = _stacked(random_parameters(T5_1_1), 1)
    broken = stacked | {"encoder/encoder/mlp/wo/kernel": stacked["encoder/encoder/mlp/wo/kernel"][:, :2]}
    with pytest.raises(LisaxError, match=r"'encoder/encoder/mlp/wo/kernel' of .* expected the 3 layers along axis 1"):
        parameters_of(_written(tmp_path, broken))
    del stacked["encoder/encoder_norm/scale"]
    (tmp_path / "other").mkdir()
    with pytest.raises(LisaxError, match="which of its axes is that of layers cannot be found"):
        parameters_of(_written(tmp_path / "other", stacked))
