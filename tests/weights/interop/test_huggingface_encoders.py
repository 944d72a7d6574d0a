"""Hugging Face's BERT family: our folders and theirs, to the same states; files that are none, told."""

import dataclasses
import json

import numpy as np
import pytest
import small_tokenizers
from applying import applied
from checkpoint_files import assert_same, in_memory, parameters_of
from safetensors.numpy import load_file, save_file

from lisax.errors import DataError, LisaxError
from lisax.models.architectures import EncoderConfig
from lisax.weights.checkpoints import flatten
from lisax.weights.interop.convert import export_checkpoint, import_checkpoint
from lisax.weights.interop.huggingface import write_huggingface
from lisax.weights.interop.kinds import Kind
from lisax.weights.interop.opening import open_checkpoint
from lisax.weights.model_card import ModelCard
from lisax.weights.model_folder import ModelFolder
from lisax.weights.restore import load_model
from tests.models.reference import their_ids
from tests.references import recorded

ENCODERS = recorded.ENCODERS
SIZES = {
    "vocab_size": 40,
    "hidden_size": 16,
    "num_attention_heads": 2,
    "num_hidden_layers": 3,
    "intermediate_size": 24,
    "max_position_embeddings": 26,
}


def write(folder, config, parameters=None):
    folder.mkdir(exist_ok=True)
    parameters = recorded.drawn(config) if parameters is None else parameters
    write_huggingface(folder, in_memory(flatten(parameters)), config)
    return folder


def changed(folder, **fields):
    """With fields of `config.json` replaced."""
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))
    return folder


@pytest.mark.parametrize("name", ENCODERS)
def test_a_folder_of_ours_is_read_as_it_was(tmp_path, name):
    config = ENCODERS[name]
    model, found = load_model(ModelFolder.find(write(tmp_path / "hf", config)), EncoderConfig)
    assert model == config
    assert_same(found, recorded.drawn(config))


def test_padding_changes_places(tmp_path):
    config = ENCODERS["roberta"]
    ours = recorded.drawn(config)["token_embedder"]["embedding"]
    theirs = load_file(write(tmp_path / "hf", config) / "model.safetensors")["embeddings.word_embeddings.weight"]
    np.testing.assert_array_equal(theirs[[1, 0]], ours[[0, 1]])
    np.testing.assert_array_equal(theirs[2:], ours[2:])


@pytest.mark.parametrize("name", ["bert", "albert", "mpnet"])
def test_through_our_own_layout_and_back(tmp_path, name):
    source = write(tmp_path / "hf", ENCODERS[name])
    checkpoint = import_checkpoint(ModelFolder.find(source), tmp_path / "ours")
    assert open_checkpoint(ModelFolder.find(checkpoint)).architecture == ENCODERS[name]
    back = export_checkpoint(ModelFolder.find(checkpoint), tmp_path / "back", Kind.HUGGINGFACE)
    assert json.loads((back / "config.json").read_text()) == json.loads((source / "config.json").read_text())
    assert_same(*(load_file(folder / "model.safetensors") for folder in (back, source)))


def test_the_tokenizer_goes_along_and_must_fit(tmp_path):
    source = write(tmp_path / "hf", dataclasses.replace(ENCODERS["bert"], vocab_size=60))
    path = small_tokenizers.wordpiece(source / "tokenizer.json", size=60)
    checkpoint = import_checkpoint(ModelFolder.find(source), tmp_path / "ours")
    described = json.loads((checkpoint / "model.json").read_text())["vocabulary"]
    assert described["kind"] == "tokenizers" and described["file"] == "tokenizer.json"
    assert (checkpoint / "tokenizer.json").read_bytes() == path.read_bytes()
    assert ModelCard.read(checkpoint).open_vocabulary().digest == described["sha256"]
    back = export_checkpoint(ModelFolder.find(checkpoint), tmp_path / "back", Kind.HUGGINGFACE)
    assert (back / "tokenizer.json").read_bytes() == path.read_bytes()

    small_tokenizers.wordpiece(path, size=70)
    with pytest.raises(LisaxError, match="tokenizer.json has 70 pieces .* has 60 rows: it is another model's vocab"):
        import_checkpoint(ModelFolder.find(source), tmp_path / "other")
    small_tokenizers.bpe(path)
    with pytest.raises(LisaxError, match="padding is 1 in .*tokenizer.json, but 0 in the model of"):
        import_checkpoint(ModelFolder.find(source), tmp_path / "other")


