"""Hugging Face folders: `transformers` reads ours to the same logits, and we read theirs."""

import dataclasses

import numpy as np
import pytest
from checkpoint_files import T5_1_0, T5_1_1, batch_of, in_memory, logits, parameters_of, random_parameters

from lisax.weights.interop.convert import export_checkpoint
from lisax.weights.interop.huggingface import write_huggingface
from lisax.weights.interop.kinds import Kind
from lisax.weights.interop.opening import open_checkpoint
from lisax.weights.model_folder import ModelFolder

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

UMT5 = dataclasses.replace(T5_1_1, relative_bias_per_layer=True)


def _their_logits(model, batch):
    inputs = torch.tensor(batch["encoder_input_tokens"], dtype=torch.long)
    with torch.no_grad():
        return model.eval()(
            input_ids=inputs,
            attention_mask=(inputs > 0).long(),
            decoder_input_ids=torch.tensor(batch["decoder_input_tokens"], dtype=torch.long),
        ).logits.numpy()


@pytest.mark.parametrize("config", [T5_1_1, T5_1_0, UMT5], ids=["t5_1_1", "t5_1_0", "umt5"])
@pytest.mark.parametrize("shard_bytes", [None, 20_000])
def test_they_read_ours(tmp_path, config, shard_bytes):
    parameters, batch = random_parameters(config), batch_of(config.vocab_size)
    write_huggingface(tmp_path, in_memory(parameters), config, shard_bytes=shard_bytes)
    model, report = transformers.AutoModelForSeq2SeqLM.from_pretrained(tmp_path, output_loading_info=True)
    assert not any(report[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    if config is UMT5:
        model.config.tie_word_embeddings = False  # as the file says; transformers 5 does not believe it
    np.testing.assert_allclose(_their_logits(model, batch), logits(config, parameters, batch), atol=1e-4)


@pytest.mark.parametrize(
    ("activation", "own_matrix", "scaled", "shard"),
    [
        ("relu", False, True, "1GB"),
        ("gated-gelu", True, False, "1GB"),
        ("gated-gelu", True, False, "20KB"),
        ("gated-gelu", False, False, "1GB"),
        ("relu", True, True, "1GB"),
    ],
)
def test_we_read_theirs(tmp_path, activation, own_matrix, scaled, shard):
    torch.manual_seed(0)
    described = transformers.T5Config(
        vocab_size=96,
        d_model=24,
        d_kv=8,
        d_ff=40,
        num_layers=2,
        num_decoder_layers=1,
        num_heads=2,
        feed_forward_proj=activation,
        tie_word_embeddings=scaled,
    )
    model = transformers.T5ForConditionalGeneration(described)
    if own_matrix:
        model.lm_head.weight = torch.nn.Parameter(torch.randn(96, 24))
    model.save_pretrained(tmp_path, max_shard_size=shard)
    assert (tmp_path / "model.safetensors.index.json").is_file() == (shard == "20KB")
    checkpoint = open_checkpoint(ModelFolder.find(tmp_path))
    config, batch = checkpoint.architecture, batch_of(96)
    assert config.logits_via_embedding == (scaled and not own_matrix)
    np.testing.assert_allclose(logits(config, parameters_of(tmp_path), batch), _their_logits(model, batch), atol=1e-4)


@pytest.mark.parametrize("kind", ["MT5", "UMT5"])
def test_the_multilingual_ones_are_read_and_written_back(tmp_path, kind):
    """What they compute is the same to 1e-5, and so is what is written: mT5 as the T5 1.1 that it is."""
    torch.manual_seed(0)
    described = getattr(transformers, f"{kind}Config")(
        vocab_size=96, d_model=24, d_kv=8, d_ff=40, num_layers=3, num_decoder_layers=2, num_heads=2
    )
    model = getattr(transformers, f"{kind}ForConditionalGeneration")(described)
    model.lm_head.weight = torch.nn.Parameter(torch.randn(96, 24) / 5)
    for name, parameter in model.named_parameters():
        if "relative_attention_bias" in name:  # drawn alike otherwise small, and then a mistake is too
            parameter.data.normal_()
    model.config.tie_word_embeddings = False  # as their files say; transformers 5 does not believe it
    model.save_pretrained(tmp_path / "theirs")
    wanted, batch = _their_logits(model, batch_of(96)), batch_of(96)
    export_checkpoint(ModelFolder.find(tmp_path / "theirs"), tmp_path / "ours", Kind.HUGGINGFACE)
    for name in ("theirs", "ours"):
        config = open_checkpoint(ModelFolder.find(tmp_path / name)).architecture
        assert config == (UMT5 if kind == "UMT5" else T5_1_1)
        found = logits(config, parameters_of(tmp_path / name), batch)
        np.testing.assert_allclose(found, wanted, atol=1e-5)
    again = transformers.AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "ours")
    again.config.tie_word_embeddings = False
    np.testing.assert_allclose(_their_logits(again, batch), wanted, atol=1e-5)
