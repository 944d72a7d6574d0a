"""The architecture of a T5, from its parameters' shapes, and the shapes that an architecture has.

Those of T5 and of the BERT family, and of the scorers on the latter, are listed here, so that such a model is opened
without JAX; of any other model the network is traced for them."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from lisax.errors import LisaxError
from lisax.models.architectures import (
    RELATIVE_BUCKETS,
    DualEncoderConfig,
    EncoderConfig,
    Model,
    PairConfig,
    T5Config,
)
from lisax.models.fields import FieldError
from lisax.weights.checkpoints import flatten
from lisax.weights.interop.pieces import Shape


def infer(shapes: Mapping[str, Shape], folder: object) -> T5Config:
    """The architecture of parameters in the unrolled tree.

    Shapes do not determine activations: one matrix `wi` is taken as T5 1.0's ReLU, two as T5 1.1's gated GELU."""

    def shape(name: str, dimensions: int) -> Shape:
        found = shapes.get(name)
        if found is None or len(found) != dimensions:
            raise LisaxError(
                f"{folder} is not a T5 that is known here: '{name}' is "
                + ("missing" if found is None else f"{list(found)}")
            )
        return found

    vocab_size, emb_dim = shape("token_embedder/embedding", 2)
    per_layer = "encoder/layers_0/relpos_bias/rel_embedding" in shapes
    heads = shape(f"encoder/{'layers_0/' if per_layer else ''}relpos_bias/rel_embedding", 2)[0]
    width = shape("encoder/layers_0/attention/query/kernel", 2)[1]
    gated = "encoder/layers_0/mlp/wi_0/kernel" in shapes
    if heads < 1 or width % heads:
        raise LisaxError(f"{folder}: {heads} heads do not divide the width {width} of the encoder's queries")
    try:
        return T5Config(
            vocab_size=vocab_size,
            emb_dim=emb_dim,
            num_heads=heads,
            head_dim=width // heads,
            num_encoder_layers=_layers(shapes, "encoder"),
            num_decoder_layers=_layers(shapes, "decoder"),
            mlp_dim=shape("encoder/layers_0/mlp/wo/kernel", 2)[0],
            mlp_activations=("gelu", "linear") if gated else ("relu",),
            logits_via_embedding="decoder/logits_dense/kernel" not in shapes,
            relative_bias_per_layer=per_layer,
        )
    except FieldError as error:
        raise LisaxError(f"{folder} is not a T5 that is known here, by the shapes of its arrays: {error}") from None


def _layers(shapes: Mapping[str, Shape], stack: str) -> int:
    return len({name.split("/")[1] for name in shapes if name.startswith(f"{stack}/layers_")})


def shapes_of_model(config: Model) -> dict[str, Shape]:
    """The shape of each parameter that `config` has, by its path."""
    if is_listed(config) and not config.backbone.scan_layers:
        if type(config) is T5Config:
            return t5_shapes(config)
        return encoder_shapes(config) if type(config) is EncoderConfig else _shapes_with_head(config)
    return {name: tuple(leaf.shape) for name, leaf in flatten(parameter_shapes(config)).items()}


def is_listed(config: Model) -> bool:
    """Whether the shapes of its parameters are listed here: those of a T5, of an encoder of the BERT family, and of such
    an encoder with a layer of classes on pooled states or with none. A field that adds parameters has to be added here."""
    if type(config) is T5Config:
        return True
    if type(config.backbone) is not EncoderConfig:
        return False
    if type(config) is PairConfig:
        return config.pooling != "pooler"
    if type(config) is DualEncoderConfig:
        return config.tied and config.projection is None
    return type(config) is EncoderConfig


def t5_shapes(config: T5Config) -> dict[str, Shape]:
    """`shapes_of_model` of a T5, its layers one by one."""
    emb, joined, mlp = config.emb_dim, config.num_heads * config.head_dim, config.mlp_dim
    attention = {"query": (emb, joined), "key": (emb, joined), "value": (emb, joined), "out": (joined, emb)}
    gates = len(config.mlp_activations)
    feed_forward = {"wi" if gates == 1 else f"wi_{i}": (emb, mlp) for i in range(gates)} | {"wo": (mlp, emb)}
    shapes: dict[str, Shape] = {"token_embedder/embedding": (config.vocab_size, emb)}
    for stack, count in config.stacks.items():
        parts = ("attention",) if stack == "encoder" else ("self_attention", "encoder_decoder_attention")
        norms = ("pre_attention", "pre_mlp")
        if stack == "decoder":
            norms = ("pre_self_attention", "pre_cross_attention", "pre_mlp")
        shapes[f"{stack}/{stack}_norm/scale"] = (emb,)
        for layer in (f"{stack}/layers_{i}" for i in range(count)):
            for part, kernels in [*((part, attention) for part in parts), ("mlp", feed_forward)]:
                shapes |= {f"{layer}/{part}/{name}/kernel": shape for name, shape in kernels.items()}
            shapes |= {f"{layer}/{norm}_layer_norm/scale": (emb,) for norm in norms}
        biased = [f"{stack}/layers_{i}" for i in range(count)] if config.relative_bias_per_layer else [stack]
        shapes |= {f"{name}/relpos_bias/rel_embedding": (config.num_heads, RELATIVE_BUCKETS) for name in biased}
    if not config.logits_via_embedding:
        shapes["decoder/logits_dense/kernel"] = (emb, config.vocab_size)
    return shapes


def encoder_shapes(config: EncoderConfig) -> dict[str, Shape]:
    """`shapes_of_model` of the BERT family, its layers one by one."""
    width, emb, mlp = config.embedding_width, config.emb_dim, config.mlp_dim
    shapes: dict[str, Shape] = {
        "token_embedder/embedding": (config.vocab_size, width),
        "token_embedder/positions": (config.max_positions, width),
        **_norm_shapes("token_embedder/norm", width),
    }
    if config.token_types:
        shapes["token_embedder/token_types"] = (config.token_types, width)
    if config.relative_bias:
        shapes["encoder/relpos_bias/rel_embedding"] = (config.num_heads, RELATIVE_BUCKETS)
    if config.embedding_dim is not None:
        shapes |= _dense_shapes("encoder/projection", width, emb)
    layers = ["layer"] if config.shared_layers else [f"layers_{i}" for i in range(config.num_encoder_layers)]
    for layer in layers:
        for name in ("query", "key", "value", "out"):
            shapes |= _dense_shapes(f"encoder/{layer}/attention/{name}", emb, emb)
        shapes |= _dense_shapes(f"encoder/{layer}/mlp/wi", emb, mlp) | _dense_shapes(
            f"encoder/{layer}/mlp/wo", mlp, emb
        )
        shapes |= _norm_shapes(f"encoder/{layer}/attention_norm", emb) | _norm_shapes(f"encoder/{layer}/mlp_norm", emb)
    return shapes | (_dense_shapes("pooler", emb, emb) if config.pooler else {})


def _shapes_with_head(config: PairConfig | DualEncoderConfig) -> dict[str, Shape]:
    shapes, emb = encoder_shapes(config.backbone.replaced(pooler=False)), config.backbone.emb_dim
    if type(config) is PairConfig:
        shapes |= _dense_shapes("pair/classes", emb, config.labels)
        if config.pooling == "attention":
            shapes["pair/pooling"] = (emb,)
    return shapes


def _dense_shapes(name: str, inputs: int, outputs: int) -> dict[str, Shape]:
    return {f"{name}/kernel": (inputs, outputs), f"{name}/bias": (outputs,)}


def _norm_shapes(name: str, width: int) -> dict[str, Shape]:
    return {f"{name}/scale": (width,), f"{name}/bias": (width,)}


def parameter_shapes(config: Model) -> dict:
    """The nested tree of float32 `jax.ShapeDtypeStruct` that `config` has."""
    layers = config.backbone.stacks
    if not config.backbone.scan_layers:  # one of each is traced: layers of a stack are alike, and many take a minute
        config = config.replaced(**{f"num_{stack}_layers": min(1, count) for stack, count in layers.items()})
    return _with_layers(_traced(config), layers)


@functools.cache
def _traced(config: Model) -> dict:
    """A run opens a model in many of its stages."""
    import jax

    # The key is made inside, so that no device is asked for.
    made = jax.eval_shape(lambda *inputs: config.network().init(jax.random.key(0), *inputs), *config.example())
    return made["params"]


def _with_layers(tree: dict, layers: Mapping[str, int]) -> dict:
    """The tree with each stack's first layer repeated to the number of layers."""
    made = {}
    for name, part in tree.items():
        if name in layers and "layers_0" in part:
            part = part | {f"layers_{i}": part["layers_0"] for i in range(layers[name])}
        elif isinstance(part, dict):
            part = _with_layers(part, layers)
        made[name] = part
    return made
