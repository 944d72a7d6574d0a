"""A scorer as a StableHLO program for other runtimes, for any batch and length: token ids -> probabilities of the label
words or classes, the result of table fusion for a claim's tables, or the pointers to its candidates.

It is lowered once for CPU, CUDA and TPU. Parameters are an input: as constants they would be stored a second time, and
above 2 GiB not at all.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from jax import export

from lisax.models.architectures import RELATIVE_MAX_DISTANCE, PairConfig
from lisax.models.attention import RelativePositionBias
from lisax.models.t5 import Transformer
from lisax.scoring.texts import first_step_logits
from lisax.weights.checkpoints import nested

PLATFORMS = ("cpu", "cuda", "tpu")
# batch and length; the program checks them when it runs.
CONSTRAINTS = ("batch >= 1", "length >= 1")
# The results of a program of texts.
OF_TEXTS = ("probabilities", "logits")


def export_scorer(config: Any, parameters: Mapping[str, Any], pieces: Sequence[int]) -> export.Exported:
    """(parameters {name: float32 array}, tokens int32 [batch, length]) -> `OF_TEXTS`, float32 [batch, pieces].

    `config` is a `T5Config`; `parameters` need shapes only. Names are paths, `encoder/layers_0/mlp/wo/kernel`."""
    model, pieces = Transformer(config), np.asarray(pieces, np.int32)
    return _of_texts(lambda parameters, tokens: first_step_logits(model, parameters, tokens, pieces), parameters)


def export_pairs(model: PairConfig, parameters: Mapping[str, Any]) -> export.Exported:
    """A pair scorer's program, with the interface of `export_scorer`: results of its classes. Tokens have the ids of
    the published vocabulary, padding's included."""
    network, padding = model.network(), model.backbone.padding_id

    def logits(parameters: Any, tokens: jax.Array) -> jax.Array:
        if padding:
            tokens = jnp.where(tokens == padding, 0, jnp.where(tokens == 0, padding, tokens))
        return network.apply({"params": parameters}, tokens)

    return _of_texts(logits, parameters)


def _of_texts(logits: Callable[[Any, jax.Array], jax.Array], parameters: Mapping[str, Any]) -> export.Exported:
    def score(parameters: Mapping[str, jax.Array], tokens: jax.Array) -> tuple[jax.Array, jax.Array]:
        found = logits(nested(parameters), tokens)
        return jax.nn.softmax(found), found

    return _exported(score, parameters, ("batch", "length"))


def export_claim_scorer(outputs: Callable, model: Any, parameters: Mapping[str, Any], texts: int) -> export.Exported:
    """(parameters, tokens int32 [batch, texts, length]) -> `outputs(model, parameters, tokens)`, float32 arrays: those
    of a `scoring.claims.ClaimScorer`."""

    def score(parameters: Mapping[str, jax.Array], tokens: jax.Array) -> tuple[jax.Array, ...]:
        return outputs(model, nested(parameters), tokens)

    return _exported(score, parameters, ("batch", texts, "length"))


def _exported(score: Callable, parameters: Mapping[str, Any], tokens: Sequence[int | str]) -> export.Exported:
    def of_any_length(parameters: Mapping[str, jax.Array], tokens: jax.Array) -> tuple[jax.Array, ...]:
        with nn.intercept_methods(_bias_of_any_length):
            return score(parameters, tokens)

    shapes = {name: jax.ShapeDtypeStruct(leaf.shape, np.float32) for name, leaf in parameters.items()}
    exported = export.export(jax.jit(of_any_length), platforms=PLATFORMS)(shapes, _tokens(tokens))
    return dataclasses.replace(exported, mlir_module_serialized=_older(exported))


def _tokens(shape: Sequence[int | str]) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(export.symbolic_shape(", ".join(map(str, shape)), constraints=CONSTRAINTS), np.int32)


def _bias_of_any_length(call: Callable, args: tuple, kwargs: dict, context: Any) -> Any:
    """Relative position biases where the length is a symbol: picked from those of all distances that differ."""
    if not isinstance(context.module, RelativePositionBias) or isinstance(args[0], int):
        return call(*args, **kwargs)
    length, keys = args[:2]
    farthest, seen = RELATIVE_MAX_DISTANCE, 2 * RELATIVE_MAX_DISTANCE + 1
    of_distance = call(seen, seen)[:, :, farthest]  # [1, heads, seen], from -farthest to farthest
    distance = jnp.arange(keys)[None, :] - jnp.arange(length)[:, None]
    return of_distance[:, :, jnp.clip(distance, -farthest, farthest) + farthest]


def _older(exported: export.Exported) -> bytes:
    """The module in the StableHLO of twelve weeks ago, which TensorFlow 2.21 still reads, without the places in source
    files that JAX notes: they are paths of the machine that exports."""
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo
    from jaxlib.mlir.passmanager import PassManager

    version = stablehlo.get_version_from_compatibility_requirement(stablehlo.StablehloCompatibilityRequirement.WEEK_12)
    context = ir.Context()
    stablehlo.register_dialect(context)
    with context:
        module = stablehlo.deserialize_portable_artifact(context, exported.mlir_module_serialized)
        PassManager.parse("builtin.module(strip-debuginfo)").run(module.operation)
        return stablehlo.serialize_portable_artifact(module, version)
