"""The scorer of a bundle as StableHLO, for any batch and length: token ids -> logits of the label words, what
table fusion says of a claim's tables, or what a pointer points to of its candidates.

A bundle carries the program beside its parameters, so that scoring needs jax alone: no flax, and no second
definition of the model. It is lowered once for CPU, CUDA and TPU; parameters are an input, because as constants
they would be in the program a second time (and above 2 GiB not at all).

`scorer.json` says what jax's own file format says in flatbuffers, a package that jax does not bring along.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import export

from lisax.errors import DataError, LisaxError
from lisax.files.json_file import read_object
from lisax.files.writing import write_json
from lisax.models.fields import FieldError
from lisax.scoring.program_check import check_description, read_program
from lisax.weights.checkpoints import nested
from lisax.weights.interop.kinds import SAFETENSORS
from lisax.weights.shapes import check_parameters

PROGRAM_NAME, PROGRAM_JSON, EXPORTED_NAME = "scorer.stablehlo", "scorer.json", "scorer.jax_export"
PLATFORMS = ("cpu", "cuda", "tpu")
# batch and length; the program checks them when it runs.
CONSTRAINTS = ("batch >= 1", "length >= 1")


def export_scorer(config: Any, parameters: Mapping[str, Any], pieces: Sequence[int]) -> export.Exported:
    """(parameters {name: float32 array}, tokens int32 [batch, length]) -> (logits float32 [batch, pieces],).

    `config` is a `T5Config`; `parameters` need shapes only. Names are paths, `encoder/layers_0/mlp/wo/kernel`."""
    from lisax.models.t5 import Transformer

    model, pieces = Transformer(config), np.asarray(pieces, np.int32)

    def score(parameters: Mapping[str, jax.Array], tokens: jax.Array) -> tuple[jax.Array]:
        return (first_step_logits(model, nested(parameters), tokens, pieces),)

    return _exported(score, parameters, ("batch", "length"))


def export_claim_scorer(outputs: Callable, model: Any, parameters: Mapping[str, Any], texts: int) -> export.Exported:
    """(parameters, tokens int32 [batch, texts, length]) -> `outputs(model, parameters, tokens)`, float32 arrays: those of
    a `claim_scoring.ClaimScorer`."""

    def score(parameters: Mapping[str, jax.Array], tokens: jax.Array) -> tuple[jax.Array, ...]:
        return outputs(model, nested(parameters), tokens)

    return _exported(score, parameters, ("batch", texts, "length"))


def _exported(score: Callable, parameters: Mapping[str, Any], tokens: Sequence[int | str]) -> export.Exported:
    import flax.linen as nn

    def of_any_length(parameters: Mapping[str, jax.Array], tokens: jax.Array) -> tuple[jax.Array, ...]:
        with nn.intercept_methods(_bias_of_any_length):
            return score(parameters, tokens)

    shapes = {name: jax.ShapeDtypeStruct(leaf.shape, np.float32) for name, leaf in parameters.items()}
    exported = export.export(jax.jit(of_any_length), platforms=PLATFORMS)(shapes, _tokens(tokens))
    return dataclasses.replace(exported, mlir_module_serialized=_older(exported))


def first_step_logits(model: Any, parameters: Any, tokens: jax.Array, pieces: Any) -> jax.Array:
    """`Transformer.first_step_logits`, compiled in half the time where there is one input.

    Two decoder steps and not one: products of one row are matrix-vector products, for each of which XLA's CPU backend
    makes code of its own. Causal masks keep the first step as it is."""
    encoded = model.apply({"params": parameters}, tokens, method="encode")
    start = jnp.zeros((tokens.shape[0], 2), jnp.int32)
    return model.apply({"params": parameters}, encoded, tokens, start, start + 1, pieces=pieces, method="decode")[:, 0]


def _tokens(shape: Sequence[int | str]) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(export.symbolic_shape(", ".join(map(str, shape)), constraints=CONSTRAINTS), np.int32)


def _bias_of_any_length(call: Callable, args: tuple, kwargs: dict, context: Any) -> Any:
    """Relative position biases where the length is a symbol: picked from those of all distances that differ."""
    from lisax.models.architectures import RELATIVE_MAX_DISTANCE
    from lisax.models.attention import RelativePositionBias

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


# --- Files ---------------------------------------------------------------------------------


def save(exported: export.Exported, folder: Path, **about: Any) -> None:
    """Writes `scorer.stablehlo` and `scorer.json`, which says `about` too: of label words {words, pieces}."""
    (parameters, tokens), _ = jax.tree.unflatten(exported.in_tree, exported.in_avals)
    (folder / PROGRAM_NAME).write_bytes(exported.mlir_module_serialized)
    write_json(
        folder / PROGRAM_JSON,
        {
            "format": 2,
            "computes": "(parameters float32, tokens int32) -> outputs float32",
            "tokens": _plain(tokens.shape),
            "outputs": [_plain(leaf.shape) for leaf in exported.out_avals],
            **about,
            "sha256": hashlib.sha256(exported.mlir_module_serialized).hexdigest(),
            "platforms": list(exported.platforms),
            "calling_convention_version": exported.calling_convention_version,
            "kept_arguments": list(exported.module_kept_var_idx),
            "parameters": {name: list(leaf.shape) for name, leaf in parameters.items()},
        },
    )


def _plain(shape: Sequence[Any]) -> list[int | str]:
    return [size if isinstance(size, int) else str(size) for size in shape]


def read_description(folder: Path) -> dict[str, Any]:
    """`scorer.json`, checked."""
    path = folder / PROGRAM_JSON
    described = read_object(path)
    try:
        check_description(described)
    except FieldError as error:
        raise DataError(f"not the description of a scorer ({error}): export the model again", path=path) from None
    return described


def check_use(
    described: Mapping[str, Any],
    parameters: Mapping[str, np.ndarray],
    folder: Path,
    *,
    tokens: Sequence[Any],
    outputs: bool,
) -> None:
    """A LisaxError unless the program takes these parameters, and `tokens`; `outputs` says whether it gives what its
    caller wants."""
    check_parameters(_parameters(described), parameters, folder)
    if other := next((name for name, array in parameters.items() if array.dtype != np.float32), None):
        raise DataError(
            f"the scorer takes float32, found {parameters[other].dtype}", path=folder / SAFETENSORS, field=other
        )
    if described["tokens"] != tokens or not outputs:
        raise DataError(
            f"the scorer of another kind of model: it takes {described['tokens']} and gives "
            f"{described['outputs']}; export the model again",
            path=folder / PROGRAM_JSON,
        )


def _parameters(described: Mapping[str, Any]) -> dict[str, jax.ShapeDtypeStruct]:
    return {name: jax.ShapeDtypeStruct(shape, np.float32) for name, shape in described["parameters"].items()}


def load(
    folder: Path, described: Mapping[str, Any]
) -> Callable[[Mapping[str, jax.Array], jax.Array], tuple[jax.Array, ...]]:
    """The program of a bundle, to be called inside `jit`."""
    content, tokens = read_program(folder / PROGRAM_NAME, described), _tokens(described["tokens"])
    version, known = (
        described["calling_convention_version"],
        range(
            export.minimum_supported_calling_convention_version, export.maximum_supported_calling_convention_version + 1
        ),
    )
    backend = {"gpu": ("cuda", "rocm")}.get(jax.default_backend(), (jax.default_backend(),))
    if version not in known or not set(backend) & set(described["platforms"]):
        raise DataError(
            f"a scorer for {', '.join(described['platforms'])} in the calling convention {version}; this "
            f"is {backend[0]}, and jax {jax.__version__} reads {known[0]} to {known[-1]}: export the model "
            "again",
            path=folder / PROGRAM_JSON,
        )
    arguments = ((_parameters(described), tokens), {})
    leaves, in_tree = jax.tree.flatten(arguments)
    outs = tuple(
        jax.core.ShapedArray((tokens.shape[0], *shape[1:]), np.dtype(np.float32)) for shape in described["outputs"]
    )
    try:
        # What `jax.export.deserialize` builds of its file format.
        exported = export.Exported(
            fun_name="score",
            in_tree=in_tree,
            out_tree=jax.tree.structure(outs),
            in_avals=tuple(jax.core.ShapedArray(leaf.shape, leaf.dtype) for leaf in leaves),
            out_avals=outs,
            in_shardings_hlo=(None,) * len(leaves),
            out_shardings_hlo=(None,) * len(outs),
            _has_named_shardings=True,
            _in_named_shardings=(None,) * len(leaves),
            _out_named_shardings=(None,) * len(outs),
            nr_devices=1,
            platforms=tuple(described["platforms"]),
            ordered_effects=(),
            unordered_effects=(),
            disabled_safety_checks=(),
            mlir_module_serialized=content,
            calling_convention_version=described["calling_convention_version"],
            module_kept_var_idx=tuple(described["kept_arguments"]),
            uses_global_constants=True,
            _get_vjp=None,
        )
    except (TypeError, ValueError) as error:
        raise LisaxError(
            f"jax {jax.__version__} describes exported programs in another way ({error}): use the jax that "
            f"this version of LisaX pins, or remove {folder / PROGRAM_JSON} and install flax"
        ) from None
    return exported.call