def test_under_a_head_and_with_old_names(tmp_path):
    """As BertForPreTraining's files are, once TensorFlow's."""
    source = write(tmp_path / "hf", ENCODERS["bert"])
    arrays = {}
    for name, array in load_file(source / "model.safetensors").items():
        if "LayerNorm" in name:
            name = name.replace(".weight", ".gamma").replace(".bias", ".beta")
        arrays[f"bert.{name}"] = array
    arrays |= {
        "cls.predictions.bias": np.zeros(40, np.float32),
        "bert.embeddings.position_ids": np.zeros((1, 24), np.float32),
    }
    save_file(arrays, source / "model.safetensors")
    found = parameters_of(source)
    assert_same(
        {name: found[name] for name in flatten(recorded.drawn(ENCODERS["bert"]))}, recorded.drawn(ENCODERS["bert"])
    )


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        (
            {"model_type": "deberta"},
            "field 'model_type': a model of another kind .* T5 .* BERT family .*; found 'deberta'",
        ),
        ({"model_type": ["bert"]}, "field 'model_type': a model of another kind"),
        ({"position_embedding_type": "relative_key"}, "field 'position_embedding_type': our encoder has absolute"),
        ({"is_decoder": True}, "field 'is_decoder': our encoder has False"),
        ({"hidden_act": "mish"}, "field 'hidden_act': expected one of gelu, .*, found 'mish'"),
        ({"hidden_size": None}, "field 'hidden_size': expected a positive integer, found None"),
        ({"hidden_size": "16"}, "field 'hidden_size': expected a positive integer, found '16'"),
        ({"num_attention_heads": 3}, "field 'num_attention_heads': is 3, which must divide emb_dim 16"),
        ({"layer_norm_eps": "small"}, "field 'layer_norm_eps': expected a number, found 'small'"),
        ({"pad_token_id": "no"}, "field 'pad_token_id': must be a whole number"),
    ],
)
def test_what_no_encoder_of_ours_is_is_told(tmp_path, fields, told):
    folder = changed(write(tmp_path / "hf", ENCODERS["bert"]), **fields)
    with pytest.raises(DataError, match=f"config.json.*{told}"):
        open_checkpoint(ModelFolder.find(folder))


def test_arrays_of_another_model_are_told(tmp_path):
    folder = write(tmp_path / "hf", ENCODERS["bert"])
    with pytest.raises(LisaxError, match=r"not those of the BERT family .* missing encoder.layer.3.* and 12 more"):
        open_checkpoint(ModelFolder.find(changed(folder, num_hidden_layers=4)))
    with pytest.raises(LisaxError, match=r"extra encoder.layer.2"):
        open_checkpoint(ModelFolder.find(changed(folder, num_hidden_layers=2)))
    with pytest.raises(LisaxError, match=r"embeddings.word_embeddings.weight is \[40, 16\], expected \[50, 16\]"):
        open_checkpoint(ModelFolder.find(changed(folder, num_hidden_layers=3, vocab_size=50)))
    with pytest.raises(LisaxError, match=r"has 55 arrays, too few for the 200 layers"):
        open_checkpoint(ModelFolder.find(changed(folder, num_hidden_layers=200)))


def test_what_their_layout_has_no_place_for(tmp_path):
    config = dataclasses.replace(ENCODERS["bert"], embedding_dim=8)
    with pytest.raises(LisaxError, match="no place for an encoder with embedding_dim=8, shared_layers=False"):
        write(tmp_path / "hf", config)


# --- With transformers ----------------------------------------------------------------------------------------------


def theirs_of(name, folder):
    """A model of `transformers` with random weights, saved in `folder`."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    torch.manual_seed(3)
    kind, fields = {
        "bert": ("Bert", {}),
        "minilm": ("Bert", {"hidden_act": "gelu_new", "num_attention_heads": 4}),
        "roberta": ("Roberta", {"type_vocab_size": 1, "layer_norm_eps": 1e-5}),
        "albert": ("Albert", {"embedding_size": 8, "num_hidden_layers": 4}),
        "mpnet": ("MPNet", {"layer_norm_eps": 1e-5}),
    }[name]
    described = getattr(transformers, f"{kind}Config")(**SIZES | fields)
    model = getattr(transformers, f"{kind}Model")(described).eval()
    for parameter in model.parameters():  # drawn alike otherwise small, and then a mistake is too
        parameter.data.normal_(std=0.4)
    model.save_pretrained(folder)
    return model


@pytest.mark.parametrize("name", ENCODERS)
def test_theirs_give_the_same_states(tmp_path, name):
    theirs = theirs_of(name, tmp_path)
    import torch

    config, parameters = load_model(ModelFolder.find(tmp_path), EncoderConfig)
    tokens = recorded.questions(config)
    types = recorded.token_types(config, tokens)
    their_types = {"token_type_ids": torch.from_numpy(types.astype(np.int64))} if config.token_types else {}
    found = applied(config, parameters, tokens, types)
    with torch.no_grad():
        expected = theirs(
            input_ids=torch.from_numpy(their_ids(config, tokens)),
            attention_mask=torch.from_numpy((tokens > 0).astype(np.int64)),
            **their_types,
        )
    real = tokens > 0
    np.testing.assert_allclose(found.states[real], expected.last_hidden_state.numpy()[real], atol=1e-5)
    np.testing.assert_allclose(found.pooled, expected.pooler_output.numpy(), atol=1e-5)
