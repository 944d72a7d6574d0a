"""Whether a bundle's scorer may be run: a bundle may come from anyone, and a program can do more than to score.

It may compute, but call nothing outside of itself, go round no loop and call no function again from within: what is
left ends. Its inputs and outputs must be those that `scorer.json` says.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lisax.errors import DataError, shown
from lisax.models.fields import FieldError, Items, Kinds, OneOf, Text, Whole, check

MOST_BYTES = 64 << 20
MOST_STEPS = 1 << 24  # operations, those of a called function as often as it is called
MOST_DEPTH = 64  # of functions that call each other
NOT_ONE = "not a program in StableHLO"
ASSERTION = "shape_assertion"  # the only call to outside that `jax.export` makes here: it compares sizes
REFUSED = frozenset(f"stablehlo.{name}" for name in ("while", "infeed", "outfeed", "send", "recv"))
DESCRIPTION: Kinds = {
    "platforms": Items(OneOf(("cpu", "cuda", "rocm", "tpu")), 1, 4),
    "calling_convention_version": Whole(9, 99),
    "kept_arguments": Items(Whole(0, 1 << 20), 1, 1 << 20),
    "words": Items(Text(100), 1, 100),
    "pieces": Items(Whole(0, 1 << 24), 1, 100),
    "sha256": Text(64),
}
SIZE, RANK = Whole(0, 1 << 40), 8
TEXTS = Whole(1, 10_000)  # of a claim


def check_description(described: Mapping[str, Any]) -> None:
    """FieldError unless `described` is what `program.save` writes."""
    for name in ("tokens", "outputs", "parameters", "platforms", "calling_convention_version", "kept_arguments"):
        if name not in described:
            raise FieldError(name, "is missing")
    check(described, DESCRIPTION, others=True)
    parameters, tokens, outputs = described["parameters"], described["tokens"], described["outputs"]
    if (
        not isinstance(parameters, dict)
        or not all(map(Items(SIZE, 0, RANK).accepts, parameters.values()))
        or not all(name.isprintable() for name in parameters)
    ):
        raise FieldError("parameters", "must give the sizes of each array, by names that can be shown")
    if not (
        isinstance(tokens, list)
        and tokens[:1] == ["batch"]
        and tokens[-1:] == ["length"]
        and len(tokens) in (2, 3)
        and all(map(TEXTS.accepts, tokens[1:-1]))
    ):
        raise FieldError("tokens", f"must be ['batch', 'length'], or with a number between them, found {shown(tokens)}")
    if not (
        isinstance(outputs, list)
        and 0 < len(outputs) <= RANK
        and all(
            isinstance(shape, list) and shape[:1] == ["batch"] and Items(SIZE, 0, RANK).accepts(shape[1:])
            for shape in outputs
        )
    ):
        raise FieldError("outputs", "must give the sizes of each output, the first of them 'batch'")
    kept = described["kept_arguments"]
    if sorted(set(kept)) != kept or kept[-1] > len(parameters):
        raise FieldError("kept_arguments", f"must be rising numbers up to {len(parameters)}, found {shown(kept)}")


def read_program(path: Path, described: Mapping[str, Any]) -> bytes:
    """The program; a DataError where it is not whole, not what `described` says, or does more than to score."""
    if not path.is_file():
        raise DataError("no such file: the copy of the bundle is not whole", path=path)
    with path.open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise DataError(f"more than the {MOST_BYTES >> 20} MiB that a scorer may take", path=path)
    expected = described.get("sha256")  # older bundles have none
    if expected is not None and hashlib.sha256(content).hexdigest() != expected:
        raise DataError(
            "not the scorer that scorer.json describes: it is damaged or another's; export the model again", path=path
        )
    if complaint := _complaint(content, described):
        raise DataError(f"{complaint}: export the model again", path=path)
    return content


def _complaint(content: bytes, described: Mapping[str, Any]) -> str | None:
    """What is wrong with a program, None where nothing is."""
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo

    context = ir.Context()
    context.attach_diagnostic_handler(lambda _: True)  # what it says of damage goes to no one's terminal
    stablehlo.register_dialect(context)
    with context:
        try:
            module = stablehlo.deserialize_portable_artifact(context, content)
        except ValueError:
            return NOT_ONE
        steps: dict[str, int] = {}  # of each function
        calls: dict[str, list[str]] = {}
        for function in module.body.operations:
            name = _symbol(function, "sym_name") if function.operation.name == "func.func" else None
            if name is None:
                return f"'{function.operation.name}' stands where functions do"
            names, calls[name] = [], []
            function.operation.walk(lambda operation: _note(operation, names, calls[name]))
            steps[name] = len(names)
            if outside := next((used for used in names if not _is_harmless(used)), None):
                return f"it does more than to score ('{outside}')"
            if name == "main" and (found := _signature(function)) != (wanted := _described_signature(described)):
                return (
                    f"it takes and gives {len(found[0])} and {len(found[1])} arrays that are not the "
                    f"{len(wanted[0])} and {len(wanted[1])} of scorer.json"
                )
    if "main" not in steps:
        return NOT_ONE
    return None if _total(steps, calls) <= MOST_STEPS else "its functions call each other without end"


def _note(operation: Any, names: list[str], calls: list[str]) -> Any:
    from jaxlib.mlir import ir

    operation, name = operation.operation, operation.operation.name
    if name == "stablehlo.custom_call":
        name += f" {_symbol(operation, 'call_target_name')}"
    names.append(name)
    for attribute in ("callee", "decomposition"):
        if attribute in operation.attributes:
            calls.append(ir.FlatSymbolRefAttr(operation.attributes[attribute]).value)
    return ir.WalkResult.ADVANCE


def _symbol(operation: Any, attribute: str) -> str:
    from jaxlib.mlir import ir

    return ir.StringAttr(operation.attributes[attribute]).value


def _is_harmless(name: str) -> bool:
    if name.startswith("stablehlo.custom_call"):
        return name == f"stablehlo.custom_call {ASSERTION}"
    return name.startswith(("stablehlo.", "func.")) and name not in REFUSED


def _signature(function: Any) -> tuple[list[str], list[str]]:
    from jaxlib.mlir import ir

    of = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    return list(map(str, of.inputs)), list(map(str, of.results))


def _described_signature(described: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    parameters, tokens = described["parameters"], described["tokens"]
    shapes = [_type(parameters[name], "f32") for name in sorted(parameters)] + [_type(tokens, "i32")]
    inputs = [shapes[i] for i in described["kept_arguments"]]
    # Which of several platforms it runs on is an argument of its own.
    platform = ["tensor<i32>"] if len(described["platforms"]) > 1 else []
    return platform + inputs, [_type(shape, "f32") for shape in described["outputs"]]


def _type(shape: Sequence[int | str], dtype: str) -> str:
    sizes = "".join(f"{size}x" if isinstance(size, int) else "?x" for size in shape)
    return f"tensor<{sizes}{dtype}>"


def _total(steps: Mapping[str, int], calls: Mapping[str, Sequence[str]]) -> int:
    """Operations of `main` with all that it calls; more than any program may have where functions call each other in
    a circle, or one that there is not."""
    totals: dict[str, int] = {}

    def total(name: str, depth: int) -> int:
        if name not in steps or depth > MOST_DEPTH:
            return MOST_STEPS + 1
        if name not in totals:
            totals[name] = steps[name] + sum(total(called, depth + 1) for called in calls[name])
        return totals[name]

    return total("main", 0)
