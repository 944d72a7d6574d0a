"""Hugging Face's T5 1.0 and 1.1, mT5 and umT5, whole or only the encoder (GTR), on its own or within another model.

Their matrices are the transposes of ours. `transformers` scales hidden states before tied logits (T5 1.0) and
not before those of a matrix of their own (1.1); its files may also mix these, and then the matrix is made here.
umT5, whose layers have a relative position bias each, is written as its authors wrote it, with `tie_word_embeddings`
false; transformers 5 reads that as true and scales its logits.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from lisax.errors import DataError, LisaxError
from lisax.files.json_file import check_config, config_choice, config_field
from lisax.models.architectures import RELATIVE_BUCKETS, RELATIVE_MAX_DISTANCE, T5Config
from lisax.models.fields import FieldError
from lisax.weights.interop.kinds import VOCABULARY_NAME
from lisax.weights.interop.pieces import Array, Reading, Stored, Writing

NAME, MODEL_TYPES, VOCABULARY = "T5", ("t5", "mt5", "umt5"), VOCABULARY_NAME
EMBEDDING, LOGITS = "token_embedder/embedding", "decoder/logits_dense/kernel"
SHARED, HEAD = "shared.weight", "lm_head.weight"
# Copies of the embedding, and a matrix that old files have and no model reads.
UNUSED = (
    "encoder.embed_tokens.weight",
    "decoder.embed_tokens.weight",
    "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight",
)
RELATIVE_BIAS = "0.SelfAttention.relative_attention_bias.weight"
# Ours for their `feed_forward_proj`; their plain "gelu" is the exact one, which T5 does not use.
ACTIVATIONS = {
    "relu": ("relu",),
    "gelu_new": ("gelu",),
    "silu": ("silu",),
    "gated-gelu": ("gelu", "linear"),
    "gated-gelu_new": ("gelu", "linear"),
    "gated-relu": ("relu", "linear"),
    "gated-silu": ("silu", "linear"),
}
FIXED = {
    "relative_attention_num_buckets": RELATIVE_BUCKETS,
    "relative_attention_max_distance": RELATIVE_MAX_DISTANCE,
    "layer_norm_epsilon": 1e-6,
}
_THEIRS = {"emb_dim": "d_model", "head_dim": "d_kv", "mlp_dim": "d_ff", "num_encoder_layers": "num_layers"}
_BLOCKS = {
    "encoder": {
        "pre_attention_layer_norm/scale": "0.layer_norm",
        "attention": "0.SelfAttention",
        "pre_mlp_layer_norm/scale": "1.layer_norm",
        "mlp": "1.DenseReluDense",
    },
    "decoder": {
        "pre_self_attention_layer_norm/scale": "0.layer_norm",
        "self_attention": "0.SelfAttention",
        "pre_cross_attention_layer_norm/scale": "1.layer_norm",
        "encoder_decoder_attention": "1.EncDecAttention",
        "pre_mlp_layer_norm/scale": "2.layer_norm",
        "mlp": "2.DenseReluDense",
    },
}


def hf_array(name: str) -> Array:
    """How one of our parameters is stored."""
    if name == EMBEDDING:
        return Array(SHARED)
    if name == LOGITS:
        return Array(HEAD, transposed=True)
    stack, block, *rest = name.split("/")
    if block == f"{stack}_norm":
        return Array(f"{stack}.final_layer_norm.weight")
    if block == "relpos_bias":
        return Array(f"{stack}.block.0.layer.{RELATIVE_BIAS}", transposed=True)
    prefix = f"{stack}.block.{block.removeprefix('layers_')}.layer."
    if rest[0] == "relpos_bias":
        return Array(prefix + RELATIVE_BIAS, transposed=True)
    if len(rest) == 2:
        return Array(f"{prefix}{_BLOCKS[stack]['/'.join(rest)]}.weight")
    matrix = rest[1] if rest[0] == "mlp" else rest[1][0]  # query, key, value, out: q, k, v, o
    return Array(f"{prefix}{_BLOCKS[stack][rest[0]]}.{matrix}.weight", transposed=True)


def reading(described: Mapping[str, Any], arrays: Mapping[str, Stored], path: Path) -> Reading:
    prefix = next((name.removesuffix(SHARED) for name in arrays if name.endswith(f".{SHARED}")), "")
    arrays = {name.removeprefix(prefix): array for name, array in arrays.items()}
    if prefix and SHARED in arrays:  # of a model within another (UnifiedSKG's), whose embedding has rows of its own
        described = {**described, "vocab_size": arrays[SHARED].shape[0]}
    scaled = described.get("scale_decoder_outputs", described.get("tie_word_embeddings", True) is not False)
    tied = HEAD not in arrays or (scaled and _equal(arrays[HEAD], arrays.get(SHARED)))
    architecture = read_config(described, tied=tied and scaled, path=path)

    has_decoder = any(name.startswith("decoder.") for name in arrays)

    def stored_as(name: str) -> Array:
        if name == EMBEDDING and SHARED not in arrays:
            return Array(next((copy for copy in UNUSED if copy in arrays), SHARED))
        if name == LOGITS and tied:
            return Array(SHARED, transposed=True)
        if name == LOGITS and scaled:
            scale = np.float32(architecture.emb_dim**-0.5)
            return Array(HEAD, True, lambda array: array.astype(np.float32) * scale)
        return hf_array(name)

    def prefixed(name: str) -> Array:
        return dataclasses.replace(found := stored_as(name), theirs=prefix + found.theirs)

    def unused(name: str) -> bool:
        return name.removeprefix(prefix) in (*UNUSED, HEAD)

    return Reading(architecture, prefixed, unused, has_decoder)


def _equal(head: Stored, shared: Stored | None) -> bool:
    return shared is not None and head.shape == shared.shape and np.array_equal(head.read(), shared.read())


def read_config(described: Mapping[str, Any], *, tied: bool, path: Path) -> T5Config:
    """The architecture of a `config.json`; raises an error with the field for models that our T5 cannot be."""

    field = functools.partial(config_field, described, path)
    check_config(described, path, "our T5", FIXED)
    activations = config_choice(described, path, "feed_forward_proj", ACTIVATIONS, "relu")
    layers = field("num_layers", int, 6)
    try:
        return T5Config(
            vocab_size=field("vocab_size", int, 32128),
            emb_dim=field("d_model", int, 512),
            num_heads=field("num_heads", int, 8),
            head_dim=field("d_kv", int, 64),
            mlp_dim=field("d_ff", int, 2048),
            num_encoder_layers=layers,
            num_decoder_layers=field("num_decoder_layers", int, layers),
            mlp_activations=activations,
            logits_via_embedding=tied,
            relative_bias_per_layer=described["model_type"] == "umt5",
        )
    except FieldError as error:
        raise DataError(error.complaint, path=path, field=_THEIRS.get(error.field, error.field)) from None


def writing(architecture: T5Config) -> Writing:
    projection = next((theirs for theirs, ours in ACTIVATIONS.items() if ours == architecture.mlp_activations), None)
    if projection is None:
        raise LisaxError(f"Hugging Face's T5 has no activations {architecture.mlp_activations}")
    tied = architecture.logits_via_embedding
    kind = "umt5" if architecture.relative_bias_per_layer else "t5"
    return Writing(
        {
            "architectures": [f"{'UMT5' if kind == 'umt5' else 'T5'}ForConditionalGeneration"],
            "model_type": kind,
            "is_encoder_decoder": True,
            "vocab_size": architecture.vocab_size,
            "d_model": architecture.emb_dim,
            "d_kv": architecture.head_dim,
            "d_ff": architecture.mlp_dim,
            "num_heads": architecture.num_heads,
            "num_layers": architecture.num_encoder_layers,
            "num_decoder_layers": architecture.num_decoder_layers,
            "feed_forward_proj": projection,
            **FIXED,
            "dropout_rate": architecture.dropout_rate,
            # Older versions of transformers read the first, version 5 the second.
            "tie_word_embeddings": tied,
            "scale_decoder_outputs": tied,
            "pad_token_id": 0,
            "eos_token_id": 1,
            "decoder_start_token_id": 0,
            "dtype": "float32",
        },
        hf_array,
    )
