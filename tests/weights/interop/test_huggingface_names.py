"""Names and transposes of Hugging Face's T5, told apart from ours by hand; needs no torch."""

import dataclasses
import json

import numpy as np
import pytest
from checkpoint_files import T5_1_0, T5_1_1, in_memory, random_parameters
from safetensors.numpy import load_file, save_file

from lisax.weights.checkpoints import flatten, nested
from lisax.weights.interop.huggingface import write_huggingface
from lisax.weights.interop.opening import open_checkpoint
from lisax.weights.model_folder import ModelFolder
from lisax.weights.restore import load_parameters
from tests.models.reference import torch_names

MODELS = {"t5_1_0": T5_1_0, "t5_1_1": T5_1_1, "umt5": dataclasses.replace(T5_1_1, relative_bias_per_layer=True)}
COPIES = {"encoder.embed_tokens.weight", "decoder.embed_tokens.weight"}


@pytest.mark.parametrize("name", MODELS)
def test_each_array_is_written_and_read_under_its_name(tmp_path, name):
    config = MODELS[name]
    parameters = random_parameters(config)
    expected = {
        theirs: array for theirs, array in torch_names(config, nested(parameters)).items() if theirs not in COPIES
    }
    write_huggingface(tmp_path, in_memory(parameters), config)
    written = load_file(tmp_path / "model.safetensors")
    tied = {"lm_head.weight"} if config.logits_via_embedding else set()
    assert written.keys() | tied == expected.keys()
    for theirs, array in written.items():
        np.testing.assert_array_equal(array, expected[theirs], err_msg=theirs)

    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "config.json").write_text(json.dumps(json.loads((tmp_path / "config.json").read_text())))
    save_file({name: np.ascontiguousarray(array) for name, array in expected.items()}, theirs / "model.safetensors")
    assert open_checkpoint(ModelFolder.find(theirs)).architecture == config
    found = flatten(load_parameters(ModelFolder.find(theirs)))
    assert found.keys() == parameters.keys()
    for ours, array in found.items():
        np.testing.assert_array_equal(array, parameters[ours], err_msg=ours)
