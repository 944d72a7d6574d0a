"""Hugging Face's BERT (of which MiniLM is one), RoBERTa, ALBERT and MPNet; a head on them is left out.

Their matrices are the transposes of ours. Padding, whose id is 1 in RoBERTa and MPNet, is 0 here: the two rows of the embedding
change places on the way in and out.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from lisax.errors import DataError, LisaxError
from lisax.files.json_file import check_config, config_choice, config_field
from lisax.models.architectures import RELATIVE_BUCKETS, EncoderConfig
from lisax.models.fields import FieldError
from lisax.weights.interop.kinds import TOKENIZER_NAME
from lisax.weights.interop.pieces import Array, Reading, Stored, Writing

NAME, VOCABULARY = "BERT family", TOKENIZER_NAME
# The type as `config.json` has it -> the family that it is a member of.
MODEL_TYPES = {
    "bert": "bert",
    "roberta": "roberta",
    "xlm-roberta": "roberta",
    "camembert": "roberta",
    "albert": "albert",
    "mpnet": "mpnet",
}
CLASSES = {"bert": "Bert", "roberta": "Roberta", "albert": "Albert", "mpnet": "MPNet"}
OFFSET = ("roberta", "mpnet")  # families whose first position is the row after padding's
WORDS = "embeddings.word_embeddings.weight"
# Ours for their `hidden_act`.
ACTIVATIONS = {
    "gelu": "gelu_exact",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "relu": "relu",
    "silu": "silu",
    "swish": "silu",
}
FIXED = {
    "position_embedding_type": "absolute",
    "is_decoder": False,
    "add_cross_attention": False,
    "num_hidden_groups": 1,
    "inner_group_num": 1,
    "relative_attention_num_buckets": RELATIVE_BUCKETS,
}
_THEIRS = {
    "emb_dim": "hidden_size",
    "num_heads": "num_attention_heads",
    "num_encoder_layers": "num_hidden_layers",
    "mlp_dim": "intermediate_size",
    "embedding_dim": "embedding_size",
    "max_positions": "max_position_embeddings",
    "token_types": "type_vocab_size",
    "padding_id": "pad_token_id",
    "position_offset": "pad_token_id",
    "layer_norm_epsilon": "layer_norm_eps",
}
_TABLES = {"embedding": "word_embeddings", "positions": "position_embeddings", "token_types": "token_type_embeddings"}
_LEAVES = {"kernel": "weight", "scale": "weight", "bias": "bias"}
_LAYER = {
    "attention/query": "attention.self.query",
    "attention/key": "attention.self.key",
    "attention/value": "attention.self.value",
    "attention/out": "attention.output.dense",
    "attention_norm": "attention.output.LayerNorm",
    "mlp/wi": "intermediate.dense",
    "mlp/wo": "output.dense",
    "mlp_norm": "output.LayerNorm",
}
_ALBERT_LAYER = {
    "attention/query": "attention.query",
    "attention/key": "attention.key",
    "attention/value": "attention.value",
    "attention/out": "attention.dense",
    "attention_norm": "attention.LayerNorm",
    "mlp/wi": "ffn",
    "mlp/wo": "ffn_output",
    "mlp_norm": "full_layer_layer_norm",
}


_MPNET_LAYER = _LAYER | {
    "attention/query": "attention.attn.q",
    "attention/key": "attention.attn.k",
    "attention/value": "attention.attn.v",
    "attention/out": "attention.attn.o",
    "attention_norm": "attention.LayerNorm",
}


def hf_array(name: str, architecture: EncoderConfig) -> Array:
    """How one of our parameters is stored in a file without a head."""
    part, *middle, leaf = name.split("/")
    transposed, end = leaf == "kernel", _LEAVES.get(leaf)
    if part == "token_embedder" and not middle:
        swapped = functools.partial(_swapped, padding_id=architecture.padding_id if leaf == "embedding" else 0)
        return Array(f"embeddings.{_TABLES[leaf]}.weight", convert=swapped)
    if part == "token_embedder":
        return Array(f"embeddings.LayerNorm.{end}")
    if part == "pooler":
        return Array(f"pooler.{'' if architecture.shared_layers else 'dense.'}{end}", transposed)
    layer, *inner = middle
    if layer == "projection":
        return Array(f"encoder.embedding_hidden_mapping_in.{end}", transposed)
    if layer == "relpos_bias":
        return Array("encoder.relative_attention_bias.weight", transposed=True)
    if layer == "layer":
        theirs = f"albert_layer_groups.0.albert_layers.0.{_ALBERT_LAYER['/'.join(inner)]}"
    else:
        names = _MPNET_LAYER if architecture.relative_bias else _LAYER
        theirs = f"layer.{layer.removeprefix('layers_')}.{names['/'.join(inner)]}"
    return Array(f"encoder.{theirs}.{end}", transposed)


def _swapped(array: np.ndarray, padding_id: int) -> np.ndarray:
    """Swaps the rows of padding and of 0."""
    if padding_id:
        array = array.copy()
        array[[0, padding_id]] = array[[padding_id, 0]]
    return array


# --- Reading ---------------------------------------------------------------------------------


def reading(described: Mapping[str, Any], arrays: Mapping[str, Stored], path: Path) -> Reading:
    prefix = next((name.removesuffix(WORDS) for name in arrays if name.endswith(WORDS)), "")
    old_names = f"{prefix}embeddings.LayerNorm.gamma" in arrays  # of files that were TensorFlow's first
    pooler = any(name.startswith(f"{prefix}pooler.") for name in arrays)
    architecture = read_config(described, pooler=pooler, path=path)

    def stored_as(name: str) -> Array:
        found = hf_array(name, architecture)
        theirs = found.theirs
        if old_names and "LayerNorm" in theirs:
            theirs = theirs.replace(".weight", ".gamma").replace(".bias", ".beta")
        return Array(prefix + theirs, found.transposed, found.convert)

    def unused(name: str) -> bool:
        return not name.startswith(prefix) or name == f"{prefix}embeddings.position_ids"

    return Reading(architecture, stored_as, unused)


def read_config(described: Mapping[str, Any], *, pooler: bool, path: Path) -> EncoderConfig:
    """The architecture of a `config.json`; raises DataError with the field for models that our encoder cannot be."""
    family = MODEL_TYPES[described["model_type"]]
    field: Callable[..., Any] = functools.partial(config_field, described, path)
    check_config(described, path, "our encoder", FIXED)
    activation = config_choice(described, path, "hidden_act", ACTIVATIONS, "gelu")
    padding_id = described.get("pad_token_id")
    if padding_id is None:
        padding_id = 1 if family in OFFSET else 0
    try:
        return EncoderConfig(
            vocab_size=field("vocab_size", int),
            emb_dim=field("hidden_size", int),
            num_heads=field("num_attention_heads", int),
            num_encoder_layers=field("num_hidden_layers", int),
            mlp_dim=field("intermediate_size", int),
            activation=activation,
            embedding_dim=field("embedding_size", int) if family == "albert" else None,
            max_positions=field("max_position_embeddings", int),
            position_offset=padding_id + 1 if family in OFFSET and isinstance(padding_id, int) else 0,
            relative_bias=family == "mpnet",
            token_types=0 if family == "mpnet" else field("type_vocab_size", int, 2),
            padding_id=padding_id,
            layer_norm_epsilon=field("layer_norm_eps", float, 1e-12),
            shared_layers=family == "albert",
            pooler=pooler,
        )
    except FieldError as error:
        raise DataError(error.complaint, path=path, field=_THEIRS.get(error.field, error.field)) from None


# --- Writing ---------------------------------------------------------------------------------


def writing(architecture: EncoderConfig) -> Writing:
    family = _family(architecture)
    activation = next(theirs for theirs, ours in ACTIVATIONS.items() if ours == architecture.activation)
    described = {
        "architectures": [f"{CLASSES[family]}Model"],
        "model_type": family,
        "hidden_act": activation,
        "hidden_dropout_prob": architecture.dropout_rate,
        "attention_probs_dropout_prob": architecture.dropout_rate,
        **{theirs: getattr(architecture, ours) for ours, theirs in _THEIRS.items() if ours != "position_offset"},
        "vocab_size": architecture.vocab_size,
        "dtype": "float32",
    }
    if family != "albert":
        del described["embedding_size"]
    if family == "mpnet":
        del described["type_vocab_size"]
        described["relative_attention_num_buckets"] = RELATIVE_BUCKETS
    return Writing(described, lambda name: hf_array(name, architecture))


def _family(architecture: EncoderConfig) -> str:
    """The member of the family that a model is; raises LisaxError if none fits."""
    factorised, offset = architecture.embedding_dim is not None, architecture.position_offset
    is_mpnet = architecture.relative_bias
    if factorised == architecture.shared_layers and bool(architecture.token_types) != is_mpnet:
        if not offset and not is_mpnet:
            return "albert" if factorised else "bert"
        if not factorised and offset == architecture.padding_id + 1:
            return "mpnet" if is_mpnet else "roberta"
    raise LisaxError(
        "Hugging Face's BERT, RoBERTa, ALBERT and MPNet have no place for an encoder with "
        f"embedding_dim={architecture.embedding_dim}, shared_layers={architecture.shared_layers}, "
        f"position_offset={offset}, padding_id={architecture.padding_id}, relative_bias={architecture.relative_bias} "
        f"and token_types={architecture.token_types}"
    )
