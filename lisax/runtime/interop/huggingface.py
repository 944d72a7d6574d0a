"""Hugging Face T5 folders: `config.json` and safetensors, T5 1.0 and 1.1, mT5 and umT5, whole or in shards.

Their matrices are the transposes of ours. `transformers` scales hidden states before tied logits (T5 1.0) and
not before those of a matrix of their own (1.1); its files may also mix these, and then the matrix is made here.
umT5, whose layers have a relative position bias each, is written as its authors wrote it, with `tie_word_embeddings`
false; transformers 5 reads that as true and scales its logits.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from lisax.models.architectures import T5Config
from lisax.models.attention import RELATIVE_BUCKETS, RELATIVE_MAX_DISTANCE
from lisax.models.fields import FieldError, shown
from lisax.records import DataError, LisaxError, write_json
from lisax.runtime.checkpoints import flatten
from lisax.runtime.interop.architecture import parameter_shapes
from lisax.runtime.interop.kinds import HF_CONFIG, Kind
from lisax.runtime.interop.pieces import Checkpoint, Piece, Shape, Stored, shapes_of
from lisax.runtime.interop.safetensors_files import stored_arrays, write_arrays
from lisax.runtime.json_file import read_object

EMBEDDING, LOGITS = "token_embedder/embedding", "decoder/logits_dense/kernel"
SHARED, HEAD = "shared.weight", "lm_head.weight"
# Copies of the embedding, and a matrix that old files have and no model reads.
UNUSED = (
    "encoder.embed_tokens.weight",
    "decoder.embed_tokens.weight",
    "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight",
)
RELATIVE_BIAS = "0.SelfAttention.relative_attention_bias.weight"
# Ours for their `feed_forward_proj`; their "gelu" alone is the exact one, which T5 does not use.
ACTIVATIONS = {
    "relu": ("relu",),
    "gelu_new": ("gelu",),
    "silu": ("silu",),
    "gated-gelu": ("gelu", "linear"),
    "gated-gelu_new": ("gelu", "linear"),
    "gated-relu": ("relu", "linear"),
    "gated-silu": ("silu", "linear"),
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


def hf_name(name: str) -> tuple[str, bool]:
    """(their name, whether theirs is the transpose) of one of our parameters."""
    if name == EMBEDDING:
        return SHARED, False
    if name == LOGITS:
        return HEAD, True
    stack, block, *rest = name.split("/")
    if block == f"{stack}_norm":
        return f"{stack}.final_layer_norm.weight", False
    if block == "relpos_bias":
        return f"{stack}.block.0.layer.{RELATIVE_BIAS}", True
    prefix = f"{stack}.block.{block.removeprefix('layers_')}.layer."
    if rest[0] == "relpos_bias":
        return prefix + RELATIVE_BIAS, True
    if len(rest) == 2:
        return f"{prefix}{_BLOCKS[stack]['/'.join(rest)]}.weight", False
    matrix = rest[1] if rest[0] == "mlp" else rest[1][0]  # query, key, value, out: q, k, v, o
    return f"{prefix}{_BLOCKS[stack][rest[0]]}.{matrix}.weight", True


# --- Reading ---------------------------------------------------------------------------------


def open_huggingface(folder: Path) -> Checkpoint:
    path = folder / HF_CONFIG
    described = read_object(path)
    arrays = stored_arrays(folder)
    scaled = described.get("scale_decoder_outputs", described.get("tie_word_embeddings", True) is not False)
    tied = HEAD not in arrays or (scaled and _equal(arrays[HEAD], arrays.get(SHARED)))
    architecture = read_config(described, tied=tied and scaled, path=path)
    layers = architecture.num_encoder_layers + architecture.num_decoder_layers
    if layers > len(arrays):  # told before as many layers are laid out
        raise LisaxError(f"{folder} has {len(arrays)} arrays, too few for the {layers} layers of its {HF_CONFIG}")
    expected = shapes_of_model(architecture)
    names = {name: hf_name(name) for name in expected}
    pieces = []
    for name, (theirs, transposed) in names.items():
        scale = None
        if name == LOGITS and tied:
            theirs = SHARED
        elif name == LOGITS and scaled:
            scale = np.float32(architecture.emb_dim**-0.5)
        if theirs in arrays:
            pieces.append(_piece(name, theirs, arrays[theirs], transposed, scale))
    known = {theirs for theirs, _ in names.values()} | set(UNUSED) | {HEAD}
    problems = [
        f"{kind} {names}"
        for kind, names in (
            (
                "missing",
                _some(theirs for theirs, _ in names.values() if theirs not in arrays and not (theirs == HEAD and tied)),
            ),
            ("extra", _some(name for name in arrays if name not in known)),
            ("of another shape:", _some(_misshaped(pieces, expected))),
        )
        if names
    ]
    if problems:
        raise LisaxError(
            f"the arrays of {folder} are not those of the T5 that its {HF_CONFIG} describes: " + "; ".join(problems)
        )
    vocabulary = folder / "spiece.model"
    return Checkpoint(
        Kind.HUGGINGFACE,
        folder,
        None,
        tuple(pieces),
        architecture=architecture,
        vocabulary=vocabulary if vocabulary.is_file() else None,
    )


def shapes_of_model(config: T5Config) -> dict[str, Shape]:
    return {name: tuple(leaf.shape) for name, leaf in flatten(parameter_shapes(config)).items()}


def _piece(name: str, theirs: str, stored: Stored, transposed: bool, scale: np.float32 | None) -> Piece:
    def convert(array: np.ndarray) -> dict[str, np.ndarray]:
        array = array.T if transposed else array
        return {name: array if scale is None else array.astype(np.float32) * scale}

    return Piece(theirs, stored, {name: stored.shape[::-1] if transposed else stored.shape}, convert)


def _misshaped(pieces: list[Piece], expected: Mapping[str, Shape]) -> list[str]:
    return [
        f"{piece.stored_as} is {list(piece.stored.shape)}, expected "
        f"{list(expected[name][::-1] if hf_name(name)[1] else expected[name])}"
        for piece in pieces
        for name, shape in piece.shapes.items()
        if shape != expected[name]
    ]


def _equal(head: Stored, shared: Stored | None) -> bool:
    return shared is not None and head.shape == shared.shape and np.array_equal(head.read(), shared.read())


def _some(names: Any, limit: int = 4) -> str:
    names = list(names)
    return ", ".join(names[:limit]) + (f" and {len(names) - limit} more" if len(names) > limit else "")


def read_config(described: Mapping[str, Any], *, tied: bool, path: Path) -> T5Config:
    """The architecture of a `config.json`; what our T5 cannot be is an error that names the field."""

    def field(name: str, kind: type, default: Any = None) -> Any:
        value = described.get(name)
        value = default if value is None else value
        if not isinstance(value, kind) or isinstance(value, bool) or (kind is int and value < 1):
            raise DataError(
                f"expected {'a positive integer' if kind is int else 'a string'}, found {shown(value)}",
                path=path,
                field=name,
            )
        return value

    if described.get("model_type") not in ("t5", "mt5", "umt5"):
        raise DataError(
            f"only T5 is read ('t5', 'mt5', 'umt5'), found {shown(described.get('model_type'))}",
            path=path,
            field="model_type",
        )
    for name, value in (
        ("relative_attention_num_buckets", RELATIVE_BUCKETS),
        ("layer_norm_epsilon", 1e-6),
        ("relative_attention_max_distance", RELATIVE_MAX_DISTANCE),
    ):
        if described.get(name, value) != value:
            raise DataError(f"our T5 has {value}, found {shown(described[name])}", path=path, field=name)
    activation = field("feed_forward_proj", str, "relu")
    if activation not in ACTIVATIONS:
        raise DataError(
            f"expected one of {', '.join(ACTIVATIONS)}, found {shown(activation)}", path=path, field="feed_forward_proj"
        )
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
            mlp_activations=ACTIVATIONS[activation],
            logits_via_embedding=tied,
            relative_bias_per_layer=described["model_type"] == "umt5",
        )
    except FieldError as error:
        raise DataError(error.complaint, path=path, field=_THEIRS.get(error.field, error.field)) from None


# --- Writing ---------------------------------------------------------------------------------


def write_huggingface(folder: Path, checkpoint: Checkpoint, architecture: T5Config, **options: Any) -> None:
    """Writes `config.json` and safetensors to the existing `folder`, one array in memory at a time."""
    projection = next((theirs for theirs, ours in ACTIVATIONS.items() if ours == architecture.mlp_activations), None)
    if projection is None:
        raise LisaxError(f"Hugging Face's T5 has no activations {architecture.mlp_activations}")

    def theirs(name: str, array_or_shape: Any) -> tuple[str, Any]:
        name, transposed = hf_name(name)
        if not transposed:
            return name, array_or_shape
        return name, array_or_shape.T if isinstance(array_or_shape, np.ndarray) else array_or_shape[::-1]

    write_arrays(
        folder,
        dict(theirs(*item) for item in shapes_of(checkpoint.parameters).items()),
        (theirs(*item) for item in checkpoint.read(checkpoint.parameters)),
        **options,
    )
    tied = architecture.logits_via_embedding
    kind = "umt5" if architecture.relative_bias_per_layer else "t5"
    write_json(
        folder / HF_CONFIG,
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
            "relative_attention_num_buckets": RELATIVE_BUCKETS,
            "relative_attention_max_distance": RELATIVE_MAX_DISTANCE,
            "layer_norm_epsilon": 1e-6,
            "dropout_rate": architecture.dropout_rate,
            # Older versions of transformers read the first, version 5 the second.
            "tie_word_embeddings": tied,
            "scale_decoder_outputs": tied,
            "pad_token_id": 0,
            "eos_token_id": 1,
            "decoder_start_token_id": 0,
            "dtype": "float32",
        },
    )
