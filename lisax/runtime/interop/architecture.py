"""What a T5 is made of, told from its parameters' shapes, and the shapes that an architecture has."""

from __future__ import annotations

from collections.abc import Mapping

import jax

from lisax.models.architectures import Model, T5Config
from lisax.models.fields import FieldError
from lisax.records import LisaxError
from lisax.runtime.interop.pieces import Shape


def infer(shapes: Mapping[str, Shape], folder: object) -> T5Config:
    """The architecture of parameters in the unrolled tree.

    Shapes do not tell activations: one matrix `wi` is taken as T5 1.0's ReLU, two as T5 1.1's gated GELU."""

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


def parameter_shapes(config: Model) -> dict:
    """The nested tree of float32 `jax.ShapeDtypeStruct` that `config` has."""
    layers = config.backbone.stacks
    if not config.backbone.scan_layers:  # one of each is traced: layers of a stack are alike, and many take a minute
        config = config.replaced(**{f"num_{stack}_layers": min(1, count) for stack, count in layers.items()})
    # The key is made inside, so that no device is asked for.
    shapes = jax.eval_shape(lambda *inputs: config.network().init(jax.random.key(0), *inputs), *config.example())[
        "params"
    ]
    return _with_layers(shapes, layers)


def _with_layers(tree: dict, layers: Mapping[str, int]) -> dict:
    """The tree with as many of each stack's first layer as there are to be."""
    made = {}
    for name, part in tree.items():
        if name in layers and "layers_0" in part:
            part = part | {f"layers_{i}": part["layers_0"] for i in range(layers[name])}
        elif isinstance(part, dict):
            part = _with_layers(part, layers)
        made[name] = part
    return made
