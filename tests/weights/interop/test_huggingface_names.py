"""Names and transposes of Hugging Face's T5, told apart from ours by hand; needs no torch."""

import dataclasses
import json

import numpy as np
import pytest
from checkpoint_files import T5_1_0, T5_1_1, assert_same, in_memory, parameters_of, random_parameters
from safetensors.numpy import load_file, save_file

from lisax.weights.checkpoints import nested
from lisax.weights.interop.huggingface import write_huggingface
from lisax.weights.interop.opening import open_checkpoint
from lisax.weights.model_folder import ModelFolder
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
    assert_same(written, {theirs: array for theirs, array in expected.items() if theirs not in tied})

    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "config.json").write_text(json.dumps(json.loads((tmp_path / "config.json").read_text())))
    save_file({name: np.ascontiguousarray(array) for name, array in expected.items()}, theirs / "model.safetensors")
    assert open_checkpoint(ModelFolder.find(theirs)).architecture == config
    assert_same(parameters_of(theirs), parameters)
