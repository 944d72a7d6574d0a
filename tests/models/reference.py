"""The torch models of transformers with a model's parameters, for tests and benchmarks. Nothing is downloaded."""

from pathlib import Path
from typing import Any

import numpy as np

from lisax.models.architectures import EncoderConfig, T5Config


def torch_t5(config: T5Config, parameters: Any, kind: str = "T5") -> Any:
    """A `T5ForConditionalGeneration` in float32 and evaluation mode with these parameters; `kind` may be MT5 or UMT5."""
    import torch
    import transformers

    gated = len(config.mlp_activations) == 2
    activation = config.mlp_activations[0]
    settings = getattr(transformers, f"{kind}Config")(
        vocab_size=config.vocab_size,
        d_model=config.emb_dim,
        d_kv=config.head_dim,
        d_ff=config.mlp_dim,
        num_layers=config.num_encoder_layers,
        num_decoder_layers=config.num_decoder_layers,
        num_heads=config.num_heads,
        dropout_rate=config.dropout_rate,
        feed_forward_proj=f"gated-{activation}" if gated else activation,
        tie_word_embeddings=config.logits_via_embedding,
        pad_token_id=0,
        eos_token_id=1,
        decoder_start_token_id=0,
    )
    model = getattr(transformers, f"{kind}ForConditionalGeneration")(settings)
    if not config.logits_via_embedding:
        # transformers 5 ties fresh models whatever the setting says; the setting still decides on the scaling.
        model.lm_head.weight = torch.nn.Parameter(torch.empty_like(model.shared.weight))
        model.config.tie_word_embeddings = False  # UMT5 asks this one
    model.load_state_dict(
        {name: torch.from_numpy(np.array(array)) for name, array in torch_names(config, parameters).items()}
    )
    return model.eval()


def torch_encoder(config: EncoderConfig, parameters: Any) -> Any:
    """The `BertModel`, `RobertaModel` or `AlbertModel` in float32 and evaluation mode with these parameters, by way of
    a folder that transformers reads; arrays that it misses or does not know are an error."""
    import tempfile

    import transformers

    from lisax.weights.checkpoints import flatten
    from lisax.weights.interop.huggingface import write_huggingface
    from lisax.weights.interop.kinds import Kind
    from lisax.weights.interop.pieces import Checkpoint, Stored, whole

    arrays = {name: np.asarray(array) for name, array in flatten(parameters).items()}
    pieces = tuple(whole(name, Stored(array.shape, lambda a=array: a)) for name, array in arrays.items())
    with tempfile.TemporaryDirectory() as folder:
        write_huggingface(Path(folder), Checkpoint(Kind.BUNDLE, Path(folder), None, pieces), config)
        model, report = transformers.AutoModel.from_pretrained(
            folder, output_loading_info=True, attn_implementation="eager"
        )
    lost = {name for kind in ("missing_keys", "unexpected_keys", "mismatched_keys") for name in report[kind]}
    assert all("pooler" in name and not config.pooler for name in lost), lost
    return model.eval()


def their_ids(config: EncoderConfig, tokens: np.ndarray) -> np.ndarray:
    """Token ids as published, of ours, in which padding is 0."""
    swapped = np.arange(config.vocab_size)
    swapped[[0, config.padding_id]] = swapped[[config.padding_id, 0]]
    return swapped[tokens]


def torch_names(config: T5Config, parameters: Any) -> dict[str, np.ndarray]:
    """The parameters under the names and in the shapes that transformers' T5 has; needs no torch."""
    embedding = np.asarray(parameters["token_embedder"]["embedding"])
    found = {
        "shared.weight": embedding,
        "encoder.embed_tokens.weight": embedding,
        "decoder.embed_tokens.weight": embedding,
    }
    found["lm_head.weight"] = (
        embedding if config.logits_via_embedding else np.asarray(parameters["decoder"]["logits_dense"]["kernel"]).T
    )
    for stack, layers in (("encoder", config.num_encoder_layers), ("decoder", config.num_decoder_layers)):
        tree = parameters[stack]
        found[f"{stack}.final_layer_norm.weight"] = tree[f"{stack}_norm"]["scale"]
        biases = {0: tree} if "relpos_bias" in tree else {i: tree[f"layers_{i}"] for i in range(layers)}
        for i, owner in biases.items():
            found[f"{stack}.block.{i}.layer.0.SelfAttention.relative_attention_bias.weight"] = np.asarray(
                owner["relpos_bias"]["rel_embedding"]
            ).T
        parts = (
            [("attention", "SelfAttention")]
            if stack == "encoder"
            else [("self_attention", "SelfAttention"), ("encoder_decoder_attention", "EncDecAttention")]
        )
        norms = [] if stack == "encoder" else ["pre_self_attention_layer_norm", "pre_cross_attention_layer_norm"]
        norms = (norms or ["pre_attention_layer_norm"]) + ["pre_mlp_layer_norm"]
        for i in range(layers):
            layer, block = tree[f"layers_{i}"], f"{stack}.block.{i}.layer"
            for j, norm in enumerate(norms):
                found[f"{block}.{j}.layer_norm.weight"] = layer[norm]["scale"]
            for j, (ours, theirs) in enumerate(parts):
                for name in ("query", "key", "value", "out"):
                    found[f"{block}.{j}.{theirs}.{name[0]}.weight"] = np.asarray(layer[ours][name]["kernel"]).T
            for name, dense in layer["mlp"].items():
                found[f"{block}.{len(parts)}.DenseReluDense.{name}.weight"] = np.asarray(dense["kernel"]).T
    return found
